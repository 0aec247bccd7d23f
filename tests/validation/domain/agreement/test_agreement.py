"""Coefficients against independent references on random tables, and against the literature's own examples."""

import warnings
from fractions import Fraction
from itertools import permutations

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa as statsmodels_cohen
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from tests.support.judging.agreement_tables import (
    as_matrix,
    has_gaps_and_ties,
    of_counts,
    of_matrix,
    random_tables,
)
from validation.domain.agreement.coefficients import CoefficientName
from validation.domain.agreement.cohen import Weights, cohen_kappa, confusion_matrix, grader_agreement
from validation.domain.agreement.fleiss import (
    agreement_by_item,
    agreement_by_rater,
    fleiss_kappa,
    percent_agreement,
)
from validation.domain.agreement.krippendorff import (
    Metric,
    coincidence_matrix,
    hardest_items,
    krippendorff_alpha,
)
from validation.domain.judging.ratings import RatingError, RatingTable

EXACT = {"abs": 1e-9, "rel": 0}

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", sections A, B and C.
BINARY = ["0100000010", "1110010000"]
NOMINAL = ["aabbdcccedda", "babbbccceddd"]
FOUR_OBSERVERS = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
# Wikipedia's example with many gaps, as the krippendorff package's docstring has it.
THREE_CODERS = [".....34121133.3", "1.213343.......", "..21344.21133.4"]

