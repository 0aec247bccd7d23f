"""Standing rules: the list, one rule's form with a preview, and what rules propose."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import visitor_may
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.who import person
from validation.domain.qualification.worker_rules import brief, sentence
from validation.domain.qualification.worker_status import Measure, Standing
from validation.models import StandingProposal, StandingRule
from validation.selectors import worker_rules as selectors
from validation.services import worker_rules as services
from validation.views.rule_form import MEASURES, RuleForm, limit_words
from validation.views.say import say_standing

SHOWN = 30  # the oldest; the others come up as these are decided


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """One proposal as a page shows it, with the reason that is offered to the person who accepts it."""

    proposal: StandingProposal
    reason: str


def rows_of(proposals: Iterable[StandingProposal]) -> list[ProposalRow]:
    """Return proposals with their reasons in words."""
    return [ProposalRow(row, sentence(row.figures)) for row in proposals]


@require_safe
@project_page()
def rule_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the rules, and what waits to be accepted or dismissed."""
    rules = selectors.rules_of(project)
    context = _frame(request, project) | {
        "rules": [
            (rule, MEASURES[Measure(rule.measure)], limit_words(rule.measure, rule.below)) for rule in rules
        ],
        "proposals": rows_of(selectors.open_proposals(project)[:SHOWN]),
        "waiting": selectors.waiting_in(project),
    }
    return render(request, "validation/workers/rules.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def rule_edit(request: HttpRequest, project: Project, rule_id: int | None = None) -> HttpResponse:
    """Make or change a rule; “Preview” shows whom it would propose now and saves nothing."""
    rule = None if rule_id is None else get_object_or_404(StandingRule, pk=rule_id, project=project)
    form = RuleForm.showing(rule, request.POST or None)
    context = _frame(request, project) | {"form": form, "rule": rule}
    if request.method == "POST" and form.is_valid():
        if request.POST.get("step") == "save":
            services.save_rule(
                project=project,
                name=form.cleaned_data["name"],
                rule=form.rule,
                proposes=form.proposes_now,
                by=person(request),
                instead_of=rule,
            )
            messages.success(request, "The rule is saved. It looks every few minutes, and only proposes.")
            return redirect("standing-rules", project.slug)
        context["outlook"] = selectors.outlook(form.rule, project, proposes=form.proposes_now, saved=rule)
        context["found"] = [
            (finding.worker, brief(finding.figures)) for finding in context["outlook"].proposed
        ]
    return render(request, "validation/workers/rule.html", context, status=400 if form.errors else 200)


@require_POST
@project_page()
def rule_switch(request: HttpRequest, project: Project, rule_id: int) -> HttpResponse:
    """Let a rule look, or look no more."""
    rule = get_object_or_404(StandingRule, pk=rule_id, project=project)
    services.switch_rule(rule=rule, on=request.POST.get("on") == "yes", by=person(request))
    return redirect("standing-rules", project.slug)


@require_POST
@project_page()
def rules_look(request: HttpRequest, project: Project) -> HttpResponse:
    """Let the project's rules look now."""
    new = services.evaluate_all(project=project)
    plural = "s" if new != 1 else ""
    messages.success(request, f"The rules looked just now: {new or 'no'} new proposal{plural}.")
    return redirect("standing-rules", project.slug)


@require_POST
@project_page()
def proposal_decide(request: HttpRequest, project: Project, proposal_id: int) -> HttpResponse:
    """Accept or dismiss a proposal."""
    rows = StandingProposal.objects.select_related("rule__project", "worker")
    proposal = rows.filter(pk=proposal_id, rule__project=project).first()
    if proposal is None:
        raise Http404("There is no such page.")
    reason = request.POST.get("reason", "")
    try:
        if request.POST.get("answer") == "accept":
            services.accept(proposal=proposal, reason=reason, by=person(request))
            say_standing(request, project, proposal.worker, Standing(proposal.rule.proposes))
        elif request.POST.get("answer") == "dismiss":
            services.dismiss(proposal=proposal, reason=reason, by=person(request))
            messages.success(request, f"Dismissed. {proposal.worker} stays where they are.")
        else:
            messages.error(request, "Choose to accept or to dismiss.")
    except Refused as error:
        messages.error(request, f"Not done: {error}")
    return redirect(_back(request, project))


def _back(request: HttpRequest, project: Project) -> str:
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        return target
    return str(redirect("standing-rules", project.slug).url)


def _frame(request: HttpRequest, project: Project) -> dict[str, Any]:
    return {
        "project": project,
        "section": "people",
        "tab": "rules",
        "admin": visitor_may(request, project, Role.ADMIN),
    }
