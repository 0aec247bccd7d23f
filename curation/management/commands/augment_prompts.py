"""``manage.py augment_prompts --project P [--way augmented|plain] [--model M --cap-usd X]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.generation.chat_factory import get_chat_model
from curation.management.model_calls import ModelCallCommand
from curation.management.option_fields import option_fields
from curation.management.triplet_options import add_chat_options, find_triplet_project
from curation.models import PromptVerdict, PromptWay
from curation.selectors.jobs import AUGMENT_PROMPTS
from curation.selectors.triplets.prompts import prompt_states, prompt_table
from curation.selectors.triplets.scenes import kept_scenes
from curation.services.triplets.augmentation import AugmentOptions, request_augmentation, store_plain_prompts
from curation.services.triplets.prompts import decide_prompts
from hits.domain.files.atomic_files import atomic_file
from hits.management.base import input_error
from hits.models import Job, Project


class Command(ModelCallCommand):
    """Write the prompts of kept scenes. Nothing is drawn before a person approves them."""

    help = (
        "Write prompts for the kept scenes that have none: by a chat model, or the scenes' own texts (--way plain). "
        "A person approves them on the page Prompts, or with --approve-all."
    )
    tasks = (AUGMENT_PROMPTS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")
        ways = (PromptWay.AUGMENTED.value, PromptWay.PLAIN.value)
        parser.add_argument("--way", choices=ways, default=ways[0], help="default: augmented")
        parser.add_argument("--again", action="store_true", help="also for scenes that have prompts already")
        parser.add_argument(
            "--approve-all",
            action="store_true",
            help="approve the newest prompts of every kept scene, and stop",
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE.csv",
            help="write the approved prompts, to draw them elsewhere, and stop",
        )
        add_chat_options(parser, defaults=AugmentOptions())

    def handle(self, *args: Any, **options: Any) -> None:
        """Approve, use the scenes' texts, or start the job."""
        if options["approve_all"]:
            approved = _approve(find_triplet_project(options["project"]))
            self.report(options, {"approved": approved}, f"{approved} prompts are approved")
        elif options["out"]:
            self._write(find_triplet_project(options["project"]), options)
        elif options["way"] == PromptWay.PLAIN and options["resume"] is None:
            project = find_triplet_project(options["project"])
            written = store_plain_prompts(project=project, by=None)
            why = "" if written else f"; {_why_none(project)}"
            self.report(
                options, {"prompts": written}, f"{written} scenes have their own texts as prompts{why}"
            )
        else:
            super().handle(*args, **options)

    def _write(self, project: Project, options: dict[str, Any]) -> None:
        """Write the approved prompts, with the folders that ``import_generated`` expects."""
        rows = prompt_table(project)
        try:
            with atomic_file(options["out"]) as file:
                file.write(rows.encode())
        except OSError as error:
            raise input_error(f"--out {options['out']}: {error.strerror}; name another file") from error
        count = rows.count("\r\n") - 1
        why = "" if count else "; none is approved: approve some first (--approve-all, or Triplets → Prompts)"
        self.report(options, {"prompts": count}, f"{count} prompts in {options['out']}{why}")

    def check_models(self, **options: Any) -> None:
        """Load the chat model."""
        get_chat_model(options["model"])

    def create_run(self, *, queue: bool, **options: Any) -> Job:
        """Create the run and its job."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        return request_augmentation(
            project=find_triplet_project(options["project"]),
            options=AugmentOptions(**option_fields(AugmentOptions, options)),
            by=None,
            queue=queue,
        )


def _why_none(project: Project) -> str:
    return "every kept scene has prompts already" if kept_scenes(project) else "no scene is kept yet"


def _approve(project: Project) -> int:
    """Approve the newest prompts of every kept scene whose prompts nobody decided about."""
    approved = 0
    for state in prompt_states(kept_scenes(project)).values():
        if state.prompts is not None and not state.verdict:
            decide_prompts(prompts=state.prompts, verdict=PromptVerdict.APPROVED, by=None)
            approved += 1
    return approved
