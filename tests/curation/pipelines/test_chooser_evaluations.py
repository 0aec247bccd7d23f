"""Choosers are evaluated on a question set: on stored predictions, on a held split, and on changed copies."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from PIL import Image as Pillow

from curation.evaluation.choice_files import read_predictions_csv
from curation.evaluation.choices import ChoiceKey, accuracies, correct_choices
from curation.models import ChoiceEvaluation, Chooser, QuestionSet
from curation.selectors.choice_items import question_set_items
from curation.selectors.choosers import chooser_folder
from curation.services.choice_evaluations import request_chooser_evaluation
from hits.models import Image, Project
from hits.services.errors import Refused
from hits.services.images.take_down import take_down_image
from tests.support.vcr.question_sets import store_synthetic_set

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_thread")]
TRAINING = {
    "recipe": "tiny",
    "batch_size": 4,
    "epochs": 1,
    "device": "cpu",
    "precision": "fp32",
    "patience": 0,
}


@pytest.fixture
def question_set(project: Project) -> QuestionSet:
    stored = store_synthetic_set(project, {"train-0": 8, "val-0": 8, "test-0": 12}, seed=3)
    for image in Image.objects.filter(project=project):
        Pillow.new("RGB", (640, 480)).save(Path(settings.MEDIA_ROOT) / image.file.name)
    return stored.question_set


@pytest.fixture
def chooser(question_set: QuestionSet, capsys: pytest.CaptureFixture[str]) -> Chooser:
    where = ("--project", question_set.project.slug, "--set", question_set.name)
    options = [
        text for name, value in TRAINING.items() for text in (f"--{name.replace('_', '-')}", str(value))
    ]
    call_command("train_chooser", *where, "--name", "Words", "--model", "text-only:tiny", *options, "--json")
    capsys.readouterr()
    return Chooser.objects.get()


def _evaluate(chooser: Chooser, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    where = ("--project", chooser.project.slug, "--set", "first", "--chooser", chooser.name)
    call_command("evaluate_choices", *where, *more, "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def test_stored_predictions_of_the_validation_questions_are_measured(
    chooser: Chooser, question_set: QuestionSet, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _evaluate(chooser, capsys, "--split", "val")
    key = ChoiceKey.from_items(question_set_items(question_set, "val"))
    predictions = read_predictions_csv(chooser_folder(chooser) / "predictions-val.csv", key.ids)
    expected = accuracies(correct_choices(predictions, key))
    assert {name: found[name] for name in expected} == expected
    row = ChoiceEvaluation.objects.get()
    assert (row.source, row.label) == ("scorer", "Words")
    assert row.provenance["weights_sha256"] == chooser.weights_sha256
    assert 100 * (expected["q_a"] or 0) == pytest.approx(chooser.figures["answer"]["accuracy"])


def test_held_questions_and_changed_copies_are_predicted(
    chooser: Chooser, question_set: QuestionSet, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = question_set.questions.filter(split="test").select_related("triplet__image").first()
    assert gone is not None
    assert gone.triplet.image is not None
    take_down_image(image=gone.triplet.image, by=None, reason="asked for")
    left = (
        12
        - question_set.questions.filter(
            split="test", stage="answer", triplet__image=gone.triplet.image
        ).count()
    )
    found = _evaluate(chooser, capsys, "--split", "test", "--perturb", "singular, mask-top1")
    assert found["questions"] == left
    assert found["drops"]["mask-top1"]["questions"] == left
    assert found["drops"]["singular"]["questions"] < left
    row = ChoiceEvaluation.objects.get()
    assert row.provenance["left_out"] == 12 - left
    assert not list(Path(settings.MEDIA_ROOT).glob("tmp*")), "no folder of questions is left"


def test_evaluation_of_training_questions_is_refused(chooser: Chooser, question_set: QuestionSet) -> None:
    for split in ("", "all", "train"):
        with pytest.raises(Refused, match="was trained on the questions of train; use val or test"):
            request_chooser_evaluation(question_set=question_set, split=split, chooser=chooser, by=None)


def test_chooser_that_does_not_fit_is_refused(
    chooser: Chooser, question_set: QuestionSet, rehearsal: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="perturb: 'dual' is not known"):
        _evaluate(chooser, capsys, "--split", "val", "--perturb", "dual")
    request: dict[str, Any] = {"question_set": question_set, "split": "val", "by": None}
    chooser.figures = {"answer": {}}
    with pytest.raises(Refused, match="both stages must be trained"):
        request_chooser_evaluation(chooser=chooser, **request)
    chooser.refresh_from_db()
    chooser.project = rehearsal
    with pytest.raises(Refused, match="is another project's"):
        request_chooser_evaluation(chooser=chooser, **request)
    assert not ChoiceEvaluation.objects.exists()
