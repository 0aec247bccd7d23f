"""Read which rounds may ask one more judge, whether their judgments are in, and what is undecided."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Count, F, QuerySet
from django.utils import timezone

from hits.domain.hashing import content_sha256
from hits.domain.states import BatchState, HitState, Match
from hits.models import Assignment, Batch, Hit, Project, Unit
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.selectors.money.budget import committed_cents
from hits.selectors.records import NOT_REJECTED
from validation.domain.judging.rating_tables import tables
from validation.domain.judging.ratings import Judged
from validation.domain.judging.spec import Material
from validation.domain.reports.decisions import Outcome, Rule, decide
from validation.models import JudgingRound
from validation.registry import spec_of
from validation.selectors.decisions import fits, read_rules
from validation.selectors.ratings import judged
from validation.selectors.report import standing_now

AT_ONCE = 500
REMEMBERED = 24 * 3600  # seconds


@dataclass(frozen=True, slots=True)
class Undecided:
    """One item to ask about: how many people judged it, and the row keys of the workers among them."""

    item: str
    judges: int
    workers: frozenset[int]


@dataclass(frozen=True, slots=True)
class AskingRound:
    """A round as the decisions page lists it: how many judgments are in of how many, and who asks again for it."""

    round: JudgingRound
    judged: int
    wanted: int
    followers: Sequence[JudgingRound]


def rounds_of(project: Project, kind: str) -> list[JudgingRound]:
    """Return the project's rounds that are no follow-ups, the newest first."""
    rows = JudgingRound.objects.filter(batch__project=project, batch__kind=kind, follows=None)
    return list(rows.select_related("batch__project").order_by("-pk"))


def rounds_that_ask(environment: str) -> list[JudgingRound]:
    """Return the rounds of one marketplace that ask one more judge by themselves, the oldest first."""
    rows = JudgingRound.objects.filter(
        follows=None, most_judges__gt=0, ask_budget_cents__gt=0, batch__environment=environment
    )
    return list(rows.select_related("batch__project", "batch__instructions").order_by("pk"))


def asking_rounds(rounds: Iterable[JudgingRound]) -> list[AskingRound]:
    """Return rounds with how far their judgments are."""
    found = []
    for row in rounds:
        chain = _batches(row)
        units = Unit.objects.filter(batch__in=chain, control=None)
        wanted = sum(units.filter(batch=batch).count() * batch.opinions for batch in chain)
        followers = list(row.followers.select_related("batch").order_by("pk"))
        found.append(AskingRound(row, _standing(chain).count(), wanted, followers))
    return found


def is_complete(first: JudgingRound) -> bool:
    """Tell whether all that was asked for is in: by the round and by those that ask again for it.

    A HIT whose time is over, or that was called off, is waited for no longer, and neither is a closed batch. Control
    units are not waited for at all.
    """
    for batch in _batches(first):
        if batch.state == BatchState.CLOSED:
            continue
        hits = Hit.objects.filter(unit__batch=batch, unit__control=None).exclude(state=HitState.CANCELLED)
        over = timezone.now() - timedelta(seconds=batch.duration_seconds)
        waited = hits.exclude(expires_at__lt=over)
        short = waited.annotate(came=Count("assignments")).filter(came__lt=F("max_assignments"))
        if short.exists():
            return False
    return True


def undecided_items(first: JudgingRound) -> list[Undecided]:
    """Return the round's items that its rules leave undecided with fewer judges than the most, oldest first.

    All judgments of the kind count, whichever round asked for them. A pair that is no longer accepted, or whose image
    was taken down, is left out.
    """
    batch = first.batch
    # Working it out reads all judgments of the kind: seconds, where there are a hundred thousand.
    key = f"undecided:{content_sha256([first.pk, *_wish(first), *standing_now(batch.project, batch.kind)])}"
    found: list[Undecided] | None = cache.get(key)
    if found is None:
        found = _undecided(first)
        cache.set(key, found, REMEMBERED)
    return _still_there(batch.project, batch.kind, found)


