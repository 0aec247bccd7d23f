"""``manage.py convert_scorer CHECKPOINT --tokenizer FOLDER_OR_HUB --out DIR``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.records import InvalidInput
from curation.scorer.config import TextMode
from hits.management.base import DeerstalkerCommand, emit_json, input_error, interrupt_error

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
        parser.add_argument("checkpoint", type=Path, help="the .pt file")
        parser.add_argument(
            "--tokenizer",
            required=True,
            metavar="FOLDER_OR_HUB",
            help="a CLIP's tokenizer, such as openai/clip-vit-base-patch16; checkpoints carry none",
        )
        parser.add_argument(
            "--out", type=Path, required=True, metavar="DIR", help="a folder that does not exist yet"
        )
        parser.add_argument("--name", choices=NAMES, default="", help="which published one it is")
        parser.add_argument(
            "--text-mode",
            choices=[mode.value for mode in TextMode],
            help="how it was trained; default: its name's",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Convert, and print the result."""
        from curation.scorer.model.published_scorers import convert_published

        mode = options["text_mode"]
        try:
            converted = convert_published(
                options["checkpoint"],
                options["tokenizer"],
                options["out"],
                name=options["name"],
                text_mode=TextMode(mode) if mode else None,
            )
        except InvalidInput as error:
            raise input_error(str(error)) from error
        except KeyboardInterrupt as error:
            raise interrupt_error() from error
        if options["json"]:
            emit_json(
                self,
                {
                    "folder": str(converted.folder),
                    "name": converted.name,
                    "sha256": converted.sha256,
                    "checkpoint_sha256": converted.checkpoint_sha256,
                    "parameters": converted.parameters,
                    "text_mode": converted.text_mode.value,
                },
            )
            return
        name = converted.name or "a CLIP of OpenAI's shapes"
        self.stdout.write(
            f"{converted.folder}: {name}, {converted.parameters:,} parameters, text mode {converted.text_mode}; "
            f"sha256 {converted.sha256}"
        )
