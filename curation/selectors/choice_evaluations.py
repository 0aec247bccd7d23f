"""Queries on evaluations of question sets: those of a project, people's votes, and stored predictions."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db.models import Count, QuerySet

from curation.evaluation.choice_items import Stage
from curation.evaluation.choice_people import StageVotes
from curation.models import ChoiceEvaluation, ChoiceRound, Question, QuestionSet
from curation.selectors.choice_votes import ItemVotes, read_votes
from hits.models import Project
from hits.selectors.images.stored_files import StoredFile

PREDICTIONS_CSV = "predictions.csv"
PILOT = "pilot"  # purpose of a round


def choice_evaluations(project: Project) -> "QuerySet[ChoiceEvaluation]":
    """Return the project's evaluations of question sets, newest first, including unfinished ones."""
    rows = ChoiceEvaluation.objects.filter(project=project)
    return rows.select_related("question_set", "job", "created_by")


def evaluated_splits(question_set: QuestionSet) -> list[tuple[str, int]]:
    """Return the splits of a set with their numbers of triplets, by name."""
    rows = Question.objects.filter(question_set=question_set, stage=Stage.ANSWER).order_by()
    return sorted(rows.values_list("split").annotate(count=Count("pk")))


def evaluation_path(evaluation: ChoiceEvaluation) -> str:
    """Return the folder of an evaluation's predictions, relative to the media folder; it is never served."""
    return f"choice-evaluations/{evaluation.pk}"


def predictions_csv(evaluation: ChoiceEvaluation) -> Path | None:
    """Return the stored predictions in the published layout, or None if there are none."""
    path = Path(settings.MEDIA_ROOT) / evaluation.path / PREDICTIONS_CSV
    return path if evaluation.path and path.is_file() else None


def choice_evaluation_files() -> Iterator[StoredFile]:
    """Yield the stored predictions of every evaluation."""
    for row in ChoiceEvaluation.objects.exclude(path="").iterator():
        yield StoredFile(
            "choice evaluation",
            f"{row.pk}",
            f"{row.path}/{PREDICTIONS_CSV}",
            row.provenance.get("sha256", ""),
        )


def voted_rounds(question_set: QuestionSet) -> list[ChoiceRound]:
    """Return the rounds whose votes count: those for human figures, or the pilots if there are no others."""
    rounds = list(ChoiceRound.objects.filter(question_set=question_set).order_by("pk"))
    return [row for row in rounds if row.purpose != PILOT] or rounds


def stage_votes(question_set: QuestionSet, split: str = "") -> dict[Stage, StageVotes]:
    """Return the votes of people on a set's questions by stage; a stage without votes is absent.

    The right response is that of the unit which people saw.

    Args:
        split: only questions of this split; empty for all.
    """
    rounds = voted_rounds(question_set)
    images = _image_of_questions(question_set, split)
    found: dict[Stage, list[ItemVotes]] = {stage: [] for stage in Stage}
    for pk, votes in read_votes(question_set.project, rounds).items():
        stage = next(Stage(row.stage) for row in rounds if row.pk == pk)
        found[stage] += [item for item in votes if item.annot_id in images]
    return {
        stage: StageVotes(
            ids=tuple(item.annot_id for item in items),
            images=tuple(images[item.annot_id] for item in items),
            votes=tuple(item.votes for item in items),
            labels=tuple(item.label for item in items),
        )
        for stage, items in found.items()
        if items
    }


def _image_of_questions(question_set: QuestionSet, split: str) -> dict[str, str]:
    """Return the image of each question by its published id."""
    rows = Question.objects.filter(question_set=question_set, stage=Stage.ANSWER).order_by()
    if split:
        rows = rows.filter(split=split)
    return {name: str(image) for name, image in rows.values_list("annot_id", "triplet__image_id").iterator()}