def _undecided(first: JudgingRound) -> list[Undecided]:
    batch = first.batch
    rules = read_rules(batch.kind, first.rules)
    wanted = _items(first)
    rows = list(judged(project=batch.project, kind=batch.kind))
    open_items = _open_items(rows, batch.kind, rules)
    judges: dict[str, set[str]] = {}
    workers: dict[str, set[int]] = {}
    for row in rows:
        if row.item in open_items:
            judges.setdefault(row.item, set()).add(row.rater)
            if row.worker is not None:
                workers.setdefault(row.item, set()).add(row.worker)
    return [
        Undecided(item, len(judges[item]), frozenset(workers.get(item, ())))
        for item in wanted
        if item in open_items and len(judges.get(item, ())) < first.most_judges
    ]


def units_of(first: JudgingRound, items: Sequence[str]) -> dict[str, Unit]:
    """Return the round's units by item, with the workers whom they are kept from."""
    wanted = set(items)
    ids = [pk for item, pk in _items(first).items() if item in wanted]
    found: dict[str, Unit] = {}
    spec = spec_of(first.batch.kind)
    for start in range(0, len(ids), AT_ONCE):
        rows = Unit.objects.filter(pk__in=ids[start : start + AT_ONCE]).prefetch_related("excluded_workers")
        found |= {spec.item(unit.payload): unit for unit in rows}
    return found


def state_of(first: JudgingRound) -> list[Any]:
    """Return what tells two looks apart: all judgments of the kind, and what limits the asking; cheap queries only.

    To be taken before a look begins: what comes in while it is under way is then news to the next one.
    """
    batch = first.batch
    project = Project.objects.filter(pk=batch.project_id)
    return [
        *standing_now(batch.project, batch.kind),
        *_wish(first),
        first.ask_budget_cents,
        *project.values_list("budget_cap_cents", "confirm_above_cents").get(),
        committed_cents(project=batch.project),
    ]


def is_known(first: JudgingRound, state: list[Any], *, funds: Callable[[], int]) -> bool:
    """Tell whether nothing changed since the round was looked at last; ``funds`` says what the account holds now.

    It is asked only where the last look was refused, since that may have been for want of money.
    """
    known = cache.get(_key(first))
    if known is None or known[0] != state:
        return False
    return known[1] is None or known[1] == funds()


def note_looked(first: JudgingRound, state: list[Any], *, refused_with: int | None = None) -> None:
    """Remember what was there when the round was looked at, so that the next look costs little.

    ``refused_with`` is what the account held, in cents, when the launch was refused.
    """
    cache.set(_key(first), (state, refused_with), REMEMBERED)


def forget_looked(first: JudgingRound) -> None:
    """Look again next time."""
    cache.delete(_key(first))


def _batches(first: JudgingRound) -> list[Batch]:
    return [first.batch, *(row.batch for row in first.followers.select_related("batch").order_by("pk"))]


def _items(first: JudgingRound) -> dict[str, int]:
    """Return the round's items in their order with their units' row keys; controls are none."""
    field = f"payload__{spec_of(first.batch.kind).item_field}"
    rows = Unit.objects.filter(batch=first.batch_id, control=None).order_by("pk")
    return {str(item): pk for item, pk in rows.values_list(field, "pk")}


def _open_items(rows: Sequence[Judged], kind: str, rules: dict[str, Rule]) -> set[str]:
    found = tables(rows, spec_of(kind))
    fitted = fits(found, rules)
    return {
        str(row.item[0] if isinstance(row.item, tuple) else row.item)
        for name, rule in rules.items()
        for row in decide(found[name], rule, fit=fitted.get(name))
        if row.outcome is Outcome.UNDECIDED
    }


def _still_there(project: Project, kind: str, found: Sequence[Undecided]) -> list[Undecided]:
    if spec_of(kind).material is not Material.RECORDS:
        return list(found)
    there: set[str] = set()
    ids = [row.item for row in found]
    for start in range(0, len(ids), AT_ONCE):
        rows = collected.accepted(project, OBSERVATION).filter(instance_id__in=ids[start : start + AT_ONCE])
        there.update(rows.order_by().values_list("instance_id", flat=True))
    return [row for row in found if row.item in there]


def _standing(batches: Sequence[Batch]) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(
        hit__unit__batch__in=batches,
        hit__unit__control=None,
        match=Match.MATCHED,
        status__in=[status.value for status in NOT_REJECTED],
    )


def _wish(first: JudgingRound) -> list[Any]:
    return [first.rules, first.most_judges]


def _key(first: JudgingRound) -> str:
    return f"ask-more:{first.pk}"
