"""The context of every page that confirms a cost: cost table, balance, caps and the typed amount."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from hits.domain.money.cost_table import CostTable, Estimate, cost_table
from hits.domain.money.usd import format_bare_usd, format_dollars, parse_typed_usd
from hits.models import Batch, Project
from hits.mturk.environments import current_environment
from hits.services.errors import ConfirmationRequired, Refused
from hits.services.launching.terms import LaunchTerms
from hits.services.money import budget
from hits.views.balance import account_balance, clear_cached_balance


def cost_context(
    *,
    project: Project,
    cost: CostTable,
    held_cents: int,
    max_cents: int,
    batch: Batch | None = None,
    batch_cap_cents: int | None = None,
) -> dict[str, Any]:
    """Return the context of ``_cost_table.html``, ``_funds.html`` and ``_typed_cost.html``.

    ``held_cents`` is held at once, ``max_cents`` is the maximum cost. ``batch`` is an existing batch,
    ``batch_cap_cents`` the requested cap of a new one. ``is_blocked``: the services would refuse now.
    """
    environment = current_environment()
    funds = account_balance()
    shortfall_cents = max(0, held_cents - funds.available_cents) if funds else 0
    cap_error = _cap_error(project, batch, max_cents, batch_cap_cents)
    return {
        "cost": cost,
        "environment": environment,
        "confirmation": budget.required_confirmation(
            project=project, environment=environment, max_cents=max_cents
        ),
        "balance": funds,
        "shortfall_cents": shortfall_cents,
        "over_cap": cap_error,
        "is_blocked": bool(shortfall_cents or cap_error),
    }


def estimate_context(
    *,
    project: Project,
    estimate: Estimate,
    rewards: str,
    reward_cents: int,
    bonus_cents: int = 0,
    **caps: Any,
) -> dict[str, Any]:
    """Return ``cost_context`` with an estimate's table, whose first row is ``rewards``, and the estimate itself."""
    table = cost_table(estimate, first_label=rewards, reward_cents=reward_cents, bonus_cents=bonus_cents)
    held_cents, max_cents = estimate.held_cents, estimate.max_cents
    context = cost_context(project=project, cost=table, held_cents=held_cents, max_cents=max_cents, **caps)
    return context | {"estimate": estimate}


def launch_if_confirmed(request: HttpRequest, launch: Callable[[], str]) -> HttpResponse | dict[str, Any]:
    """Launch in the step of that name, and redirect to the URL that ``launch`` returns.

    Otherwise return the refusal's context for the confirmation page, which is empty in other steps.
    """
    if request.POST.get("step") != "launch":
        return {}
    try:
        url = launch()
    except Refused as error:
        return refusal_context(request.POST, error)
    clear_cached_balance()
    return redirect(url)


def refusal_context(data: Mapping[str, Any], error: Refused) -> dict[str, Any]:
    """Return the context of a confirmation page after a refusal, with the typed amount and its error."""
    typed = str(data.get("typed_cost", "")).strip()
    if isinstance(error, ConfirmationRequired):
        return {"typed": typed, "typed_error": _typed_cost_error(typed, error.cents)}
    return {"typed": typed, "refused": str(error).rstrip(".")}


def _typed_cost_error(typed: str, max_cents: int) -> str:
    request_message = f"type the maximum cost, {format_bare_usd(max_cents)}."
    if not typed:
        return f"Nothing was typed; {request_message}"
    try:
        return f"{format_dollars(parse_typed_usd(typed))} is another sum; {request_message}"
    except ValueError:
        return f"“{typed}” is not an amount in US dollars; {request_message}"


def add_balance_to_terms(terms: LaunchTerms) -> LaunchTerms:
    """Return the terms with the current balance, so that the launch can refuse an insufficient one."""
    clear_cached_balance()
    funds = account_balance()
    return replace(terms, available_cents=funds.available_cents if funds else None)


def _cap_error(project: Project, batch: Batch | None, max_cents: int, batch_cap_cents: int | None) -> str:
    try:
        budget.check_batch_cap(max_cents=max_cents, cap_cents=batch_cap_cents)
        budget.check_caps(project=project, batch=batch, more_cents=max_cents)
    except Refused as error:
        return str(error).removeprefix("budget: ").removeprefix("budget cap: ")
    return ""
