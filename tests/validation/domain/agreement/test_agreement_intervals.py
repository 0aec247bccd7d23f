"""Bootstrap intervals: what a draw is, what they rest on, and how often they hold the truth."""

import numpy as np
import pytest

from tests.support.judging.agreement_tables import random_tables
from validation.domain.agreement.coefficients import (
    Coefficient,
    CoefficientName,
    coefficients,
)
from validation.domain.agreement.fleiss import (
    agreement_share_of_profiles,
    fleiss_kappa,
    fleiss_of_profiles,
    percent_agreement,
)
from validation.domain.agreement.krippendorff import (
    Metric,
    interval_alpha,
    krippendorff_alpha,
    nominal_alpha,
    ordinal_alpha,
)
from validation.domain.agreement.label_profiles import build_label_profiles
from validation.domain.agreement.pairwise import mean_interval
from validation.domain.judging.ratings import RatingTable

PLAIN = {
    CoefficientName.ALPHA_NOMINAL: lambda table: krippendorff_alpha(table, Metric.NOMINAL),
    CoefficientName.ALPHA_ORDINAL: lambda table: krippendorff_alpha(table, Metric.ORDINAL),
    CoefficientName.ALPHA_INTERVAL: lambda table: krippendorff_alpha(table, Metric.INTERVAL),
    CoefficientName.FLEISS: fleiss_kappa,
    CoefficientName.PERCENT: percent_agreement,
}
WEIGHTED = {
    CoefficientName.ALPHA_NOMINAL: nominal_alpha,
    CoefficientName.ALPHA_ORDINAL: ordinal_alpha,
    CoefficientName.ALPHA_INTERVAL: interval_alpha,
    CoefficientName.FLEISS: fleiss_of_profiles,
    CoefficientName.PERCENT: agreement_share_of_profiles,
}


def crowd(rng: np.random.Generator, items: int, follows: float) -> RatingTable:
    """Three raters on a scale of four, who say what the item is or anything else."""
    majority_label = rng.choice(4, size=items, p=[0.1, 0.2, 0.3, 0.4])
    given = np.where(
        rng.random((items, 3)) < follows, majority_label[:, None], rng.integers(4, size=(items, 3))
    )
    rows = [(item, rater, int(given[item, rater])) for item in range(items) for rater in range(3)]
    return RatingTable.from_rows(rows, range(4))


def coefficient_with_interval(
    table: RatingTable, name: CoefficientName, *, rng: np.random.Generator, **options: float
) -> Coefficient:
    return coefficients(table, [name], rng=rng, **options)[name]


def drawn_table(table: RatingTable, times: np.ndarray) -> RatingTable:
    """Write out a draw: each item as often as it was drawn, under names of its own."""
    rows = [
        ((table.item_ids[item], copy), rater, int(label))
        for item, rater, label in zip(table.items, table.raters, table.labels, strict=True)
        for copy in range(times[item])
    ]
    return RatingTable.from_rows(rows, table.scale, table.values)


@pytest.mark.parametrize("name", list(CoefficientName))
def test_weighted_coefficient_equals_the_expanded_draw(name: CoefficientName) -> None:
    rng = np.random.default_rng(3)
    compared = 0
    for table in random_tables(21, 60):
        if not table.size:
            continue
        of = build_label_profiles(table)
        draws = rng.integers(0, 4, size=(3, len(table.item_ids)))
        weights = np.zeros((3, of.sizes.size))
        for row, times in enumerate(draws):
            np.add.at(weights[row], of.profile_of_item, times)
        for found, times in zip(WEIGHTED[name](of, weights), draws, strict=True):
            expected = PLAIN[name](drawn_table(table, times))
            assert found == pytest.approx(np.nan if expected is None else expected, abs=1e-9, nan_ok=True)
            compared += expected is not None
    assert compared > 50


