"""Options of every command that launches a batch: pay, eligibility and instructions."""

from argparse import ArgumentParser
from typing import Any

from hits.domain.states import UnitScope
from hits.domain.workers.countries import parse_countries
from hits.domain.workers.qualification_pools import Pool
from hits.kind import HitKind
from hits.management.base import RenamedOption, input_error
from hits.management.publishing import available_balance_cents
from hits.models import Instructions, Project
from hits.selectors.instructions import kind_versions
from hits.services.errors import Refused
from hits.services.launching.eligibility import SELECTABLE_POOLS, build_eligibility
from hits.services.launching.terms import Eligibility, LaunchTerms


def add_terms_options(parser: ArgumentParser, *, reward_needed: bool = True) -> None:
    """Declare the options of a batch's terms; ``read_terms`` reads them."""
    parser.add_argument(
        "--reward-cents",
        type=int,
        required=reward_needed,
        help="reward per submission" + ("" if reward_needed else "; default: the kind's"),
    )
    parser.add_argument(
        "--bonus-cents", type=int, help="bonus per further complete record; default: the kind's"
    )
    parser.add_argument(
        "--redundancy",
        "--assignments",
        action=RenamedOption,
        type=int,
        help="number of different workers per item; default: the kind's",
    )
    parser.add_argument(
        "--confirm-cents",
        type=int,
        help="maximum cost in cents; required on a live marketplace and above the project's threshold",
    )
    parser.add_argument("--budget-cap-cents", type=int, help="budget cap of the batch; default: none")
    parser.add_argument(
        "--unit-scope",
        choices=[scope.value for scope in UnitScope],
        default=UnitScope.BATCH.value,
        help="each worker gets each image at most once per batch (default), or per project",
    )
    parser.add_argument("--masters", action="store_true", help="only workers with the Masters qualification")
    parser.add_argument("--pool", help="only workers of this pool: qualified or trained")
    parser.add_argument("--countries", help="only workers in these countries, by code or name: US,CA,GB,AU")
    parser.add_argument(
        "--worker-limit", type=int, help="maximum number of tasks per worker; default: no limit"
    )
    parser.add_argument(
        "--instructions",
        type=int,
        help="version of the instructions for the task pages; default: the newest; 0: the built-in instructions",
    )


def read_terms(project: Project, kind: HitKind, options: dict[str, Any]) -> LaunchTerms:
    """Return a batch's terms from the options."""
    return LaunchTerms(
        reward_cents=options["reward_cents"],
        bonus_cents=options["bonus_cents"],
        redundancy=options["redundancy"],
        confirmed_cents=options["confirm_cents"],
        eligibility=_read_eligibility(project, kind.name, options),
        duration_seconds=options.get("duration_seconds"),
        masters_only=options["masters"],
        budget_cap_cents=options["budget_cap_cents"],
        unit_scope=UnitScope(options["unit_scope"]),
        available_cents=available_balance_cents(),
    )


def _read_eligibility(project: Project, kind_name: str, options: dict[str, Any]) -> Eligibility:
    pool, limit = options["pool"], options["worker_limit"]
    if pool is not None and pool not in set(SELECTABLE_POOLS):
        raise input_error(
            f"--pool {pool}: use {' or '.join(SELECTABLE_POOLS)}, or leave it out for all workers"
        )
    if limit is not None and limit < 1:
        raise input_error(f"--worker-limit {limit}: use 1 or more, or leave it out")
    try:
        codes = parse_countries(options["countries"] or "")
        if options["countries"] is not None and not codes:
            raise input_error("--countries: name at least one country, or leave the option out for all")
        return build_eligibility(
            pool=Pool(pool) if pool else None,
            countries=codes,
            worker_limit=limit,
            instructions=_find_instructions_version(project, kind_name, options["instructions"]),
        )
    except ValueError as error:
        raise input_error(f"--countries: {error}") from error
    except Refused as error:
        raise input_error(f"--{error}") from error


def _find_instructions_version(project: Project, kind_name: str, number: int | None) -> Instructions | None:
    versions = kind_versions(project, kind_name)
    if number is None:
        return versions.first()
    if number == 0:
        return None
    found = versions.filter(version=number).first()
    if found is None:
        known = ", ".join(str(row.version) for row in versions.order_by("version")) or "none yet"
        raise input_error(
            f"--instructions {number}: {project.slug} has no such version for {kind_name}; known: {known}"
        )
    return found
