"""Text analysis pages: start an analysis, show the latest results, and review texts that were scored as toxic."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from curation.models import AnalysisKind, TextAnalysis
from curation.selectors import texts as stored
from curation.selectors.pairs import accepted_pairs
from curation.selectors.texts import QueuedText
from curation.services import texts as services
from curation.services.comparison import accepted_pair_splits
from curation.views import text_sections as sections
from curation.views.pages import as_download, tab_context
from curation.views.texts_forms import FORMS, AnalysisForm, TextReviewForm
from hits.domain.files.csv_download import csv_lines, escape_formula
from hits.models import Job, Project
from hits.selectors.images.images import image_facts
from hits.views.access import project_page
from hits.views.pages import action_messages, get_or_404, get_page, job_if_open
from hits.views.users import signed_in_user

PER_PAGE = 20
EARLIER_SHOWN = 20
KIND_LABELS = {
    AnalysisKind.DUPLICATES: "Copies and near-copies",
    AnalysisKind.TOPICS: "Topics",
    AnalysisKind.TOXICITY: "Toxicity queue",
    AnalysisKind.CAPTIONS: "Similarity to captions",
}
COLUMNS = ("split", "id", "field", "score", "words", "clue", "inference", "reading", "note", "by", "at")
ViewFunction = Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class AnalysisSection:
    """One kind of analysis on the page: its form, its newest result with a summary, and its newest job."""

    kind: str
    title: str
    form: AnalysisForm
    latest: TextAnalysis | None
    job: Job | None
    summary: sections.Section | None


@require_safe
@project_page()
def texts(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the newest result of each analysis, with the forms that start more."""
    return _render_page(request, project)


@require_POST
@project_page()
def start_text_analysis(request: HttpRequest, project: Project, kind: str) -> HttpResponse:
    """Queue an analysis."""
    form_class = get_or_404(
        FORMS.get(AnalysisKind(kind)) if kind in set(AnalysisKind) else None, "There is no such analysis."
    )
    form = form_class(accepted_pair_splits(project), request.POST, request.FILES)
    if not form.is_valid():
        return _render_page(request, project, form=form, status=400)
    with action_messages(request, "Not started", f"{KIND_LABELS[form.kind]}: the analysis is queued."):
        services.request_analysis(project=project, options=form.options, by=signed_in_user(request))
    return redirect(f"{reverse('curation-texts', args=[project.slug])}#{kind}")


def _render_page(
    request: HttpRequest, project: Project, *, form: AnalysisForm | None = None, status: int = 200
) -> HttpResponse:
    latest, jobs = stored.latest_analyses_by_kind(project), stored.latest_jobs_by_kind(project)
    splits = accepted_pair_splits(project)
    analyses = [
        AnalysisSection(
            kind=kind.value,
            title=KIND_LABELS[kind],
            form=form if form is not None and form.kind is kind else FORMS[kind](splits),
            latest=latest.get(kind),
            job=jobs.get(kind),
            summary=sections.summary_section(project, latest[kind], KIND_LABELS[kind])
            if kind in latest
            else None,
        )
        for kind in KIND_LABELS
    ]
    shown = {row.pk for row in latest.values()}
    context = tab_context(project, "texts") | {
        "analyses": analyses,
        "jobs": [job for job in jobs.values() if job_if_open(job)],
        "pairs": accepted_pairs(project).count(),
        "earlier": [
            (row, KIND_LABELS[AnalysisKind(row.kind)])
            for row in stored.finished_analyses(project).defer("result").exclude(pk__in=shown)[:EARLIER_SHOWN]
        ],
    }
    return render(request, "curation/texts/texts.html", context, status=status)


def analysis_page(view: ViewFunction) -> ViewFunction:
    """Decorate ``view(request, project, row)`` as a researcher's view of a finished analysis."""

    @project_page()
    @wraps(view)
    def wrapped(request: HttpRequest, project: Project, analysis_id: int) -> HttpResponseBase:
        row = get_or_404(stored.finished_analyses(project).filter(pk=analysis_id).first())
        return view(request, project, row)

    return wrapped


@require_safe
@analysis_page
def analysis(request: HttpRequest, project: Project, row: TextAnalysis) -> HttpResponse:
    """Show all results of an analysis."""
    context: dict[str, Any] = tab_context(project, "texts") | {
        "analysis": row,
        "title": KIND_LABELS[AnalysisKind(row.kind)],
        "asides": sections.options_and_provenance_sections(row),
    }
    if row.kind == AnalysisKind.TOXICITY:
        queue = _review_queue_context(request, row)
        context["asides"].insert(0, sections.toxicity_review_section(row, queue["counts"]))
        context["parts"] = [sections.toxicity_scores_section(row)]
        return render(request, "curation/texts/toxicity.html", context | queue)
    rows, build = {
        AnalysisKind.DUPLICATES: ("groups", sections.duplicate_sections),
        AnalysisKind.TOPICS: ("examples", sections.topic_sections),
        AnalysisKind.CAPTIONS: ("nearest", sections.caption_sections),
    }[AnalysisKind(row.kind)]
    context["page"] = page = get_page(request, row.result[rows], PER_PAGE)
    context["parts"], asides = build(project, row, page)
    context["asides"] = asides + context["asides"]
    return render(request, "curation/texts/analysis.html", context)


