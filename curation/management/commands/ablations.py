"""``manage.py ablations --project P --version V [--recipes a,b] [--batch-sizes 4,8] [--model M] [--steps N]``."""

from argparse import ArgumentParser
from typing import Any

from curation.families.sherlock.evaluation_plan import ALL
from curation.management.ablation_report import describe_comparison_limits, rows_as_json, table_lines
from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.lookups import get_version, resolve_split
from curation.management.option_fields import option_fields
from curation.models import DatasetVersion
from curation.scorer.recipes import supported_names
from curation.selectors.jobs import ABLATIONS
from curation.services.ablation_tables import ablation_table
from curation.services.ablations import AblationOptions, request_ablations
from hits.management.base import input_error
from hits.management.jobs import JobCommand, job_facts
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Train and evaluate rows of the tables of Hessel et al. 2022 on our data, and print both tables."""

    help = (
        "Train and evaluate the rows of table 3, figures 4a and 5 and table 4 of Hessel et al. 2022, and print the "
        "published figures next to ours."
    )
    tasks = (ABLATIONS,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; defaults are as in the paper."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--version", help="the sealed version to train on and to evaluate")
        add("--split", help=f"split to evaluate: train, val, test or {ALL}; default: test, else val")
        add("--recipes", default="", help=f"rows to train, comma-separated: {', '.join(supported_names())}")
        add("--batch-sizes", default="", help="more batch sizes for the curve of figure 5, such as 4,8,16")
        add(
            "--model",
            type=make_encoder_path_absolute,
            default="",
            help="the model from which every training run starts",
        )
        add("--steps", type=int, default=0, help="maximum steps of each training run; 0 means all epochs")
        add("--epochs", type=int, default=0, help="epochs of each training run; 0 means as published")
        add("--batch-size", type=int, default=0, help="batch size of the rows that do not vary batch size")
        add("--chunk-size", type=int, default=0, help="pairs in memory at once (gradient caching)")
        add("--seed", type=int, default=0, help="seed of all random choices (0)")
        add("--show", action="store_true", help="only print the tables")

    def handle(self, *args: Any, **options: Any) -> None:
        """Train the rows and print the tables, or only print them with ``--show``."""
        if not options["show"]:
            super().handle(*args, **options)
            return
        version = get_version(options["version"], find_project(options["project"]))
        self._report_tables(version, resolve_split(version, options["split"]), options, {})

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job that trains the rows."""
        version = get_version(options["version"], find_project(options["project"]))
        given = option_fields(AblationOptions, options)
        given["split"] = resolve_split(version, options["split"])
        given["recipes"] = tuple(filter(None, options["recipes"].split(",")))
        given["batch_sizes"] = _parse_batch_sizes(options["batch_sizes"])
        return request_ablations(version=version, options=AblationOptions(**given), by=None, queue=queue)

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print both tables, and the reason for each row that was not trained."""
        version = DatasetVersion.objects.get(pk=job.args["version"])
        self._report_tables(version, job.args["options"]["split"], options, job_facts(job))

    def _report_tables(
        self, version: DatasetVersion, split: str, options: dict[str, Any], facts: dict[str, Any]
    ) -> None:
        rows = ablation_table(version, split)
        limits = describe_comparison_limits(version, split, rows)
        refused = [f"Not trained: {name}: {reason}" for name, reason in facts.get("refused", {}).items()]
        facts |= {"statement": limits, "rows": rows_as_json(rows)}
        self.report(options, facts, limits, *table_lines(rows), *refused)


def _parse_batch_sizes(given: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in given.split(",") if size)
    except ValueError as error:
        problem = f"--batch-sizes {given!r}: use comma-separated whole numbers, such as 4,8,16"
        raise input_error(problem) from error
