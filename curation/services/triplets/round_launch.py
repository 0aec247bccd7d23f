"""What the rounds of image triplets have in common: who launches them, on which terms, and for which units."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.selectors.triplets.launched import launched_units
from curation.services.triplets.triplets import lock_settings
from hits.models import Batch, Job, Project, Worker
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.launch import PlannedUnit, find_launched_batch_and_job
from hits.services.launching.terms import LaunchTerms
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.spec import JudgingSpec
from validation.services.judging import RoundPlan, default_pool, launch_judging_units


@dataclass(frozen=True, slots=True)
class RoundLaunch:
    """Who launches a round, and on which terms; without terms, those of the kind, open to ``default_pool``.

    A repeated launch with the same ``idempotency_key`` returns the first batch.
    """

    by: AbstractBaseUser | None = None
    name: str = ""
    terms: LaunchTerms | None = None
    rates: CheckRates = field(default_factory=CheckRates)
    idempotency_key: str = ""

    def find_earlier(self, project: Project) -> tuple[Batch, Job] | None:
        """Return the batch and job of an earlier launch with the same key."""
        return find_launched_batch_and_job(project=project, idempotency_key=self.idempotency_key)

    def terms_for(self, project: Project) -> LaunchTerms:
        """Return the terms, by default open to the project's default pool."""
        return self.terms or LaunchTerms(eligibility=build_eligibility(pool=default_pool(project)))


@dataclass(frozen=True, slots=True)
class Sourced:
    """What a unit is made from, and the workers who must not get it.

    ``topic`` is what the unit is about in general, such as a domain: an attention check borrows from another topic.
    """

    source: Any
    excluded_workers: Sequence[Worker] = ()
    topic: str = ""


def launch_judging_round(
    *,
    project: Project,
    spec: JudgingSpec,
    sources: Iterable[Sourced],
    launch: RoundLaunch,
    name: str,
    provenance: dict[str, Any],
    donors: Iterable[Sourced] = (),
) -> tuple[Batch, Job]:
    """Launch one unit for each source of a judging kind, with the quality checks of ``launch``.

    Attention checks borrow from ``donors``, which are outside of the round; without any, from the round itself.

    Raises:
        Refused: the quality checks or the launch are not possible.
    """
    topics: dict[str, str] = {}
    own, outside = ([_plan_unit(spec, row, topics) for row in group] for group in (sources, donors))
    return launch_judging_units(
        project=project,
        kind=spec.name,
        units=own,
        plan=RoundPlan(rates=launch.rates, donors=outside, topics=topics),
        name=launch.name or name,
        by=launch.by,
        terms=launch.terms_for(project),
        provenance=provenance,
        idempotency_key=launch.idempotency_key,
    )


def _plan_unit(spec: JudgingSpec, row: Sourced, topics: dict[str, str]) -> PlannedUnit:
    """Return the unit of a source, and store its topic by the unit's key."""
    unit = spec.build_unit(row.source)
    key = spec.key(unit)
    topics[key] = row.topic
    return PlannedUnit(key, unit, list(row.excluded_workers))


def launched_keys(project: Project, kind: str) -> set[str]:
    """Return the keys of the units of a kind that need no other round (``launched_units``)."""
    return set(launched_units(project, kind).values_list("key", flat=True))


@contextmanager
def one_launch_at_a_time(project: Project) -> Iterator[None]:
    """Let launches of a project wait for one another, so that no two of them ask for the same units."""
    with transaction.atomic():
        lock_settings(project)
        yield
