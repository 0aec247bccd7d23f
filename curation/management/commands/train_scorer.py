"""``manage.py train_scorer --project P --version V [--model clip:…|scorer:NAME|tiny] [the settings …]``."""

from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from curation.management.encoder_names import absolute_encoder
from curation.management.lookups import get_version
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

SETTINGS = {field.name: field for field in fields(TrainingConfig)}
HELP = {
    "model": f"what training starts from: clip:<hub id or folder>, {SCORER_PREFIX}<name of a ready one>, or tiny",
    "region_mode": "how a region is drawn: highlight, hide, only_region, position_only or none",
    "text_mode": "inference, clue or multitask",
    "crop": "two_squares, centre or pad",
    "batch_size": "pairs per step over all processes; one less is the number of negatives",
    "chunk_size": "pairs in memory at once, by gradient caching; 0 is the whole batch",
    "learning_rate": "of AdamW",
    "weight_decay": "of AdamW",
    "warmup_steps": "steps over which the rate rises",
    "epochs": "passes over the pairs",
    "max_steps": "maximum steps; 0 for no limit",
    "checkpoint_every": "steps between validations",
    "patience": "validations without a better P@1 before stopping; 0 for never",
    "reduce_on_plateau": "divide the rate by 10 after a validation without a lower loss, as in the published code",
    "augment": "the four augmentations of each half",
    "grayscale": "probability of a greyscale picture",
    "precision": "auto, fp32 or bf16",
    "compile": "compile the towers by torch.compile",
    "processes": "number of processes, under torchrun",
    "device": "such as cpu or cuda; chosen when absent",
    "seed": "seed of all random choices",
}


class Command(JobCommand):
    """Train a scorer on a sealed version; the page Scorers shows it, and can stop and resume it."""

    help = "Train a scorer on the pairs of a sealed version. If stopped or killed, it can be resumed."
    tasks = (TRAIN_SCORER,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; the settings are those of ``TrainingConfig``, their defaults the paper's."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--version", help="the sealed version to train on")
        add("--name", default="", help="of the scorer; absent: version, model and a number")
        add("--split", help="training split; train if the version has it")
        add("--val-split", help="validation split; val if the version has it")
        share = "of the photos that validate, where both are one split"
        add("--val-share", type=float, default=VAL_SHARE, help=share)
        rows = f"the settings of a row of the paper's tables: {', '.join(trainable_names())}"
        add("--recipe", default="", help=rows)
        settings = parser.add_argument_group("settings")
        for name in HELP:
            _add_setting(settings, name)

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Request the training."""
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


def _add_setting(group: Any, name: str) -> None:
    """Add the option of a setting; if absent, the recipe or default applies."""
    flag, default = f"--{name.replace('_', '-')}", SETTINGS[name].default
    if isinstance(default, bool):
        group.add_argument(flag, action=BooleanOptionalAction, default=None, help=HELP[name])
        return
    kind: Callable[[str], Any] = type(default) if isinstance(default, int | float) else str
    if name == "model":
        kind = absolute_encoder
    shown = default_model() if name == "model" else str(default) or "none"
    group.add_argument(flag, type=kind, default=None, help=f"{HELP[name]}; default {shown}")


def _read_config(options: dict[str, Any]) -> TrainingConfig:
    given = {name: options[name] for name in HELP if options[name] is not None}
    try:
        if options["recipe"]:
            return get_recipe(options["recipe"]).config(**given)
        return TrainingConfig.from_json({"model": default_model()} | given)
    except InvalidInput as error:
        raise input_error(str(error)) from error