def _review_queue_context(request: HttpRequest, row: TextAnalysis) -> dict[str, Any]:
    queue = stored.toxicity_queue(row)
    requested = request.GET.get("at", "")
    index_of = {str(item.score.pk): index for index, item in enumerate(queue)}
    unread = (index for index, item in enumerate(queue) if item.review is None)
    at = index_of.get(requested, next(unread, 0))
    here = queue[at] if queue else None
    return {
        "queue": queue,
        "counts": stored.count_reviews(queue),
        "here": here,
        "position": at + 1,
        "before": queue[at - 1] if at else None,
        "after": queue[at + 1] if at + 1 < len(queue) else None,
        "texts": _split_marked_texts(here) if here else [],
        "image": image_facts(here.score.observation.image) if here else None,
        "note": sections.scorer_note(row),
    }


def _split_marked_texts(item: QueuedText) -> list[tuple[str, bool, list[tuple[str, dict[str, Any] | None]]]]:
    """Return both texts of a pair: name, whether it is the scored one, and its pieces, each with its match if any."""
    parts = []
    for name in ("clue", "inference"):
        text = str(getattr(item.score.observation, name))
        scored = name == item.score.field
        matches = item.score.detail.get("matches", []) if scored else []
        parts.append((name, scored, list(_split_at_matches(text, matches))))
    return parts


def _split_at_matches(
    text: str, matches: Iterable[dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    at = 0
    for match in matches:
        yield text[at : match["start"]], None
        yield text[match["start"] : match["end"]], match
        at = match["end"]
    yield text[at:], None


@require_POST
@analysis_page
def review_text(request: HttpRequest, project: Project, row: TextAnalysis) -> HttpResponse:
    """Save a person's review of a text, and go to the next text without a review."""
    form = TextReviewForm(request.POST)
    queue = stored.toxicity_queue(row)
    item = get_or_404(
        next((item for item in queue if str(item.score.pk) == request.POST.get("score")), None),
        "There is no such text in this queue.",
    )
    here = reverse("curation-texts-analysis", args=[project.slug, row.pk])
    if not form.is_valid():
        problem = "choose concern or no concern, with a note of at most 400 characters"
        messages.error(request, f"Not saved: {problem}.")
        return redirect(f"{here}?at={item.score.pk}")
    services.record_text_review(
        observation=item.score.observation,
        field=item.score.field,
        is_concern=form.cleaned_data["concern"] == "yes",
        note=form.cleaned_data["note"],
        by=signed_in_user(request),
    )
    at = queue.index(item)
    following = queue[at + 1 :] + queue[:at]
    unread = next((other for other in following if other.review is None), item)
    return redirect(f"{here}?at={unread.score.pk}")


@require_safe
@analysis_page
def download_analysis(request: HttpRequest, project: Project, row: TextAnalysis) -> HttpResponseBase:
    """Download the queue with its reviews as CSV, or any other result as JSON; reviewers appear as letters."""
    mark = "-rehearsal" if project.is_rehearsal else ""
    name = f"{project.slug}-{row.kind}-{row.pk}{mark}"
    if row.kind != AnalysisKind.TOXICITY:
        document = {
            "kind": row.kind,
            "rehearsal": project.is_rehearsal,
            "options": row.options,
            "result": stored.result_with_published_ids(row),
            "provenance": row.provenance,
        }
        reply = HttpResponse(json.dumps(document, indent=1), content_type="application/json")
        return as_download(reply, f"{name}.json")
    queue = stored.toxicity_queue(row)
    letters = stored.reviewer_letters(queue)
    lines = csv_lines(COLUMNS, (_csv_row(item, letters) for item in queue))
    sent = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    return as_download(sent, f"{name}.csv")


def _csv_row(item: QueuedText, letters: Mapping[int, str]) -> tuple[object, ...]:
    score, pair, review = item.score, item.score.observation, item.review
    text = getattr(pair, score.field)
    found = [text[match["start"] : match["end"]] for match in score.detail.get("matches", [])]
    review_cells = ("", "", "", "")
    if review is not None:
        verdict = "concern" if review.is_concern else "no concern"
        review_cells = (verdict, escape_formula(review.note), letters[review.by_id], review.at.isoformat())
    head = (item.split, pair.instance_id, score.field, score.score, escape_formula(" ".join(found)))
    return (*head, escape_formula(pair.clue), escape_formula(pair.inference), *review_cells)
