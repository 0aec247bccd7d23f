"""Launch judging rounds. Nothing here calls the marketplace: publication is a job."""

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
from hits.services.launching.launch import PlannedUnit, find_launched_batch_and_job, launch_batch
from hits.services.launching.terms import MAX_REDUNDANCY, LaunchTerms
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.round_material import RecordToJudge, SetToJudge
from validation.domain.judging.sampling import Selection
from validation.models import JudgingRound, QualificationRound
from validation.selectors.decisions import current_rules
from validation.selectors.judging import comparison_spec, review_spec
from validation.services import quality_checks


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """How a judging round's items are selected and decided, and which quality checks it has.

    ``rules`` maps a dimension to a ``decisions.DecisionRule`` as plain data; ``None`` takes the rules of the newest
    decision run. Follow-ups add judges to undecided items up to ``max_redundancy`` (0: no follow-ups), for at most
    ``ask_budget_cents``. Attention checks borrow from ``donors``, units outside of the round; without them, from the
    round's own. ``topics`` are what units are about in general, by key: a check borrows from another topic.
    """

    selection: Selection = field(default_factory=Selection)
    rates: CheckRates = field(default_factory=CheckRates)
    rules: Mapping[str, Any] | None = None
    max_redundancy: int = 0
    ask_budget_cents: int = 0
    donors: Sequence[PlannedUnit] = ()
    topics: Mapping[str, str] = field(default_factory=dict)


def default_pool(project: Project) -> Pool | None:
    """Return the pool of workers who may judge by default.

    Qualified workers, if the project has a qualification; otherwise all workers.
    """
    has_qualification = QualificationRound.objects.filter(batch__project=project).exists()
    return Pool.QUALIFIED if has_qualification else None


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
    """Launch a review round: several workers, never its author, judge each accepted pair.

    A worker judges a pair once, in any round. The plan's quality checks are added to the pairs.

    Args:
        observations: rows or instance ids of accepted pairs of this project.
        terms: ``None`` takes the kind's own, open to ``default_pool``.
        idempotency_key: a repeated request with the same key returns the first batch.

    Raises:
        Refused: there are no pairs, a pair is not accepted, confirmed and of this project, or
            ``launch_judging_units`` refuses.
    """
    plan = plan or RoundPlan()
    existing = find_launched_batch_and_job(project=project, idempotency_key=idempotency_key)
    if existing is not None:
        return existing
    ids = [item if isinstance(item, str) else item.instance_id for item in observations]
    rows = _accepted_records(project, ids)
    images = collected.image_ids_by_record(rows.values())
    units = [_build_pair_unit(rows[key], images[rows[key].pk]) for key in dict.fromkeys(ids)]
    return launch_judging_units(
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
    """Launch a rating round of comparison sets.

    The authors of a set's own pair and of its candidates may not rate it. ``terms`` are by default the kind's own,
    open to ``default_pool``. A repeated request with the same ``idempotency_key`` returns the first batch.

    Raises:
        Refused: there are no sets, a set's own pair is not accepted, confirmed and of this project, or
            ``launch_judging_units`` refuses.
    """
    plan = plan or RoundPlan()
    existing = find_launched_batch_and_job(project=project, idempotency_key=idempotency_key)
    if existing is not None:
        return existing
    rows = _accepted_records(project, [item.own_pair_id for item in sets])
    shown_ids = sorted({candidate.id for item in sets for candidate in item.candidates})
    authors = collected.authors_by_instance_id(project, shown_ids)
    units = [_build_comparison_unit(item, rows[item.own_pair_id], authors) for item in sets]
    return launch_judging_units(
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


def launch_judging_units(
    *,
    project: Project,
    kind: str,
    units: Sequence[PlannedUnit],
    plan: RoundPlan,
    terms: LaunchTerms,
    **launch_options: Any,
) -> tuple[Batch, Job]:
    """Launch units of a judging kind with their quality checks, and store the plan; all or nothing.

    Each unit already lists its excluded workers. ``launch_options`` go to ``launch_batch``.

    Raises:
        Refused: the maximum redundancy is out of range, or the quality checks or the launch are not possible.
    """
    redundancy = terms.redundancy or registry.get_kind(kind).redundancy
    if plan.max_redundancy and not redundancy < plan.max_redundancy <= MAX_REDUNDANCY:
        raise Refused(
            f"workers per item: the maximum has to be above {redundancy} and at most {MAX_REDUNDANCY}"
        )
    # The selection's seed is not used: people reuse it, and equal seeds give equal keys. A worker who had answered a
    # check before would be refused the same key ("You have already worked on this item"), and so recognise the check.
    rng = np.random.default_rng()
    mixed = quality_checks.mix_quality_checks(
        project=project,
        kind=kind,
        units=units,
        rates=plan.rates,
        rng=rng,
        donors=plan.donors,
        topics=plan.topics,
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
        JudgingRound.objects.get_or_create(batch=batch, defaults=_judging_round_fields(project, kind, plan))
    return batch, job


def _judging_round_fields(project: Project, kind: str, plan: RoundPlan) -> dict[str, Any]:
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
    }


def _accepted_records(project: Project, ids: Sequence[str]) -> dict[str, Record]:
    if not ids:
        raise Refused("observations: nothing to judge; approve submissions first")
    unique_ids = sorted(set(ids))
    approved = collected.approved_records(project, OBSERVATION)
    chunks = (approved.filter(instance_id__in=chunk) for chunk in collected.id_chunks(unique_ids))
    rows = {row.instance_id: row for chunk in chunks for row in chunk}
    missing = sorted(set(unique_ids) - set(rows))
    if missing:
        raise Refused(
            f"observation {missing[0]}: only approved pairs of this project on images that were not "
            f"taken down can be judged ({len(missing)} of {len(unique_ids)} are not)"
        )
    return rows


def _build_pair_unit(row: Record, images: Sequence[int]) -> PlannedUnit:
    source = RecordToJudge(row.instance_id, row.index, images, row.fields)
    return PlannedUnit(
        key=row.instance_id,
        payload=review_spec().build_unit(source),
        excluded_workers=_authors_of_record(row),
    )


def _build_comparison_unit(item: SetToJudge, own_pair: Record, authors: Mapping[str, Worker]) -> PlannedUnit:
    candidate_authors = [authors[candidate.id] for candidate in item.candidates if candidate.id in authors]
    return PlannedUnit(
        key=item.id,
        payload=comparison_spec().build_unit(item),
        excluded_workers=[*_authors_of_record(own_pair), *candidate_authors],
    )


def _authors_of_record(row: Record) -> list[Worker]:
    author = collected.record_author(row)
    return [] if author is None else [author]
