"""Every published case of Adversarial Matching, through the core and through the command."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from numpy.typing import NDArray

from curation.matching.match import BucketMatches, match_buckets
from curation.matching.options import MatchOptions, SameImageRule, ShortlistBy, ShortlistOptions
from curation.matching.rounds import DenseWeights, PairRules, match_rounds
from curation.matching.weights import symmetric_similarity
from hits.domain.tagged_text import copy_key
from tests.support.paths import CASES as CASE_FILES
from tests.support.vcr.matching import MatchCase, read_cases, save_case

CASES = read_cases()
PERMUTATIONS = 20
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def _match(case: MatchCase, order: NDArray[np.int64]) -> BucketMatches:
    shortlist = case.shortlist and ShortlistOptions(case.shortlist[0], ShortlistBy(case.shortlist[1]), False)
    options = MatchOptions(
        similarity_weight=case.weight,
        rounds=case.rounds,
        same_image=SameImageRule.FORBIDDEN if case.forbids_images else SameImageRule.ALLOWED,
        shortlist=shortlist or None,
    )
    return match_buckets(
        case.relevance[np.ix_(order, order)],
        symmetric_similarity(case.nli[np.ix_(order, order)]),
        options,
        ids=[f"row {index:03d}" for index in order],
        buckets=[case.buckets[index] for index in order],
        texts=[copy_key([case.texts[index]], ()) for index in order],
        images=None if case.images is None else [case.images[index] for index in order],
    )


def _run(case: MatchCase, order: NDArray[np.int64], folder: Path) -> dict[str, Any]:
    out = StringIO()
    call_command("match_adversarially", *save_case(case, folder, order.tolist()), "--json", stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def _by_id(choices: Any, order: NDArray[np.int64]) -> list[list[int]]:
    """Return choices in the case's own numbers and order."""
    found: list[list[int]] = [[] for _ in order]
    for row in choices:
        found[order[row[0]]] = [int(order[index]) for index in row]
    return found


def _check_choices(case: MatchCase, choices: list[list[int]]) -> None:
    if case.choices is not None:
        assert choices == case.choices
    for bucket, members in case.members.items():
        for number, expected in enumerate(item for item in case.expected[bucket] if item["feasible"]):
            found = [choices[index][1 + number] for index in members]
            optima = expected.get("all_optima") or [expected["assignment"]]
            assert found in optima


def _check_rounds(case: MatchCase, rounds: list[tuple[str, int, bool, float | None, str]]) -> None:
    expected = [
        (bucket, item["round"], item["feasible"])
        for bucket in sorted(case.expected)
        for item in case.expected[bucket]
    ]
    assert [item[:3] for item in rounds] == expected
    totals = [item.get("total") for bucket in sorted(case.expected) for item in case.expected[bucket]]
    for (_, _, feasible, total, reason), known in zip(rounds, totals, strict=True):
        assert total == (pytest.approx(known, abs=1e-9, rel=0) if feasible else None)
        assert bool(reason) is not feasible


@every_case
def test_core_gives_the_published_result(case: MatchCase) -> None:
    order = np.arange(len(case.relevance))
    result = _match(case, order)
    rounds = [
        (item.bucket, item.outcome.round, item.outcome.feasible, item.outcome.total, item.reason)
        for item in result.rounds
    ]
    _check_rounds(case, rounds)
    _check_choices(case, _by_id(result.choices, order))


@every_case
def test_command_gives_the_published_result(case: MatchCase, tmp_path: Path) -> None:
    order = np.arange(len(case.relevance))
    result = _run(case, order, tmp_path)
    keys = ("bucket", "round", "feasible", "total", "reason")
    _check_rounds(case, [tuple(item[key] for key in keys) for item in result["rounds"]])
    _check_choices(case, _by_id(result["choices"], order))
    assert all(item["k"] == (case.shortlist and case.shortlist[0]) for item in result["rounds"])
    assert result["seconds"] >= 0
    assert result["peak_mib"] > 0


@every_case
def test_core_result_is_the_same_by_id_in_twenty_orders(case: MatchCase) -> None:
    n = len(case.relevance)
    expected = _by_id(_match(case, np.arange(n)).choices, np.arange(n))
    for seed in range(PERMUTATIONS):
        order = np.random.default_rng(seed).permutation(n)
        assert _by_id(_match(case, order).choices, order) == expected


@pytest.mark.parametrize("name", ["ties", "buckets", "verbatim_twins", "n30_lam0.01_s8"])
def test_command_result_is_the_same_by_id_in_twenty_orders(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    n = len(case.relevance)
    expected = _by_id(_run(case, np.arange(n), tmp_path)["choices"], np.arange(n))
    for seed in range(PERMUTATIONS):
        order = np.random.default_rng(seed).permutation(n)
        assert _by_id(_run(case, order, tmp_path)["choices"], order) == expected


class _GoldAlone(DenseWeights):
    """The other reading: similarity to the right response alone."""

    def hold(self, columns: NDArray[np.int64]) -> None:
        self.rules.forbid_held(self.values, columns)


def test_similarity_to_gold_alone_gives_the_documented_wrong_result() -> None:
    case = next(case for case in CASES if case.name == "max_over_assigned")
    raw = json.loads((CASE_FILES / "vcr_matching.json").read_text())
    wrong = next(item for item in raw["matching"] if item["name"] == case.name)["wrong_if_gold_only"]
    n = len(case.relevance)
    options = MatchOptions(similarity_weight=case.weight)
    similarity = symmetric_similarity(case.nli)
    weights = _GoldAlone(case.relevance, similarity, options, PairRules.make(n, options))
    assert match_rounds(weights, n, case.rounds).columns.T.tolist() == wrong
    assert wrong != [item["assignment"] for item in case.expected["all"]]


def test_reason_names_the_copies_that_need_a_larger_bucket() -> None:
    case = next(case for case in CASES if case.name == "verbatim_triplets")
    last = _match(case, np.arange(len(case.relevance))).rounds[-1]
    assert last.reason == (
        "3 copies of one text ('row 001', 'row 004', 'row 006') in a bucket of 7: "
        "3 rounds need at least 12 triplets"
    )


def test_there_are_cases_of_both_files() -> None:
    assert len(CASES) == 9 + 1 + 8 + 6
    assert {case.shortlist is None for case in CASES} == {True, False}
