"""Decide items by rules, preview each method, and launch follow-ups that ask one more judge."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from hits.charts.chart import Chart
from hits.charts.strips import stacked_strip
from hits.domain.files.csv_download import csv_lines, escape_formula
from hits.domain.states import JobState
from hits.forms import read_idempotency_key, typed_cost_cents
from hits.models import Job, Project
from hits.services.errors import Conflict, Refused
from hits.views.access import project_page
from hits.views.balance import account_balance, clear_cached_balance
from hits.views.batches.launch import find_repeated_launch, report_launch
from hits.views.costs import estimate_context, refusal_context
from hits.views.pages import action_messages, get_page, job_if_failed, job_if_open, section_context
from hits.views.users import signed_in_user
from validation.domain.decision_rules import DecisionRule, Method
from validation.domain.judging.ratings import JudgmentRow
from validation.models import DecisionRun, ItemDecision, JudgingRound
from validation.registry import decidable_kinds, spec_of
from validation.selectors import decisions as selectors
from validation.selectors import follow_ups
from validation.selectors.ratings import read_judgments
from validation.selectors.report import ShownItem, count_judgments, first_judged_kind, shown_items
from validation.services import decisions as services
from validation.services.follow_ups import (
    FollowUpPlan,
    launch_follow_up,
    plan_follow_up,
    set_follow_up_limits,
)
from validation.views.decision_form import (
    SHORT_METHOD_LABELS,
    FollowUpLimitsForm,
    describe_rule,
    label_titles,
    rule_forms,
)
from validation.views.pages import kind_or_404

PER_PAGE = 20
CSV_COLUMNS = ("item", "dimension", "outcome", "judges", "support")
PreviewRow = tuple[str, selectors.OutcomeCounts, Chart | None]


@dataclass(frozen=True, slots=True)
class UndecidedPart:
    """One undecided decision about an item: the dimension's title, the part's text, and votes as (label, count)."""

    title: str
    text: str
    votes: list[tuple[str, int]]
    support: float | None


@dataclass(frozen=True, slots=True)
class UndecidedRow:
    """One undecided item with its image."""

    key: str
    shown: ShownItem | None
    judge_count: int
    parts: list[UndecidedPart] = field(default_factory=list)

    @property
    def inference(self) -> str:
        """The inference of a pair; empty for sets."""
        texts = self.shown.texts if self.shown else {}
        return texts.get("", "")


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def decisions(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the rules, a preview of each method, the newest decisions, and the undecided items."""
    requested = request.POST.get("kind") or request.GET.get("kind")
    kind = kind_or_404(requested or first_judged_kind(project, decidable_kinds()), decidable_kinds())
    judgments = count_judgments(project, kind)
    large = judgments > services.MAX_PAGE_JUDGMENTS
    jobs, run = _job_context(project, kind), selectors.newest_run(project, kind)
    rules = _form_rules(project, kind, jobs["preview_job"] if large else None, run)
    forms = rule_forms(kind, rules, request.POST or None)
    status, preview = 200, None
    if request.method == "POST":
        if not all([form.is_valid() for form in forms]):  # noqa: C419 - every form has to collect its errors
            status = 400
        else:
            rules_to_apply = {form.dimension: form.rule for form in forms if form.rule is not None}
            reply = _decide_or_preview(request, project, kind, rules_to_apply, large=large)
            if isinstance(reply, HttpResponse):
                return reply
            preview = reply
    page = get_page(request, selectors.undecided_item_keys(run) if run else [], PER_PAGE)
    context: dict[str, Any] = section_context(project, "judging") | {
        "kind": kind,
        "spec": spec_of(kind),
        "kinds": [(name, spec_of(name).title) for name in decidable_kinds()],
        "forms": forms,
        "errors": [(form, error) for form in forms for error in form.listed_errors],
        "judgments": judgments,
        "large": large,
        "run": run,
        "outcomes": _outcome_rows(run),
        "runs": [(row, _outcome_rows(row)) for row in selectors.newest_runs(project, kind)],
        "page": page,
        "query": f"kind={kind}&",
        "rows": _undecided_rows(project, kind, run, list(page)) if run else [],
        "rounds": follow_ups.round_progress(follow_ups.list_first_rounds(project, kind)[:PER_PAGE]),
        "short": {method.value: name for method, name in SHORT_METHOD_LABELS.items()},
    }
    context |= jobs
    if preview is None:
        preview = _load_preview(project, kind, rules, jobs["preview_job"], large=large)
    context |= {"preview": preview, "table": _preview_table(kind, preview)}
    return render(request, "validation/decisions/decisions.html", context, status=status)


