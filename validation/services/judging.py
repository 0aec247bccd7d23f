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
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.launch import PlannedUnit, find_launch, launch_batch
from hits.services.launching.terms import MAX_REDUNDANCY, LaunchTerms
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.round_material import RecordToJudge, SetToJudge
from validation.domain.judging.sampling import Selection
from validation.models import JudgingRound
from validation.selectors.decisions import current_rules
from validation.selectors.judging import comparison_spec, has_qualification, review_spec
from validation.services import quality_checks

QUERY_CHUNK_SIZE = 5_000  # ids in one question to the database


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """How a judging round was chosen, what is mixed into it, and how its items are decided.

    ``rules`` maps a dimension to a ``decisions.Rule`` as plain data; ``None`` takes those of the
    newest run of decisions. Undecided items are asked about again until they have ``max_redundancy`` (0: never), for at
    most ``ask_budget_cents``.
    ``excluded`` names workers, besides the author, who may not judge an item, by its id.
    """

    selection: Selection = field(default_factory=Selection)
    rates: CheckRates = field(default_factory=CheckRates)
    rules: Mapping[str, Any] | None = None
    max_redundancy: int = 0
    ask_budget_cents: int = 0
    follows: JudgingRound | None = None
    excluded: Mapping[str, Sequence[Worker]] = field(default_factory=dict)


def default_pool(project: Project) -> Pool | None:
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
    terms: LaunchTerms | None = None,
    plan: RoundPlan | None = None,
    idempotency_key: str = "",
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
    existing = find_launch(project=project, idempotency_key=idempotency_key)
    if existing is not None:
        return existing
    ids = [item if isinstance(item, str) else item.instance_id for item in observations]
    rows = _accepted_records(project, ids)
    images = collected.image_ids_by_record(rows.values())
    units = [
        _review_unit(rows[key], images[rows[key].pk], plan.excluded.get(key, ()))
        for key in dict.fromkeys(ids)
    ]
    return launch_units(
        project=project,
        kind=review_spec().name,
        units=units,
        plan=plan,
        name=name or f"Review of {len(units)} pairs",
        by=by,
        terms=terms or LaunchTerms(eligibility=build_eligibility(pool=default_pool(project))),
        provenance={"observations": len(units), "selection": plan.selection.as_row()},
        idempotency_key=idempotency_key,
    )


def launch_comparison(
    *,
    project: Project,
    sets: Sequence[SetToJudge],
    by: AbstractBaseUser | None,
    name: str = "",
    terms: LaunchTerms | None = None,
    provenance: dict[str, Any] | None = None,
    idempotency_key: str = "",
    plan: RoundPlan | None = None,
) -> tuple[Batch, Job]:
    """Launch the rating of comparison sets.

    The author of a set's own pair may not rate it, nor may those of its candidates. ``terms`` are the kind's own by
    default, open to ``usual_pool``. ``once`` names the wish to launch; a repeated one gets the first one's batch.

    Raises:
        Refused: nothing to judge, or a set whose own pair is not accepted, confirmed and of this project.
    """
    plan = plan or RoundPlan()
    existing = find_launch(project=project, idempotency_key=idempotency_key)
    if existing is not None:
        return existing
    rows = _accepted_records(project, [item.own_pair_id for item in sets])
    authors = _authors_by_record(project, {candidate.id for item in sets for candidate in item.candidates})
    units = [
        _comparison_unit(
            item,
            rows[item.own_pair_id],
            [*_candidate_authors(item, authors), *plan.excluded.get(item.id, ())],
        )
        for item in sets
    ]
    return launch_units(
        project=project,
        kind=comparison_spec().name,
        units=units,
        plan=plan,
        name=name or f"Ratings of {len(units)} comparison sets",
        by=by,
        terms=terms or LaunchTerms(eligibility=build_eligibility(pool=default_pool(project))),
        provenance=provenance,
        idempotency_key=idempotency_key,
    )


