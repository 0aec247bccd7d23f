"""``manage.py generate_images --project P --generator G --candidates N --cap-usd X``."""

from argparse import ArgumentParser
from typing import Any

from curation.management.option_fields import option_fields
from curation.management.triplet_options import find_triplet_project
from curation.models import ModelRun
from curation.selectors.jobs import GENERATE_IMAGES
from curation.services.triplets.generation import GenerationOptions, request_images
from curation.services.triplets.model_calls import cap_in_micro, raise_cap
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_model_folder
from hits.models import Job

DEFAULTS = GenerationOptions()


class Command(JobCommand):
    """Draw candidate images of the scenes whose prompts are approved: the premise first, one image a call."""

    help = (
        "Draw the missing candidates. Hypotheses wait for the pick of their premise, unless --unattended takes the "
        "first one. A run stops before a call that could exceed its cap."
    )
    tasks = (GENERATE_IMAGES,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        generators = "drawing (default: test drawings), openai:MODEL, or diffusers:HUB-ID@REVISION or FOLDER"
        add("--generator", type=absolute_model_folder, default=DEFAULTS.generator, help=generators)
        add("--candidates", type=int, default=DEFAULTS.candidates, help="of each role; default: 4")
        add(
            "--cap-usd",
            type=float,
            default=None,
            help="the most that the run may cost, in dollars; default: 0",
        )
        add("--cap-calls", type=int, help="the most calls; default: no limit")
        add("--price-unknown", action="store_true", help="draw although the price table has no price")
        add("--negative", default="", help="what images shall not show, for generators that take it")
        add("--width", type=int, default=DEFAULTS.width, help="pixels; default: 1024")
        add("--height", type=int, default=DEFAULTS.height, help="pixels; default: 1024")
        add("--seed", type=int, default=DEFAULTS.seed, help="of the first candidate; default: 0")
        add("--no-seed", action="store_true", help="leave seeds to the generator")
        add("--steps", type=int, help="of diffusion models")
        add("--guidance", type=float, help="of diffusion models")
        add("--unattended", action="store_true", help="take the first candidate of each premise")
        add(
            "--no-condition",
            action="store_true",
            help="draw hypotheses without the picked premise as a reference, also if the generator takes one",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Raise the cap of a resumed run, or start a new one."""
        if options["resume"] is not None and options["cap_usd"] is not None:
            run = ModelRun.objects.filter(job=options["resume"]).first()
            if run is None:
                raise input_error(f"--resume {options['resume']}: is no job that draws images")
            raise_cap(run=run, cap_micro=cap_in_micro(options["cap_usd"]), by=None)
        super().handle(*args, **options)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the run and its job."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        given = option_fields(GenerationOptions, options)
        given["cap_usd"] = options["cap_usd"] or 0.0
        given["condition"] = not options["no_condition"]
        if options["no_seed"]:
            given["seed"] = None
        return request_images(
            project=find_triplet_project(options["project"]),
            options=GenerationOptions(**given),
            by=None,
            queue=queue,
        )

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the counts, and why the run stopped."""
        super().report_result(job, options)
        if job.result.get("stopped") and not options["json"]:
            self.stderr.write(f"stopped: {job.result['stopped']}")