@require_safe
@project_page()
def decision_file(request: HttpRequest, project: Project, run_id: int) -> StreamingHttpResponse:
    """Download one run's decisions as CSV, without names or numbers of workers."""
    run = get_object_or_404(DecisionRun, pk=run_id, project=project)
    csv_rows = csv_lines(
        CSV_COLUMNS,
        (
            (escape_formula(item), name, outcome, judges, "" if support is None else f"{support:.6g}")
            for item, name, outcome, judges, support in selectors.decision_rows(run)
        ),
    )
    reply = StreamingHttpResponse(csv_rows, content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="decisions-{run.pk}-{run.kind}.csv"'
    return reply


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def follow_up(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Set a round's follow-up limits, and launch the batch that asks one more judge about each undecided item."""
    rows = JudgingRound.objects.select_related("batch__project", "batch__instructions")
    first = get_object_or_404(rows, pk=round_id, batch__project=project, follows=None)
    kind_or_404(first.batch.kind, decidable_kinds())
    earlier_batch = find_repeated_launch(request, project)
    if earlier_batch is not None:  # it gets the reply of the first request
        report_launch(request, earlier_batch)
        return redirect(_decisions_url(project, first.batch.kind))
    step = request.POST.get("step")
    form = FollowUpLimitsForm.for_round(first, request.POST if step == "limits" else None)
    context: dict[str, Any] = {}
    status = 200
    if step == "limits":
        if _save_follow_up_limits(request, first, form):
            return redirect("follow-up", project.slug, first.pk)
        status = 400
    plan, reason = _plan_follow_up(first)
    if step == "launch":
        refused = _launch_follow_up(request, plan, reason)
        if refused is None:
            return redirect(_decisions_url(project, first.batch.kind))
        context, status = refusal_context(request.POST, refused), 400
    context |= section_context(project, "judging") | {
        "first": first,
        "form": form,
        "plan": plan,
        "reason": reason,
        "rules": [
            (spec_of(first.batch.kind).dimension_title(rule.dimension), describe_rule(rule))
            for rule in selectors.parse_valid_rules(first.batch.kind, first.rules).values()
        ],
        "row": follow_ups.round_progress([first])[0],
    }
    if plan is not None and plan.cost is not None:
        rewards, reward = f"Rewards, {len(plan.items)} × 1 worker", first.batch.reward_cents
        costs = estimate_context(project=project, estimate=plan.cost, rewards=rewards, reward_cents=reward)
        context = costs | {"idempotency_key": plan.idempotency_key} | context
    return render(request, "validation/decisions/follow_up.html", context, status=status)


def _decisions_url(project: Project, kind: str) -> str:
    return f"{reverse('decisions', args=[project.slug])}?kind={kind}"


def _decide_or_preview(
    request: HttpRequest, project: Project, kind: str, rules: dict[str, DecisionRule], *, large: bool
) -> HttpResponse | dict[str, dict[str, Any]] | None:
    """Decide, or return the counts of each method; with many judgments a worker process does either."""
    preview = request.POST.get("step") != "decide"
    with action_messages(request, "Not decided", conflict="A run is already in progress."):
        if large:
            services.request_decisions(
                project=project, kind=kind, rules=rules, by=signed_in_user(request), preview=preview
            )
        elif preview:
            return selectors.count_outcomes_by_method(selectors.judgment_tables(project, kind).tables, rules)
        else:
            result = services.decide_items(
                project=project, kind=kind, rules=rules, by=signed_in_user(request)
            )
            unchanged = "Nothing changed since the last run with these rules."
            messages.success(request, "Decisions saved." if result.is_new else unchanged)
    return redirect(_decisions_url(project, kind))


def _job_context(project: Project, kind: str) -> dict[str, Any]:
    newest = selectors.newest_decision_job(project, kind)
    return {
        "job": job_if_open(newest),
        "failed": job_if_failed(newest),
        "preview_job": selectors.newest_decision_job(project, kind, preview=True),
    }


def _form_rules(
    project: Project, kind: str, job: Job | None, run: DecisionRun | None
) -> dict[str, DecisionRule]:
    """Return the form's initial rules: those of the preview ``job``, unless the newest run is newer."""
    rules = selectors.current_rules(project, kind)
    if job is not None and (run is None or run.decided_at < job.created_at):
        rules |= selectors.parse_valid_rules(kind, job.args["rules"])
    return rules


def _load_preview(
    project: Project, kind: str, rules: dict[str, DecisionRule], job: Job | None, *, large: bool
) -> dict[str, Any] | None:
    """Return the counts of each method by the current rules; with many judgments, those that the last job stored."""
    if large:
        return job.result["counts"] if job is not None and job.state == JobState.DONE else None
    found = selectors.judgment_tables(project, kind)
    return selectors.count_outcomes_by_method(found.tables, rules) if found.judgments else None


def _preview_table(kind: str, preview: dict[str, Any] | None) -> list[tuple[str, list[PreviewRow]]]:
    """Return the preview as rows: a dimension's title, and each method with its counts and their bar."""
    return [
        (
            spec_of(kind).dimension_title(name),
            [_preview_row(method, by_method[method.value]) for method in Method],
        )
        for name, by_method in spec_of(kind).in_dimension_order(preview or {})
    ]


def _preview_row(method: Method, row: Mapping[str, int]) -> PreviewRow:
    counts = selectors.OutcomeCounts(**row)
    outcomes = [(name, getattr(counts, name), name) for name in ("accept", "reject", "undecided")]
    return SHORT_METHOD_LABELS[method], counts, stacked_strip(outcomes, summary="", with_figures=False)


def _outcome_rows(run: DecisionRun | None) -> list[tuple[str, str, selectors.OutcomeCounts]]:
    if run is None:
        return []
    return [
        (
            spec_of(run.kind).dimension_title(name),
            SHORT_METHOD_LABELS[Method(run.rules[name]["method"])],
            selectors.OutcomeCounts(**counts),
        )
        for name, counts in spec_of(run.kind).in_dimension_order(run.counts["dimensions"])
    ]


def _undecided_rows(project: Project, kind: str, run: DecisionRun, items: list[str]) -> list[UndecidedRow]:
    shown = shown_items(project, kind, items)
    judgments: dict[str, list[JudgmentRow]] = {item: [] for item in items}
    for row in read_judgments(project=project, kind=kind, items=items):
        judgments[row.item].append(row)
    open_parts = selectors.undecided_decisions(run, items)
    rows = []
    for item in items:
        parts = [_undecided_part(kind, row, judgments[item], shown.get(item)) for row in open_parts[item]]
        rows.append(UndecidedRow(item, shown.get(item), len(judgments[item]), parts))
    return rows


def _undecided_part(
    kind: str, row: ItemDecision, judgments: list[JudgmentRow], shown: ShownItem | None
) -> UndecidedPart:
    spec, part = spec_of(kind), row.item.partition("/")[2]
    votes = Counter(
        str(label)
        for judgment in judgments
        for name, part_key, label in spec.labels(judgment.answer)
        if (name, part_key) == (row.dimension, part)
    )
    titles = label_titles(kind, row.dimension)
    text = shown.texts.get(part, "") if shown and part else ""
    return UndecidedPart(
        title=spec.dimension_title(row.dimension),
        text=text,
        votes=[(titles[label], votes[label]) for label in titles if votes[label]],
        support=row.support,
    )


def _save_follow_up_limits(request: HttpRequest, first: JudgingRound, form: FollowUpLimitsForm) -> bool:
    if not form.is_valid():
        return False
    try:
        set_follow_up_limits(
            judging_round=first,
            max_redundancy=form.cleaned_data["max_redundancy"],
            ask_budget_cents=form.cleaned_data["ask_budget"] or 0,
            by=signed_in_user(request),
        )
    except Refused as error:
        field_label, _, message = str(error).partition(": ")
        name = {"workers per item": "max_redundancy", "budget": "ask_budget"}.get(field_label)
        form.add_error(name, f"{message[:1].upper()}{message[1:]}." if name else f"{error}.")
        return False
    messages.success(request, "Limits changed.")
    return True


def _plan_follow_up(first: JudgingRound) -> tuple[FollowUpPlan | None, str]:
    """Return the plan of the next follow-up, or the reason why there is none."""
    if not first.max_redundancy or not first.ask_budget_cents:
        return None, ""
    try:
        return plan_follow_up(first), ""
    except Refused as error:
        return None, str(error).partition(": ")[2] or str(error)


def _launch_follow_up(request: HttpRequest, plan: FollowUpPlan | None, reason: str) -> Refused | None:
    """Launch the follow-up; return the error if it is refused."""
    if plan is None:
        return Refused(reason or "this round has no follow-ups")
    if read_idempotency_key(request.POST) not in {"", plan.idempotency_key}:
        return Conflict("new judgments arrived; check the plan again")
    clear_cached_balance()
    funds = account_balance()
    try:
        batch = launch_follow_up(
            plan=plan,
            by=signed_in_user(request),
            confirmed_cents=typed_cost_cents(request.POST),
            available_cents=funds.available_cents if funds else None,
        )
    except Refused as error:
        return error
    clear_cached_balance()
    report_launch(request, batch)
    return None
