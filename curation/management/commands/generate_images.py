"""``manage.py generate_images --project P --generator G --candidates N --cap-usd X``."""

from argparse import ArgumentParser
from typing import Any

from curation.management.model_calls import ModelCallCommand
from curation.management.option_fields import option_fields
from curation.management.triplet_options import find_triplet_project
from curation.pipelines.triplets.generate_images import check_generator
from curation.pipelines.triplets.image_drawer import load_generator
from curation.selectors.jobs import GENERATE_IMAGES
from curation.services.triplets.generation import (
    GenerationOptions,
    generator_licence,
    project_prices,
    request_images,
)
from hits.management.base import input_error
from hits.management.jobs import absolute_model_folder
from hits.models import Job

DEFAULTS = GenerationOptions()


class Command(ModelCallCommand):
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

    def check_models(self, **options: Any) -> None:
        """Load the generator, and check that it can do what is asked."""
        given = _read_options(options)
        project = find_triplet_project(options["project"])
        licence = generator_licence(project, given.generator, project_prices(project))
        check_generator(load_generator(given.generator, licence), given)

    def create_run(self, *, queue: bool, **options: Any) -> Job:
        """Create the run and its job."""
        return request_images(
            project=find_triplet_project(options["project"]),
            options=_read_options(options),
            by=None,
            queue=queue,
        )


def _read_options(options: dict[str, Any]) -> GenerationOptions:
    if not options["project"]:
        raise input_error("give --project, or --resume JOB")
    given = option_fields(GenerationOptions, options)
    given["condition"] = not options["no_condition"]
    if options["no_seed"]:
        given["seed"] = None
    return GenerationOptions(**given)
