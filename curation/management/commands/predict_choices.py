"""``manage.py predict_choices (--project P --chooser NAME | --answers FOLDER --rationales FOLDER …) --out CSV``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.evaluation.choice_items import Stage
from curation.evaluation.perturb import RENAMINGS
from curation.management.file_messages import convert_input_errors
from curation.management.lookups import find_ready_chooser
from curation.models import Chooser
from curation.selectors.choosers import chooser_folder, stage_weights_folder
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project

MASKINGS = "mask-top1, mask-top3, mask-top5, keep-top1, keep-top3 or keep-top5"


class Command(DeerstalkerCommand):
    """Write a chooser's predictions in the published layout."""

    help = (
        "Predict the answers and rationales of a file of questions, and write the CSV of the published leaderboard: "
        "annot_id and 20 columns of scores, with the rationales given each of the four answers. With --perturb, "
        "predict changed copies of the questions, for evaluate_choices --changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--chooser", help="name of a trained chooser of the project")
        model = "folder of a chooser, or zero-shot:clip:<hub id or folder>"
        add("--answers", help=f"instead of --chooser, for answers: {model}")
        add("--rationales", help=f"for rationales: {model}")
        add(
            "--data",
            type=Path,
            help="questions in the published layout; default: those the chooser validated with",
        )
        add(
            "--images", type=Path, help="folder with their images and metadata; default: that of the training"
        )
        add("--features", type=Path, help="folder of stored vectors of objects, for R2C with visual=features")
        add(
            "--text",
            default="",
            help="R2C: the frozen vectors of words, if they are in a folder (hf:<folder>)",
        )
        changes = f"predict a changed copy: {', '.join(RENAMINGS)}, or {MASKINGS} by the choosers' own losses"
        add("--perturb", default="", help=changes)
        add("--device", default="", help="device such as cpu or cuda; default: the GPU, if there is one")
        add("--out", type=Path, required=True, help="the CSV to write")

    def handle(self, *args: Any, **options: Any) -> None:
        """Load both models, predict and write."""
        from curation.chooser.chooser import (
            open_chooser,
            perturb_with_choosers,
            predict_choices,
            write_predictions,
        )
        from curation.chooser.model.build import InputSources
        from curation.chooser.questions import read_image_items

        given = _resolve_sources(options)
        with convert_input_errors():
            items = read_image_items(given["data"])
            sources = InputSources(given["images"], given["features"], given["text"])
            answers, rationales = (
                open_chooser(given[name], sources, device=options["device"])
                for name in ("answers", "rationales")
            )
            if options["perturb"]:
                items = perturb_with_choosers(answers, rationales, items, options["perturb"])
            ids, predictions = predict_choices(answers, rationales, items)
            write_predictions(options["out"], ids, predictions)
        facts = {"questions": len(ids), "perturb": options["perturb"], "out": str(options["out"])}
        self.report(options, facts, f"{len(ids)} questions are predicted in {options['out']}")


def _resolve_sources(options: dict[str, Any]) -> dict[str, Any]:
    """Return the models and the questions that the command line names."""
    given = {name: options[name] for name in ("answers", "rationales", "data", "images", "features", "text")}
    if options["chooser"]:
        if given["answers"] or given["rationales"]:
            raise input_error("--chooser: has both models; remove --answers and --rationales")
        defaults = _chooser_sources(find_ready_chooser(find_project(options["project"]), options["chooser"]))
        given = {name: value or defaults[name] for name, value in given.items()}
    missing = next((name for name in ("answers", "rationales", "data", "images") if not given[name]), None)
    if missing:
        raise input_error(f"--{missing}: is missing; give it, or --project and --chooser")
    return given | {"features": given["features"] or Path(given["data"]).parent / "features"}


def _chooser_sources(chooser: Chooser) -> dict[str, Any]:
    from curation.chooser.training.inputs import read_run_settings

    folder = chooser_folder(chooser)
    with convert_input_errors():
        images = read_run_settings(folder).images
    return {
        "answers": str(stage_weights_folder(chooser, Stage.ANSWER)),
        "rationales": str(stage_weights_folder(chooser, Stage.RATIONALE)),
        "data": folder / "val.jsonl",
        "images": images,
        "features": folder / "features",
        "text": chooser.config["text"] if chooser.config["model"] == "r2c" else "",
    }
