"""GetAccountBalance."""

from typing import Any

from hits.domain.money.usd import format_bare_usd

from .registry import Call, operation


@operation("GetAccountBalance")
def get_account_balance(call: Call, _params: dict[str, Any]) -> dict[str, Any]:
    """Return the available balance and the sum held for open work."""
    return {
        "AvailableBalance": format_bare_usd(call.requester.available_cents),
        "OnHoldBalance": format_bare_usd(call.requester.held_cents),
    }
