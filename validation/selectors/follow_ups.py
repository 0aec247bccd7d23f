"""Find rounds that can ask one more judge, their undecided items, and whether their judgments are complete."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Count, F
from django.utils import timezone

from hits.domain.hashing import content_sha256
from hits.domain.states import BatchState, HitState
from hits.models import Batch, Hit, Project, Unit
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.selectors.money.budget import committed_cents
from validation.domain.decision_rules import DecisionRule, Outcome, decide
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import Material
from validation.models import JudgingRound
from validation.registry import spec_of
from validation.selectors.decisions import fit_models_of_weighted_rules, parse_valid_rules
from validation.selectors.ratings import counted_judgments, read_judgments
from validation.selectors.report import data_fingerprint

CACHE_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class UndecidedItem:
    """An undecided item: how many people judged it, and the primary keys of the workers among them."""

    item: str
    judge_count: int
    workers: frozenset[int]


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """A round on the decisions page: ``received`` of ``required`` judgments, and its follow-up rounds."""

    round: JudgingRound
    received: int
    required: int
    followers: Sequence[JudgingRound]


def list_first_rounds(project: Project, kind: str) -> list[JudgingRound]:
    """Return the project's rounds that are not follow-ups, newest first."""
    rows = JudgingRound.objects.filter(batch__project=project, batch__kind=kind, follows=None)
    return list(rows.select_related("batch__project").order_by("-pk"))


def rounds_allowing_follow_ups(environment: str) -> list[JudgingRound]:
    """Return the rounds of one marketplace that launch follow-ups automatically, oldest first."""
    rows = JudgingRound.objects.filter(
        follows=None, max_redundancy__gt=0, ask_budget_cents__gt=0, batch__environment=environment
    )
    return list(rows.select_related("batch__project", "batch__instructions").order_by("pk"))


def round_progress(rounds: Iterable[JudgingRound]) -> list[RoundProgress]:
    """Return the progress of each round, follow-ups included."""
    result = []
    for row in rounds:
        batches = _round_batches(row)
        units = Unit.objects.filter(batch__in=batches, quality_check=None)
        required = sum(units.filter(batch=batch).count() * batch.redundancy for batch in batches)
        followers = list(row.followers.select_related("batch").order_by("pk"))
        result.append(RoundProgress(row, counted_judgments(batches).count(), required, followers))
    return result


def is_round_complete(first: JudgingRound) -> bool:
    """Return whether the round and its follow-ups have received all their judgments.

    Expired and cancelled HITs, closed batches and quality checks do not count as pending.
    """
    for batch in _round_batches(first):
        if batch.state == BatchState.CLOSED:
            continue
        hits = Hit.objects.filter(unit__batch=batch, unit__quality_check=None).exclude(
            state=HitState.CANCELLED
        )
        cutoff = timezone.now() - timedelta(seconds=batch.duration_seconds)
        pending = hits.exclude(expires_at__lt=cutoff)
        incomplete = pending.annotate(received=Count("assignments")).filter(received__lt=F("max_assignments"))
        if incomplete.exists():
            return False
    return True


def undecided_items_below_maximum(first: JudgingRound) -> list[UndecidedItem]:
    """Return the round's undecided items that have fewer judges than the maximum, oldest first.

    All judgments of the kind count, from every round. Pairs that are no longer accepted, or whose image was taken
    down, are left out.
    """
    batch = first.batch
    # Cached: the computation reads all judgments of the kind, which takes seconds for a hundred thousand.
    state = [first.pk, *_follow_up_settings(first), *data_fingerprint(batch.project, batch.kind)]
    key = f"undecided:{content_sha256(state)}"
    found: list[UndecidedItem] | None = cache.get(key)
    if found is None:
        found = _find_undecided_items(first)
        cache.set(key, found, CACHE_SECONDS)
    return _drop_unavailable_items(batch.project, batch.kind, found)


