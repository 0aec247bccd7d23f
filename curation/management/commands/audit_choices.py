"""``manage.py audit_choices (--project P --set NAME | --data FILE)``: shortcuts of multiple-choice questions."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from curation.evaluation.choice_items import (
    ChoiceItem,
    Stage,
    item_record,
    iterate_json_lines,
    question_id,
    question_line,
    read_items,
    stage_fields,
)
from curation.evaluation.choice_shortcuts import RULES
from curation.evaluation.perturb import RENAMINGS, parse_masking, perturb_items
from curation.files import write_text
from curation.management.file_messages import convert_input_errors
from curation.management.lookups import find_question_set
from curation.models import QuestionSet
from curation.selectors.choice_audits import OVER
from curation.selectors.choice_items import question_set_items
from curation.selectors.jobs import AUDIT_CHOICES
from curation.services.choice_audits import request_choice_audits
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.models import Job

CLASSIFIERS = ("response_only", "question_response", "tags_only")


class Command(JobCommand):
    """Audit a question set or a file; or write a changed copy of it, to evaluate models on."""

    help = (
        "Measure how often multiple-choice questions can be answered without the image. A question set over a limit "
        "is not launched until a person writes why. With --perturb, write a changed copy instead."
    )
    tasks = (AUDIT_CHOICES,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--set", help="name of a question set of the project")
        add("--data", type=Path, help="a file in the published layout, with labels: one question per line")
        metadata = "folder with the images' metadata, if the lines of --data have no objects"
        add("--metadata", type=Path, help=metadata)
        changes = "write a copy in which people are named in another way (Ye & Kovashka 2021)"
        add("--perturb", metavar="|".join(RENAMINGS), help=changes)
        add("--out", type=Path, help="the file that --perturb writes")

    def handle(self, *args: Any, **options: Any) -> None:
        """Audit a file at once; audit a project's set as a job; or write a changed copy."""
        if options["resume"] is None and bool(options["data"]) == bool(options["set"]):
            raise input_error("give --data FILE, or --project and --set")
        if options["metadata"] and not options["data"]:
            raise input_error("--metadata: belongs to --data; remove it")
        if bool(options["perturb"]) != bool(options["out"]):
            raise input_error("--perturb: give --out with the file to write, and --out only with --perturb")
        if parse_masking(options["perturb"] or ""):
            hint = "use evaluate_choices or predict_choices, with --chooser and --perturb"
            raise input_error(f"--perturb {options['perturb']}: needs a model's losses; {hint}")
        if options["perturb"]:
            self._write_changed_copy(options)
        elif options["data"]:
            self._audit_file(options)
        else:
            super().handle(*args, **options)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job that audits a question set."""
        found = find_question_set(options["project"], options["set"])
        return request_choice_audits(question_set=found, by=None, queue=queue)

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the audits of the set."""
        found = QuestionSet.objects.get(pk=job.args["set"])
        facts = {"job": job.pk, "state": job.state, "set": found.name, **found.audits}
        self.report(options, facts, *_describe_audits(found.audits))

    def _audit_file(self, options: Mapping[str, Any]) -> None:
        from curation.pipelines.choice_audits import audit_items

        with convert_input_errors():
            items = read_items(options["data"], options["metadata"])
        audits = audit_items(items)
        self.report(dict(options), {"data": str(options["data"]), **audits}, *_describe_audits(audits))

    def _write_changed_copy(self, options: Mapping[str, Any]) -> None:
        with convert_input_errors():
            if options["data"]:
                items = read_items(options["data"], options["metadata"])
            else:
                items = question_set_items(find_question_set(options["project"], options["set"]))
            changed = perturb_items(items, options["perturb"])
            write_text(options["out"], _changed_lines(changed, options["data"]))
        facts = {
            "perturb": options["perturb"],
            "questions": len(items),
            "written": len(changed),
            "out": str(options["out"]),
        }
        line = (
            f"{options['out']}: {len(changed)} of {len(items)} questions, named anew by {options['perturb']}"
        )
        self.report(dict(options), facts, line)


def _changed_lines(items: Iterable[ChoiceItem], data: Path | None) -> Iterator[str]:
    """Yield the lines of a changed copy; lines of a file keep their other fields."""
    if data is None:
        yield from (question_line(item_record(item)) for item in items)
        return
    changed = {item.annot_id: item for item in items}
    for location, record in iterate_json_lines(data):
        item = changed.get(question_id(record, location))
        if item is not None:
            yield question_line(record | stage_fields(item))


def _describe_audits(audits: Mapping[str, Any]) -> list[str]:
    """Return the shares by audit and stage, and the audits over a limit."""
    lines = []
    for name in (*RULES, *CLASSIFIERS):
        shown = [_describe_share(stage, audits[name].get(stage.value)) for stage in Stage]
        lines.append(f"{name.replace('_', ' ')}: {', '.join(filter(None, shown))}")
    over = audits[OVER]
    return [*lines, f"over the limit: {', '.join(over)}" if over else "within all limits"]


def _describe_share(stage: Stage, found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    share = found["expected_on_ties"]
    return f"{stage} {found['reason']}" if share is None else f"{stage} {100 * share:.1f} %"
