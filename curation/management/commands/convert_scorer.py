"""``manage.py convert_scorer CHECKPOINT --tokenizer FOLDER_OR_HUB --out DIR``."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curation.management.file_messages import convert_input_errors
from curation.scorer.config import TextMode
from hits.management.base import DeerstalkerCommand

NAMES = ("vit-b16", "rn50x16", "rn50x64", "rn50x64-multitask")


class Command(DeerstalkerCommand):
    """Convert a published checkpoint to a scorer's folder."""

    help = (
        "Convert a checkpoint of the Sherlock corpus's authors, or another with the parameter names and shapes of "
        "OpenAI's CLIP, to a scorer's folder. Only numbers are read from the checkpoint. The folder is written "
        "atomically."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("checkpoint", type=Path, help="the .pt file")
        tokenizer = "a CLIP model's tokenizer, such as openai/clip-vit-base-patch16; checkpoints have none"
        add("--tokenizer", required=True, metavar="FOLDER_OR_HUB", help=tokenizer)
        add("--out", type=Path, required=True, metavar="DIR", help="a folder that does not exist yet")
        add("--name", choices=NAMES, default="", help="the name of the published checkpoint, if it is one")
        modes = [mode.value for mode in TextMode]
        add(
            "--text-mode",
            choices=modes,
            help="the texts that the model was trained on; default: those of the published name",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Convert the checkpoint, and print the folder and its hash."""
        from curation.scorer.model.published_scorers import convert_published

        mode = options["text_mode"]
        with convert_input_errors():
            converted = convert_published(
                options["checkpoint"],
                options["tokenizer"],
                options["out"],
                name=options["name"],
                text_mode=TextMode(mode) if mode else None,
            )
        name = converted.name or "a CLIP of OpenAI's shapes"
        self.report(
            options,
            asdict(converted) | {"folder": str(converted.folder)},
            f"{converted.folder}: {name}, {converted.parameters:,} parameters, text mode {converted.text_mode}; "
            f"sha256 {converted.sha256}",
        )
