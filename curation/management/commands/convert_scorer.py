"""``manage.py convert_scorer CHECKPOINT --tokenizer FOLDER_OR_HUB --out DIR``."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curation.management.file_messages import input_errors
from curation.scorer.config import TextMode
from hits.management.base import DeerstalkerCommand

NAMES = ("vit-b16", "rn50x16", "rn50x64", "rn50x64-multitask")


class Command(DeerstalkerCommand):
    """Turn a published checkpoint into a scorer's folder."""

    help = (
        "Turn a checkpoint of the Sherlock corpus's authors (or another of OpenAI's names and shapes) into a "
        "scorer's folder. It is read as numbers alone; the folder is there as a whole or not at all."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("checkpoint", type=Path, help="the .pt file")
        tokenizer = "a CLIP's tokenizer, such as openai/clip-vit-base-patch16; checkpoints carry none"
        add("--tokenizer", required=True, metavar="FOLDER_OR_HUB", help=tokenizer)
        add("--out", type=Path, required=True, metavar="DIR", help="a folder that does not exist yet")
        add("--name", choices=NAMES, default="", help="which published one it is")
        modes = [mode.value for mode in TextMode]
        add("--text-mode", choices=modes, help="how it was trained; default: its name's")

    def handle(self, *args: Any, **options: Any) -> None:
        """Convert, and print the result."""
        from curation.scorer.model.published_scorers import convert_published

        mode = options["text_mode"]
        with input_errors():
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
