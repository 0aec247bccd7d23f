"""Image triplets: the list, building more of them, and one triplet with its checks, answers and decisions."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from curation.models import TripletVerdict
from curation.selectors.triplets.image_queue import ImageStep, count_steps, image_queue
from curation.selectors.triplets.scenes import kept_scenes
from curation.selectors.triplets.triplets import (
    TripletFacts,
    TripletState,
    count_states,
    image_triplets,
    triplet_facts,
)
from curation.services.triplets.triplets import (
    build_triplets,
    check_triplet,
    decide_triplet,
    take_in_explanations,
    write_gold_explanation,
)
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.launching import list_rounds
from curation.views.triplets.steps import Step, count_words
from curation.views.triplets.triplet_forms import (
    CheckForm,
    DecisionForm,
    GoldForm,
    TripletFilterForm,
    add_refusal,
)
from curation.views.triplets.triplet_parts import STATE_LABELS, VERDICTS, show_answers, show_triplets
from curation.views.triplets.triplet_rounds import triplet_round_kinds
from curation.views.triplets.triplet_sealing import gold_balance
from hits.models import Project
from hits.services.errors import Conflict, Refused
from hits.views.pages import get_or_404, get_page
from hits.views.users import signed_in_user

TAB = "triplets"
TRIPLETS_PER_PAGE = 24
STALE = 409
DECIDED = {
    TripletVerdict.KEEP: "kept",
    TripletVerdict.REVISE: "to be revised",
    TripletVerdict.DROP: "dropped",
}


@require_safe
@triplet_project_page()
def triplet_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the triplets with their state, votes and what blocks each; build more."""
    facts = triplet_facts(project)
    counts = count_states(facts)
    form = TripletFilterForm(request.GET)
    page = get_page(request, [row for row in facts if form.matches(row)], TRIPLETS_PER_PAGE)
    ready = count_steps(image_queue(kept_scenes(project)))[ImageStep.READY]
    context = tab_context(project, TAB, "triplets") | {
        "steps": _next_steps(project, counts.by_state, ready, counts.to_decide),
        "form": form,
        "page": page,
        "triplets": show_triplets(project, list(page)),
        "gold_balance": gold_balance(facts),
        "total": len(facts),
        "states": [
            (state.value, label, counts.by_state.get(state, 0)) for state, label in STATE_LABELS.items()
        ],
        "against_gold": counts.against_gold,
        "to_decide": counts.to_decide,
        "ready": ready,
        "rounds": list_rounds(project, *triplet_round_kinds()),
    }
    return render(request, "curation/triplets/triplets/triplets.html", context)


def _next_steps(project: Project, counts: Any, ready: int, to_decide: int) -> list[Step]:
    def address(name: str) -> str:
        return reverse(name, args=[project.slug])

    drafts, aligned = counts.get(TripletState.DRAFT, 0), counts.get(TripletState.ALIGNED, 0)
    rows = [
        (
            to_decide,
            "for a decision: most people chose the other hypothesis",
            "Decide",
            "image-triplet-queue",
        ),
        (aligned, "for people's judgments", "Ask workers", "image-triplet-judging"),
        (
            drafts,
            "for a gold explanation, or for images that show their texts",
            "Ask workers",
            "image-triplet-explaining",
        ),
    ]
    found = [
        Step(f"{_waits(count)} {what}", action, address(name)) for count, what, action, name in rows if count
    ]
    if ready:
        verb = "is" if ready == 1 else "are"
        text = f"{count_words(ready, 'scene')} {verb} complete: three images are picked"
        found.insert(0, Step(text, "Build", address("image-triplets-build"), is_post=True))
    return found


def _waits(count: int) -> str:
    return f"{count_words(count, 'triplet')} wait{'s' if count == 1 else ''}"


@require_POST
@triplet_project_page()
def triplets_build(request: HttpRequest, project: Project) -> HttpResponse:
    """Build a triplet for each scene whose three images are picked."""
    built = build_triplets(project=project, by=signed_in_user(request))
    parts = [f"{count_words(len(built.triplets), 'new triplet')}."] if built.triplets else []
    if built.restored:
        parts.append(f"{count_words(built.restored, 'earlier triplet')} of these images back in use.")
    if built.replaced:
        parts.append(f"{count_words(built.replaced, 'older one')} of other picks dropped.")
    if parts:
        messages.success(request, " ".join(parts))
    elif built.dropped:
        messages.info(
            request,
            f"Nothing to build: {count_words(built.dropped, 'triplet')} of the picked images stay dropped, as a "
            "person decided.",
        )
    else:
        messages.info(request, "Nothing to build: pick three images of a scene first.")
    return redirect("image-triplets", project.slug)


@require_POST
@triplet_project_page()
def triplets_take_in(request: HttpRequest, project: Project) -> HttpResponse:
    """Store the gold explanations and checks of approved answers, which otherwise happens by itself."""
    stored = take_in_explanations(project)
    messages.success(request, f"{count_words(stored, 'explanation')} came in.")
    return redirect("image-triplets", project.slug)


def find_facts(project: Project, triplet_id: int) -> TripletFacts:
    """Return the facts of a triplet of the project, or raise Http404."""
    rows = image_triplets(project).select_related(
        "project", "scene", "premise__image", "a__image", "b__image"
    )
    triplet = get_or_404(rows.filter(pk=triplet_id).first(), "There is no such triplet.")
    return triplet_facts(project, [triplet])[0]


@require_safe
@triplet_project_page()
def triplet_page(request: HttpRequest, project: Project, triplet_id: int) -> HttpResponse:
    """Show one triplet: images, texts, check, explanations, answers, history."""
    return _render_triplet(request, find_facts(project, triplet_id))


