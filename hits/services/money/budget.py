"""The gates before money is promised: caps, funds, and the sum that a person types."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count

from hits.domain.money.usd import format_dollars, format_usd
from hits.domain.states import HitState
from hits.models import Batch, Hit, Project
from hits.mturk.environments import Environment
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.money.budget import committed_cents
from hits.services import audit
from hits.services.errors import Refused, Unconfirmed

MAX_CAP_CENTS = 99_999_999_999  # nine digits of dollars, as the requester API writes a sum
MAX_TARGET_CENTS = 100_000


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A sum that somebody has to type, and why: a live marketplace, or more than the project's threshold."""

    cents: int
    is_live: bool
    label: str
    above_cents: int


def confirmation_of(*, project: Project, environment: Environment, most_cents: int) -> Confirmation | None:
    """Return what has to be typed before ``most_cents`` may be promised; none when a press is enough."""
    if not environment.is_live and most_cents <= project.confirm_above_cents:
        return None
    return Confirmation(most_cents, environment.is_live, environment.label, project.confirm_above_cents)


def check_plan(*, project: Project, more_cents: int, batch: Batch | None = None) -> None:
    """Refuse a plan that could cost ``more_cents`` more than the caps of its project and its batch allow.

    Asked inside the transaction that writes the plan, with the project's row locked, so that two plans at once cannot
    share the same cents; before the plan's own row is written. A new batch's own cap is checked by its launch.

    Raises:
        Refused: over a cap; the message names the cap, what is committed and what to do.
    """
    if project.budget_cap_cents is not None:
        _check_cap(
            f"the project {project.name}",
            project.budget_cap_cents,
            committed_cents(project=project),
            more_cents,
            "take less, or have an admin of the project raise its cap on the Money page",
        )
    if batch is not None and batch.budget_cap_cents is not None:
        _check_cap(
            f"the batch {batch.name}",
            batch.budget_cap_cents,
            committed_cents(project=project, batch=batch),
            more_cents,
            "take less, or raise the batch's cap on the Money page",
        )


def check_own_cap(*, most_cents: int, cap_cents: int | None) -> None:
    """Refuse a batch that could cost more than the cap that is wished for it; ``None`` means no cap of its own.

    Raises:
        Refused: over that cap.
    """
    if cap_cents is not None and most_cents > cap_cents:
        raise Refused(
            f"budget cap: this can cost {format_dollars(most_cents)}, and the cap is "
            f"{format_dollars(cap_cents)}; take less, or raise the cap"
        )


def check_batch(*, batch: Batch, marketplace: Marketplace) -> None:
    """Refuse to go on publishing a batch over a cap, or one that the account cannot hold; never inside a transaction.

    Caps are read anew, so that one lowered meanwhile stops the publication here; what is live stays live, and the
    rest can be resumed.

    Raises:
        Refused: over a cap or short of funds; the message names both sums and what to do.
    """
    project = Project.objects.get(pk=batch.project_id)
    check_plan(project=project, batch=Batch.objects.get(pk=batch.pk), more_cents=0)
    needed = to_be_held(batch)
    if not needed:
        return
    try:
        available = marketplace.balance().available_cents
    except MarketplaceError as error:
        if error.retry:
            return  # the marketplace itself refuses a HIT without funds, and it is asked again a hundred HITs on
        raise Refused(f"funds: the marketplace does not say what the account holds: {error}") from error
    check_funds(available_cents=available, needed_cents=needed)


def to_be_held(batch: Batch) -> int:
    """Return in cents what the marketplace will hold for the HITs of a batch that nobody has tried to make yet.

    One that was tried may stand already, with its reply lost: then the balance is less by its cost already.
    """
    waiting = Hit.objects.filter(unit__batch=batch, state=HitState.PLANNED).order_by()
    sizes = waiting.values_list("max_assignments").annotate(Count("id"))
    return sum(batch.slot_cents(slots) * slots * count for slots, count in sizes)


