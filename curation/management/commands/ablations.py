"""``manage.py ablations --project P --version V [--recipes a,b] [--batch-sizes 4,8] [--model M] [--steps N]``."""

from argparse import ArgumentParser
from typing import Any

from curation.families.sherlock.evaluation_plan import ALL
from curation.management.ablation_report import describe_limits, rows_as_json, table_lines
from curation.management.encoder_names import absolute_encoder
from curation.management.lookups import get_version, resolve_split
from curation.models import DatasetVersion
from curation.scorer.recipes import supported_names
from curation.selectors.jobs import ABLATIONS
from curation.services.ablation_tables import ablation_table
from curation.services.ablations import AblationOptions, request_ablations
from hits.management.base import emit_json, input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Make rows of the paper's tables with our own data, and print both tables."""

    help = "Train and evaluate the rows of the paper's table 3, figures 4a and 5 and table 4, and print both tables."
    tasks = (ABLATIONS,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; defaults are as in the paper."""
        super().add_arguments(parser)
        parser.add_argument("--project", help="the project's short name")
        parser.add_argument("--version", help="the sealed version to train on and to evaluate")
        parser.add_argument(
            "--split", help=f"what is evaluated: train, val, test or {ALL}; test or val if any"
        )
        parser.add_argument(
            "--recipes", default="", help=f"which rows, comma-separated: {', '.join(supported_names())}"
        )
        parser.add_argument("--batch-sizes", default="", help="further points of the curve, such as 4,8,16")
        parser.add_argument(
            "--model", type=absolute_encoder, default="", help="the model every training starts from"
        )
        parser.add_argument(
            "--steps", type=int, default=0, help="maximum steps of each training; 0 means all epochs"
        )
        parser.add_argument("--epochs", type=int, default=0, help="of each training; 0 is the paper's")
        parser.add_argument("--batch-size", type=int, default=0, help="of the rows that do not vary it")
        parser.add_argument(
            "--chunk-size", type=int, default=0, help="pairs in memory at once, by gradient caching"
        )
        parser.add_argument("--seed", type=int, default=0, help="seed of all random choices (0)")
        parser.add_argument("--show", action="store_true", help="only print the tables")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the rows, unless only printing is requested."""
        if not options["show"]:
            super().handle(*args, **options)
            return
        version = get_version(options["version"], find_project(options["project"]))
        self._print(version, resolve_split(version, options["split"]), options["json"], {})

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Request the rows."""
        version = get_version(options["version"], find_project(options["project"]))
        ablation_options = AblationOptions(
            split=resolve_split(version, options["split"]),
            recipes=tuple(filter(None, options["recipes"].split(","))),
            batch_sizes=_parse_sizes(options["batch_sizes"]),
            model=options["model"],
            steps=options["steps"],
            epochs=options["epochs"],
            batch_size=options["batch_size"],
            chunk_size=options["chunk_size"],
            seed=options["seed"],
        )
        return request_ablations(version=version, options=ablation_options, by=None, queue=queue)

    def finish(self, job: Job, options: dict[str, Any]) -> None:
        """Print both tables, and which rows could not be made and why."""
        if options["background"]:
            super().finish(job, options)
            return
        version = DatasetVersion.objects.get(pk=job.args["version"])
        facts = {"job": job.pk, "state": job.state, **job.result}
        self._print(version, job.args["options"]["split"], options["json"], facts)

    def _print(self, version: DatasetVersion, split: str, is_json: bool, facts: dict[str, Any]) -> None:
        rows = ablation_table(version, split)
        limits = describe_limits(version, split, rows)
        if is_json:
            emit_json(self, {**facts, "statement": limits, "rows": rows_as_json(rows)})
            return
        self.stdout.write(limits)
        for line in table_lines(rows):
            self.stdout.write(line)
        for name, reason in facts.get("refused", {}).items():
            self.stdout.write(f"Not made: {name}: {reason}")


def _parse_sizes(given: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in given.split(",") if size)
    except ValueError as error:
        raise input_error(
            f"--batch-sizes {given!r}: use comma-separated whole numbers, such as 4,8,16"
        ) from error
