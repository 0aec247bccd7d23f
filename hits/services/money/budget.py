"""The checks before money is committed: caps, funds, and the typed sum."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count

from hits.domain.money.usd import format_bare_usd, format_dollars
from hits.domain.states import HitState
from hits.models import Batch, Hit, Project
from hits.mturk.environments import Environment
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.money.budget import committed_cents
from hits.services import audit
from hits.services.errors import ConfirmationRequired, Refused

MAX_CAP_CENTS = 99_999_999_999  # nine digits of dollars, as the requester API writes a sum
MAX_TARGET_CENTS_PER_HOUR = 100_000  # a thousand dollars an hour is a typing error


@dataclass(frozen=True, slots=True)
class RequiredConfirmation:
    """A sum that a person has to type because of a live marketplace or the project's threshold."""

    cents: int
    is_live: bool
    label: str
    above_cents: int


def required_confirmation(
    *, project: Project, environment: Environment, max_cents: int
) -> RequiredConfirmation | None:
    """Return the sum to type before ``max_cents`` may be committed; none if a button is enough."""
    if not environment.is_live and max_cents <= project.confirm_above_cents:
        return None
    return RequiredConfirmation(
        max_cents, environment.is_live, environment.label, project.confirm_above_cents
    )


def check_caps(*, project: Project, more_cents: int, batch: Batch | None = None) -> None:
    """Refuse ``more_cents`` that would exceed the caps of the project or the batch.

    Call it inside the transaction that writes the plan, before the plan's row, and with the project's row locked, so
    that two simultaneous plans cannot use the same cents. The launch checks a new batch's own cap.

    Raises:
        Refused: over a cap; the message names the cap, the committed sum and the remedy.
    """
    if project.budget_cap_cents is not None:
        _check_cap(
            f"the project {project.name}",
            project.budget_cap_cents,
            committed_cents(project=project),
            more_cents,
            "reduce the cost, or ask a project admin to raise the cap on the Money page",
        )
    if batch is not None and batch.budget_cap_cents is not None:
        _check_cap(
            f"the batch {batch.name}",
            batch.budget_cap_cents,
            committed_cents(project=project, batch=batch),
            more_cents,
            "reduce the cost, or raise the batch's cap on the Money page",
        )


def check_batch_cap(*, max_cents: int, cap_cents: int | None) -> None:
    """Refuse a batch that could cost more than its own cap; ``None`` means no cap.

    Raises:
        Refused: over that cap.
    """
    if cap_cents is not None and max_cents > cap_cents:
        raise Refused(
            f"budget cap: this can cost {format_dollars(max_cents)}, and the cap is "
            f"{format_dollars(cap_cents)}; reduce the cost, or raise the cap"
        )


def check_batch_budget(*, batch: Batch, marketplace: Marketplace) -> None:
    """Refuse to publish further HITs over a cap or without funds; never call it inside a transaction.

    It reads the caps again, so a lowered cap stops the publication. Live HITs stay live, and the rest can be resumed.

    Raises:
        Refused: over a cap or too little funds; the message names both sums and the remedy.
    """
    project = Project.objects.get(pk=batch.project_id)
    check_caps(project=project, batch=Batch.objects.get(pk=batch.pk), more_cents=0)
    needed = cents_to_hold(batch)
    if not needed:
        return
    available = available_cents(marketplace)
    if available is not None:
        check_funds(available_cents=available, needed_cents=needed)


def available_cents(marketplace: Marketplace) -> int | None:
    """Return the account's balance, or ``None`` if the marketplace does not answer now.

    It refuses each HIT and each bonus without funds itself, and further checks follow.

    Raises:
        Refused: the marketplace does not report the balance.
    """
    try:
        return marketplace.get_balance().available_cents
    except MarketplaceError as error:
        if error.is_retryable:
            return None
        raise Refused(f"funds: the marketplace does not report the account's balance: {error}") from error


def cents_to_hold(batch: Batch) -> int:
    """Return the cents that the marketplace will hold for the batch's unattempted HITs.

    An attempted HIT may exist with its reply lost, and then the balance excludes its hold already.
    """
    waiting = Hit.objects.filter(unit__batch=batch, state=HitState.PLANNED).order_by()
    sizes = waiting.values_list("max_assignments").annotate(Count("id"))
    return sum(batch.slot_cents(slots) * slots * count for slots, count in sizes)