def check_funds(*, available_cents: int, needed_cents: int) -> None:
    """Refuse when the account has less than is about to be held.

    Raises:
        Refused: one cent or more is missing.
    """
    if available_cents < needed_cents:
        raise Refused(
            f"insufficient funds: {format_dollars(needed_cents)} will be held and the account has "
            f"{format_dollars(available_cents)}, {format_dollars(needed_cents - available_cents)} too little; "
            "add funds on the page Marketplace accounts or with manage.py deposit, or take fewer tasks"
        )


def check_confirmation(
    *, project: Project, environment: Environment, most_cents: int, confirmed_cents: int | None
) -> None:
    """Refuse a sum that has to be typed and was not: on a live marketplace, or above the project's threshold.

    A sum that is given has to be the right one even where none is asked for: who names it means that one.

    Raises:
        Unconfirmed: a sum is asked for, and ``confirmed_cents`` is not exactly ``most_cents``.
        Refused: none is asked for, and another one was given.
    """
    if confirmed_cents == most_cents:
        return
    asked = confirmation_of(project=project, environment=environment, most_cents=most_cents)
    if asked is None:
        if confirmed_cents is None:
            return
        raise Refused(
            f"cost: {format_dollars(confirmed_cents)} was confirmed and the most that this can cost is "
            f"{format_dollars(most_cents)}; confirm that sum, or none"
        )
    why = (
        f"{asked.label} pays real people with real money"
        if asked.is_live
        else f"this is more than {format_dollars(asked.above_cents)}, above which {project.name} has the sum typed"
    )
    raise Unconfirmed(
        f"{why}; type the most that this can cost, {format_usd(asked.cents)}, to go on", asked.cents
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
    """Change a project's target, cap and threshold in cents; return the names of what changed. Repeatable.

    A cap below what is committed is allowed: nothing more is promised then.

    Raises:
        Refused: a sum that is negative or beyond reason.
    """
    wanted: dict[str, int | None] = {
        "target_cents_per_hour": _within("target", target_cents_per_hour, MAX_TARGET_CENTS),
        "budget_cap_cents": _cap(budget_cap_cents),
        "confirm_above_cents": _within("threshold", confirm_above_cents, 2**31 - 1),
    }
    row = Project.objects.select_for_update().get(pk=project.pk)
    changed = {name: value for name, value in wanted.items() if getattr(row, name) != value}
    if changed:
        before = {f"{name}_before": getattr(row, name) for name in changed}
        Project.objects.filter(pk=row.pk).update(**changed)
        audit.record(project=row, actor=by, action="project.money", subject=row.slug, **changed, **before)
    return list(changed)


@transaction.atomic
def set_batch_cap(*, batch: Batch, budget_cap_cents: int | None, by: AbstractBaseUser | None) -> bool:
    """Change the most that a batch may cost, in cents (none: no cap of its own); return whether it changed.

    Raises:
        Refused: a sum that is negative or beyond reason.
    """
    wanted = _cap(budget_cap_cents)
    row = Batch.objects.select_for_update().get(pk=batch.pk)
    if row.budget_cap_cents == wanted:
        return False
    Batch.objects.filter(pk=row.pk).update(budget_cap_cents=wanted)
    audit.record(
        project=row.project,
        actor=by,
        action="batch.cap",
        subject=row.pk,
        budget_cap_cents=wanted,
        budget_cap_cents_before=row.budget_cap_cents,
    )
    return True


def _check_cap(what: str, cap: int, committed: int, more: int, mend: str) -> None:
    over = committed + more - cap
    if over <= 0:
        return
    wish = f", and this can cost {format_dollars(more)} more" if more else ""
    raise Refused(
        f"budget: {what} may cost {format_dollars(cap)}; {format_dollars(committed)} is committed{wish}, "
        f"{format_dollars(over)} too much; {mend}"
    )


def _cap(cents: int | None) -> int | None:
    return None if cents is None else _within("cap", cents, MAX_CAP_CENTS)


def _within(name: str, cents: int, most: int) -> int:
    if not 0 <= cents <= most:
        raise Refused(f"{name}: use {format_dollars(0)} to {format_dollars(most)}")
    return cents
