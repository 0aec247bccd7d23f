"""``manage.py train_chooser --project P (--set NAME | --data FOLDER) [--model r2c] [--recipe …] [settings …]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.chooser.config import ChooserConfig
from curation.chooser.recipes import PUBLISHED, make_config, recipe_names
from curation.management.lookups import find_question_set
from curation.management.setting_options import add_setting_options, given_settings
from curation.records import InvalidInput
from curation.selectors.jobs import TRAIN_CHOOSER
from curation.services.choosers import request_folder_training, request_set_training
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job

DEFAULT_MODEL = "r2c"
HELP = {
    "model": "r2c, clip-choice:clip:<hub id or folder>, text-only:<start> or response-only:<start>, where start is "
    "tiny, gt-minilm or hf:<folder>",
    "stage": "the models to train: answer, rationale or both",
    "text": "R2C: the frozen vectors of words: tiny, gt-minilm or hf:<folder>",
    "visual": "R2C: the vectors of objects: grid, features, encoder:<name> or cnn:<folder of a ResNet>",
    "class_size": "R2C: size of a class's embedding",
    "object_size": "R2C: size of an object",
    "hidden_size": "R2C: size of each direction of an LSTM",
    "pool_size": "R2C: size of the last layer",
    "dropout": "R2C: dropout of LSTM inputs and last layers",
    "object_dropout": "R2C: dropout of objects",
    "class_loss": "R2C: weight of the loss of predicted classes",
    "use_query": "R2C: attend to the query",
    "use_reasoning": "R2C: reason over the response with an LSTM",
    "use_vision": "R2C: ground words in their objects",
    "crop": "clip-choice: how images are cropped: two_squares, centre or pad",
    "batch_size": "questions per step over all processes",
    "chunk_size": "questions in memory at once; 0 means all of a process",
    "learning_rate": "learning rate of Adam",
    "weight_decay": "weight decay of Adam",
    "clip_norm": "largest norm of the gradient; 0 means any",
    "epochs": "passes over the questions",
    "max_steps": "maximum steps; 0 means no limit",
    "checkpoint_every": "steps between validations; 0 means one epoch",
    "patience": "validations without a better accuracy before training stops; 0 means that it never stops early",
    "plateau_patience": "validations without a better accuracy after which the next one halves the rate",
    "plateau_cooldown": "validations that are not counted after the rate was halved",
    "precision": "auto, fp32 or bf16; R2C computes in fp32",
    "processes": "number of processes, under torchrun",
    "device": "device such as cpu or cuda; default: the GPU, if there is one",
    "seed": "seed of all random choices",
}


class Command(JobCommand):
    """Train a chooser on a question set, or on a folder in the published layout."""

    help = (
        "Train models that choose answers and rationales. Held splits are never used: questions of train are trained "
        "on, those of val select the best model. If stopped or killed, it can be resumed."
    )
    tasks = (TRAIN_CHOOSER,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; the settings and their defaults are those of ``ChooserConfig``."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--set", help="name of a question set of the project")
        published = "folder with train.jsonl, val.jsonl and vcr1images, in the published layout"
        add("--data", type=Path, help=published)
        add("--name", default="", help="the chooser's name; default: set or folder, model and a number")
        recipes = f"named settings of the model: {', '.join(recipe_names())}; default {PUBLISHED}"
        add("--recipe", default=PUBLISHED, help=recipes)
        add_setting_options(
            parser, ChooserConfig, HELP, model_default=DEFAULT_MODEL, with_paths=("model", "text", "visual")
        )

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the chooser and the job that trains it."""
        if bool(options["set"]) == bool(options["data"]):
            raise input_error("give --set NAME of a question set, or --data FOLDER")
        common: dict[str, Any] = {
            "by": None,
            "name": options["name"],
            "config": _read_config(options),
            "recipe": options["recipe"],
            "queue": queue,
        }
        if options["set"]:
            question_set = find_question_set(options["project"], options["set"])
            chooser = request_set_training(question_set=question_set, **common)
        else:
            project = find_project(options["project"])
            chooser = request_folder_training(project=project, folder=options["data"], **common)
        assert chooser.job is not None, "a chooser is created with its job"
        return chooser.job


def _read_config(options: dict[str, Any]) -> ChooserConfig:
    given = given_settings(options, HELP)
    try:
        return make_config(given.pop("model", DEFAULT_MODEL), options["recipe"], **given)
    except InvalidInput as error:
        raise input_error(str(error)) from error
