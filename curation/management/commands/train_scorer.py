"""``manage.py train_scorer --project P --version V [--model clip:…|scorer:NAME|tiny] [the settings …]``."""

from argparse import ArgumentParser
from typing import Any

from curation.management.lookups import get_version
from curation.management.setting_options import add_setting_options, given_settings
from curation.records import InvalidInput
from curation.scorer.config import TrainingConfig
from curation.scorer.recipes import default_model, get_recipe, trainable_names
from curation.selectors.jobs import TRAIN_SCORER
from curation.selectors.scorers import SCORER_PREFIX
from curation.services.scorer_splits import VAL_SHARE
from curation.services.scorers import next_free_name, request_training, short_model_name
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job

HELP = {
    "model": f"the model to start from: clip:<hub id or folder>, {SCORER_PREFIX}<name of a ready scorer>, or tiny",
    "region_mode": "how a region is drawn: highlight, hide, only_region, position_only or none",
    "text_mode": "the texts to train on: inference, clue or multitask",
    "crop": "how images are cropped: two_squares, centre or pad",
    "batch_size": "pairs per step over all processes; each pair has the others as negatives",
    "chunk_size": "pairs in memory at once (gradient caching); 0 means the whole batch",
    "learning_rate": "learning rate of AdamW",
    "weight_decay": "weight decay of AdamW",
    "warmup_steps": "steps over which the learning rate rises",
    "epochs": "passes over the pairs",
    "max_steps": "maximum steps; 0 means no limit",
    "checkpoint_every": "steps between validations",
    "patience": "validations without a better P@1 before training stops; 0 means that training never stops early",
    "reduce_on_plateau": "divide the learning rate by 10 after a validation without a lower loss",
    "augment": "augment the images",
    "grayscale": "probability that an image is turned to greyscale",
    "precision": "auto, fp32 or bf16",
    "compile": "compile the towers with torch.compile",
    "processes": "number of processes, under torchrun",
    "device": "device such as cpu or cuda; default: the GPU, if there is one",
    "seed": "seed of all random choices",
}


class Command(JobCommand):
    """Train a scorer on a sealed version; the Scorers page shows the training run, and can stop and resume it."""

    help = "Train a scorer on the pairs of a sealed version. If stopped or killed, it can be resumed."
    tasks = (TRAIN_SCORER,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; the settings and their defaults are those of ``TrainingConfig``."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--version", help="the sealed version to train on")
        add("--name", default="", help="the scorer's name; default: version, model and a number")
        add("--split", help="training split; default: train if the version has it")
        add("--val-split", help="validation split; default: val if the version has it")
        share = "share of the photos for validation, if training and validation use the same split"
        add("--val-share", type=float, default=VAL_SHARE, help=share)
        rows = (
            f"use the settings of a row of the tables of Hessel et al. 2022: {', '.join(trainable_names())}"
        )
        add("--recipe", default="", help=rows)
        add_setting_options(parser, TrainingConfig, HELP, model_default=default_model())

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the scorer and the job that trains it."""
        project = find_project(options["project"])
        version = get_version(options["version"], project)
        config = _read_config(options)
        scorer = request_training(
            project=project,
            by=None,
            version=version,
            name=options["name"]
            or next_free_name(project, f"{version.name} {short_model_name(config.model)}"),
            config=config,
            train_split=options["split"],
            val_split=options["val_split"],
            val_share=options["val_share"],
            recipe=options["recipe"],
            queue=queue,
        )
        assert scorer.job is not None
        return scorer.job


def _read_config(options: dict[str, Any]) -> TrainingConfig:
    given = given_settings(options, HELP)
    try:
        if options["recipe"]:
            return get_recipe(options["recipe"]).to_config(**given)
        return TrainingConfig.from_json({"model": default_model()} | given)
    except InvalidInput as error:
        raise input_error(str(error)) from error
