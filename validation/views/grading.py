"""The grading page: one pair at a time. Its script prefetches pairs; without it, each grade is a form post."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse, RawPostDataException
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from hits import registry
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import section_context
from hits.views.users import signed_in_user
from validation.models import Grade, QualificationRound
from validation.selectors.grading import PairKey, grading_queue
from validation.services.grading import MAX_NOTE_LENGTH, GradeInput, save_grade, save_grades
from validation.views.rounds import get_round_or_404

MAX_GRADES = 100  # in one request
MAX_PHRASES = 8
_GRADES_BY_CODE = {"yes": True, "no": False, "back": None}


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def grading(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Show the next pair, or save one grade that was posted without JavaScript."""
    qualification_round = get_round_or_404(project, round_id)
    if request.method == "POST":
        return _save_posted_grade(request, qualification_round)
    after = PairKey.parse(request.GET.get("after", ""))
    queue = grading_queue(
        qualification_round,
        signed_in_user(request),
        start=PairKey.parse(request.GET.get("at", "")),
        after=after,
    )
    if not queue.cards and after is not None:
        # Restart from the beginning, for pairs that were skipped.
        queue = grading_queue(qualification_round, signed_in_user(request))
    item, items = registry.get_kind(qualification_round.batch.kind).record_word
    context = section_context(project, "people", "applicants") | {
        "round": qualification_round,
        "queue": queue,
        "card": queue.cards[0] if queue.cards else None,
        "item": item,
        "items": items,
        "last": after,
        "data": {
            "cards": [card.as_page_dict() for card in queue.cards],
            "waiting": queue.waiting,
            "url": reverse("grades", args=[project.slug, qualification_round.pk]),
            "name": f"{qualification_round.pk}:{signed_in_user(request).pk}",
            "item": item,
            "items": items,
        },
        "max_note": MAX_NOTE_LENGTH,
        "phrases": _own_recent_notes(request, project),
    }
    return render(request, "validation/qualification/grading.html", context)


def _save_posted_grade(request: HttpRequest, qualification_round: QualificationRound) -> HttpResponse:
    url = reverse("grading", args=[qualification_round.batch.project.slug, qualification_round.pk])
    key, code = PairKey.parse(request.POST.get("key", "")), request.POST.get("grade", "")
    if key is None or code not in _GRADES_BY_CODE:
        messages.error(request, "Choose reasonable or not reasonable.")
        return redirect(url)
    grade = GradeInput(key, _GRADES_BY_CODE[code], request.POST.get("note", ""))
    try:
        save_grade(qualification_round=qualification_round, grade=grade, by=signed_in_user(request))
    except Refused as error:
        messages.error(request, f"Not graded: {error}.")
        return redirect(f"{url}?at={key}")
    return redirect(f"{url}?at={key}" if grade.reasonable is None else f"{url}?after={key}")


@require_POST
@project_page()
def grades_save(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Save several grades in one request, and return the next pairs."""
    qualification_round = get_round_or_404(project, round_id)
    try:
        payload = json.loads(request.body)
        parsed = [_parse_grade(row) for row in payload["grades"][:MAX_GRADES]]
        after = PairKey.parse(str(payload.get("after", "")))
    except (ValueError, TypeError, KeyError, AttributeError, RawPostDataException):
        return JsonResponse({"error": "Send {grades: [{key, grade, note}], after}."}, status=400)
    refused = save_grades(qualification_round=qualification_round, grades=parsed, by=signed_in_user(request))
    queue = grading_queue(qualification_round, signed_in_user(request), after=after)
    return JsonResponse(
        {
            "refused": [{"key": str(row.grade.key), "message": row.message} for row in refused],
            "cards": [card.as_page_dict() for card in queue.cards],
            "waiting": queue.waiting,
        }
    )


def _parse_grade(row: dict[str, Any]) -> GradeInput:
    key = PairKey.parse(str(row["key"]))
    if key is None:
        raise ValueError("no such key")
    return GradeInput(key, _GRADES_BY_CODE[str(row["grade"])], str(row.get("note") or ""))


def _own_recent_notes(request: HttpRequest, project: Project) -> list[str]:
    """Return the grader's own last notes in this project, newest first; other graders' notes stay hidden."""
    own = Grade.objects.filter(
        grader_id=signed_in_user(request).pk, submission__attempt__hit__unit__batch__project=project
    ).exclude(note="")
    return list(dict.fromkeys(own.order_by("-pk").values_list("note", flat=True)[:50]))[:MAX_PHRASES]
