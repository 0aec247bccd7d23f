"""What every page shows that asks somebody to promise money: the table, the funds, the caps, the typed sum."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hits.domain.money.costs import CostTable
from hits.domain.money.usd import format_dollars, format_usd, parse_typed_usd
from hits.models import Batch, Project
from hits.mturk.environments import current
from hits.services.errors import Refused, Unconfirmed
from hits.services.launching.terms import Terms
from hits.services.money import budget
from hits.views.balance import balance, forget_balance


def cost_context(
    *,
    project: Project,
    cost: CostTable,
    held_cents: int,
    most_cents: int,
    batch: Batch | None = None,
    own_cap_cents: int | None = None,
) -> dict[str, Any]:
    """Return what ``_cost_table.html``, ``_funds.html`` and ``_typed_cost.html`` show.

    ``held_cents`` leaves the free balance at once, ``most_cents`` is the most that can be spent; ``batch`` is the one
    that exists already, ``own_cap_cents`` the cap that is wished for a new one. ``shut`` tells that the services
    would refuse it as things stand.
    """
    environment = current()
    funds = balance()
    short = max(0, held_cents - funds.available_cents) if funds else 0
    over = _over_a_cap(project, batch, most_cents, own_cap_cents)
    return {
        "cost": cost,
        "environment": environment,
        "confirmation": budget.confirmation_of(
            project=project, environment=environment, most_cents=most_cents
        ),
        "balance": funds,
        "short": short,
        "over_cap": over,
        "shut": bool(short or over),
    }


def refusal_context(data: Mapping[str, Any], error: Refused) -> dict[str, Any]:
    """Return what a confirming page shows after a refusal: a typed sum's at its field, with what was typed there."""
    typed = str(data.get("typed_cost", "")).strip()
    if isinstance(error, Unconfirmed):
        return {"typed": typed, "typed_error": _about_typed(typed, error.cents)}
    return {"typed": typed, "refused": str(error).rstrip(".")}


def _about_typed(typed: str, asked_cents: int) -> str:
    wanted = f"type the most that this can cost, {format_usd(asked_cents)}."
    if not typed:
        return f"Nothing was typed; {wanted}"
    try:
        return f"{format_dollars(parse_typed_usd(typed))} is another sum; {wanted}"
    except ValueError:
        return f"“{typed}” is no sum in US dollars; {wanted}"


def with_funds(terms: Terms) -> Terms:
    """Return the terms with what the account holds this very moment, so that the launch can refuse a cent short."""
    forget_balance()
    funds = balance()
    return replace(terms, available_cents=funds.available_cents if funds else None)


def _over_a_cap(project: Project, batch: Batch | None, most_cents: int, own_cap_cents: int | None) -> str:
    try:
        budget.check_own_cap(most_cents=most_cents, cap_cents=own_cap_cents)
        budget.check_plan(project=project, batch=batch, more_cents=most_cents)
    except Refused as error:
        return str(error).removeprefix("budget: ").removeprefix("budget cap: ")
    return ""
