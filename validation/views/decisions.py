"""Decide items by rules, see what each method would decide, and ask one more judge about what is undecided."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from hits.domain.files.csv_download import csv_lines, words
from hits.domain.money.costs import cost_table
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.forms import launch_key, typed_cost
from hits.models import Batch, Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import launched_before
from hits.views.access import project_page
from hits.views.balance import balance, forget_balance
from hits.views.costs import cost_context, refusal_context
from hits.views.who import person
from validation.domain.judging.ratings import Judged
from validation.domain.reports import plots
from validation.domain.reports.decisions import Method, Rule
from validation.models import DecisionRun, ItemDecision, JudgingRound
from validation.registry import decided, spec_of
from validation.selectors import ask_more as asking
from validation.selectors import decisions as selectors
from validation.selectors.ratings import judged
from validation.selectors.report import Shown, counted, first_judged, shown_items
from validation.services import decisions as services
from validation.services.ask_more import Ask, ask_one_more, plan_ask, set_limits
from validation.views.decision_form import (
    SHORT,
    LimitsForm,
    RuleForm,
    label_words,
    rule_forms,
    rule_words,
)

PER_PAGE = 20
COLUMNS = ("item", "dimension", "outcome", "judges", "support")
PreviewLine = tuple[str, selectors.Counts, list[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Part:
    """One undecided rating of an item: what is asked, whom about, and the votes as (words, count)."""

    title: str
    text: str
    votes: list[tuple[str, int]]
    support: float | None


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One undecided item with its picture."""

    key: str
    shown: Shown | None
    judges: int
    parts: list[Part] = field(default_factory=list)

    @property
    def pair(self) -> str:
        """The inference of a pair; nothing for a set of several."""
        texts = self.shown.texts if self.shown else {}
        return texts.get("", "")


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def decisions(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the rules, what each method would decide, what was decided, and what is undecided."""
    kind = _kind(request.POST.get("kind") or request.GET.get("kind") or first_judged(project, decided()))
    judgments = counted(project, kind)
    large = services.is_large(judgments)
    jobs, run = _jobs(project, kind), selectors.newest_run(project, kind)
    rules = _rules_at_hand(project, kind, jobs["preview_job"] if large else None, run)
    forms = rule_forms(kind, rules, request.POST or None)
    status, preview = 200, None
    if request.method == "POST":
        if not all([form.is_valid() for form in forms]):  # noqa: C419 - each says what is wrong with it
            status = 400
        else:
            chosen = {form.dimension: form.rule for form in forms if form.rule is not None}
            reply = _act(request, project, kind, chosen, large=large)
            if isinstance(reply, HttpResponse):
                return reply
            preview = reply
    page = _page(request, run)
    context: dict[str, Any] = {
        "project": project,
        "section": "judging",
        "kind": kind,
        "spec": spec_of(kind),
        "kinds": [(name, spec_of(name).title) for name in decided()],
        "forms": forms,
        "wrong": [(form, error) for form in forms for error in _errors(form)],
        "judgments": judgments,
        "large": large,
        "run": run,
        "outcomes": _outcomes(run),
        "runs": [(row, _outcomes(row)) for row in selectors.runs(project, kind)],
        "page": page,
        "query": f"kind={kind}&",
        "rows": _rows(project, kind, run, list(page)) if run else [],
        "rounds": asking.asking_rounds(asking.rounds_of(project, kind)[:PER_PAGE]),
        "short": {method.value: name for method, name in SHORT.items()},
    }
    context |= jobs
    if preview is None:
        preview = _preview_at_hand(project, kind, rules, jobs["preview_job"], large=large)
    context |= {"preview": preview, "table": _table(kind, preview)}
    return render(request, "validation/decisions/decisions.html", context, status=status)


@require_safe
@project_page()
def decision_file(request: HttpRequest, project: Project, run_id: int) -> StreamingHttpResponse:
    """Hand out one run's decisions as CSV. Nobody's name or number is in it."""
    run = get_object_or_404(DecisionRun, pk=run_id, project=project)
    lines = csv_lines(
        COLUMNS,
        (
            (words(item), name, outcome, judges, "" if support is None else f"{support:.6g}")
            for item, name, outcome, judges, support in selectors.decision_lines(run)
        ),
    )
    reply = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="decisions-{run.pk}-{run.kind}.csv"'
    return reply


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def ask_more(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Set up to how many judges, and launch the batch that asks one more about each undecided item."""
    rows = JudgingRound.objects.select_related("batch__project", "batch__instructions")
    first = get_object_or_404(rows, pk=round_id, batch__project=project, follows=None)
    if first.batch.kind not in decided():
        raise Http404("There is no such page.")
    known = launched_before(project=project, once=launch_key(request.POST))
    if known is not None:  # sent twice, as by a double click: launched once, and both are told so
        _tell_launched(request, known)
        return redirect(_address(project, first.batch.kind))
    step = request.POST.get("step")
    form = LimitsForm.of_round(first, request.POST if step == "limits" else None)
    context: dict[str, Any] = {}
    status = 200
    if step == "limits":
        if _limits_set(request, first, form):
            return redirect("ask-more", project.slug, first.pk)
        status = 400
    asked, why = _asked(first)
    if step == "launch":
        refused = _ask(request, asked, why)
        if refused is None:
            return redirect(_address(project, first.batch.kind))
        context, status = refusal_context(request.POST, refused), 400
    context |= {
        "project": project,
        "section": "judging",
        "first": first,
        "form": form,
        "asked": asked,
        "why": why,
        "rules": [
            (spec_of(first.batch.kind).title_of(rule.dimension), rule_words(rule))
            for rule in selectors.read_rules(first.batch.kind, first.rules).values()
        ],
        "row": asking.asking_rounds([first])[0],
    }
    if asked is not None and asked.cost is not None:
        context = _costs(project, first, asked) | context
    return render(request, "validation/decisions/decisions_ask.html", context, status=status)


def _kind(name: str) -> str:
    if name not in decided():
        raise Http404("There is no such page.")
    return name


def _address(project: Project, kind: str) -> str:
    return f"{reverse('decisions', args=[project.slug])}?kind={kind}"


def _act(
    request: HttpRequest, project: Project, kind: str, rules: dict[str, Rule], *, large: bool
) -> HttpResponse | dict[str, dict[str, Any]] | None:
    """Decide, or return what each method would decide; a worker process does either with many judgments."""
    preview = request.POST.get("step") != "decide"
    try:
        if large:
            services.request_decisions(
                project=project, kind=kind, rules=rules, by=person(request), preview=preview
            )
        elif preview:
            return selectors.count_by_method(selectors.material(project, kind).tables, rules)
        else:
            made = services.decide_items(project=project, kind=kind, rules=rules, by=person(request))
            said = "Decided." if made.is_new else "Nothing changed since these rules decided."
            messages.success(request, said)
    except Conflict:
        messages.info(request, "That is under way already.")
    except Refused as error:
        messages.error(request, f"Not decided: {str(error).rstrip('.')}.")
    return redirect(_address(project, kind))


def _errors(form: RuleForm) -> list[tuple[str, str, str]]:
    """Return what is wrong with a dimension's rule: field id, label, sentence."""
    found = [("", "", str(error)) for error in form.non_field_errors()]
    for bound in form:
        found += [
            (bound.id_for_label or f"id_{bound.html_name}", str(bound.label), str(e)) for e in bound.errors
        ]
    return found


def _jobs(project: Project, kind: str) -> dict[str, Any]:
    newest = selectors.newest_job(project, kind)
    return {
        "job": newest if newest and newest.state in OPEN_JOB_STATES else None,
        "failed": newest if newest and newest.state == JobState.FAILED else None,
        "preview_job": selectors.newest_job(project, kind, preview=True),
    }


def _rules_at_hand(project: Project, kind: str, job: Job | None, run: DecisionRun | None) -> dict[str, Rule]:
    """Return the rules that the form begins with: those that ``job`` counted, unless the newest run came after it."""
    rules = selectors.rules_now(project, kind)
    if job is not None and (run is None or run.decided_at < job.created_at):
        rules |= selectors.read_rules(kind, job.args["rules"])
    return rules


def _preview_at_hand(
    project: Project, kind: str, rules: dict[str, Rule], job: Job | None, *, large: bool
) -> dict[str, Any] | None:
    """Return what each method would decide by the rules as they stand: counted now where that is quick."""
    if large:
        return job.result["counts"] if job is not None and job.state == JobState.DONE else None
    found = selectors.material(project, kind)
    return selectors.count_by_method(found.tables, rules) if found.judgments else None


def _table(kind: str, preview: dict[str, Any] | None) -> list[tuple[str, list[PreviewLine]]]:
    """Return the preview as lines: a dimension's title, and each method with its counts and their bar."""
    return [
        (spec_of(kind).title_of(name), [_preview_line(method, by_method[method.value]) for method in Method])
        for name, by_method in spec_of(kind).in_order(preview or {})
    ]


def _preview_line(method: Method, row: Mapping[str, int]) -> PreviewLine:
    counts = selectors.Counts.from_row(row)
    return SHORT[method], counts, plots.outcomes(counts.accept, counts.undecided, counts.reject)


def _outcomes(run: DecisionRun | None) -> list[tuple[str, str, selectors.Counts]]:
    if run is None:
        return []
    return [
        (
            spec_of(run.kind).title_of(name),
            SHORT[Method(run.rules[name]["method"])],
            selectors.Counts.from_row(counts),
        )
        for name, counts in spec_of(run.kind).in_order(run.counts["dimensions"])
    ]


def _page(request: HttpRequest, run: DecisionRun | None) -> "Page[str]":
    return Paginator(selectors.undecided(run) if run else [], PER_PAGE).get_page(request.GET.get("page"))


def _rows(project: Project, kind: str, run: DecisionRun, items: list[str]) -> list[ItemRow]:
    shown = shown_items(project, kind, items)
    given: dict[str, list[Judged]] = {item: [] for item in items}
    for row in judged(project=project, kind=kind, items=items):
        given[row.item].append(row)
    open_parts = selectors.decisions_of(run, items)
    rows = []
    for item in items:
        parts = [_part(kind, row, given[item], shown.get(item)) for row in open_parts[item]]
        rows.append(ItemRow(item, shown.get(item), len(given[item]), parts))
    return rows


def _part(kind: str, row: ItemDecision, given: list[Judged], shown: Shown | None) -> Part:
    spec, part = spec_of(kind), row.item.partition("/")[2]
    votes = Counter(
        str(label)
        for judgment in given
        for name, about, label in spec.labels(judgment.answer)
        if (name, about) == (row.dimension, part)
    )
    said = label_words(kind, row.dimension)
    text = shown.texts.get(part, "") if shown and part else ""
    return Part(
        title=spec.title_of(row.dimension),
        text=text,
        votes=[(said[label], votes[label]) for label in said if votes[label]],
        support=row.support,
    )


def _limits_set(request: HttpRequest, first: JudgingRound, form: LimitsForm) -> bool:
    if not form.is_valid():
        return False
    try:
        set_limits(
            first=first,
            most_judges=form.cleaned_data["most_judges"],
            ask_budget_cents=form.cleaned_data["ask_budget"] or 0,
            by=person(request),
        )
    except Refused as error:
        where, _, said = str(error).partition(": ")
        name = "most_judges" if where == "most judges" else "ask_budget" if where == "budget" else None
        form.add_error(name, f"{said[:1].upper()}{said[1:]}." if name else f"{error}.")
        return False
    messages.success(request, "Changed.")
    return True


def _asked(first: JudgingRound) -> tuple[Ask | None, str]:
    """Return what would be asked, or why nothing is."""
    if not first.most_judges or not first.ask_budget_cents:
        return None, ""
    try:
        return plan_ask(first), ""
    except Refused as error:
        return None, str(error).partition(": ")[2] or str(error)


def _ask(request: HttpRequest, asked: Ask | None, why: str) -> Refused | None:
    """Launch; return why not."""
    if asked is None:
        return Refused(why or "nobody is asked again in this round")
    if launch_key(request.POST) not in {"", asked.once}:
        return Conflict("judgments came in since; look again at what is asked")
    forget_balance()
    funds = balance()
    try:
        batch = ask_one_more(
            asked=asked,
            by=person(request),
            confirmed_cents=typed_cost(request.POST),
            available_cents=funds.available_cents if funds else None,
        )
    except Refused as error:
        return error
    forget_balance()
    _tell_launched(request, batch)
    return None


def _tell_launched(request: HttpRequest, batch: Batch) -> None:
    messages.success(request, f"{batch.name} is launched; its tasks are being published.")


def _costs(project: Project, first: JudgingRound, asked: Ask) -> dict[str, Any]:
    assert asked.cost is not None
    count = len(asked.items)
    cents = first.batch.reward_cents
    return cost_context(
        project=project,
        cost=cost_table(asked.cost, rewards=f"Rewards, {count} × 1 judge", reward_cents=cents),
        held_cents=asked.cost.held_cents,
        most_cents=asked.cost.most_cents,
    ) | {"estimate": asked.cost, "launch_key": asked.once}