def launch_units(
    *,
    project: Project,
    kind: str,
    units: Sequence[PlannedUnit],
    plan: RoundPlan,
    terms: LaunchTerms,
    **launch_options: Any,
) -> tuple[Batch, Job]:
    """Launch units of a judging kind with their controls, and keep the plan; all of it or nothing.

    Whom a unit is kept from stands in it already. ``launch`` goes to ``launch_batch``.

    Raises:
        Refused: more judges at most than anybody may give, or what controls and the launch refuse.
    """
    redundancy = terms.redundancy or registry.get_kind(kind).redundancy
    if plan.max_redundancy and not redundancy < plan.max_redundancy <= MAX_REDUNDANCY:
        raise Refused(
            f"most judges: give more than the {redundancy} that each gets anyway, up to {MAX_REDUNDANCY}"
        )
    # Never the selection's seed, which people repeat: with the same keys, whoever answered a control of an earlier
    # round would be refused this one's ("You did this one already"), and would know it by that.
    rng = np.random.default_rng()
    mixed = quality_checks.mix_quality_checks(
        project=project, kind=kind, units=units, rates=plan.rates, rng=rng
    )
    with transaction.atomic():
        batch, job = launch_batch(
            project=project,
            kind_name=kind,
            units=mixed.units,
            terms=replace(terms, unit_scope=UnitScope.PROJECT),
            **launch_options,
        )
        quality_checks.record_quality_checks(batch=batch, mixed=mixed)
        JudgingRound.objects.get_or_create(batch=batch, defaults=_round_values(project, kind, plan))
    return batch, job


def _round_values(project: Project, kind: str, plan: RoundPlan) -> dict[str, Any]:
    rules = plan.rules
    if rules is None:
        rules = {name: rule.as_row() for name, rule in current_rules(project, kind).items()}
    return {
        "selection": plan.selection.as_row(),
        "gold_percent": plan.rates.gold,
        "attention_percent": plan.rates.attention,
        "repeat_percent": plan.rates.repeat,
        "rules": dict(rules),
        "max_redundancy": plan.max_redundancy,
        "ask_budget_cents": plan.ask_budget_cents,
        "follows": plan.follows,
    }


def _accepted_records(project: Project, ids: Sequence[str]) -> dict[str, Record]:
    if not ids:
        raise Refused("observations: nothing to judge; approve submissions first")
    unique_ids = sorted(set(ids))
    rows: dict[str, Record] = {}
    for start in range(0, len(unique_ids), QUERY_CHUNK_SIZE):
        chunk = collected.approved_records(project, OBSERVATION).filter(
            instance_id__in=unique_ids[start : start + QUERY_CHUNK_SIZE]
        )
        rows |= {row.instance_id: row for row in chunk}
    missing = sorted(set(unique_ids) - set(rows))
    if missing:
        raise Refused(
            f"observation {missing[0]}: only approved pairs of this project on images that were not "
            f"taken down can be judged ({len(missing)} of {len(unique_ids)} are not)"
        )
    return rows


def _authors_by_record(project: Project, ids: Iterable[str]) -> dict[str, Worker]:
    """Return who wrote each of these pairs; ids that are no pair of the project are left out."""
    sorted_ids = sorted(ids)
    authors: dict[str, Worker] = {}
    for start in range(0, len(sorted_ids), QUERY_CHUNK_SIZE):
        rows = collected.records_by_instance_id(project, sorted_ids[start : start + QUERY_CHUNK_SIZE])
        authors |= {key: author for key, row in rows.items() for author in _author_list(row)}
    return authors


def _candidate_authors(item: SetToJudge, authors: Mapping[str, Worker]) -> list[Worker]:
    return [authors[candidate.id] for candidate in item.candidates if candidate.id in authors]


def _review_unit(row: Record, images: Sequence[int], excluded: Sequence[Worker]) -> PlannedUnit:
    source = RecordToJudge(row.instance_id, row.index, images, row.fields)
    return PlannedUnit(
        key=row.instance_id,
        payload=review_spec().build_unit(source),
        excluded_workers=[*_author_list(row), *excluded],
    )


def _comparison_unit(item: SetToJudge, gold: Record, excluded: Sequence[Worker]) -> PlannedUnit:
    return PlannedUnit(
        key=item.id,
        payload=comparison_spec().build_unit(item),
        excluded_workers=[*_author_list(gold), *excluded],
    )


def _author_list(row: Record) -> list[Worker]:
    author = collected.record_author(row)
    return [] if author is None else [author]
