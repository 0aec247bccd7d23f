"""``manage.py select_interesting --project P [--model N] [--min-people 2 …]``: which photos are selected."""

from argparse import ArgumentParser
from typing import Any

from curation.interest.rules import HardRules
from curation.management.option_fields import option_fields
from curation.management.setting_options import add_default_options
from curation.models import InterestModel
from curation.records import InvalidInput
from curation.selectors.interest_models import find_model, model_numbers
from curation.selectors.jobs import SELECT_INTERESTING
from curation.services.interest import request_interest_selection
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job, Project


class Command(JobCommand):
    """Score all images with a model and store the scores, or count the images within the hard rules alone."""

    help = (
        "Score a project's photos with a model of interestingness and store the scores, which launches and pages "
        "use. Without --model, only the rules on the number of objects select photos."
    )
    tasks = (SELECT_INTERESTING,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        add(
            "--model",
            type=int,
            metavar="N",
            help="number of a model of the project; default: the rules alone",
        )
        add_default_options(
            parser,
            HardRules(),
            {
                "min_objects": "objects that a photo has at least",
                "min_people": "people that a photo has at least",
                "min_score": "objects with a lower score of the detector do not count, 0 to 1",
            },
        )

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        project = find_project(options["project"])
        try:
            rules = HardRules(**option_fields(HardRules, options))
        except InvalidInput as error:
            name, _, problem = str(error).partition(": ")
            raise input_error(f"--{name.replace(' ', '-')}: {problem}") from error
        model = None if options["model"] is None else _find_model(project, options["model"])
        return request_interest_selection(project=project, by=None, rules=rules, model=model, queue=queue)


def _find_model(project: Project, number: int) -> InterestModel:
    model = find_model(project, number)
    if model is None:
        raise input_error(f"--model {number}: there is no such model; known: {model_numbers(project)}")
    return model