def test_items_with_equal_counts_share_a_profile() -> None:
    for table in random_tables(22, 100):
        if not table.size:
            continue
        of, counts = build_label_profiles(table), table.label_counts()
        rated = counts.sum(axis=1) > 0
        assert of.item_counts.sum() == rated.sum()
        assert of.sizes.size == len(np.unique(counts[rated], axis=0))
        dense = np.zeros((of.sizes.size, len(table.scale)), dtype=int)
        dense[of.cell_profile, of.cell_label] = of.cell_count
        assert (dense[of.profile_of_item] == counts).all()


def test_values_lie_within_intervals_and_seed_is_deterministic() -> None:
    table = crowd(np.random.default_rng(1), 200, 0.7)
    found = coefficients(table, rng=np.random.default_rng(5))
    assert found == coefficients(table, rng=np.random.default_rng(5))
    assert found != coefficients(table, rng=np.random.default_rng(6))
    for name, coefficient in found.items():
        assert coefficient.value == PLAIN[name](table)
        assert coefficient.low < coefficient.value < coefficient.high
        assert 0.02 < coefficient.high - coefficient.low < 0.25
        assert (coefficient.items, coefficient.ratings, coefficient.raters) == (200, 600, 3)
        assert coefficient_with_interval(table, name, rng=np.random.default_rng(5)) == coefficient


def test_an_interval_of_half_the_level_is_narrower() -> None:
    table = crowd(np.random.default_rng(1), 100, 0.7)
    wide = coefficient_with_interval(table, CoefficientName.FLEISS, rng=np.random.default_rng(5))
    narrow = coefficient_with_interval(table, CoefficientName.FLEISS, rng=np.random.default_rng(5), level=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_coefficient_counts_items_with_two_ratings() -> None:
    rows = [("a", "r", 0), ("a", "s", 1), ("b", "r", 1), ("b", "s", 1), ("c", "t", 0)]
    found = coefficient_with_interval(
        RatingTable.from_rows(rows, (0, 1)), CoefficientName.ALPHA_NOMINAL, rng=np.random.default_rng(0)
    )
    assert (found.items, found.ratings, found.raters) == (2, 4, 2)


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ([], None),
        ([("a", "r", 0)], None),
        ([("a", "r", 0), ("a", "s", 0), ("b", "r", 0), ("b", "s", 0)], None),
        ([("a", "r", 0), ("a", "s", 1)], 0.0),
    ],
    ids=["nothing", "one rating", "one label", "one item"],
)
def test_no_interval_without_a_value_or_with_one_item(
    rows: list[tuple[str, str, int]], value: float | None
) -> None:
    found = coefficient_with_interval(
        RatingTable.from_rows(rows, (0, 1)), CoefficientName.ALPHA_NOMINAL, rng=np.random.default_rng(0)
    )
    assert (found.value, found.low, found.high) == (value, None, None)
    assert isinstance(found, Coefficient)


@pytest.mark.parametrize(
    "name",
    [
        CoefficientName.ALPHA_NOMINAL,
        CoefficientName.ALPHA_ORDINAL,
        CoefficientName.FLEISS,
        CoefficientName.PERCENT,
    ],
)
def test_intervals_have_nominal_coverage(name: CoefficientName) -> None:
    rng = np.random.default_rng(8)
    truth = PLAIN[name](crowd(rng, 60_000, 0.6))
    held = 0
    for _ in range(200):
        found = coefficient_with_interval(crowd(rng, 120, 0.6), name, rng=rng, replicates=300)
        held += found.low <= truth <= found.high
    # The standard error of a share of 95 % over 200 is 1.5 %.
    assert 180 <= held <= 199


