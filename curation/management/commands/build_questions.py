"""``manage.py build_questions --project P --name N [--relevance …] [--similarity …] [the readings …]``."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from curation.management.option_fields import option_fields
from curation.relevance.names import CROSS_PREFIX, MINILM, NLI_PREFIX, VECTORS
from curation.selectors.jobs import QUESTION_SET
from curation.services.questions import (
    MISSING_CLASS,
    SAME_IMAGE,
    SWITCH,
    QuestionSetOptions,
    request_question_set,
)
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_model_folder
from hits.management.lookups import find_project
from hits.models import Job

AUTO = "auto"
DEFAULTS = QuestionSetOptions()


class Command(JobCommand):
    """Build a question set; its questions are shown under Curation, Question sets."""

    help = (
        "Make multiple-choice questions from a project's approved triplets: the wrong choices are right responses "
        "of other questions, chosen by Adversarial Matching (Zellers et al. 2019). The set is a draft until it is "
        "accepted on its page."
    )
    tasks = (QUESTION_SET,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; their defaults are those of ``QuestionSetOptions``."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")
        parser.add_argument("--name", default="", help="the new set's name")
        _add_model_options(parser)
        _add_matching_options(parser)
        _add_tag_options(parser)
        _add_fine_tuning_options(parser)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the set and the job that builds it."""
        if not options["project"] or not options["name"]:
            raise input_error("give --project and --name, or --resume JOB")
        return request_question_set(
            find_project(options["project"]),
            options["name"],
            QuestionSetOptions(**option_fields(QuestionSetOptions, options)),
            queue=queue,
        )


def _add_model_options(parser: ArgumentParser) -> None:
    models = parser.add_argument_group("models")
    models.add_argument(
        "--relevance",
        type=absolute_model_folder,
        default=DEFAULTS.relevance,
        help=f"how well a response fits a question: {VECTORS} (default, a stand-in for BERT), "
        f"{CROSS_PREFIX}{MINILM}, or {CROSS_PREFIX}FOLDER with a transformers model, fine-tuned on the other folds",
    )
    models.add_argument(
        "--similarity",
        type=absolute_model_folder,
        default=DEFAULTS.similarity,
        help=f"how similar two responses are: {VECTORS} (default, a stand-in for natural-language inference), or "
        f"{NLI_PREFIX}FOLDER with a transformers model that has a label entailment",
    )
    models.add_argument(
        "--shortlist",
        type=int,
        default=DEFAULTS.shortlist,
        metavar="K",
        help="for models that score pairs: the best candidates of each question and of each response "
        f"({DEFAULTS.shortlist})",
    )


def _add_matching_options(parser: ArgumentParser) -> None:
    matching = parser.add_argument_group("matching")
    add = matching.add_argument
    weight = (
        "weight of dissimilarity when {} are matched: a greater one makes choices easier to tell apart ({:g})"
    )
    add(
        "--lambda-answer",
        type=float,
        default=DEFAULTS.lambda_answer,
        help=weight.format("answers", DEFAULTS.lambda_answer),
    )
    add(
        "--lambda-rationale",
        type=float,
        default=DEFAULTS.lambda_rationale,
        help=weight.format("rationales", DEFAULTS.lambda_rationale),
    )
    add(
        "--folds",
        type=int,
        default=DEFAULTS.folds,
        help=f"parts without common films, each matched on its own: at least 3 ({DEFAULTS.folds})",
    )
    add(
        "--small",
        action="store_true",
        help="allow folds under 200 triplets, for trials; always allowed in rehearsals",
    )
    add(
        "--bucket-size",
        type=int,
        default=DEFAULTS.bucket_size,
        help=f"the most responses that are matched at once ({DEFAULTS.bucket_size})",
    )
    add(
        "--same-image",
        choices=SAME_IMAGE,
        default=DEFAULTS.same_image,
        help="whether a response of another question about the same image may be a wrong choice "
        f"({DEFAULTS.same_image})",
    )
    add("--seed", type=int, default=DEFAULTS.seed, help="seed of folds, clusters and fits (0)")


def _add_tag_options(parser: ArgumentParser) -> None:
    tags = parser.add_argument_group("tags of wrong responses")
    tags.add_argument(
        "--missing-class",
        choices=MISSING_CLASS,
        default=DEFAULTS.missing_class,
        help="a response names a class that the image lacks: forbid the pair, or put words such as “the car” "
        f"({DEFAULTS.missing_class})",
    )
    tags.add_argument(
        "--distinct",
        choices=SWITCH,
        default=DEFAULTS.distinct,
        help="whether two objects stay two objects if the image has enough of their class "
        f"({DEFAULTS.distinct})",
    )
    tags.add_argument(
        "--share",
        type=_share,
        default=None,
        metavar=f"{AUTO}|P",
        help="how often a tag becomes a tag of the question or its right choice, 0 to 1; auto (default) fits it for "
        "each fold and stage, so that shared tags do not give the right choice away",
    )


def _add_fine_tuning_options(parser: ArgumentParser) -> None:
    tuning = parser.add_argument_group("fine-tuning of cross: models (defaults of Zellers et al. 2019)")
    add = tuning.add_argument
    add("--learning-rate", type=float, default=DEFAULTS.learning_rate, help="of Adam (2e-5)")
    add("--batch-size", type=int, default=DEFAULTS.batch_size, help="pairs per step (32)")
    add("--epochs", type=int, default=DEFAULTS.epochs, help="passes over the other folds (3)")
    add(
        "--examples",
        type=int,
        default=DEFAULTS.examples,
        help="the most triplets of the other folds that are used; 0 (default) is all",
    )


def _share(given: str) -> float | None:
    if given == AUTO:
        return None
    try:
        return float(given)
    except ValueError:
        raise ArgumentTypeError(f"{given!r} is neither {AUTO} nor a number from 0 to 1") from None
