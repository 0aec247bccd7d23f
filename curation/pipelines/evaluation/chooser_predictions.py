"""The predictions of a trained chooser on a split of a question set, and on changed copies of its questions."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from curation.chooser.config import ChooserConfig
from curation.evaluation.choice_files import read_partial_predictions_csv
from curation.evaluation.choices import ChoicePredictions
from curation.models import Chooser, QuestionSet
from curation.pipelines.training.chooser_files import write_set_questions
from curation.pipelines.training.train_chooser import PREDICTIONS_FILE
from curation.records import InvalidInput
from curation.selectors.choosers import chooser_folder
from curation.versions.splits import Split

Scored = tuple[list[str], ChoicePredictions]
"""Ids of questions, and their scores in this order."""


@dataclass(frozen=True, slots=True)
class PredictedSet:
    """A chooser's scores of the questions, those of changed copies by name, and the number of omitted questions."""

    scored: Scored
    changed: Mapping[str, Scored]
    left_out: int


def predict_question_set(
    chooser: Chooser,
    question_set: QuestionSet,
    split: str,
    *,
    ids: Sequence[str],
    perturb: Sequence[str] = (),
    report_step: Callable[[], None] = lambda: None,
) -> PredictedSet:
    """Return a chooser's scores. Those of its own validation questions were stored after training.

    Questions of photos that were taken down are omitted.

    Args:
        ids: all questions of the split. perturb: names of changed copies to score too. report_step: called after the
            questions and after each copy; may raise to stop.

    Raises:
        InvalidInput: an image is missing, or no question remains.
    """
    stored = chooser_folder(chooser) / PREDICTIONS_FILE
    is_own = chooser.question_set_id == question_set.pk and split == Split.VAL
    if is_own and not perturb and stored.is_file():
        scored = read_partial_predictions_csv(stored, ids)
        report_step()
        return PredictedSet(scored, {}, len(ids) - len(scored[0]))
    with tempfile.TemporaryDirectory(dir=settings.MEDIA_ROOT) as folder:
        path = Path(folder) / "questions.jsonl"
        left_out = write_set_questions(chooser, question_set, split, path)
        return _predict_file(chooser, path, perturb, left_out, report_step)


def _predict_file(
    chooser: Chooser, path: Path, perturb: Sequence[str], left_out: int, report_step: Callable[[], None]
) -> PredictedSet:
    from curation.chooser.chooser import open_run, perturb_with_choosers, predict_choices
    from curation.chooser.questions import read_image_items

    config = ChooserConfig.from_json(chooser.config)
    answers, rationales = open_run(chooser_folder(chooser), config, Path(settings.MEDIA_ROOT))
    items = read_image_items(path)
    if not items:
        raise InvalidInput("questions: none has both stages and an available photo; choose another split")
    scored = predict_choices(answers, rationales, items)
    report_step()
    changed: dict[str, Any] = {}
    for name in perturb:
        copies = perturb_with_choosers(answers, rationales, items, name)
        if copies:  # a small split may have no question to which it applies
            changed[name] = predict_choices(answers, rationales, copies)
        report_step()
    return PredictedSet(scored, changed, left_out)
