"""The report at the size of the published corpus: its pages stay quick, and ask as many questions as over a few."""

import pytest

from tests.benchmarks._judging_report import ITEMS, MOST_SECONDS, measured

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly]


@pytest.mark.timeout(900)
def test_the_pages_over_363_000_ratings() -> None:
    found = measured(ITEMS)
    assert found["ratings"] >= 363_000
    assert found["compute_peak_mib"] - found["peak_before_mib"] < 500
    for name, page in found["pages"].items():
        assert page["median_ms"] < 1000 * MOST_SECONDS, (name, page)
        assert page["queries"] < 30, (name, page)
