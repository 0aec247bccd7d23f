"""Rules and checks of multiple-choice questions that do not look at the image."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from curation.evaluation.choice_checks import (
    absent_classes,
    frequent_texts,
    hubs,
    label_uniformity,
    near_copies,
    repeated_tags,
    source_counts,
)
from curation.evaluation.choice_items import (
    ChoiceItem,
    Stage,
    StageChoices,
    item_record,
    parse_item,
    plain_text,
    read_items,
    stage_questions,
)
from curation.evaluation.choice_shortcuts import (
    binomial_quantile,
    check_limit,
    has_negation,
    measure_rules,
    rule_shares,
    upper_chance_bound,
)
from curation.records import InvalidInput
from tests.support.paths import CASES

AUDITS = json.loads((CASES / "vcr_matching.json").read_text())["audits"]


def _item(
    *responses: list[Any],
    label: int = 0,
    objects: tuple[str, ...] = ("person", "person", "dog"),
    **facts: Any,
) -> ChoiceItem:
    stages = {Stage.ANSWER: StageChoices(tuple(map(plain_text, responses)), label, facts.pop("sources", ()))}
    return ChoiceItem(facts.pop("id", "q"), "i", objects, ("Why", "?"), stages, **facts)


def _questions(*items: ChoiceItem) -> Any:
    return stage_questions(items, Stage.ANSWER)


@pytest.mark.parametrize("stage", Stage)
def test_rules_of_the_case_are_exact(stage: Stage) -> None:
    items = [parse_item(record, "line 1") for record in AUDITS["items"]]
    found = measure_rules(stage_questions(items, stage))
    for audit, expected in AUDITS["expected"].items():
        assert found[audit].as_json() == expected[stage], audit


def test_rule_shares_give_equal_responses_equal_parts() -> None:
    scores = np.array([[1, 1, 0, 0], [0, 2, 2, 2], [3, 0, 0, 0]])
    found = rule_shares(scores, np.array([1, 3, 1]))
    assert found.first_on_ties == 0
    assert found.gold_among_best == pytest.approx(2 / 3)
    assert found.expected_on_ties == pytest.approx((1 / 2 + 1 / 3) / 3)


def test_items_written_and_read_are_equal() -> None:
    items = [parse_item(record | {"annot_id": record["id"]}, "line 1") for record in AUDITS["items"]]
    assert [parse_item(json.loads(json.dumps(item_record(item))), "line 1") for item in items] == items


def test_items_without_labels_have_no_stage_questions() -> None:
    record = {key: value for key, value in AUDITS["items"][0].items() if not key.endswith("label")}
    item = parse_item(record, "line 1")
    assert stage_questions([item], Stage.ANSWER) == []
    # The query of a rationale needs the right answer.
    assert stage_questions([parse_item(record | {"rationale_label": 0}, "line 1")], Stage.RATIONALE) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objects": None}, "objects must be a list"),
        ({"answer_choices": [["a"]] * 3}, "answer_choices must have 4 texts"),
        ({"question": ["Why", [4], "?"]}, "question: tag 4 is not one of the 4 objects"),
        (
            {"rationale_choices": [["a"], ["b"], ["c"], [["d"]]]},
            r"rationale_choices 3: \['d'\] is neither a word",
        ),
        ({"answer_label": 7}, "answer_label 7 is not 0 to 3"),
        ({"answer_sources": [1, 2]}, "answer_sources must have 4 whole numbers"),
    ],
)
def test_line_with_a_defect_names_the_field(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "val.jsonl"
    path.write_text(json.dumps(AUDITS["items"][0] | change))
    with pytest.raises(InvalidInput, match=f"line 1: {message}"):
        read_items(path)


def test_objects_come_from_the_metadata_folder(tmp_path: Path) -> None:
    path, names = tmp_path / "val.jsonl", AUDITS["items"][0]["objects"]
    record = {key: value for key, value in AUDITS["items"][0].items() if key != "objects"}
    path.write_text(json.dumps(record | {"metadata_fn": "m/a.json"}))
    (tmp_path / "m").mkdir()
    (tmp_path / "m/a.json").write_text(json.dumps({"names": names, "boxes": []}))
    assert read_items(path, tmp_path)[0].objects == tuple(names)
    path.write_text(json.dumps(record | {"metadata_fn": "m/a.json", "objects": ["person"]}))
    with pytest.raises(InvalidInput, match="its objects are not those of"):
        read_items(path, tmp_path)
    path.write_text(json.dumps(record | {"metadata_fn": "../a.json"}))
    with pytest.raises(InvalidInput, match="is not a file of the metadata folder"):
        read_items(path, tmp_path)


@pytest.mark.parametrize("n", [1, 40, 450, 1999])
@pytest.mark.parametrize("level", [0.05, 0.95])
def test_binomial_quantile_is_that_of_scipy(n: int, level: float) -> None:
    assert binomial_quantile(n, 0.25, level) == binom.ppf(level, n, 0.25)


def test_limit_is_wider_with_few_questions() -> None:
    many, few = (
        check_limit("tag_overlap", "answer", 0.275, 2000),
        check_limit("tag_overlap", "answer", 0.275, 400),
    )
    assert many is not None
    assert few is not None
    assert (many.high, many.is_over) == (0.27, True)
    assert few.high == pytest.approx(upper_chance_bound(400) + 0.01)
    assert not few.is_over
    low = check_limit("response_only", "answer", 0.21, 2000)
    assert low is not None
    assert low.is_over
    assert check_limit("word_overlap", "answer", 0.9, 2000) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("it is not on", 1), ("he doesn ' t sit", 1), ("a note on t shirts", 0), ("Nobody sits", 1)],
)
def test_negations_are_found(text: str, expected: int) -> None:
    assert has_negation((), tuple(text.split())) == expected


def test_near_copies_are_found_by_words_and_by_vectors() -> None:
    right = ["He", "takes", "the", "red", "cup", "."]
    item = _item(
        right, ["he", "takes", "the", "cup", "red", "."], ["She", "left", "."], ["Rain", "falls", "."]
    )
    (case,) = near_copies(_questions(item)).cases
    assert (case["choice"], case["jaccard"]) == (1, 1.0)
    with_vectors = near_copies(_questions(item), np.array([[1.0, 0.3, 0.96, 0.1]]))
    assert [found["choice"] for found in with_vectors.cases] == [1, 2]


def test_absent_classes_are_words_without_an_object() -> None:
    item = _item([[0], "sits"], ["The", "dog", "sits"], ["The", "Car", "stops"], ["Nothing"])
    other = _item(["a"], ["b"], ["c"], ["d"], objects=("car",), id="other")
    found = absent_classes(_questions(item, other))
    assert [(case["annot_id"], case["choice"], case["classes"]) for case in found.listing.cases] == [
        ("q", 2, ["car"])
    ]
    assert (found.right, found.wrong) == (0.0, pytest.approx(1 / 6))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ([[0], "is", "kissing", [0], "."], [0]),
        ([[0, 1], "follow", [1], "."], [1]),
        ([[0], "takes", [0], "'", "s", "coat", "."], []),
        ([[0], "sits", "and", [0], "eats", "."], []),
        ([[0], "sits", ".", [0], "eats"], []),
        ([[0], "looks", "at", [1], "."], []),
    ],
)
def test_repeated_tags_of_a_clause_are_found(text: list[Any], expected: list[int]) -> None:
    listing = repeated_tags(_questions(_item(["a"], text, ["c"], ["d"])))
    assert [case["objects"] for case in listing.cases] == ([expected] if expected else [])


def test_frequent_texts_are_wrong_more_than_three_times() -> None:
    texts = [[0], "sits", "."], [[1], "sits", "."]
    items = [_item(["mine", str(n)], texts[n % 2], ["b", str(n)], ["c", str(n)], id=str(n)) for n in range(4)]
    assert frequent_texts(_questions(*items)) == [{"text": "person sits.", "right": 0, "wrong": 4}]


def test_hubs_are_the_most_relevant_responses() -> None:
    found = hubs(np.array([0.1, 0.7, 0.3]), ["a", "b", "c"], limit=2)
    assert found == [{"response": "b", "mean_relevance": 0.7}, {"response": "c", "mean_relevance": 0.3}]


@pytest.mark.parametrize("counts", [(25, 25, 25, 25), (40, 20, 20, 20), (100, 5, 0, 0)])
def test_label_uniformity_has_the_p_of_scipy(counts: tuple[int, ...]) -> None:
    labels = np.repeat(np.arange(4), counts)
    found = label_uniformity(labels)
    assert found["counts"] == list(counts)
    assert found["p"] == pytest.approx(chi2.sf(found["chi_squared"], 3), rel=1e-9, abs=1e-300)


def _ring(n: int) -> list[ChoiceItem]:
    """Return a fold in which question i has the responses of the next three."""
    return [
        _item(
            ["a"],
            ["b"],
            ["c"],
            ["d"],
            sources=tuple((i + k) % n for k in range(4)),
            id=str(i),
            fold="f",
            match_index=i,
        )
        for i in range(n)
    ]


def test_sources_of_a_complete_fold_are_wrong_three_times() -> None:
    found = source_counts(_ring(6), Stage.ANSWER)
    assert found["times"] == {"3": 6}
    assert found["exceptions"].count == found["misplaced"].count == found["without_sources"] == 0
    # With a question missing, a response may be wrong less often.
    assert source_counts(_ring(6)[:-1], Stage.ANSWER)["exceptions"].count == 0


def test_sources_used_too_often_or_at_the_wrong_place_are_listed() -> None:
    items = _ring(6)
    items[2] = _item(["a"], ["b"], ["c"], ["d"], sources=(3, 0, 4, 5), id="2", fold="f", match_index=2)
    found = source_counts(items, Stage.ANSWER)
    assert [dict(case) for case in found["misplaced"].cases] == [{"annot_id": "2", "source": 3}]
    assert {(case["match_index"], case["wrong"]) for case in found["exceptions"].cases} == {(0, 4), (3, 2)}
