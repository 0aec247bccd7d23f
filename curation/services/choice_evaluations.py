"""Request evaluations of multiple-choice questions, and store their results. A pipeline computes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.evaluation.choice_items import Stage
from curation.evaluation.perturb import RENAMINGS, is_perturbation
from curation.models import ChoiceEvaluation, Chooser, EvaluationSource, QuestionSet
from curation.selectors.choice_evaluations import evaluated_splits, voted_rounds
from curation.selectors.jobs import EVALUATE_CHOICES
from curation.services.options import check_one_of
from curation.versions.splits import Split
from hits.domain.hashing import content_sha256
from hits.models import Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

PEOPLE_LABEL = "People"
MAX_LABEL_LENGTH, MAX_TITLE_LENGTH = 80, 160
ALL = "all"


@dataclass(frozen=True, slots=True)
class PredictionFiles:
    """Files in the published layout: ``csv`` of the questions, and ``changed`` by the name of a changed copy."""

    csv: Path
    changed: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_perturbations("changed", self.changed)
        for path in (self.csv, *self.changed.values()):
            if not path.is_file():
                raise Refused(f"{path}: there is no such file; check the path")

    def as_options(self) -> dict[str, Any]:
        """Return the files' absolute paths."""
        changed = {name: str(path.absolute()) for name, path in self.changed.items()}
        return {"predictions": str(self.csv.absolute()), "changed": changed}


def request_file_evaluation(
    *,
    question_set: QuestionSet,
    split: str,
    files: PredictionFiles,
    label: str,
    by: AbstractBaseUser | None,
    queue: bool = True,
) -> ChoiceEvaluation:
    """Create and queue an evaluation of predictions; the worker must be able to read the files.

    Args:
        split: a split of the set; empty or ``all`` for all questions. label: its name in tables.

    Raises:
        Refused: the label is missing, or the set has no such split.
        Conflict: the same evaluation is running.
    """
    if not label.strip():
        raise Refused("label: is missing; name these predictions")
    return _create_and_queue(
        question_set, split, EvaluationSource.PREDICTIONS, label, files.as_options(), by, queue=queue
    )


def request_chooser_evaluation(
    *,
    question_set: QuestionSet,
    split: str,
    chooser: Chooser,
    by: AbstractBaseUser | None,
    perturb: Sequence[str] = (),
    label: str = "",
    queue: bool = True,
) -> ChoiceEvaluation:
    """Create and queue an evaluation of a trained chooser.

    Args:
        perturb: changed copies of the questions to measure its losses on, such as ``singular`` or ``mask-top1``.
        label: its name in tables; by default the chooser's.

    Raises:
        Refused: the chooser has not both stages, is of another project, or was trained on these questions.
        Conflict: the same evaluation is running.
    """
    _check_perturbations("perturb", perturb)
    if not chooser.is_ready or not all(stage.value in chooser.figures for stage in Stage):
        raise Refused(f"chooser {chooser.name}: both stages must be trained; train it with --stage both")
    if chooser.project_id != question_set.project_id:
        raise Refused(
            f"chooser {chooser.name}: is another project's; choose one of {question_set.project.name}"
        )
    if chooser.question_set_id == question_set.pk and split in {"", ALL, Split.TRAIN}:
        raise Refused(
            f"split: {chooser.name} was trained on the questions of train; use {Split.VAL} or {Split.TEST}"
        )
    options = {"chooser": chooser.pk, "perturb": list(perturb)}
    source = EvaluationSource.SCORER
    return _create_and_queue(question_set, split, source, label or chooser.name, options, by, queue=queue)


def request_people_evaluation(
    *,
    question_set: QuestionSet,
    split: str,
    by: AbstractBaseUser | None,
    label: str = PEOPLE_LABEL,
    queue: bool = True,
) -> ChoiceEvaluation:
    """Create and queue an evaluation of the majority of people.

    Raises:
        Refused: the set has no such split, or nobody was asked.
        Conflict: the same evaluation is running.
    """
    if not voted_rounds(question_set):
        raise Refused(f"set {question_set.name}: people were not asked yet; launch a choice round")
    source = EvaluationSource.JUDGMENTS
    return _create_and_queue(question_set, split, source, label or PEOPLE_LABEL, {}, by, queue=queue)


def store_choice_result(
    *,
    evaluation: ChoiceEvaluation,
    figures: Mapping[str, Any],
    provenance: Mapping[str, Any],
    path: str = "",
) -> bool:
    """Store an evaluation's result unless it has one; return whether it was stored."""
    rows = ChoiceEvaluation.objects.filter(pk=evaluation.pk, figures={})
    return bool(rows.update(figures=dict(figures), provenance=dict(provenance), path=path))


def _create_and_queue(
    question_set: QuestionSet,
    split: str,
    source: EvaluationSource,
    label: str,
    options: Mapping[str, Any],
    by: AbstractBaseUser | None,
    *,
    queue: bool,
) -> ChoiceEvaluation:
    project: Project = question_set.project
    chosen = _check_split(question_set, split)
    label = " ".join(label.split())[:MAX_LABEL_LENGTH]
    key = content_sha256([question_set.pk, chosen, source, label, options])[:32]
    with transaction.atomic():
        row = ChoiceEvaluation.objects.create(
            project=project,
            question_set=question_set,
            split=chosen,
            source=source.value,
            label=label,
            options=dict(options),
            created_by_id=by.pk if by else None,
        )
        row.job = jobs.enqueue(
            task=EVALUATE_CHOICES,
            title=f"Evaluate {label} on {question_set.name}, {chosen or 'all splits'}"[:MAX_TITLE_LENGTH],
            project=project,
            by=by,
            exclusive_key=f"evaluate-choices:{key}",
            resumable=True,
            queue=queue,
            evaluation=row.pk,
        )
        row.save(update_fields=["job"])
        audit.record(
            project=project, actor=by, action="choice_evaluation.request", subject=row.pk, label=label
        )
    return row


def _check_perturbations(option: str, names: Iterable[str]) -> None:
    unknown = [name for name in names if not is_perturbation(name)]
    if unknown:
        raise Refused(
            f"{option}: {unknown[0]!r} is not known; use {', '.join(RENAMINGS)}, mask-top1 or keep-top3"
        )


def _check_split(question_set: QuestionSet, split: str) -> str:
    """Return the split as rows spell it: empty for all."""
    known = dict(evaluated_splits(question_set))
    if not known:
        raise Refused(f"set {question_set.name}: has no questions yet; wait until it is built")
    if split in {"", ALL}:
        return ""
    check_one_of("split", split, [*known, ALL])
    return split
