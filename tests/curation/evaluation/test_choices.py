"""Q→A, QA→R and Q→AR, the majority of people, and the files of the published leaderboard."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.evaluation.choice_files import (
    COLUMNS,
    format_predictions_csv,
    parse_predictions_csv,
    read_answer_key_lines,
    read_predictions_csv,
)
from curation.evaluation.choice_items import Stage, StageChoices
from curation.evaluation.choice_people import StageVotes, majority_figures
from curation.evaluation.choices import (
    ChoiceKey,
    ChoicePredictions,
    accuracies,
    choice_figures,
    correct_choices,
    correct_majorities,
    drop_figures,
    joint_lift,
    most_voted,
    round_figures,
)
from curation.evaluation.intervals import ratio_figure
from curation.records import InvalidInput
from tests.support.paths import CASES

ORACLES = json.loads((CASES / "vcr_matching.json").read_text())
IDS = ("a", "b", "c")


def _key(answers: Sequence[int], rationales: Sequence[int], images: Sequence[str] = ()) -> ChoiceKey:
    ids = tuple(f"q{number}" for number in range(len(answers)))
    labels = {Stage.ANSWER: answers, Stage.RATIONALE: rationales}
    choices = {stage: [StageChoices((), label) for label in found] for stage, found in labels.items()}
    return ChoiceKey.from_rows(ids, images or ids, [""] * len(ids), choices)


def _case(case: dict[str, Any]) -> tuple[ChoicePredictions, ChoiceKey]:
    scores = ChoicePredictions(np.array(case["answer"]), np.array(case["rationale_conditioned_on"]))
    return scores, _key(case["answer_label"], case["rationale_label"])


def _text(**rows: Sequence[float]) -> bytes:
    lines = [",".join(COLUMNS)]
    lines += [",".join([name, *map(str, values)]) for name, values in rows.items()]
    return ("\n".join(lines) + "\n").encode()


def _parse(text: bytes, ids: Sequence[str] = IDS) -> ChoicePredictions:
    return parse_predictions_csv(io.BytesIO(text), "P.csv", ids)


@pytest.mark.parametrize("case", ORACLES["measures"]["cases"], ids=["one", "ties"])
def test_accuracies_of_the_cases_are_exact(case: dict[str, Any]) -> None:
    assert accuracies(correct_choices(*_case(case))) == case["expected"]


def test_rationales_given_wrong_answers_are_not_read() -> None:
    # In each block another rationale has the highest score; only the block of the right answer has the right one.
    blocks = np.eye(4)[None, [3, 2, 1, 0]]
    for answer in range(4):
        scores = ChoicePredictions(np.eye(4)[None, 0], blocks)
        for rationale in range(4):
            correct = correct_choices(scores, _key([answer], [rationale]))
            assert correct.rationales[0] == (rationale == 3 - answer)


def test_first_of_equal_scores_is_chosen() -> None:
    scores = ChoicePredictions(np.array([[0.0, 1, 1, 0]] * 2), np.zeros((2, 4, 4)))
    correct = correct_choices(scores, _key([1, 2], [0, 1]))
    assert correct.answers.tolist() == [1, 0]
    assert correct.rationales.tolist() == [1, 0]
    assert correct.q_ar.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["majority", "majority_2"])
def test_majority_of_the_cases_is_exact(name: str) -> None:
    case = ORACLES[name]
    correct = correct_majorities(case["votes"], case["label"])
    assert [most_voted(votes) for votes in case["votes"]] == case["most_voted"]
    assert correct.first.mean() == pytest.approx(case["expected"]["first_on_ties"], abs=1e-15)
    assert correct.expected.mean() == pytest.approx(case["expected"]["expected_on_ties"], abs=1e-15)


def test_majority_without_a_vote_names_the_item() -> None:
    with pytest.raises(InvalidInput, match="item 1 has none"):
        correct_majorities([[0], []], [0, 0])


def test_figures_are_percent_and_their_intervals_draw_whole_images() -> None:
    # Sixty images of three equal questions each: drawing questions would give an interval narrower by √3.
    right = np.repeat([1.0, 0.0] * 30, 3)
    images = [f"i{number}" for number in range(60) for _ in range(3)]
    key = _key([0] * 180, [0] * 180, images)
    answers = np.where(right[:, None] > 0, np.eye(4)[0], np.eye(4)[1])
    correct = correct_choices(ChoicePredictions(answers, np.zeros((180, 4, 4))), key)
    figures = choice_figures(correct, images, rng=np.random.default_rng(0))
    assert figures["q_a"]["value"] == 50.0
    assert figures["questions"] == 180
    assert figures["images"] == 60
    width = figures["q_a"]["high"] - figures["q_a"]["low"]
    singly = ratio_figure(100 * right, np.arange(180), rng=np.random.default_rng(0))
    assert singly.low is not None
    assert singly.high is not None
    assert width > 1.5 * (singly.high - singly.low)


def test_ratio_figure_without_values_has_none() -> None:
    empty = ratio_figure(np.zeros(0), np.zeros(0, dtype=int), rng=np.random.default_rng(0))
    assert empty.as_json() == {"value": None, "low": None, "high": None}


def test_round_figures_count_the_chosen_wrong_responses() -> None:
    labels = np.array([0, 1, 0, 3])
    rounds = np.array([[0, 1, 2, 3], [2, 0, 3, 1], [0, 3, 1, 2], [1, 2, 3, 0]])
    scores = np.array([[9, 1, 2, 3], [5, 4, 4, 3], [1, 0, 0, 2], [3, 1, 2, 3]], dtype=float)
    found = round_figures(scores, labels, rounds)
    assert found["questions"] == 4
    assert [found[str(number)]["chosen"] for number in (1, 2, 3)] == [25.0, 50.0, 0.0]
    # Round 1: 1 below 9, 3 below 4, 0 below 1, and an equal one.
    assert [found[str(number)]["right_above"] for number in (1, 2, 3)] == [87.5, 50.0, 87.5]


def test_joint_lift_is_a_difference_in_points() -> None:
    lift = joint_lift(np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 0, 0]))
    assert lift == {"alone": 25.0, "together": 50.0, "lift": 25.0}


def test_csv_written_and_read_in_another_order_is_equal() -> None:
    rng = np.random.default_rng(0)
    scores = ChoicePredictions(rng.normal(size=(3, 4)), rng.normal(size=(3, 4, 4)))
    text = "".join(format_predictions_csv(IDS, scores))
    header, *lines = text.splitlines()
    order = [0, *range(20, 0, -1)]
    mixed = [",".join(np.array(line.split(","))[order]) for line in (header, *reversed(lines))]
    for written in (text.encode(), "\r\n".join(mixed).encode(), b"\xef\xbb\xbf" + text.encode()):
        found = _parse(written)
        assert np.array_equal(found.answers, scores.answers)
        assert np.array_equal(found.rationales, scores.rationales)


GOOD = {name: [float(value) for value in range(20)] for name in IDS}
DEFECTS: dict[str, tuple[bytes, str]] = {
    "missing id": (_text(a=GOOD["a"], c=GOOD["c"]), r"P\.csv: no line for 'b'"),
    "extra id": (_text(**GOOD, d=GOOD["a"]), r"line 5: 'd' is not a question"),
    "doubled id": (_text(**GOOD) + _text(b=GOOD["b"]).splitlines()[1], r"line 5: 'b' is on line 3 too"),
    "nan": (
        _text(**GOOD | {"b": [*GOOD["b"][:19], float("nan")]}),
        r"line 3: rationale_conditioned_on_a3_3 is 'nan'",
    ),
    "infinite": (_text(**GOOD | {"c": [float("inf"), *GOOD["b"][1:]]}), r"line 4: answer_0 is 'inf'"),
    "word": (_text(**GOOD).replace(b"a,0.0", b"a,high"), r"line 2: answer_0 is 'high'"),
    "19 columns": (
        "\n".join(line.rpartition(",")[0] for line in _text(**GOOD).decode().splitlines()).encode(),
        r"line 1: 'rationale_conditioned_on_a3_3' is missing",
    ),
    "19 values": (
        _text(**GOOD | {"b": GOOD["b"][:19]}),
        r"line 3: has 19 values after the id; it must have 20",
    ),
    "21 values": (_text(**GOOD | {"b": [*GOOD["b"], 1.0]}), r"line 3: has 21 values"),
    "unknown column": (_text(**GOOD).replace(b"answer_0", b"answer_4", 1), r"line 1: 'answer_0' is missing"),
    "doubled column": (
        _text(**GOOD).replace(b"annot_id,", b"annot_id,answer_1,", 1),
        r"'answer_1' is there twice",
    ),
    "empty": (b"", r"line 1: 'annot_id' and 20 more is missing"),
    "not UTF-8": (_text(**GOOD).replace(b"\nb", b"\n\xff"), r"is not CSV in UTF-8"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_csv_with_a_defect_names_the_line(defect: str) -> None:
    text, message = DEFECTS[defect]
    with pytest.raises(InvalidInput, match=message):
        _parse(text)


def test_missing_csv_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.csv: cannot be read"):
        read_predictions_csv(tmp_path / "none.csv", IDS)


def test_answer_key_reads_published_lines(tmp_path: Path) -> None:
    path = tmp_path / "val.jsonl"
    lines = [
        {"annot_id": "val-0", "img_id": "val-7", "answer_label": 1, "rationale_label": 3, "movie": "m"}
        | {"match_fold": "val-0", "answer_sources": [4, 0, 2, 3]},
        {"annot_id": "val-1", "img_fn": "m/c@1.jpg", "answer_label": 0, "rationale_label": 0},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    key = read_answer_key_lines(path)
    assert key.ids == ("val-0", "val-1")
    assert key.images == ("val-7", "m/c@1.jpg")
    assert (key.answers.tolist(), key.rationales.tolist()) == ([1, 0], [3, 0])
    assert key.folds == ("val-0", "")
    assert key.stages[Stage.ANSWER].sources.tolist() == [[4, 0, 2, 3], [-1, -1, -1, -1]]
    assert key.take([1]).ids == ("val-1",)
    assert key.take([1, 0]).answers.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"answer_label": 1, "rationale_label": 1}, "line 2: has no annot_id"),
        ({"annot_id": "a", "answer_label": 1, "rationale_label": 1}, "line 2: annot_id a is that of line 1"),
        ({"annot_id": "b", "answer_label": 1}, "line 2: has no rationale_label"),
        ({"annot_id": "b", "answer_label": 4, "rationale_label": 1}, "line 2: answer_label 4 is not 0 to 3"),
        ({"annot_id": "b", "answer_label": True, "rationale_label": 1}, "line 2: answer_label True"),
        ([1], "line 2: is not a JSON object"),
    ],
)
def test_answer_key_with_a_defect_names_the_line(tmp_path: Path, line: Any, message: str) -> None:
    path = tmp_path / "key.jsonl"
    good = {"annot_id": "a", "answer_label": 1, "rationale_label": 1}
    path.write_text(f"{json.dumps(good)}\n{json.dumps(line)}\n")
    with pytest.raises(InvalidInput, match=message):
        read_answer_key_lines(path)


def test_majority_of_both_stages_is_a_product_with_ties_shared() -> None:
    answers = StageVotes(("a", "b", "c"), ("i", "i", "j"), ((0, 0, 1), (0, 1), (2, 2)), (0, 1, 0))
    rationales = StageVotes(("b", "a"), ("i", "i"), ((3, 3), (1, 2)), (3, 1))
    rng = np.random.default_rng(0)
    found = majority_figures({Stage.ANSWER: answers, Stage.RATIONALE: rationales}, rng=rng)
    choices = found["choices"]
    assert [choices[name]["value"] for name in ("q_a", "qa_r", "q_ar")] == [50.0, 75.0, 50.0]
    assert choices["counts"] == {"q_a": 3, "qa_r": 2, "q_ar": 2}
    assert (choices["questions"], choices["images"]) == (3, 2)
    assert found["people"]["first_on_ties"] == pytest.approx({"q_a": 100 / 3, "qa_r": 100.0, "q_ar": 50.0})
    assert found["people"]["judgments"] == 11
    assert found["people"]["ties"] == 2


def test_drop_is_measured_on_the_changed_questions_alone() -> None:
    key = _key([0, 0, 1, 1], [0, 0, 0, 0])
    scores = ChoicePredictions(np.eye(4)[[0, 0, 1, 0]], np.tile(np.eye(4)[0], (4, 4, 1)))
    changed = scores.take([3, 0])
    found = drop_figures(key, scores, ["q0", "q2"], changed)
    assert found["questions"] == 2
    assert found["q_a"] == {"before": 100.0, "after": 50.0, "drop": 50.0}
    assert found["qa_r"]["drop"] == 0.0
    with pytest.raises(InvalidInput, match="'q9' is not a question of the key"):
        drop_figures(key, scores, ["q9"], changed.take([0]))
