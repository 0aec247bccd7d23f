"""Pages about worker rules: the list, the form with a preview, and the rules' proposals."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import visitor_has_role
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import section_context
from hits.views.users import signed_in_user
from validation.domain.qualification.worker_rules import describe_finding, summarise_finding
from validation.domain.qualification.worker_status import Measure, WorkerStatus
from validation.models import RuleProposal, WorkerRule
from validation.selectors import worker_rules as selectors
from validation.services import worker_rules as services
from validation.views.status_messages import send_status_change
from validation.views.worker_rule_form import MEASURE_LABELS, WorkerRuleForm, describe_limit

MAX_PROPOSALS = 30  # the oldest; later ones appear as these are decided


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """One proposal with the suggested reason for the worker."""

    proposal: RuleProposal
    reason: str


def proposal_rows(proposals: Iterable[RuleProposal]) -> list[ProposalRow]:
    """Return the proposals with their suggested reasons."""
    return [ProposalRow(row, describe_finding(row.figures)) for row in proposals]


@require_safe
@project_page()
def rule_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the rules and the open proposals."""
    rules = selectors.list_rules(project)
    context = _rules_context(request, project) | {
        "rules": [
            (rule, MEASURE_LABELS[Measure(rule.measure)], describe_limit(rule.measure, rule.below))
            for rule in rules
        ],
        "proposals": proposal_rows(selectors.open_proposals(project)[:MAX_PROPOSALS]),
        "waiting": selectors.count_open_proposals(project),
    }
    return render(request, "validation/workers/rules.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def rule_edit(request: HttpRequest, project: Project, rule_id: int | None = None) -> HttpResponse:
    """Create or change a rule. “Preview” shows its proposals and saves nothing."""
    rule = None if rule_id is None else get_object_or_404(WorkerRule, pk=rule_id, project=project)
    form = WorkerRuleForm.for_rule(rule, request.POST or None)
    context = _rules_context(request, project) | {"form": form, "rule": rule}
    if request.method == "POST" and form.is_valid():
        if request.POST.get("step") == "save":
            services.save_rule(
                project=project,
                name=form.cleaned_data["name"],
                rule=form.rule,
                proposes=form.proposed_status,
                by=signed_in_user(request),
                existing=rule,
            )
            messages.success(
                request, "Rule saved. It is applied every five minutes and only makes proposals."
            )
            return redirect("worker-rules", project.slug)
        context["preview"] = selectors.preview_rule(
            form.rule, project, proposes=form.proposed_status, saved=rule
        )
        context["found"] = [
            (finding.worker, summarise_finding(finding.figures)) for finding in context["preview"].proposed
        ]
    return render(request, "validation/workers/rule.html", context, status=400 if form.errors else 200)


@require_POST
@project_page()
def rule_set_active(request: HttpRequest, project: Project, rule_id: int) -> HttpResponse:
    """Turn a rule on or off."""
    rule = get_object_or_404(WorkerRule, pk=rule_id, project=project)
    services.set_rule_active(rule=rule, is_active=request.POST.get("on") == "yes", by=signed_in_user(request))
    return redirect("worker-rules", project.slug)


@require_POST
@project_page()
def rules_apply(request: HttpRequest, project: Project) -> HttpResponse:
    """Apply the project's rules now."""
    new = services.evaluate_rules(project=project)
    plural = "s" if new != 1 else ""
    messages.success(request, f"Rules applied: {new or 'no'} new proposal{plural}.")
    return redirect("worker-rules", project.slug)


@require_POST
@project_page()
def proposal_decide(request: HttpRequest, project: Project, proposal_id: int) -> HttpResponse:
    """Accept or dismiss a proposal."""
    rows = RuleProposal.objects.select_related("rule__project", "worker")
    proposal = get_object_or_404(rows, pk=proposal_id, rule__project=project)
    reason = request.POST.get("reason", "")
    try:
        if request.POST.get("answer") == "accept":
            services.accept_proposal(proposal=proposal, reason=reason, by=signed_in_user(request))
            send_status_change(request, project, proposal.worker, WorkerStatus(proposal.rule.proposes))
        elif request.POST.get("answer") == "dismiss":
            services.dismiss_proposal(proposal=proposal, reason=reason, by=signed_in_user(request))
            messages.success(request, f"Proposal dismissed. The status of {proposal.worker} is unchanged.")
        else:
            messages.error(request, "Choose to accept or dismiss the proposal.")
    except Refused as error:
        messages.error(request, f"Nothing changed: {error}")
    return redirect(_next_url(request, project))


def _next_url(request: HttpRequest, project: Project) -> str:
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        return target
    return str(redirect("worker-rules", project.slug).url)


def _rules_context(request: HttpRequest, project: Project) -> dict[str, Any]:
    admin = visitor_has_role(request, project, Role.ADMIN)
    return section_context(project, "people", "rules") | {"admin": admin}
