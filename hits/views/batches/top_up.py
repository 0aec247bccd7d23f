"""Top up a batch's pay: proposal per worker, cost and confirmation."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits.charts.pay import pay_histogram
from hits.domain.answers.text import parse_digits
from hits.domain.money.cost_table import CostRow, CostTable
from hits.domain.money.usd import format_dollars
from hits.forms import read_idempotency_key, typed_cost_cents
from hits.models import Batch
from hits.mturk.boto import marketplace
from hits.selectors.jobs import find_open_jobs
from hits.selectors.money import top_ups
from hits.selectors.money.top_ups import TopUpProposal
from hits.services.batches import top_up as services
from hits.services.errors import Refused
from hits.views.access import batch_page
from hits.views.balance import clear_cached_balance
from hits.views.costs import cost_context, refusal_context
from hits.views.pages import batch_context
from hits.views.users import signed_in_user

MAX_ROWS = 200  # submissions in the list; the sums cover all


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def batch_top_up(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show the proposal; a POST with its sum tops up."""
    if request.method == "POST":
        return _top_up(request, batch)
    return _render_page(request, batch)


def _render_page(request: HttpRequest, batch: Batch, refusal: Refused | None = None) -> HttpResponse:
    """Show the proposal and its cost; after a ``refusal``, also the typed amount."""
    proposal = top_ups.propose_top_up(batch)
    context = batch_context(batch) | {
        "proposal": proposal,
        "listed": sorted(proposal.underpaid, key=lambda gap: -gap.shortfall_cents)[:MAX_ROWS],
        "target": proposal.target_cents_per_hour,
        "histogram": pay_histogram(proposal.rates, target=proposal.target_cents_per_hour),
        "idempotency_key": read_idempotency_key(request.POST) or uuid.uuid4().hex,
        "history": list(top_ups.top_up_history(batch)),
        "why_refused": top_ups.most_frequent_top_up_errors(batch),
        "running": list(find_open_jobs(f"top-up:{batch.pk}")),
    }
    context |= cost_context(
        project=batch.project,
        batch=batch,
        cost=_cost_table(proposal),
        held_cents=proposal.total_cents,
        max_cents=proposal.total_cents,
    )
    if refusal is not None:
        context |= refusal_context(request.POST, refusal)
    return render(request, "hits/batches/top_up.html", context, status=400 if refusal else 200)


def _cost_table(proposal: TopUpProposal) -> CostTable:
    return (
        CostRow("Top-ups", proposal.cents, proposal.submission_count),
        CostRow("Fees on top-ups", proposal.fee_cents),
        CostRow("Total", proposal.total_cents, is_total=True),
    )


def _top_up(request: HttpRequest, batch: Batch) -> HttpResponse:
    clear_cached_balance()
    try:
        top_up, _ = services.top_up_batch(
            batch=batch,
            by=signed_in_user(request),
            marketplace=marketplace(),
            idempotency_key=read_idempotency_key(request.POST),
            seen_cents=parse_digits(request.POST.get("seen", "")),
            confirmed_cents=typed_cost_cents(request.POST),
        )
    except Refused as error:
        return _render_page(request, batch, error)
    clear_cached_balance()
    messages.success(
        request, f"{top_up.submissions} submissions get {format_dollars(top_up.cents)}, one by one."
    )
    return redirect("batch-top-up", batch.pk)
