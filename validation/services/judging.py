"""Launch judging rounds. Nothing here asks the marketplace: publication is a job."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.states import UnitScope
from hits.domain.workers.qualification_pools import Pool
from hits.models import Batch, Job, Project, Record, Worker
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.services.errors import Refused
from hits.services.launching.eligibility import access_for
from hits.services.launching.launch import PlannedUnit, launch_batch, launched_already
from hits.services.launching.terms import MAX_OPINIONS, Terms
from validation.domain.judging.quality_check_types import Rates
from validation.domain.judging.round_material import RecordToJudge, SetToJudge
from validation.domain.judging.sampling import Selection
from validation.models import JudgingRound
from validation.selectors.decisions import rules_now
from validation.selectors.judging import comparison, has_qualification, review
from validation.services import quality_checks

AT_ONCE = 5_000  # ids in one question to the database


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """How a judging round was chosen, what is mixed into it, and how its items are decided.

    ``rules`` maps a dimension to a ``decisions.Rule`` as plain data; ``None`` takes those of the
    newest run of decisions. Undecided items are asked about again until they have ``most_judges`` (0: never), for at
    most ``ask_budget_cents``.
    ``excluded`` names workers, besides the author, who may not judge an item, by its id.
    """

    selection: Selection = field(default_factory=Selection)
    rates: Rates = field(default_factory=Rates)
    rules: Mapping[str, Any] | None = None
    most_judges: int = 0
    ask_budget_cents: int = 0
    follows: JudgingRound | None = None
    excluded: Mapping[str, Sequence[Worker]] = field(default_factory=dict)


def usual_pool(project: Project) -> Pool | None:
    """Return whom a judging round is open to unless somebody says otherwise.

    Qualified workers, once the project has asked anybody to qualify; before that there are none, so everybody.
    """
    return Pool.QUALIFIED if has_qualification(project) else None


def launch_review(
    *,
    project: Project,
    observations: Iterable[str | Record],
    by: AbstractBaseUser | None,
    name: str = "",
    terms: Terms | None = None,
    plan: RoundPlan | None = None,
    once: str = "",
) -> tuple[Batch, Job]:
    """Launch a review round: each accepted pair is judged by different workers, never by its author.

    A worker judges a pair once, whichever round asks. Controls of the plan come on top of the pairs.

    Args:
        observations: rows or instance ids of accepted pairs of this project.
        terms: ``None`` takes the kind's own, open to ``usual_pool``.
        once: names the wish to launch; a repeated one gets the first one's batch.

    Raises:
        Refused: nothing to judge, a pair that is not accepted, confirmed and of this project, or what controls, the
            plan or the launch refuse.
    """
    plan = plan or RoundPlan()
    known = launched_already(project=project, once=once)
    if known is not None:
        return known
    ids = [item if isinstance(item, str) else item.instance_id for item in observations]
    rows = _accepted(project, ids)
    images = collected.images_of(rows.values())
    units = [
        _review_unit(rows[key], images[rows[key].pk], plan.excluded.get(key, ()))
        for key in dict.fromkeys(ids)
    ]
    return launch_units(
        project=project,
        kind=review().name,
        units=units,
        plan=plan,
        name=name or f"Review of {len(units)} pairs",
        by=by,
        terms=terms or Terms(access=access_for(pool=usual_pool(project))),
        provenance={"observations": len(units), "selection": plan.selection.as_row()},
        once=once,
    )


def launch_comparison(
    *,
    project: Project,
    sets: Sequence[SetToJudge],
    by: AbstractBaseUser | None,
    name: str = "",
    terms: Terms | None = None,
    provenance: dict[str, Any] | None = None,
    once: str = "",
    plan: RoundPlan | None = None,
) -> tuple[Batch, Job]:
    """Launch the rating of comparison sets.

    The author of a set's own pair may not rate it, nor may those of its candidates. ``terms`` are the kind's own by
    default, open to ``usual_pool``. ``once`` names the wish to launch; a repeated one gets the first one's batch.

    Raises:
        Refused: nothing to judge, or a set whose own pair is not accepted, confirmed and of this project.
    """
    plan = plan or RoundPlan()
    known = launched_already(project=project, once=once)
    if known is not None:
        return known
    rows = _accepted(project, [item.gold for item in sets])
    authors = _authors(project, {c.id for item in sets for c in item.candidates})
    units = [
        _comparison_unit(item, rows[item.gold], [*_of(item, authors), *plan.excluded.get(item.id, ())])
        for item in sets
    ]
    return launch_units(
        project=project,
        kind=comparison().name,
        units=units,
        plan=plan,
        name=name or f"Ratings of {len(units)} comparison sets",
        by=by,
        terms=terms or Terms(access=access_for(pool=usual_pool(project))),
        provenance=provenance,
        once=once,
    )


def launch_units(
    *, project: Project, kind: str, units: Sequence[PlannedUnit], plan: RoundPlan, terms: Terms, **launch: Any
) -> tuple[Batch, Job]:
    """Launch units of a judging kind with their controls, and keep the plan; all of it or nothing.

    Whom a unit is kept from stands in it already. ``launch`` goes to ``launch_batch``.

    Raises:
        Refused: more judges at most than anybody may give, or what controls and the launch refuse.
    """
    each = terms.opinions or registry.get(kind).assignments_per_hit
    if plan.most_judges and not each < plan.most_judges <= MAX_OPINIONS:
        raise Refused(f"most judges: give more than the {each} that each gets anyway, up to {MAX_OPINIONS}")
    # Never the selection's seed, which people repeat: with the same keys, whoever answered a control of an earlier
    # round would be refused this one's ("You did this one already"), and would know it by that.
    rng = np.random.default_rng()
    mixed = quality_checks.mix(project=project, kind=kind, units=units, rates=plan.rates, rng=rng)
    with transaction.atomic():
        batch, job = launch_batch(
            project=project,
            kind_name=kind,
            units=mixed.units,
            terms=replace(terms, unit_scope=UnitScope.PROJECT),
            **launch,
        )
        quality_checks.record(batch=batch, mixed=mixed)
        JudgingRound.objects.get_or_create(batch=batch, defaults=_round_of(project, kind, plan))
    return batch, job


def _round_of(project: Project, kind: str, plan: RoundPlan) -> dict[str, Any]:
    rules = plan.rules
    if rules is None:
        rules = {name: rule.as_row() for name, rule in rules_now(project, kind).items()}
    return {
        "selection": plan.selection.as_row(),
        "gold_percent": plan.rates.gold,
        "attention_percent": plan.rates.attention,
        "repeat_percent": plan.rates.repeat,
        "rules": dict(rules),
        "most_judges": plan.most_judges,
        "ask_budget_cents": plan.ask_budget_cents,
        "follows": plan.follows,
    }


def _accepted(project: Project, ids: Sequence[str]) -> dict[str, Record]:
    if not ids:
        raise Refused("observations: nothing to judge; approve submissions first")
    wanted = sorted(set(ids))
    rows: dict[str, Record] = {}
    for start in range(0, len(wanted), AT_ONCE):
        some = collected.accepted(project, OBSERVATION).filter(
            instance_id__in=wanted[start : start + AT_ONCE]
        )
        rows |= {row.instance_id: row for row in some}
    missing = sorted(set(wanted) - set(rows))
    if missing:
        raise Refused(
            f"observation {missing[0]}: only approved pairs of this project on images that were not "
            f"taken down can be judged ({len(missing)} of {len(wanted)} are not)"
        )
    return rows


def _authors(project: Project, ids: Iterable[str]) -> dict[str, Worker]:
    """Return who wrote each of these pairs; ids that are no pair of the project are left out."""
    wanted = sorted(ids)
    found: dict[str, Worker] = {}
    for start in range(0, len(wanted), AT_ONCE):
        rows = collected.by_instance_ids(project, wanted[start : start + AT_ONCE])
        found |= {key: author for key, row in rows.items() for author in _author(row)}
    return found


def _of(item: SetToJudge, authors: Mapping[str, Worker]) -> list[Worker]:
    return [authors[c.id] for c in item.candidates if c.id in authors]


def _review_unit(row: Record, images: Sequence[int], excluded: Sequence[Worker]) -> PlannedUnit:
    source = RecordToJudge(row.instance_id, row.index, images, row.fields)
    return PlannedUnit(
        key=row.instance_id,
        payload=review().unit(source),
        excluded=[*_author(row), *excluded],
    )


def _comparison_unit(item: SetToJudge, gold: Record, excluded: Sequence[Worker]) -> PlannedUnit:
    return PlannedUnit(
        key=item.id,
        payload=comparison().unit(item),
        excluded=[*_author(gold), *excluded],
    )


def _author(row: Record) -> list[Worker]:
    author = collected.author_of(row)
    return [] if author is None else [author]
