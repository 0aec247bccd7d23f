"""Top up a batch's pay: who would get how much and why, and the press that decides it."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits.domain.answers.text import row_number
from hits.domain.chart import pay_histogram
from hits.domain.money.costs import CostLine, CostTable
from hits.domain.money.usd import format_dollars
from hits.forms import launch_key, typed_cost
from hits.models import Batch
from hits.mturk.boto import marketplace
from hits.selectors.jobs import open_under
from hits.selectors.money import top_ups
from hits.selectors.money.top_ups import Proposal
from hits.services.batches import top_up as services
from hits.services.errors import Refused
from hits.views.access import batch_page
from hits.views.balance import forget_balance
from hits.views.costs import cost_context, refusal_context
from hits.views.who import person

SHOWN = 200  # submissions in the list; the sums are of all


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def batch_top_up(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show the proposal; a press with its sum tops up."""
    if request.method == "POST":
        return _top_up(request, batch)
    return _page(request, batch)


def _page(request: HttpRequest, batch: Batch, refusal: Refused | None = None) -> HttpResponse:
    """Show the proposal, and what it costs; after a ``refusal`` with what was typed."""
    proposal = top_ups.proposal_for(batch)
    context: dict[str, Any] = {
        "project": batch.project,
        "section": "batches",
        "batch": batch,
        "proposal": proposal,
        "listed": sorted(proposal.gaps, key=lambda gap: -gap.cents)[:SHOWN],
        "target": proposal.target_cents_per_hour,
        "histogram": pay_histogram(proposal.rates, target=proposal.target_cents_per_hour),
        "once": launch_key(request.POST) or uuid.uuid4().hex,
        "history": list(top_ups.history(batch)),
        "why_refused": top_ups.why_refused(batch),
        "running": list(open_under(f"top-up:{batch.pk}")),
    }
    context |= cost_context(
        project=batch.project,
        batch=batch,
        cost=_cost(proposal),
        held_cents=proposal.total_cents,
        most_cents=proposal.total_cents,
    )
    if refusal is not None:
        context |= refusal_context(request.POST, refusal)
    return render(request, "hits/batches/top_up.html", context, status=400 if refusal else 200)


def _cost(proposal: Proposal) -> CostTable:
    lines = [CostLine("Top-ups", proposal.cents, proposal.submissions)]
    lines.append(CostLine("Fees on them", proposal.fee_cents))
    lines.append(CostLine("In all", proposal.total_cents, is_total=True))
    return CostTable(tuple(lines))


def _top_up(request: HttpRequest, batch: Batch) -> HttpResponse:
    forget_balance()
    try:
        top_up, _ = services.top_up_batch(
            batch=batch,
            by=person(request),
            marketplace=marketplace(),
            once=launch_key(request.POST),
            seen_cents=row_number(request.POST.get("seen", "")),
            confirmed_cents=typed_cost(request.POST),
        )
    except Refused as error:
        return _page(request, batch, error)
    forget_balance()
    messages.success(
        request, f"{top_up.submissions} submissions get {format_dollars(top_up.cents)}, one by one."
    )
    return redirect("batch-top-up", batch.pk)
