"""``manage.py launch_template FILE CSV --project P --reward-cents N --title T --description D``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits import registry
from hits.domain.workers.countries import codes_from
from hits.domain.workers.qualification_pools import Pool
from hits.management.base import DeerstalkerCommand, bad_input
from hits.management.publishing import account_cents, emit_published, publish_launched
from hits.management.rows import project_called
from hits.management.task_files import page_in, table_in
from hits.selectors.listing import Listing
from hits.services.launching.eligibility import ASKED_FOR, access_for
from hits.services.launching.template_launch import KIND, Plan, launch_template, save_template
from hits.services.launching.terms import Access, Terms


class Command(DeerstalkerCommand):
    """Launch one task for each row of a CSV over an old page, and publish before returning."""

    help = "Launch a batch over an HTML page with ${variables} and a CSV, and publish its HITs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path)
        parser.add_argument("csv", type=Path)
        parser.add_argument("--project", required=True)
        parser.add_argument("--reward-cents", type=int, required=True)
        parser.add_argument("--title", required=True, help="workers choose by it")
        parser.add_argument("--description", required=True)
        parser.add_argument("--keywords", default="")
        parser.add_argument("--name", default="", help="the batch's name; the title without it")
        parser.add_argument("--assignments", type=int, help="different workers per row")
        parser.add_argument("--usual-seconds", type=int, help="what a careful worker needs")
        parser.add_argument("--duration-seconds", type=int, help="what a worker has")
        parser.add_argument(
            "--host", action="append", default=[], help="a host that the page may load from; repeatable"
        )
        parser.add_argument(
            "--in-spite", action="store_true", help="although the check says that something has to be mended"
        )
        parser.add_argument(
            "--confirm-cents",
            type=int,
            help="the most it can cost; needed on a live marketplace and above the project's threshold",
        )
        parser.add_argument("--budget-cap-cents", type=int, help="the most that the batch may ever cost")
        parser.add_argument("--pool", help="only workers of this pool: qualified or trained")
        parser.add_argument("--countries", help="only workers there, by code or name: US,CA,GB,AU")
        parser.add_argument("--worker-limit", type=int, help="the most tasks that one worker may hand in")

    def handle(self, *args: Any, **options: Any) -> None:
        """Keep the page, launch and publish."""
        project = project_called(options["project"])
        html = page_in(options["file"])
        table = table_in(options["csv"], html)
        terms = Terms(
            reward_cents=options["reward_cents"],
            opinions=options["assignments"],
            confirmed_cents=options["confirm_cents"],
            access=_access(options),
            budget_cap_cents=options["budget_cap_cents"],
            available_cents=account_cents(),
            duration_seconds=options["duration_seconds"],
        )
        listing = Listing(
            options["title"],
            options["description"],
            options["keywords"],
            options["usual_seconds"] or registry.get(KIND).usual_seconds,
        )
        template = save_template(project=project, name=options["file"].name, html=html, by=None)
        plan = Plan(template, table, listing, tuple(options["host"]), in_spite=options["in_spite"])
        name = options["name"] or options["title"]
        batch, _ = launch_template(project=project, plan=plan, name=name, terms=terms, by=None)
        emit_published(self, options, publish_launched(batch))


def _access(options: dict[str, Any]) -> Access:
    pool = options["pool"]
    if pool is not None and pool not in set(ASKED_FOR):
        raise bad_input(f"--pool {pool}: use {' or '.join(ASKED_FOR)}, or leave it out for everybody")
    try:
        codes = codes_from(options["countries"] or "")
    except ValueError as error:
        raise bad_input(f"--countries: {error}") from error
    if options["countries"] is not None and not codes:
        raise bad_input("--countries: name at least one, or leave it out for all")
    return access_for(
        pool=Pool(pool) if pool else None,
        countries=codes,
        worker_limit=options["worker_limit"],
        instructions=None,
    )
