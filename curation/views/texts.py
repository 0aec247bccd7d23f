"""The page of texts: start an analysis, see what the latest ones found, read what was scored as toxic."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from curation.models import AnalysisKind, Pair, TextAnalysis
from curation.selectors import pairs as collected
from curation.selectors import texts as stored
from curation.selectors.texts import QueuedText
from curation.services import splits_in_use
from curation.services import texts as services
from curation.views import texts_charts as charts
from curation.views.texts_forms import FORMS, AnalysisForm, ReadingForm
from hits.domain.files.csv_download import csv_lines, words
from hits.models import Job, Project
from hits.selectors.images.images import facts
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.who import person

PER_PAGE = 20
NEARLY_THE_SAME = 0.8  # cosine of sentence vectors; a group with less alike texts was joined to reach a share
EARLIER_SHOWN = 20
COPIES_SHOWN = 8
WORDS = {
    AnalysisKind.DUPLICATES: "Copies and near-copies",
    AnalysisKind.TOPICS: "Topics",
    AnalysisKind.TOXICITY: "Toxicity queue",
    AnalysisKind.CAPTIONS: "Likeness to captions",
}
COLUMNS = (
    "split",
    "id",
    "field",
    "score",
    "words",
    "clue",
    "inference",
    "reading",
    "note",
    "by",
    "at",
)
View = Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Section:
    """One analysis on the page: its form, its newest result, and its job where that is open or went wrong."""

    kind: str
    title: str
    form: AnalysisForm
    latest: TextAnalysis | None
    job: Job | None
    facts: dict[str, Any]


@require_safe
@project_page()
def texts(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the newest result of each analysis, with the forms that start more."""
    return _page(request, project)


@require_POST
@project_page()
def run(request: HttpRequest, project: Project, kind: str) -> HttpResponse:
    """Queue an analysis."""
    form_class = FORMS.get(AnalysisKind(kind)) if kind in set(AnalysisKind) else None
    if form_class is None:
        raise Http404("There is no such analysis.")
    form = form_class(splits_in_use(project), request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, project, form=form, status=400)
    try:
        services.request_analysis(
            project=project,
            options=form.options,
            by=person(request),
        )
    except Refused as error:
        messages.error(request, f"Not started: {str(error).rstrip('.')}.")
    else:
        messages.success(request, f"{WORDS[form.kind]}: the analysis is queued.")
    return redirect(f"{reverse('curation-texts', args=[project.slug])}#{kind}")


def _page(
    request: HttpRequest, project: Project, *, form: AnalysisForm | None = None, status: int = 200
) -> HttpResponse:
    latest, jobs = stored.latest_by_kind(project), stored.text_jobs(project)
    splits = splits_in_use(project)
    sections = [
        Section(
            kind=kind.value,
            title=WORDS[kind],
            form=form if form is not None and form.kind is kind else FORMS[kind](splits),
            latest=latest.get(kind),
            job=jobs.get(kind),
            facts=_facts(project, latest[kind]) if kind in latest else {},
        )
        for kind in WORDS
    ]
    shown = {row.pk for row in latest.values()}
    context = {
        "project": project,
        "section": "curation",
        "tab": "texts",
        "sections": sections,
        "jobs": [job for job in jobs.values() if stored.is_open(job)],
        "pairs": collected.accepted(project).count(),
        "earlier": [
            (row, WORDS[AnalysisKind(row.kind)])
            for row in stored.finished(project).defer("result").exclude(pk__in=shown)[:EARLIER_SHOWN]
        ],
    }
    return render(request, "curation/texts/texts.html", context, status=status)


def _facts(project: Project, row: TextAnalysis) -> dict[str, Any]:
    """What the page shows of a result beside its numbers."""
    if row.kind == AnalysisKind.DUPLICATES:
        return {"copies": _copies(project, row, row.result["copies"][:COPIES_SHOWN])}
    if row.kind == AnalysisKind.TOPICS:
        return {"flow": charts.flow(row.result)}
    if row.kind == AnalysisKind.CAPTIONS:
        return {"chart": charts.overlaid(row.result)}
    return {
        "bars": charts.score_bars(row.result["bins"]),
        "counts": stored.reading_counts(stored.toxicity_queue(row)),
    }


