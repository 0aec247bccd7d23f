"""Attention checks that borrow from outside of a round, or from another topic."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from validation.domain.judging.quality_check_types import (
    AttentionCheck,
    CheckRates,
    CheckUnit,
    QualityCheckError,
    RoundUnit,
)
from validation.domain.judging.quality_checks import MAX_DONORS, plan_round_units
from validation.domain.judging.spec import JudgingSpec
from validation.registry import spec_of

SPEC = spec_of("triplet_plausibility")


def triplet(number: int, topic: str = "") -> RoundUnit:
    images = {"premise": 10 * number, "h1": 10 * number + 1, "h2": 10 * number + 2}
    payload = SPEC.kind.parse_unit(
        {"item": f"i{number}", "triplet": f"t{number}", "show": "triplet", "images": images, "gold": 1}
    )
    return RoundUnit(f"i{number}", payload, frozenset({number}), topic)


def checks(own: list[RoundUnit], donors: Sequence[RoundUnit] = (), seed: int = 0) -> list[CheckUnit]:
    mixed = plan_round_units(own, [], CheckRates(attention=50), np.random.default_rng(seed), SPEC, donors)
    return [unit for unit in mixed if isinstance(unit, CheckUnit)]


def foreign_number(check: CheckUnit) -> int:
    """Return the number of the triplet whose image replaces the implausible hypothesis."""
    return int(check.payload["images"]["h2"]) // 10


def test_check_borrows_from_units_outside_of_the_round_where_there_are_any() -> None:
    own, outside = [triplet(n) for n in range(1, 9)], [triplet(n) for n in range(20, 24)]
    for seed in range(5):
        found = checks(own, outside, seed)
        assert len(found) == 4
        assert all(20 <= foreign_number(check) < 24 for check in found)
        assert all(check.original_key is None for check in found), "it is no unit of the batch"
        assert all(foreign_number(check) in check.authors for check in found)


@pytest.mark.parametrize("outside", [False, True])
def test_check_borrows_from_another_topic_where_there_is_one(outside: bool) -> None:
    topics = {number: "sports" if number % 20 else "religion" for number in range(1, 41)}
    units = [triplet(number, topic) for number, topic in topics.items()]
    own = [triplet(n, topics[n]) for n in range(1, 9)] if outside else units
    for check in checks(own, units if outside else []):
        host = int(check.payload["images"]["premise"]) // 10
        assert topics[foreign_number(check)] != topics[host]
    alike = [triplet(n, "sports") for n in range(1, 9)]
    assert len(checks(alike)) == 4, "one topic alone is no reason to refuse"


def test_no_foreign_unit_is_refused_with_advice() -> None:
    first = triplet(1)
    own = [*(RoundUnit(f"k{n}", first.payload) for n in range(9)), triplet(2)]
    with pytest.raises(QualityCheckError, match=r"about the subject of k\d; use 0"):
        checks(own, [RoundUnit("outside", first.payload)])


def test_a_kind_gets_at_most_twelve_units_to_borrow_from(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = type(SPEC).build_attention_check

    def counted(self: JudgingSpec, host: RoundUnit, others: list[RoundUnit], rng: Any) -> AttentionCheck:
        seen.append(len(others))
        return real(self, host, others, rng)  # type: ignore[arg-type]

    monkeypatch.setattr(type(SPEC), "build_attention_check", counted)
    checks([triplet(n) for n in range(1, 9)], [triplet(n) for n in range(20, 60)])
    assert seen
    assert max(seen) <= MAX_DONORS
