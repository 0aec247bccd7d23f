"""The command that scores the published CSV, and evaluates predictions and people on a question set."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from curation.evaluation.choice_files import COLUMNS, format_predictions_csv
from curation.evaluation.choice_items import Stage, read_items
from curation.evaluation.choices import ChoiceKey, ChoicePredictions, accuracies, correct_choices
from curation.models import ChoiceEvaluation, ChoiceRound, QuestionSet
from curation.pipelines.evaluation.evaluate_choices import measure_predictions
from curation.selectors.choice_evaluations import predictions_csv
from curation.selectors.choice_items import question_set_items
from curation.selectors.stored_files import curation_files
from curation.services.choice_audits import store_audits
from curation.services.choice_rounds import ChoiceRoundOptions, launch_choice
from hits.models import Hit, Project
from tests.support.judging.work import Work
from tests.support.paths import CASES
from tests.support.vcr.question_sets import store_synthetic_set

ORACLES = json.loads((CASES / "vcr_matching.json").read_text())
FOLDS = {"train-0": 24, "val-0": 22, "test-0": 20}


def _run(*arguments: Any) -> dict[str, Any]:
    out = StringIO()
    call_command("evaluate_choices", *map(str, arguments), "--json", stdout=out, stderr=StringIO())
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def _write_case(folder: Path, case: dict[str, Any]) -> tuple[Path, Path]:
    """Write the key, and the predictions in another order of rows and columns."""
    ids = [f"val-{number}" for number in range(len(case["answer_label"]))]
    key, predictions = folder / "key.jsonl", folder / "predictions.csv"
    rows = zip(ids, case["answer_label"], case["rationale_label"], strict=True)
    key.write_text(
        "".join(
            json.dumps({"annot_id": name, "answer_label": answer, "rationale_label": rationale}) + "\n"
            for name, answer, rationale in rows
        )
    )
    scores = ChoicePredictions(np.array(case["answer"]), np.array(case["rationale_conditioned_on"]))
    header, *lines = (line.split(",") for line in "".join(format_predictions_csv(ids, scores)).split())
    order = [*range(1, 21), 0]
    predictions.write_text(
        "\n".join(",".join(np.array(line)[order].tolist()) for line in (header, *reversed(lines)))
    )
    return key, predictions


@pytest.mark.parametrize("case", ORACLES["measures"]["cases"], ids=["one", "ties"])
def test_accuracies_of_the_cases_are_exact(tmp_path: Path, case: dict[str, Any]) -> None:
    key, predictions = _write_case(tmp_path, case)
    found = _run("--answer-key", key, "--predictions", predictions)
    assert {name: found[name] for name in case["expected"]} == case["expected"]
    assert found["questions"] == found["images"] == len(case["answer_label"])
    assert found["chance"] == {"q_a": 0.25, "qa_r": 0.25, "q_ar": 0.0625}
    published = {row["name"]: row for row in found["published"]}
    assert [published["R2C"][name] for name in case["expected"]] == [0.638, 0.672, 0.431]
    assert "joint" not in found
    test = _run("--answer-key", key, "--predictions", predictions, "--split", "test")["published"]
    assert {row["name"]: row["q_ar"] for row in test}["People"] == 0.85


def test_lines_show_ours_beside_the_published(tmp_path: Path) -> None:
    key, predictions = _write_case(tmp_path, ORACLES["measures"]["cases"][1])
    out = StringIO()
    call_command("evaluate_choices", "--answer-key", str(key), "--predictions", str(predictions), stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Q→A: 20.0 % (7.5 to 32.5)"
    assert "  BERT, response only: 27.6 / 26.3 / 7.6" in lines


DEFECTS = {
    "19 columns": (lambda text: text.replace(f",{COLUMNS[5]}", "", 1), rf"line 1: '{COLUMNS[5]}' is missing"),
    "no line": (lambda text: text.rpartition("\n")[0], "no line for 'val-0'"),
    "nan": (lambda text: text.replace("0.278426", "nan"), r"line 9: answer_3 is 'nan'"),
    "doubled": (lambda text: f"{text}\n{text.rpartition(chr(10))[2]}", "line 10: 'val-0' is on line 9 too"),
    "extra": (lambda text: f"{text}\n{text.rpartition(chr(10))[2]}7", "line 10: 'val-07' is not a question"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_of_the_csv_is_one_line_with_status_2(tmp_path: Path, defect: str) -> None:
    key, predictions = _write_case(tmp_path, ORACLES["measures"]["cases"][0])
    spoil, message = DEFECTS[defect]
    predictions.write_text(spoil(predictions.read_text()))
    with pytest.raises(CommandError, match=message) as caught:
        _run("--answer-key", key, "--predictions", predictions)
    assert caught.value.returncode == 2
    assert str(caught.value).startswith(str(predictions))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--predictions", "p.csv"], "give --answer-key FILE, or --project and --set"),
        (["--answer-key", "k"], "give --predictions FILE; or, with a question set, --judgments or --chooser"),
        (["--answer-key", "k", "--judgments"], "--judgments: needs --set"),
        (["--answer-key", "k", "--chooser", "c"], "--chooser: needs --set"),
        (["--set", "s", "--chooser", "c", "--judgments"], "give --predictions FILE"),
        (["--answer-key", "none.jsonl", "--predictions", "p.csv"], r"none\.jsonl: cannot be read"),
        (
            ["--answer-key", "k", "--predictions", "p", "--changed", "dual=x"],
            "--changed dual=x: give NAME=FILE",
        ),
    ],
)
def test_wrong_options_are_one_line_with_status_2(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        _run(*arguments)
    assert caught.value.returncode == 2


@pytest.fixture
def question_set(project: Project) -> QuestionSet:
    return store_synthetic_set(project, FOLDS).question_set


def _predict(question_set: QuestionSet, path: Path, split: str = "", skill: float = 1.0) -> ChoicePredictions:
    """Write scores that are higher for right responses, and return them."""
    key = ChoiceKey.from_items(question_set_items(question_set, split))
    rng = np.random.default_rng(0)
    n = len(key.ids)
    scores = ChoicePredictions(rng.normal(size=(n, 4)), rng.normal(size=(n, 4, 4)))
    scores.answers[np.arange(n), key.answers] += skill
    scores.rationales[np.arange(n), :, key.rationales] += skill
    path.write_text("".join(format_predictions_csv(key.ids, scores)))
    return scores


@pytest.mark.django_db(transaction=True)
def test_predictions_on_a_set_are_stored_with_their_figures(
    question_set: QuestionSet, tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    scores = _predict(question_set, path, "val")
    where = ("--project", question_set.project.slug, "--set", "first", "--split", "val")
    found = _run(*where, "--predictions", path, "--label", "Tuned")
    key = ChoiceKey.from_items(question_set_items(question_set, "val"))
    assert {name: found[name] for name in ("q_a", "qa_r", "q_ar")} == accuracies(correct_choices(scores, key))
    row = ChoiceEvaluation.objects.get()
    assert (row.label, row.split, row.source) == ("Tuned", "val", "predictions")
    assert row.figures == measure_predictions(key, scores)
    assert row.figures["rounds"]["answer"]["questions"] == 22
    assert row.figures["joint"]["rationale"]["folds"] == 1
    stored = predictions_csv(row)
    assert stored is not None
    assert stored.read_text() == path.read_text()
    (listed,) = [file for file in curation_files() if file.kind == "choice evaluation"]
    assert listed.sha256 == row.provenance["sha256"]


@pytest.mark.django_db(transaction=True)
def test_drop_on_a_changed_copy_is_measured_on_its_questions(
    question_set: QuestionSet, tmp_path: Path
) -> None:
    copy, path, changed = tmp_path / "copy.jsonl", tmp_path / "p.csv", tmp_path / "changed.csv"
    where = ("--project", question_set.project.slug, "--set", "first")
    call_command("audit_choices", *where, "--perturb", "singular", "--out", str(copy), stdout=StringIO())
    key = ChoiceKey.from_items(read_items(copy))
    _predict(question_set, path, skill=50.0)
    wrong = ChoicePredictions(np.zeros((len(key.ids), 4)), np.zeros((len(key.ids), 4, 4)))
    changed.write_text("".join(format_predictions_csv(key.ids, wrong)))
    found = _run(
        *where, "--predictions", path, "--changed", f"singular={changed}", "--label", "Blind to faces"
    )
    drop = found["drops"]["singular"]
    assert drop["questions"] == len(key.ids)
    assert drop["q_a"]["before"] == 1.0
    assert drop["q_a"]["after"] == pytest.approx(float((key.answers == 0).mean()), abs=1e-6)
    assert drop["q_a"]["drop"] == pytest.approx(1 - drop["q_a"]["after"], abs=1e-6)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", ""], "label: is missing"),
        (["--label", "x", "--split", "dev"], "split: 'dev' is not known; use test, train, val, all"),
        (["--label", "x", "--changed", "plural=none.csv"], "none.csv: there is no such file"),
    ],
)
def test_predictions_on_a_set_that_do_not_fit_are_refused(
    question_set: QuestionSet, tmp_path: Path, arguments: list[str], message: str
) -> None:
    path = tmp_path / "p.csv"
    _predict(question_set, path)
    with pytest.raises(CommandError, match=message):
        _run("--project", question_set.project.slug, "--set", "first", "--predictions", path, *arguments)
    assert not ChoiceEvaluation.objects.exists()


def _ask_people(work: Work, question_set: QuestionSet, stage: Stage, right: int) -> ChoiceRound:
    """Launch a round of a stage over the test split, whose questions get ``right`` of three right votes."""
    options = ChoiceRoundOptions(stage=stage, sample=4, split="test", accept_stand_in=True)
    round_, _ = launch_choice(question_set=question_set, options=options, by=None)
    work.publish(round_.batch)
    for hit in Hit.objects.filter(unit__batch=round_.batch).order_by("unit__key"):
        label = hit.unit.payload["label"]
        for vote in range(3):
            choice = label if vote < right else (label + 1) % 4
            work.answered(hit, f"A{stage[0].upper()}{vote}WORKER", {"choice": choice})
    return round_


@pytest.mark.django_db(transaction=True)
def test_people_are_measured_by_their_majority(work: Work, question_set: QuestionSet) -> None:
    store_audits(question_set=question_set, audits={"over": []}, by=None)
    where = ("--project", question_set.project.slug, "--set", "first", "--split", "test", "--judgments")
    with pytest.raises(CommandError, match="people were not asked yet"):
        _run(*where)
    _ask_people(work, question_set, Stage.ANSWER, right=2)
    found = _run(*where)
    assert (found["q_a"], found["qa_r"], found["q_ar"]) == (1.0, None, None)
    _ask_people(work, question_set, Stage.RATIONALE, right=1)
    found = _run(*where)
    assert (found["q_a"], found["qa_r"], found["q_ar"]) == (1.0, 0.0, 0.0)
    assert found["counts"] == {"q_a": 4, "qa_r": 4, "q_ar": 4}
    assert found["people"] == {
        "first_on_ties": {"q_a": 1.0, "qa_r": 0.0, "q_ar": 0.0},
        "judgments": 24,
        "ties": 0,
    }
    with pytest.raises(CommandError, match="nobody has chosen on this split yet"):
        _run(*where[:4], "--split", "val", "--judgments")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judgments", "--changed", "plural=x"], "--changed: belongs to --predictions"),
        (["--judgments", "--perturb", "plural"], "--perturb: belongs to --chooser"),
        (["--chooser", "none"], "--chooser none: is no chooser of this project; ready are none yet"),
    ],
)
def test_options_of_another_subject_are_refused(
    question_set: QuestionSet, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        _run("--project", question_set.project.slug, "--set", "first", *arguments)