def _find_undecided_items(first: JudgingRound) -> list[UndecidedItem]:
    batch = first.batch
    rules = parse_valid_rules(batch.kind, first.rules)
    items = _unit_ids_by_item(first)
    rows = list(read_judgments(project=batch.project, kind=batch.kind))
    open_items = _undecided_keys(rows, batch.kind, rules)
    judges: dict[str, set[str]] = {}
    workers: dict[str, set[int]] = {}
    for row in rows:
        if row.item in open_items:
            judges.setdefault(row.item, set()).add(row.rater)
            if row.worker is not None:
                workers.setdefault(row.item, set()).add(row.worker)
    return [
        UndecidedItem(item, len(judges[item]), frozenset(workers.get(item, ())))
        for item in items
        if item in open_items and len(judges.get(item, ())) < first.max_redundancy
    ]


def units_by_item(first: JudgingRound, items: Sequence[str]) -> dict[str, Unit]:
    """Return the round's units by item, with their excluded workers prefetched."""
    required = set(items)
    ids = [pk for item, pk in _unit_ids_by_item(first).items() if item in required]
    found: dict[str, Unit] = {}
    spec = spec_of(first.batch.kind)
    for chunk in collected.id_chunks(ids):
        rows = Unit.objects.filter(pk__in=chunk).prefetch_related("excluded_workers")
        found |= {spec.item_id(unit.payload): unit for unit in rows}
    return found


def round_fingerprint(first: JudgingRound) -> list[Any]:
    """Return a fingerprint of the kind's judgments and of the round's limits; cheap queries only.

    Read it before a check begins, so that judgments which arrive during the check trigger the next one.
    """
    batch = first.batch
    project = Project.objects.filter(pk=batch.project_id)
    return [
        *data_fingerprint(batch.project, batch.kind),
        *_follow_up_settings(first),
        first.ask_budget_cents,
        *project.values_list("budget_cap_cents", "confirm_above_cents").get(),
        committed_cents(project=batch.project),
    ]


def is_round_unchanged(first: JudgingRound, state: list[Any], *, read_funds: Callable[[], int]) -> bool:
    """Return whether nothing changed since the last check of the round.

    ``read_funds`` returns the account's balance in cents. It is called only if the last launch was refused, since the
    balance may have been the cause.
    """
    cached = cache.get(_checked_state_key(first))
    if cached is None or cached[0] != state:
        return False
    return cached[1] is None or cached[1] == read_funds()


def save_checked_state(first: JudgingRound, state: list[Any], *, refused_at_cents: int | None = None) -> None:
    """Store the state that was checked, so that the next check is cheap.

    ``refused_at_cents`` is the account's balance when the launch was refused.
    """
    cache.set(_checked_state_key(first), (state, refused_at_cents), CACHE_SECONDS)


def clear_checked_state(first: JudgingRound) -> None:
    """Delete the stored state, so that the next check runs in full."""
    cache.delete(_checked_state_key(first))


def _round_batches(first: JudgingRound) -> list[Batch]:
    return [first.batch, *(row.batch for row in first.followers.select_related("batch").order_by("pk"))]


def _unit_ids_by_item(first: JudgingRound) -> dict[str, int]:
    """Return the round's items in order with their units' primary keys, without quality checks."""
    field = f"payload__{spec_of(first.batch.kind).item_field}"
    rows = Unit.objects.filter(batch=first.batch_id, quality_check=None).order_by("pk")
    return {str(item): pk for item, pk in rows.values_list(field, "pk")}


def _undecided_keys(rows: Sequence[JudgmentRow], kind: str, rules: dict[str, DecisionRule]) -> set[str]:
    found = build_tables(rows, spec_of(kind))
    fitted = fit_models_of_weighted_rules(found, rules)
    return {
        str(row.item[0] if isinstance(row.item, tuple) else row.item)
        for name, rule in rules.items()
        for row in decide(found[name], rule, fit=fitted.get(name))
        if row.outcome is Outcome.UNDECIDED
    }


def _drop_unavailable_items(
    project: Project, kind: str, items: Sequence[UndecidedItem]
) -> list[UndecidedItem]:
    if spec_of(kind).material is not Material.RECORDS:
        return list(items)
    available = collected.approved_instance_ids(project, OBSERVATION, [row.item for row in items])
    return [row for row in items if row.item in available]


def _follow_up_settings(first: JudgingRound) -> list[Any]:
    return [first.rules, first.max_redundancy]


def _checked_state_key(first: JudgingRound) -> str:
    return f"ask-more:{first.pk}"