def test_bootstrap_draws_whole_sets() -> None:
    # Ten candidates of a set are answered alike: as much is known as of one, and the interval says so.
    rng = np.random.default_rng(12)
    single = crowd(rng, 60, 0.6)
    rows = [
        ((f"s{item}", candidate), rater, int(label))
        for item, rater, label in zip(single.items, single.raters, single.labels, strict=True)
        for candidate in range(10)
    ]
    repeated = RatingTable.from_rows(rows, range(4))
    apart = RatingTable.from_rows([(f"{item}", rater, label) for item, rater, label in rows], range(4))
    for name in (CoefficientName.ALPHA_ORDINAL, CoefficientName.FLEISS):
        one, ten, separate = (
            coefficient_with_interval(table, name, rng=np.random.default_rng(1), replicates=2000)
            for table in (single, repeated, apart)
        )
        assert ten.high - ten.low == pytest.approx(one.high - one.low, rel=0.15)
        assert separate.high - separate.low < (ten.high - ten.low) / 2.5
        assert (ten.items, ten.value) == (600, separate.value)


def test_a_draw_of_sets_takes_all_their_items() -> None:
    # The interval's draws, written out: each set as often as it was drawn, alpha computed anew.
    rng = np.random.default_rng(14)
    rows = [
        ((f"s{name}", candidate), rater, int(rng.integers(2)))
        for name in range(8)
        for candidate in range(int(rng.integers(1, 6)))
        for rater in range(3)
    ]
    table = RatingTable.from_rows(rows, (0, 1))
    draws = np.random.default_rng(3).multinomial(8, np.full(8, 1 / 8), size=50)
    alphas = [
        krippendorff_alpha(drawn_table(table, times[table.set_codes()]), Metric.NOMINAL) for times in draws
    ]
    found = coefficient_with_interval(
        table, CoefficientName.ALPHA_NOMINAL, rng=np.random.default_rng(3), replicates=50
    )
    assert [found.low, found.high] == pytest.approx(np.quantile(alphas, [0.025, 0.975]).tolist())


def test_items_with_one_rating_are_drawn_too() -> None:
    # They count in the chance term of kappa: 200 of one label alone make agreement on that label likelier.
    rng = np.random.default_rng(15)
    rows = [(at, rater, int((at + (rng.random() < 0.2)) % 2)) for at in range(100) for rater in "rs"]
    rows += [(100 + at, "r", 0) for at in range(200)]
    found = coefficient_with_interval(
        RatingTable.from_rows(rows, (0, 1)), CoefficientName.FLEISS, rng=np.random.default_rng(0)
    )
    assert found.low < found.value < found.high
    assert found.value < fleiss_kappa(RatingTable.from_rows(rows[:200], (0, 1)))


def test_one_set_alone_has_no_interval() -> None:
    rows = [(("s", at), rater, (at + rater) % 2) for at in range(4) for rater in (0, 1, 1 + at)]
    found = coefficient_with_interval(
        RatingTable.from_rows(dict.fromkeys(rows), (0, 1)),
        CoefficientName.FLEISS,
        rng=np.random.default_rng(0),
    )
    assert found.value is not None
    assert (found.low, found.high) == (None, None)


def test_bootstrap_includes_sets_without_pairs() -> None:
    rng = np.random.default_rng(2)
    rows = [
        ((set_, at), rater, int(rng.integers(2))) for set_ in range(30) for at in range(3) for rater in "rs"
    ]
    rows += [((100 + at, 0), "r", 0) for at in range(30)]
    found = coefficients(RatingTable.from_rows(rows, (0, 1)), rng=np.random.default_rng(0))
    for coefficient in found.values():
        assert coefficient.low < coefficient.value < coefficient.high


def test_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(2).normal(10, 2, size=400)
    low, high = mean_interval(values, rng=np.random.default_rng(3), replicates=2000)
    half = 1.96 * values.std() / 20
    assert low == pytest.approx(values.mean() - half, abs=0.04)
    assert high == pytest.approx(values.mean() + half, abs=0.04)
    assert mean_interval(np.array([4.0, 4.0]), rng=np.random.default_rng(0)) == (4.0, 4.0)
