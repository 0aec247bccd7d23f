"""``manage.py launch_template FILE CSV --project P --reward-cents N --title T --description D``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits import registry
from hits.domain.states import UnitScope
from hits.management.base import DeerstalkerCommand, RenamedOption
from hits.management.launch_options import read_terms
from hits.management.lookups import find_project
from hits.management.publishing import print_live_hit_count, publish_launched_batch
from hits.management.template_files import read_page_file, read_table_file
from hits.selectors.listing import TaskListing
from hits.services.launching.template_launch import KIND, TemplateLaunch, launch_template, save_template

# Options of other launches: all rows are launched, without a bonus, and the page has its own instructions.
_NOT_OFFERED = {"bonus_cents": None, "masters": False, "unit_scope": UnitScope.BATCH.value, "instructions": 0}


class Command(DeerstalkerCommand):
    """Launch one task per row of a CSV over an uploaded page, and publish before returning."""

    help = (
        "Launch a batch over an HTML page with ${variables}, one task per row of a CSV, and publish its HITs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path)
        parser.add_argument("csv", type=Path)
        parser.add_argument("--project", required=True)
        parser.add_argument("--reward-cents", type=int, required=True)
        parser.add_argument("--title", required=True, help="title in the workers' list of tasks")
        parser.add_argument("--description", required=True)
        parser.add_argument("--keywords", default="")
        parser.add_argument("--name", default="", help="name of the batch; default: the title")
        parser.add_argument(
            "--redundancy",
            "--assignments",
            action=RenamedOption,
            type=int,
            help="number of different workers per row; default: the kind's",
        )
        parser.add_argument(
            "--expected-seconds",
            "--usual-seconds",
            action=RenamedOption,
            type=int,
            help="expected time of a careful worker; default: the kind's",
        )
        parser.add_argument(
            "--duration-seconds", type=int, help="maximum time of a worker; default: the kind's"
        )
        parser.add_argument(
            "--host", action="append", default=[], help="host that the page may load from; repeatable"
        )
        parser.add_argument(
            "--ignore-findings",
            "--in-spite",
            action=RenamedOption,
            nargs=0,
            const=True,
            default=False,
            help="launch despite errors of the check",
        )
        parser.add_argument(
            "--confirm-cents",
            type=int,
            help="maximum cost in cents; required on a live marketplace and above the project's threshold",
        )
        parser.add_argument("--budget-cap-cents", type=int, help="budget cap of the batch; default: none")
        parser.add_argument("--pool", help="only workers of this pool: qualified or trained")
        parser.add_argument(
            "--countries", help="only workers in these countries, by code or name: US,CA,GB,AU"
        )
        parser.add_argument(
            "--worker-limit", type=int, help="maximum number of tasks per worker; default: none"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Save the page, launch and publish."""
        project = find_project(options["project"])
        html = read_page_file(options["file"])
        table = read_table_file(options["csv"], html)
        kind = registry.get_kind(KIND)
        terms = read_terms(project, kind, _NOT_OFFERED | options)
        listing = TaskListing(
            options["title"],
            options["description"],
            options["keywords"],
            options["expected_seconds"] or kind.expected_seconds,
        )
        template = save_template(project=project, name=options["file"].name, html=html, by=None)
        plan = TemplateLaunch(
            template, table, listing, tuple(options["host"]), ignore_findings=options["ignore_findings"]
        )
        name = options["name"] or options["title"]
        batch, _ = launch_template(project=project, plan=plan, name=name, terms=terms, by=None)
        print_live_hit_count(self, options, publish_launched_batch(batch))
