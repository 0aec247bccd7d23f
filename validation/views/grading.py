"""The grading desk: one pair at a time. Its script keeps pairs at hand; without one, each grade is a plain form."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse, RawPostDataException
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.who import person
from validation.models import Grade, QualificationRound
from validation.selectors.grading import Key, desk
from validation.services.grading import MAX_NOTE, Given, record, record_many
from validation.views.rounds import round_of

MOST_AT_ONCE = 100
PHRASES = 8
_WORDS = {"yes": True, "no": False, "back": None}


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def grading(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Show the next pair; take one grade from a page without its script."""
    found = round_of(project, round_id)
    if request.method == "POST":
        return _take(request, found)
    after = Key.parse(request.GET.get("after", ""))
    look = desk(found, person(request), at=Key.parse(request.GET.get("at", "")), after=after)
    if not look.cards and after is not None:
        look = desk(found, person(request))  # from the beginning: what was left out
    context = {
        "project": project,
        "section": "people",
        "tab": "applicants",
        "round": found,
        "desk": look,
        "card": look.cards[0] if look.cards else None,
        "last": after,
        "data": {
            "cards": [card.as_page() for card in look.cards],
            "waiting": look.waiting,
            "url": reverse("grades", args=[project.slug, found.pk]),
            "name": f"{found.pk}:{person(request).pk}",
        },
        "max_note": MAX_NOTE,
        "phrases": _phrases(request, project),
    }
    return render(request, "validation/qualification/grading.html", context)


def _take(request: HttpRequest, found: QualificationRound) -> HttpResponse:
    there = reverse("grading", args=[found.batch.project.slug, found.pk])
    key, word = Key.parse(request.POST.get("key", "")), request.POST.get("grade", "")
    if key is None or word not in _WORDS:
        messages.error(request, "Choose reasonable or not reasonable.")
        return redirect(there)
    given = Given(key, _WORDS[word], request.POST.get("note", ""))
    try:
        record(found=found, given=given, by=person(request))
    except Refused as error:
        messages.error(request, f"Not graded: {error}.")
        return redirect(f"{there}?at={key}")
    return redirect(f"{there}?at={key}" if given.reasonable is None else f"{there}?after={key}")


@require_POST
@project_page()
def grades(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Take several grades at once, and answer with pairs to go on with: fewer requests than keys."""
    found = round_of(project, round_id)
    try:
        sent = json.loads(request.body)
        given = [_given(row) for row in sent["grades"][:MOST_AT_ONCE]]
        after = Key.parse(str(sent.get("after", "")))
    except (ValueError, TypeError, KeyError, AttributeError, RawPostDataException):
        return JsonResponse({"error": "Send {grades: [{key, grade, note}], after}."}, status=400)
    refused = record_many(found=found, grades=given, by=person(request))
    look = desk(found, person(request), after=after)
    return JsonResponse(
        {
            "refused": [{"key": str(row.given.key), "message": row.message} for row in refused],
            "cards": [card.as_page() for card in look.cards],
            "waiting": look.waiting,
        }
    )


def _given(row: dict[str, Any]) -> Given:
    key = Key.parse(str(row["key"]))
    if key is None:
        raise ValueError("no such key")
    return Given(key, _WORDS[str(row["grade"])], str(row.get("note") or ""))


def _phrases(request: HttpRequest, project: Project) -> list[str]:
    """Return the grader's own last notes in this project, newest first; never a colleague's."""
    own = Grade.objects.filter(
        grader_id=person(request).pk, submission__attempt__hit__unit__batch__project=project
    ).exclude(note="")
    return list(dict.fromkeys(own.order_by("-pk").values_list("note", flat=True)[:50]))[:PHRASES]