def _render_triplet(
    request: HttpRequest, facts: TripletFacts, *, status: int = 200, **bound: forms.Form
) -> HttpResponse:
    triplet = facts.triplet
    gold = facts.gold_explanation
    seen = facts.seen
    images = (triplet.premise.image, triplet.a.image, triplet.b.image)
    context = tab_context(triplet.project, TAB, "triplets") | {
        "triplet": triplet,
        "shown": show_triplets(triplet.project, [facts])[0],
        "facts": facts,
        "taken_down": any(image.taken_down_at for image in images),
        "check_form": bound.get("check") or CheckForm(facts),
        "gold_form": bound.get("gold") or GoldForm(initial={"text": gold.text if gold else ""}),
        "decision_form": bound.get("decision") or DecisionForm(initial={"seen": seen}),
        "seen": seen,
        "seen_check": facts.check.pk if facts.check else 0,
        "seen_gold": gold.pk if gold else 0,
        "verdicts": [(verdict.value, *words) for verdict, words in VERDICTS.items()],
        "answers": show_answers(facts.answers, triplet.gold_label),
        "checks": triplet.checks.select_related("by", "record__submission__assignment").order_by("-pk"),
        "decisions": triplet.decisions.select_related("by").order_by("-pk"),
        "explanations": triplet.explanations.filter(source="gold").select_related("by").order_by("-pk"),
    }
    return render(request, "curation/triplets/triplets/triplet.html", context, status=status)


@require_POST
@triplet_project_page()
def triplet_check(request: HttpRequest, project: Project, triplet_id: int) -> HttpResponse:
    """Store the facets, and whether the images show their texts; a page older than the newest check is refused."""
    facts = find_facts(project, triplet_id)
    form = CheckForm(facts, request.POST)
    status = 400
    if form.is_valid():
        try:
            check_triplet(
                triplet=facts.triplet,
                facets=form.facets,
                alignment=form.alignment,
                by=signed_in_user(request),
                note=form.cleaned_data["note"],
                seen=form.cleaned_data["seen"],
            )
        except Conflict as error:
            form.add_error(None, f"Not stored: {error}.")
            status = STALE
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(request, "The check is stored.")
            return redirect("image-triplet", project.slug, triplet_id)
    return _render_triplet(request, facts, check=form, status=status)


@require_POST
@triplet_project_page()
def triplet_gold(request: HttpRequest, project: Project, triplet_id: int) -> HttpResponse:
    """Store a gold explanation; a page that is older than the newest one is refused."""
    facts = find_facts(project, triplet_id)
    form = GoldForm(request.POST)
    status = 400
    if form.is_valid():
        try:
            write_gold_explanation(
                triplet=facts.triplet,
                text=form.cleaned_data["text"],
                by=signed_in_user(request),
                seen=form.cleaned_data["seen"],
            )
        except Conflict as error:
            form.add_error(None, f"Not stored: {error}.")
            status = STALE
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(request, "The gold explanation is stored.")
            return redirect("image-triplet", project.slug, triplet_id)
    return _render_triplet(request, facts, gold=form, status=status)


@require_POST
@triplet_project_page()
def triplet_decide(request: HttpRequest, project: Project, triplet_id: int) -> HttpResponse:
    """Keep, revise or drop a triplet; a page that is older than the newest decision is refused."""
    facts = find_facts(project, triplet_id)
    is_queue = request.POST.get("from") == "queue"
    form = DecisionForm(request.POST)
    status = 400
    if form.is_valid():
        verdict = TripletVerdict(form.cleaned_data["verdict"])
        try:
            decide_triplet(
                facts=facts,
                verdict=verdict,
                by=signed_in_user(request),
                note=form.cleaned_data["note"],
                seen=form.cleaned_data["seen"],
            )
        except Conflict as error:
            form.add_error(None, f"Not stored: {error}.")
            status = STALE
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(request, f"Triplet {triplet_id} is {DECIDED[verdict]}.")
            if is_queue:
                return redirect("image-triplet-queue", project.slug)
            return redirect("image-triplet", project.slug, triplet_id)
    if is_queue:
        return render_queue(request, project, facts, form=form, status=status)
    return _render_triplet(request, facts, decision=form, status=status)


@require_safe
@triplet_project_page()
def triplet_queue(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the next triplet whose majority is against gold, and about which nobody decided."""
    waiting = [row for row in triplet_facts(project) if row.needs_decision]
    number = request.GET.get("triplet", "")
    chosen = next((row for row in waiting if str(row.triplet.pk) == number), None)
    return render_queue(request, project, chosen or (waiting[0] if waiting else None), waiting=waiting)


def render_queue(
    request: HttpRequest,
    project: Project,
    facts: TripletFacts | None,
    *,
    waiting: list[TripletFacts] | None = None,
    form: DecisionForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show one triplet of the queue with the form of its decision, and the others beside it."""
    if waiting is None:
        waiting = [row for row in triplet_facts(project) if row.needs_decision]
    seen = facts.seen if facts else 0
    position = waiting.index(facts) if facts in waiting else -1
    context = tab_context(project, TAB, "triplets") | {
        "facts": facts,
        "shown": show_triplets(project, [facts])[0] if facts else None,
        "triplet": facts.triplet if facts else None,
        "answers": show_answers(facts.answers, facts.triplet.gold_label) if facts else [],
        "waiting": show_triplets(project, waiting),
        "following": waiting[(position + 1) % len(waiting)].triplet if len(waiting) > 1 else None,
        "form": form or DecisionForm(initial={"seen": seen}),
        "seen": seen,
        "verdicts": [(verdict.value, *words) for verdict, words in VERDICTS.items()],
    }
    return render(request, "curation/triplets/triplets/queue.html", context, status=status)