def check_funds(*, available_cents: int, needed_cents: int) -> None:
    """Refuse if the account has less than the next hold.

    Raises:
        Refused: at least one cent is missing.
    """
    if available_cents < needed_cents:
        raise Refused(
            f"insufficient funds: {format_dollars(needed_cents)} will be held, but the account has only "
            f"{format_dollars(available_cents)}, {format_dollars(needed_cents - available_cents)} too little; "
            "add funds on the page Marketplace accounts or with manage.py deposit, or reduce the cost"
        )


def check_confirmation(
    *, project: Project, environment: Environment, max_cents: int, confirmed_cents: int | None
) -> None:
    """Refuse a sum that has to be typed and is not: on a live marketplace, or above the project's threshold.

    A given sum has to be exact even if none is required.

    Raises:
        ConfirmationRequired: a sum is required, and ``confirmed_cents`` is not exactly ``max_cents``.
        Refused: none is required, and another one is given.
    """
    if confirmed_cents == max_cents:
        return
    required = required_confirmation(project=project, environment=environment, max_cents=max_cents)
    if required is None:
        if confirmed_cents is None:
            return
        raise Refused(
            f"cost: {format_dollars(confirmed_cents)} was confirmed, but the maximum cost is "
            f"{format_dollars(max_cents)}; confirm the maximum cost, or leave the confirmation out"
        )
    reason = (
        f"{required.label} pays real people with real money"
        if required.is_live
        else f"this is more than {format_dollars(required.above_cents)}, the project's confirmation threshold"
    )
    raise ConfirmationRequired(
        f"{reason}; type the maximum cost, {format_bare_usd(required.cents)}, to continue", required.cents
    )


@transaction.atomic
def set_project_money(
    *,
    project: Project,
    target_cents_per_hour: int,
    budget_cap_cents: int | None,
    confirm_above_cents: int,
    by: AbstractBaseUser | None,
) -> list[str]:
    """Change a project's target, cap and threshold in cents; return the names of changed fields. Repeatable.

    A cap below the committed sum is allowed: it stops further commitments.

    Raises:
        Refused: a negative or implausible sum.
    """
    new_values: dict[str, int | None] = {
        "target_cents_per_hour": _validate_cents("target", target_cents_per_hour, MAX_TARGET_CENTS_PER_HOUR),
        "budget_cap_cents": _validate_cap(budget_cap_cents),
        "confirm_above_cents": _validate_cents("threshold", confirm_above_cents, 2**31 - 1),
    }
    row = Project.objects.select_for_update().get(pk=project.pk)
    changed = {name: value for name, value in new_values.items() if getattr(row, name) != value}
    if changed:
        before = {f"{name}_before": getattr(row, name) for name in changed}
        Project.objects.filter(pk=row.pk).update(**changed)
        audit.record(project=row, actor=by, action="project.money", subject=row.slug, **changed, **before)
    return list(changed)


@transaction.atomic
def set_batch_cap(*, batch: Batch, budget_cap_cents: int | None, by: AbstractBaseUser | None) -> bool:
    """Change the cap of a batch in cents (none: no cap of its own); return whether it changed.

    Raises:
        Refused: a negative or implausible sum.
    """
    new_cap = _validate_cap(budget_cap_cents)
    row = Batch.objects.select_for_update().get(pk=batch.pk)
    if row.budget_cap_cents == new_cap:
        return False
    Batch.objects.filter(pk=row.pk).update(budget_cap_cents=new_cap)
    audit.record(
        project=row.project,
        actor=by,
        action="batch.cap",
        subject=row.pk,
        budget_cap_cents=new_cap,
        budget_cap_cents_before=row.budget_cap_cents,
    )
    return True


def _check_cap(subject: str, cap_cents: int, committed: int, more_cents: int, remedy: str) -> None:
    excess = committed + more_cents - cap_cents
    if excess <= 0:
        return
    addition = f", and this can cost {format_dollars(more_cents)} more" if more_cents else ""
    raise Refused(
        f"budget: {subject} may cost {format_dollars(cap_cents)}; {format_dollars(committed)} is committed{addition}"
        f": {format_dollars(excess)} over the cap; {remedy}"
    )


def _validate_cap(cents: int | None) -> int | None:
    return None if cents is None else _validate_cents("cap", cents, MAX_CAP_CENTS)


def _validate_cents(name: str, cents: int, maximum: int) -> int:
    if not 0 <= cents <= maximum:
        raise Refused(f"{name}: use {format_dollars(0)} to {format_dollars(maximum)}")
    return cents
