"""What every command that launches a batch takes: pay, who may do it, and what they read."""

from argparse import ArgumentParser
from typing import Any

from hits.domain.states import UnitScope
from hits.domain.workers.countries import codes_from
from hits.domain.workers.qualification_pools import Pool
from hits.kind import HitKind
from hits.management.base import bad_input
from hits.management.publishing import account_cents
from hits.models import Instructions, Project
from hits.selectors.instructions import of_kind
from hits.services.errors import Refused
from hits.services.launching.eligibility import ASKED_FOR, access_for
from hits.services.launching.terms import Access, Terms


def add_terms(parser: ArgumentParser, *, reward_needed: bool = True) -> None:
    """Declare the flags of a batch's terms; ``terms_of`` reads them."""
    parser.add_argument(
        "--reward-cents",
        type=int,
        required=reward_needed,
        help="for each submission" + ("" if reward_needed else "; the kind's usual reward if absent"),
    )
    parser.add_argument("--bonus-cents", type=int)
    parser.add_argument("--assignments", type=int, help="different workers per unit")
    parser.add_argument(
        "--confirm-cents",
        type=int,
        help="the most it can cost; needed on a live marketplace and above the project's threshold",
    )
    parser.add_argument("--budget-cap-cents", type=int, help="the most that the batch may ever cost")
    parser.add_argument(
        "--unit-scope",
        choices=[scope.value for scope in UnitScope],
        default=UnitScope.BATCH.value,
        help="a worker gets each image once in this batch, or once in the project",
    )
    parser.add_argument("--masters", action="store_true", help="only workers that are called Masters")
    parser.add_argument("--pool", help="only workers of this pool: qualified or trained")
    parser.add_argument("--countries", help="only workers there, by code or name: US,CA,GB,AU")
    parser.add_argument("--worker-limit", type=int, help="the most tasks that one worker may hand in")
    parser.add_argument(
        "--instructions",
        type=int,
        help="version that the pages show; the newest without it, and 0 for the task's own text",
    )


def terms_of(project: Project, kind: HitKind, options: dict[str, Any]) -> Terms:
    """Return a batch's terms as the flags say them."""
    return Terms(
        reward_cents=options["reward_cents"],
        bonus_cents=options["bonus_cents"],
        opinions=options["assignments"],
        confirmed_cents=options["confirm_cents"],
        access=_access(project, kind.name, options),
        masters_only=options["masters"],
        budget_cap_cents=options["budget_cap_cents"],
        unit_scope=UnitScope(options["unit_scope"]),
        available_cents=account_cents(),
    )


def _access(project: Project, kind_name: str, options: dict[str, Any]) -> Access:
    pool, limit = options["pool"], options["worker_limit"]
    if pool is not None and pool not in set(ASKED_FOR):
        raise bad_input(f"--pool {pool}: use {' or '.join(ASKED_FOR)}, or leave it out for everybody")
    if limit is not None and limit < 1:
        raise bad_input(f"--worker-limit {limit}: use 1 or more, or leave it out")
    try:
        codes = codes_from(options["countries"] or "")
        if options["countries"] is not None and not codes:
            raise bad_input("--countries: name at least one, or leave it out for all")
        return access_for(
            pool=Pool(pool) if pool else None,
            countries=codes,
            worker_limit=limit,
            instructions=_version(project, kind_name, options["instructions"]),
        )
    except ValueError as error:
        raise bad_input(f"--countries: {error}") from error
    except Refused as error:
        raise bad_input(f"--{error}") from error


def _version(project: Project, kind_name: str, number: int | None) -> Instructions | None:
    versions = of_kind(project, kind_name)
    if number is None:
        return versions.first()
    if number == 0:
        return None
    found = versions.filter(version=number).first()
    if found is None:
        known = ", ".join(str(row.version) for row in versions.order_by("version")) or "none yet"
        raise bad_input(
            f"--instructions {number}: {project.slug} has no such version for {kind_name}; known: {known}"
        )
    return found
