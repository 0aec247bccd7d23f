"""What a model replied about one triplet, and the replies that the parser could not read."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from curation.evaluation.nleye_key import SWAPPED
from curation.models import ReplyCorrection, TripletEvaluation, TripletPrediction
from curation.selectors.triplets.evaluation_results import (
    explanations_of,
    grades_of,
    triplet_keys,
    triplet_predictions,
    triplet_results,
)
from curation.selectors.triplets.evaluations import (
    EvaluatedTriplet,
    refused_replies,
    version_triplets,
)
from curation.services.triplets.reply_corrections import ReadReply, correct_replies
from curation.views.pages import triplet_project_page
from curation.views.triplets.evaluation_charts import group_label
from curation.views.triplets.evaluation_pages import evaluation_context, get_answered_evaluation
from curation.views.triplets.result_parts import (
    CHOICE_LABELS,
    PRESENTATION_LABELS,
    ShownImage,
    shown_images,
    shown_results,
)
from hits.domain.answers.scene_facets import temporal_cell
from hits.models import Project
from hits.services.errors import Refused
from hits.views.pages import get_or_404, get_page
from hits.views.users import signed_in_user

REPLIES_PER_PAGE = 10
MAX_KEY_DIGITS = 18  # of a row's key
CHOICE_NAMES = {
    "first": "First image",
    "second": "Second image",
    "equal": "Both equally",
    "none": "None of them",
}


@dataclass(frozen=True, slots=True)
class ShownReply:
    """A reply about one presentation: what was read in it, by the parser or by a person, and what it chose.

    is_right: whether the position that it names holds gold. grades: the judge and its grade, of the explanation.
    """

    prediction: TripletPrediction
    presentation: str
    choice: str
    is_right: bool
    corrections: Sequence[ReplyCorrection]
    grades: Sequence[tuple[str, int | None]]

    @property
    def seen(self) -> int:
        """The key of the newest correction, 0 for none."""
        return self.corrections[-1].pk if self.corrections else 0


@require_safe
@triplet_project_page()
def evaluated_triplet(
    request: HttpRequest, project: Project, evaluation_id: int, number: int
) -> HttpResponse:
    """Show one triplet of an evaluation: images, gold, both replies as they came, and explanations."""
    row = get_answered_evaluation(project, evaluation_id)
    triplets, triplet = _find_triplet(row, number)
    predictions = list(triplet_predictions(row, triplet.id))
    position = triplets.index(triplet)
    result = shown_results(row, triplet_results(row, [triplet]))[0] if row.figures else None
    context = evaluation_context(project, row) | {
        "triplet": triplet,
        "triplet_key": triplet_keys(project, [triplet.id]).get(triplet.id),
        "facets": [
            group_label(triplet.row["reasoning_category"]),
            group_label(temporal_cell(triplet.row["time_direction"], triplet.row["time_duration"])),
            group_label(triplet.row["domain"]),
        ],
        "images": shown_images(project, triplet),
        "result": result,
        "replies": _shown_replies(predictions, triplet),
        "before": triplets[position - 1].number if position else None,
        "after": triplets[position + 1].number if position + 1 < len(triplets) else None,
    }
    return render(request, "curation/triplets/evaluations/triplet.html", context)


def _find_triplet(row: TripletEvaluation, number: int) -> tuple[Sequence[EvaluatedTriplet], EvaluatedTriplet]:
    """Return the evaluated triplets, and the one with this number in the version, or raise Http404."""
    assert row.version is not None
    triplets = version_triplets(row.version, row.options.get("split", ""))
    found = next((triplet for triplet in triplets if triplet.number == number), None)
    return triplets, get_or_404(found, "There is no such triplet in this evaluation.")


def _shown_replies(predictions: Sequence[TripletPrediction], triplet: EvaluatedTriplet) -> list[ShownReply]:
    explained = explanations_of([row.pk for row in predictions])
    grades: dict[int, list[tuple[str, int | None]]] = {}
    for grade in grades_of([row.pk for row in explained.values()]):
        grades.setdefault(grade.explanation_id, []).append((grade.evaluation.label, grade.grade))
    return [
        _shown_reply(row, triplet, grades.get(explained[row.pk].pk, []) if row.pk in explained else [])
        for row in predictions
    ]


def _shown_reply(
    row: TripletPrediction, triplet: EvaluatedTriplet, grades: Sequence[tuple[str, int | None]]
) -> ShownReply:
    corrections = list(row.corrections.all())
    choice = corrections[-1].choice if corrections else row.choice or row.reason
    text = CHOICE_LABELS.get(choice, choice) if row.score is None else f"{row.score:g}"
    gold_position = triplet.row["gold"] if row.presentation != SWAPPED else 3 - triplet.row["gold"]
    is_right = choice == ("first" if gold_position == 1 else "second")
    return ShownReply(row, PRESENTATION_LABELS[row.presentation], text, is_right, corrections, grades)


@dataclass(frozen=True, slots=True)
class UnreadReply:
    """A reply that the parser could not read, with the images in the order in which the model saw them."""

    reply: ShownReply
    number: int
    images: Sequence[ShownImage]
    field: str


@require_safe
@triplet_project_page()
def triplet_replies(request: HttpRequest, project: Project, evaluation_id: int) -> HttpResponse:
    """Show the replies that the parser could not read; those that nobody has read come first."""
    row = get_answered_evaluation(project, evaluation_id)
    waiting = refused_replies(row).filter(corrections=None)
    done = refused_replies(row).exclude(corrections=None).distinct()
    shows_done = request.GET.get("show") == "read"
    rows = (done if shows_done else waiting).prefetch_related("corrections__by")
    page = get_page(request, rows, REPLIES_PER_PAGE)
    context = evaluation_context(project, row) | {
        "page": page,
        "shows_done": shows_done,
        "replies": _unread_replies(project, row, list(page)),
        "waiting": waiting.count(),
        "done": done.count(),
        "choices": CHOICE_NAMES.items(),
    }
    return render(request, "curation/triplets/evaluations/replies.html", context)


def _unread_replies(
    project: Project, row: TripletEvaluation, predictions: Sequence[TripletPrediction]
) -> list[UnreadReply]:
    if not predictions:
        return []
    assert row.version is not None
    triplets = {found.id: found for found in version_triplets(row.version, row.options.get("split", ""))}
    found = []
    for prediction in predictions:
        triplet = triplets[prediction.instance_id]
        premise, first, second = shown_images(project, triplet)
        order = [premise, second, first] if prediction.presentation == SWAPPED else [premise, first, second]
        reply = _shown_reply(prediction, triplet, [])
        found.append(UnreadReply(reply, triplet.number, order, f"choice-{prediction.pk}"))
    return found


@require_POST
@triplet_project_page()
def correct_triplet_replies(request: HttpRequest, project: Project, evaluation_id: int) -> HttpResponse:
    """Store what a person read in the replies of a page; those left open stay open."""
    row = get_answered_evaluation(project, evaluation_id)
    replies = {
        int(key): ReadReply(choice, _seen(request, key))
        for name, choice in request.POST.items()
        if (key := name.removeprefix("choice-")) != name
        and _is_key(key)
        and isinstance(choice, str)
        and choice
    }
    if not replies:
        messages.error(request, "Nothing stored: choose what at least one reply says.")
        return redirect("triplet-evaluation-replies", project.slug, row.pk)
    try:
        stored = correct_replies(evaluation=row, replies=replies, by=signed_in_user(request))
    except Refused as error:
        messages.error(request, f"Nothing stored: {str(error).rstrip('.')}.")
    else:
        noun = "reply" if len(stored) == 1 else "replies"
        messages.success(request, f"{len(stored)} {noun} stored. The figures count them.")
    return redirect("triplet-evaluation-replies", project.slug, row.pk)


def _is_key(text: str) -> bool:
    return text.isdecimal() and len(text) <= MAX_KEY_DIGITS


def _seen(request: HttpRequest, key: str) -> int:
    given = str(request.POST.get(f"seen-{key}", "0"))
    return int(given) if _is_key(given) else 0