# Fleiss (1971), table 1: thirty patients, six psychiatrists; depression, personality disorder, schizophrenia,
# neurosis, other.
PATIENTS = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
    [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
    [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
    [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
]  # fmt: skip
# The worked example of most textbooks: ten items, fourteen raters.
FOURTEEN = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
# Cohen (1960, 1968): two hundred diagnoses of two judges.
DIAGNOSES = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
# SAS' printout for two raters of nineteen items, which statsmodels is tested against (test_inter_rater.py, table10).
NINETEEN = [[0, 4, 1], [0, 8, 0], [0, 1, 5]]


def reference_alpha(table: RatingTable, metric: Metric) -> float | None:
    data = as_matrix(table, values=metric is Metric.INTERVAL)
    pairable = data[:, (~np.isnan(data)).sum(axis=0) > 1]
    if np.unique(pairable[~np.isnan(pairable)]).size < 2:
        return None  # nothing pairable, or nothing that could disagree
    return float(krippendorff.alpha(reliability_data=data, level_of_measurement=metric.value))


@pytest.mark.parametrize("metric", list(Metric))
def test_alpha_equals_reference_package(metric: Metric) -> None:
    defined = undefined = 0
    for table in random_tables(11):
        expected, found = reference_alpha(table, metric), krippendorff_alpha(table, metric)
        if expected is None:
            assert found is None
            undefined += 1
        else:
            assert found == pytest.approx(expected, **EXACT)
            defined += 1
    assert defined >= 200
    assert undefined > 0


@pytest.mark.parametrize(
    ("rows", "scale", "metric", "published"),
    [
        (BINARY, "01", Metric.NOMINAL, 0.095),
        (NOMINAL, "abcde", Metric.NOMINAL, 0.692),
        (FOUR_OBSERVERS, "12345", Metric.NOMINAL, 0.743),
        (FOUR_OBSERVERS, "12345", Metric.ORDINAL, 0.815),
        (FOUR_OBSERVERS, "12345", Metric.INTERVAL, 0.849),
        (THREE_CODERS, "1234", Metric.NOMINAL, 0.691),
        (THREE_CODERS, "1234", Metric.INTERVAL, 0.811),
    ],
)
def test_alpha_of_published_examples(rows: list[str], scale: str, metric: Metric, published: float) -> None:
    assert krippendorff_alpha(of_matrix(rows, scale), metric) == pytest.approx(published, abs=5e-4)


def slow_fleiss(table: RatingTable) -> Fraction | None:
    """Gwet's form of Fleiss' kappa, term by term in exact numbers."""
    rated = [row for row in table.label_counts().tolist() if sum(row)]
    pairable = [row for row in rated if sum(row) > 1]
    if not pairable:
        return None
    shares = [
        sum((Fraction(row[at], sum(row)) for row in rated), Fraction()) / len(rated)
        for at in range(len(rated[0]))
    ]
    chance = sum((share**2 for share in shares), Fraction())
    agree = Fraction()
    for row in pairable:
        agree += Fraction(sum(n * (n - 1) for n in row), sum(row) * (sum(row) - 1))
    if chance == 1:
        return None
    return (agree / len(pairable) - chance) / (1 - chance)


def test_fleiss_with_missing_ratings_equals_direct_formula() -> None:
    defined = 0
    for table in random_tables(12):
        expected, found = slow_fleiss(table), fleiss_kappa(table)
        if expected is None:
            assert found is None
        else:
            assert found == pytest.approx(float(expected), **EXACT)
            defined += 1
    assert defined >= 200


def test_fleiss_on_complete_tables_equals_reference_package() -> None:
    defined = 0
    for table in random_tables(13, complete=True):
        counts = table.label_counts()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = statsmodels_fleiss(counts)
        if np.unique(table.labels).size < 2:
            assert fleiss_kappa(table) is None
        else:
            assert fleiss_kappa(table) == pytest.approx(expected, **EXACT)
            defined += 1
    assert defined >= 200


@pytest.mark.parametrize(("counts", "published"), [(PATIENTS, 0.430), (FOURTEEN, 0.210)])
def test_fleiss_of_published_example(counts: list[list[int]], published: float) -> None:
    assert fleiss_kappa(of_counts(counts)) == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize(
    ("counts", "printed"),
    [
        (PATIENTS, "0.4302445"),  # R's irr, kappam.fleiss(diagnoses)
        ([[7, 1], [3, 5]], "0.161905"),  # Randolph's online calculator, fixed marginals; the next one too
        ([[6, 1, 0], [0, 7, 0]], "0.708333"),
    ],
)
def test_fleiss_equals_other_programs(counts: list[list[int]], printed: str) -> None:
    # As statsmodels' test_inter_rater.py quotes them.
    decimals = len(printed) - 2
    assert fleiss_kappa(of_counts(counts)) == pytest.approx(float(printed), abs=0.51 * 10**-decimals)


def test_percent_agreement_is_the_mean_share_of_agreeing_pairs() -> None:
    defined = 0
    for table in random_tables(14):
        matrix = as_matrix(table)
        each = []
        for column in matrix.T:
            given = column[~np.isnan(column)]
            pairs = [a == b for a, b in permutations(given, 2)]
            each += [sum(pairs) / len(pairs)] if pairs else []
        if each:
            assert percent_agreement(table) == pytest.approx(np.mean(each), **EXACT)
            defined += 1
        else:
            assert percent_agreement(table) is None
    assert defined >= 200


@pytest.mark.parametrize("weights", list(Weights))
def test_cohen_equals_reference_package(weights: Weights) -> None:
    defined = undefined = 0
    for table in random_tables(15):
        if not {"r0", "r1"} <= set(table.rater_ids):
            continue
        first, second = (as_matrix(table)[table.rater_ids.index(name)] for name in ("r0", "r1"))
        both = ~np.isnan(first) & ~np.isnan(second)
        found = cohen_kappa(table, "r0", "r1", weights=weights)
        if np.unique([first[both], second[both]]).size < 2:
            assert found is None
            undefined += 1
            continue
        expected = cohen_kappa_score(
            first[both],
            second[both],
            labels=np.arange(len(table.scale)),
            weights=None if weights is Weights.NONE else weights.value,
        )
        assert found == pytest.approx(expected, **EXACT)
        defined += 1
    assert defined >= 200
    assert undefined > 0


def two_judges(counts: list[list[int]]) -> RatingTable:
    cells = [(a, b) for a, row in enumerate(counts) for b, count in enumerate(row) for _ in range(count)]
    rows = [
        (at, name, label) for at, cell in enumerate(cells) for name, label in zip("AB", cell, strict=True)
    ]
    return RatingTable.from_rows(rows, range(len(counts)))


def test_cohen_of_published_example() -> None:
    table = two_judges(DIAGNOSES)
    assert confusion_matrix(table, "A", "B").tolist() == DIAGNOSES
    assert confusion_matrix(table, "B", "A").T.tolist() == DIAGNOSES
    assert cohen_kappa(table, "A", "B") == pytest.approx(0.492, abs=5e-4)


def test_cohen_equals_sas() -> None:
    pairs = [(a, b) for a, row in enumerate(NINETEEN) for b, count in enumerate(row) for _ in range(count)]
    found = grader_agreement(pairs)
    assert (found.kappa, found.low, found.high) == pytest.approx((0.4842, 0.2137, 0.7547), abs=5e-5)
    linear = cohen_kappa(two_judges(NINETEEN), "A", "B", weights=Weights.LINEAR)
    assert linear == pytest.approx(0.4701, abs=5e-5)


def random_pairs(rng: np.random.Generator) -> list[tuple[str, str]]:
    """What two graders said of up to sixty items: they agree at times, and seldom use some words or never."""
    words = ["un", "relatively", "highly", "absurd"][: rng.integers(2, 5)]
    likely = rng.dirichlet(np.full(len(words), rng.choice([0.3, 1.0, 5.0])))
    firsts = rng.choice(words, size=rng.integers(1, 60), p=likely).tolist()
    follows = rng.choice([0.0, 0.3, 0.7, 0.9])
    return [(a, a if rng.random() < follows else str(rng.choice(words, p=likely))) for a in firsts]


def test_grader_kappa_and_interval_equal_reference_package() -> None:
    rng = np.random.default_rng(19)
    defined = undefined = 0
    for _ in range(320):
        pairs = random_pairs(rng)
        words = sorted({word for pair in pairs for word in pair})
        found = grader_agreement(pairs)
        if len(words) < 2:
            assert (found.kappa, found.low, found.high) == (None, None, None)
            undefined += 1
            continue
        with np.errstate(invalid="ignore"):
            expected = statsmodels_cohen([[pairs.count((a, b)) for b in words] for a in words])
        assert found.kappa == pytest.approx(expected.kappa, **EXACT)
        if expected.var_kappa < 1e-12:  # all alike: the root of a rounding error is no standard error
            assert (found.low, found.high) == pytest.approx((expected.kappa,) * 2, abs=1e-6)
            continue
        half = 1.959964 * expected.std_kappa  # z as cohen() has it; statsmodels' has more digits
        assert found.low == pytest.approx(max(-1, expected.kappa - half), **EXACT)
        assert found.high == pytest.approx(min(1, expected.kappa + half), **EXACT)
        defined += 1
    assert defined >= 200
    assert undefined > 0


def test_kappa_of_an_unknown_rater_is_refused() -> None:
    table = two_judges(DIAGNOSES)
    with pytest.raises(RatingError, match="rater C is not in this table"):
        cohen_kappa(table, "A", "C")


def test_coincidence_matrix_equals_published_example() -> None:
    # 2011, section C: the matrix of the four observers, 40 pairable values.
    found = coincidence_matrix(of_matrix(FOUR_OBSERVERS, "12345"))
    third = 1 / 3
    assert found == pytest.approx(
        np.array([
            [7, 4 * third, third, third, 0],
            [4 * third, 10, 4 * third, third, 0],
            [third, 4 * third, 8, third, 0],
            [third, third, third, 4, 0],
            [0, 0, 0, 0, 3],
        ])
    )  # fmt: skip
    assert found.sum() == pytest.approx(40)


def slow_coincidences(table: RatingTable) -> np.ndarray:
    """Each ordered pair of an item's m ratings, one by one, weighs 1 / (m - 1)."""
    found = np.zeros((len(table.scale), len(table.scale)))
    for column in as_matrix(table).T:
        given = column[~np.isnan(column)].astype(int).tolist()
        for at, first in enumerate(given):
            for other, second in enumerate(given):
                if at != other:
                    found[first, second] += 1 / (len(given) - 1)
    return found


def test_coincidence_matrix_counts_ordered_pairs() -> None:
    compared = 0
    for table in random_tables(20, 640):
        expected = slow_coincidences(table)
        assert coincidence_matrix(table) == pytest.approx(expected, **EXACT)
        compared += has_gaps_and_ties(table) and np.count_nonzero(expected - np.diag(expected.diagonal())) > 0
    assert compared >= 200


def test_coincidence_matrix_gives_alpha() -> None:
    for table in random_tables(16):
        matrix = coincidence_matrix(table)
        assert matrix == pytest.approx(matrix.T, **EXACT)
        alpha, n = krippendorff_alpha(table, Metric.NOMINAL), matrix.sum()
        if alpha is not None:
            totals = matrix.sum(axis=0)
            apart = n * (n - 1) - (totals * (totals - 1)).sum()
            assert alpha == pytest.approx(1 - (n - 1) * (n - np.trace(matrix)) / apart, **EXACT)


def slow_disagreements(table: RatingTable, metric: Metric) -> dict[object, float]:
    """Mean difference within each item over the mean difference of any two pairable ratings, pair by pair."""
    matrix = as_matrix(table)
    kept = {
        table.item_ids[at]: matrix[~np.isnan(matrix[:, at]), at].astype(int)
        for at in range(matrix.shape[1])
        if (~np.isnan(matrix[:, at])).sum() > 1
    }
    given = np.concatenate([*kept.values(), np.zeros(0, dtype=int)])
    totals = np.bincount(given, minlength=len(table.scale))

    def difference(a: int, b: int) -> float:
        low, high = min(a, b), max(a, b)
        if metric is Metric.NOMINAL:
            return float(a != b)
        if metric is Metric.INTERVAL:
            return float(table.values[a] - table.values[b]) ** 2
        return 0.0 if a == b else float(totals[low : high + 1].sum() - (totals[low] + totals[high]) / 2) ** 2

    def mean(labels: np.ndarray) -> float:
        return float(np.mean([difference(a, b) for a, b in permutations(labels, 2)]))

    whole = mean(given) if given.size else 0.0
    return {item: mean(labels) / whole for item, labels in kept.items()} if whole else {}


@pytest.mark.parametrize("metric", list(Metric))
def test_hardest_items_come_first(metric: Metric) -> None:
    compared = equally_hard = 0
    for table in random_tables(17, 900):
        expected = {item: value for item, value in slow_disagreements(table, metric).items() if value > 1e-12}
        found = hardest_items(table, metric, 100)
        assert dict(found) == pytest.approx(expected, **EXACT)
        # Of equally hard ones, those that come first in the table.
        places = [(-value, table.item_ids.index(item)) for item, value in found]
        assert places == sorted(places)
        assert hardest_items(table, metric, 2) == found[:2]
        compared += bool(expected) and has_gaps_and_ties(table)
        equally_hard += len({value for _, value in found}) < len(found)
    assert compared >= 200
    assert equally_hard >= 200


def test_agreement_by_item_is_the_share_of_its_equal_pairs() -> None:
    compared = 0
    for table in random_tables(18, 640):
        expected = []
        for column in as_matrix(table).T:
            pairs = [a == b for a, b in permutations(column[~np.isnan(column)], 2)]
            expected.append(np.mean(pairs) if pairs else np.nan)
        assert agreement_by_item(table) == pytest.approx(np.array(expected), nan_ok=True, **EXACT)
        compared += has_gaps_and_ties(table)
    assert compared >= 200


def test_agreement_by_rater_is_the_mean_share_of_equal_others() -> None:
    compared = 0
    for table in random_tables(21, 640):
        matrix, expected = as_matrix(table), []
        for rater, row in enumerate(matrix):
            shares = []
            for at in np.flatnonzero(~np.isnan(row)):
                others = np.delete(matrix[:, at], rater)
                others = others[~np.isnan(others)]
                shares += [np.mean(others == row[at])] if others.size else []
            expected.append(np.mean(shares) if shares else np.nan)
        assert agreement_by_rater(table) == pytest.approx(np.array(expected), nan_ok=True, **EXACT)
        compared += has_gaps_and_ties(table)
    assert compared >= 200


@pytest.mark.parametrize(
    "rows",
    [[], [("a", "r", 0)], [("a", "r", 0), ("b", "s", 1)]],
    ids=["nothing", "one rating", "nothing to pair"],
)
def test_coefficients_without_pairs_are_undefined(rows: list[tuple[str, str, int]]) -> None:
    table = RatingTable.from_rows(rows, (0, 1))
    assert [krippendorff_alpha(table, metric) for metric in Metric] == [None, None, None]
    assert fleiss_kappa(table) is None
    assert percent_agreement(table) is None
    assert hardest_items(table, Metric.NOMINAL, 5) == []
    assert coincidence_matrix(table).tolist() == [[0, 0], [0, 0]]


def test_coefficients_of_one_label_are_undefined() -> None:
    table = of_counts([[0, 3, 0], [0, 2, 0]])
    assert [krippendorff_alpha(table, metric) for metric in Metric] == [None, None, None]
    assert fleiss_kappa(table) is None
    assert percent_agreement(table) == 1.0
    assert hardest_items(table, Metric.ORDINAL, 5) == []


def test_interval_alpha_of_one_value_is_undefined() -> None:
    # Three times 0.1 is not 0.3 in floating point.
    table = RatingTable.from_rows([("a", "r", 0), ("a", "s", 1), ("a", "t", 1)], (0, 1), (0.1, 0.1))
    assert krippendorff_alpha(table, Metric.INTERVAL) is None
    assert krippendorff_alpha(table, Metric.NOMINAL) is not None
    assert hardest_items(table, Metric.INTERVAL, 5) == []


def test_alpha_is_exact_for_nearly_unanimous_tables() -> None:
    # One of 300,000 ratings differs: whatever the metric, its item's two other ratings and everybody else's differ
    # from it alike, so that observed and expected disagreement are equal and alpha is 0.
    table = of_counts([[3, 0, 0]] * 99_999 + [[2, 0, 1]])
    for metric in Metric:
        assert krippendorff_alpha(table, metric) == pytest.approx(0, abs=1e-9)


def test_statistic_values_are_report_keys() -> None:
    assert [name.value for name in CoefficientName] == [
        "alpha_nominal",
        "alpha_ordinal",
        "alpha_interval",
        "fleiss",
        "percent",
    ]