def analysis_page(view: View) -> View:
    """Turn ``view(request, project, row)`` into a researcher's view of a finished analysis."""

    @project_page()
    @wraps(view)
    def wrapped(request: HttpRequest, project: Project, analysis_id: int) -> HttpResponseBase:
        row = stored.finished(project).filter(pk=analysis_id).first()
        if row is None:
            raise Http404("There is no such page.")
        return view(request, project, row)

    return wrapped


@require_safe
@analysis_page
def analysis(request: HttpRequest, project: Project, row: TextAnalysis) -> HttpResponse:
    """Show all that an analysis found."""
    context = {
        "project": project,
        "section": "curation",
        "tab": "texts",
        "analysis": row,
        "result": row.result,
        "title": WORDS[AnalysisKind(row.kind)],
    }
    more = {
        AnalysisKind.DUPLICATES: _duplicates,
        AnalysisKind.TOPICS: _topics,
        AnalysisKind.TOXICITY: _queue,
        AnalysisKind.CAPTIONS: _captions,
    }[AnalysisKind(row.kind)](request, project, row)
    return render(request, f"curation/texts_{row.kind}.html", context | more)


def _duplicates(request: HttpRequest, project: Project, row: TextAnalysis) -> dict[str, Any]:
    page = Paginator(row.result["groups"], PER_PAGE).get_page(request.GET.get("page"))
    known = stored.pairs_by_pk(
        project, {pk for group in page for pk in (group["kept"], *group["members"], *group.get("pair", ()))}
    )
    groups = [
        {
            "size": group["size"],
            "kept": _text(known, group["kept"], row),
            "others": [_text(known, pk, row) for pk in group["members"] if pk != group["kept"]],
            "more": group["size"] - len(set(group["members"]) | {group["kept"]}),
            "cosine": group.get("cosine"),
            "joined": row.options.get("distance") is None and group.get("cosine", 1) < NEARLY_THE_SAME,
            "pair": [_text(known, pk, row) for pk in group.get("pair", ())],
        }
        for group in page
    ]
    copies = _copies(project, row, row.result["copies"]) if page.number == 1 else []
    return {"page": page, "groups": groups, "copies": copies}


def _copies(project: Project, row: TextAnalysis, copies: list[list[int]]) -> list[dict[str, Any]]:
    """Texts that occur more than once, with a bar and the cap's place on it."""
    known = stored.pairs_by_pk(project, [pk for pk, _ in copies])
    most = max((count for _, count in copies), default=1)
    return [
        {
            "text": _text(known, pk, row),
            "count": count,
            "over": max(0, count - row.options["cap"]),
            "width": charts.share(count, most),
            "kept": charts.share(min(count, row.options["cap"]), most),
        }
        for pk, count in copies
    ]


def _text(known: dict[int, Pair], pk: int, row: TextAnalysis) -> str:
    return str(getattr(known[pk], row.options["field"])) if pk in known else "(its photo was taken down)"


def _topics(request: HttpRequest, project: Project, row: TextAnalysis) -> dict[str, Any]:
    page = Paginator(row.result["examples"], PER_PAGE).get_page(request.GET.get("page"))
    known = stored.pairs_by_pk(project, {pk for cell in page for pk in cell["pairs"]})
    cells = [
        {
            "clue": row.result["clues"]["topics"][cell["clue"]]["words"][:4],
            "inference": row.result["inferences"]["topics"][cell["inference"]]["words"][:4],
            "count": row.result["flow"][cell["clue"]][cell["inference"]],
            "chance": row.result["times_chance"][cell["clue"]][cell["inference"]],
            "pairs": [known[pk] for pk in cell["pairs"] if pk in known],
        }
        for cell in page
    ]
    heat = charts.heat(row.result)
    topics = row.result["clues"]["topics"]
    return {
        "page": page,
        "cells": cells,
        "flow": charts.flow(row.result),
        "heat": list(zip(topics, heat, strict=True)),
        "kinds": (("Clues", row.result["clues"]), ("Inferences", row.result["inferences"])),
    }


def _captions(request: HttpRequest, project: Project, row: TextAnalysis) -> dict[str, Any]:
    page = Paginator(row.result["nearest"], PER_PAGE).get_page(request.GET.get("page"))
    known = stored.pairs_by_pk(project, [item["pair"] for item in page])
    nearest = [
        (known[item["pair"]], facts(known[item["pair"]].image), item)
        for item in page
        if item["pair"] in known
    ]
    return {"page": page, "nearest": nearest, "chart": charts.overlaid(row.result)}


