"""Requesters' accounts, for platform admins."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from hits.domain.money.usd import format_dollars, parse_usd
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Requester
from hits.marketplace.selectors import accounts as selectors
from hits.marketplace.services import accounts as services

from .access import platform_admin_required

MAX_NOTE_LENGTH = 200


@never_cache
@require_GET
@platform_admin_required
def account_list(request: HttpRequest) -> HttpResponse:
    """Show every requester's balances and the latest ledger entries."""
    return _render_page(request)


@require_POST
@platform_admin_required
def deposit(request: HttpRequest, requester_pk: int) -> HttpResponse:
    """Fund an account."""
    requester = get_object_or_404(Requester, pk=requester_pk)
    typed = request.POST.get("amount", "").strip().removeprefix("$")
    note = request.POST.get("note", "").strip()[:MAX_NOTE_LENGTH]
    try:
        cents = parse_usd(typed)
        services.deposit(requester=requester, cents=cents, note=note)
    except (ValueError, ActionRefused) as error:
        failed_deposit = {"requester_pk": requester.pk, "message": str(error), "amount": typed, "note": note}
        return _render_page(request, failed_deposit=failed_deposit, status=400)
    messages.success(request, f"{format_dollars(cents)} deposited for {requester.name}.")
    return redirect("marketplace:accounts")


def _render_page(
    request: HttpRequest, *, failed_deposit: dict[str, object] | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "accounts": selectors.list_accounts(),
        "entries": selectors.list_latest_entries(),
        "unbalanced": selectors.find_unbalanced_requesters(),
        "failed": failed_deposit,
    }
    return render(request, "marketplace/requesters/accounts.html", context, status=status)
