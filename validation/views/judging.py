"""The judging page: computed figures with their age, rounds with how far they are, judged pairs; and ratings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hits.domain.images.image_facts import ImageFacts
from hits.models import Batch, Project, Record, Unit
from hits.selectors import records as collected
from hits.selectors.images.images import facts
from hits.views.access import project_page
from validation.domain.agreement.votes import RatingSummary
from validation.domain.judging.spec import JudgingSpec
from validation.registry import names, spec_of
from validation.selectors import judging as selectors
from validation.selectors import report as reports
from validation.selectors.judging import ReviewTallies, SetJudgments, comparison, review
from validation.selectors.judging_overview import judged_pairs, round_lines, stand

PER_PAGE = 20


@dataclass(frozen=True, slots=True)
class PairRow:
    """One judged pair as the table shows it: votes as (words, count) per dimension, and the verdict."""

    observation: Record
    image: ImageFacts
    cells: list[tuple[str, list[tuple[str, int]], bool | None]]
    judges: int


@dataclass(frozen=True, slots=True)
class SetRow:
    """One rated comparison set: its region and each candidate's text with its ratings."""

    set_id: str
    image: ImageFacts
    boxes: Sequence[dict[str, int]]
    candidates: list[tuple[str, tuple[int, ...], RatingSummary]]
    judges: int
    wanted: int


@require_safe
@project_page()
def judging(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the newest figures, all rounds, and the judged pairs page by page; nothing is tallied over a project."""
    lines = round_lines(project)
    page = Paginator(judged_pairs(project), PER_PAGE).get_page(request.GET.get("page"))
    of_pairs = selectors.has_pairs(project)
    spec = review() if of_pairs else spec_of(reports.first_judged(project, names()))
    report = reports.latest(project, spec.name)
    context = {
        "project": project,
        "section": "judging",
        "lines": lines,
        "of_pairs": of_pairs,
        "spec": spec,
        "stand": stand(project, lines),
        "judged": sum(line.judged for line in lines),
        "report": report,
        "behind": max(0, reports.since(report)) if report else 0,
        "headline": _headline(spec, report.figures) if report else [],
        "headings": [one.title for one in review().decided],
        "page": page,
        "rows": _pair_rows(project, list(page)),
    }
    return render(request, "validation/judging/judging.html", context)


def _headline(spec: JudgingSpec, figures: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """Return (title, share, note) of each dimension that the report has a share of."""
    found = figures.get("dimensions", {})
    return [
        (one.share[0], share, one.share[1])
        for one in spec.dimensions
        if one.share and (share := found.get(one.name, {}).get("share")) and share.get("of")
    ]


def _pair_rows(project: Project, keys: Sequence[str]) -> list[PairRow]:
    tallies = selectors.review_tallies(project=project, pairs=keys)
    found = collected.by_instance_ids(project, keys)
    return [_pair_row(found[key], tallies) for key in keys if key in found and key in tallies.pairs]


def _pair_row(pair: Record, tallies: ReviewTallies) -> PairRow:
    found = tallies.pairs[pair.instance_id]
    cells = [
        (
            one.title,
            [(one.label_words(label), n) for label, n in found.tallies[one.name].counts.items() if n],
            found.verdicts[one.name],
        )
        for one in review().decided
    ]
    assert pair.image is not None  # a pair always has its photo
    return PairRow(pair, facts(pair.image), cells, found.judges)


@require_safe
@project_page()
def ratings(request: HttpRequest, project: Project, batch_id: int) -> HttpResponse:
    """Show a comparison round's sets, page by page, each candidate beside its ratings."""
    batch = Batch.objects.filter(project=project, kind=comparison().name, pk=batch_id).first()
    if batch is None:
        raise Http404("There is no such page.")
    batch.project = project
    units = selectors.own_units(batch).prefetch_related("images")
    page = Paginator(units, PER_PAGE).get_page(request.GET.get("page"))
    keys = [unit.key for unit in page]
    context = {
        "project": project,
        "section": "judging",
        "batch": batch,
        "page": page,
        "sets": _set_rows(batch, page, selectors.likert_judgments(batch=batch, sets=keys)),
    }
    return render(request, "validation/judging/ratings.html", context)


def _set_rows(batch: Batch, units: Iterable[Unit], judged: dict[str, SetJudgments]) -> list[SetRow]:
    rows = []
    for unit in units:
        shown, item = comparison().view(unit.payload), comparison().item(unit.payload)
        texts, found = shown.texts, judged.get(item)
        candidates = [(texts[c.candidate], c.ratings, c.summary) for c in found.candidates] if found else []
        candidates.sort(key=lambda row: -(row[2].mean or 0))
        images = {image.pk: image for image in unit.images.all()}
        rows.append(
            SetRow(
                set_id=item,
                image=facts(images[shown.image or 0]),
                boxes=shown.groups[0]["boxes"],
                candidates=candidates,
                judges=found.judges if found else 0,
                wanted=batch.opinions,
            )
        )
    return rows