def _queue(request: HttpRequest, project: Project, row: TextAnalysis) -> dict[str, Any]:
    queue = stored.toxicity_queue(row)
    wanted = request.GET.get("at", "")
    places = {str(item.score.pk): place for place, item in enumerate(queue)}
    unread = (place for place, item in enumerate(queue) if item.reading is None)
    at = places.get(wanted, next(unread, 0))
    here = queue[at] if queue else None
    return {
        "queue": queue,
        "counts": stored.reading_counts(queue),
        "here": here,
        "place": at + 1,
        "before": queue[at - 1] if at else None,
        "after": queue[at + 1] if at + 1 < len(queue) else None,
        "texts": _marked(here) if here else [],
        "image": facts(here.score.observation.image) if here else None,
        "bars": charts.score_bars(row.result["bins"]),
    }


def _marked(item: QueuedText) -> list[tuple[str, bool, list[tuple[str, dict[str, Any] | None]]]]:
    """Both texts of a pair: name, whether it is the scored one, and its pieces with the word that counted."""
    parts = []
    for name in ("clue", "inference"):
        text = str(getattr(item.score.observation, name))
        scored = name == item.score.field
        matches = item.score.detail.get("matches", []) if scored else []
        parts.append((name, scored, list(_pieces(text, matches))))
    return parts


def _pieces(text: str, matches: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    at = 0
    for match in matches:
        yield text[at : match["start"]], None
        yield text[match["start"] : match["end"]], match
        at = match["end"]
    yield text[at:], None


@require_POST
@analysis_page
def read(request: HttpRequest, project: Project, row: TextAnalysis) -> HttpResponse:
    """Keep what a person says of a text, and go to the next one that nobody has read."""
    form = ReadingForm(request.POST)
    queue = stored.toxicity_queue(row)
    item = next((item for item in queue if str(item.score.pk) == request.POST.get("score")), None)
    if item is None:
        raise Http404("There is no such text in this queue.")
    here = reverse("curation-texts-analysis", args=[project.slug, row.pk])
    if not form.is_valid():
        messages.error(
            request, "Not kept: choose concern or no concern, with a note of 400 characters or fewer."
        )
        return redirect(f"{here}?at={item.score.pk}")
    services.record_reading(
        observation=item.score.observation,
        field=item.score.field,
        is_concern=form.cleaned_data["concern"] == "yes",
        note=form.cleaned_data["note"],
        by=person(request),
    )
    at = queue.index(item)
    following = queue[at + 1 :] + queue[:at]
    unread = next((other for other in following if other.reading is None), item)
    return redirect(f"{here}?at={unread.score.pk}")


@require_safe
@analysis_page
def export(request: HttpRequest, project: Project, row: TextAnalysis) -> HttpResponseBase:
    """Send the queue with its readings as CSV, or any other result as JSON. Readers are letters, pairs their ids."""
    mark = "-rehearsal" if project.is_rehearsal else ""
    name = f"{project.slug}-{row.kind}-{row.pk}{mark}"
    if row.kind != AnalysisKind.TOXICITY:
        whole = {
            "kind": row.kind,
            "rehearsal": project.is_rehearsal,
            "options": row.options,
            "result": stored.published_result(row),
            "provenance": row.provenance,
        }
        reply: HttpResponseBase = HttpResponse(json.dumps(whole, indent=1), content_type="application/json")
        reply["Content-Disposition"] = f'attachment; filename="{name}.json"'
        return reply
    queue = stored.toxicity_queue(row)
    letters = stored.reader_letters(queue)
    lines = csv_lines(COLUMNS, (_csv_row(item, letters) for item in queue))
    reply = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return reply


def _csv_row(item: QueuedText, letters: Mapping[int, str]) -> tuple[object, ...]:
    score, pair, reading = item.score, item.score.observation, item.reading
    text = getattr(pair, score.field)
    found = [text[match["start"] : match["end"]] for match in score.detail.get("matches", [])]
    said = ("", "", "", "")
    if reading is not None:
        verdict = "concern" if reading.is_concern else "no concern"
        said = (verdict, words(reading.note), letters[reading.by_id], reading.at.isoformat())
    head = (item.split, pair.instance_id, score.field, score.score, words(" ".join(found)))
    return (*head, words(pair.clue), words(pair.inference), *said)
