"""``manage.py import_vcr FOLDER --project P [--allowed train_annots.json …] [--min-entities 3]``."""

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from curation.management.import_command import ImportCommand
from curation.models import Source
from curation.sources.records import SPLITS
from curation.sources.vcr import MIN_ENTITIES, EntityCountRule, VcrSource, find_vcr_source
from hits.management.jobs import absolute_path


class Command(ImportCommand):
    """Import a copy of VCR: the folder with ``vcr1images`` and, if present, the annotation files."""

    help = "Import VCR: pictures with enough entities (--min-entities), detected objects, and the published splits."
    source = Source.VCR
    folder_help = "contains vcr1images, and optionally train.jsonl, val.jsonl and test.jsonl"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        for split in SPLITS:
            add(
                f"--{split}",
                type=absolute_path,
                default="",
                help=f"{split}.jsonl, if it is not in the folder",
            )
        add(
            "--min-entities",
            type=int,
            default=MIN_ENTITIES,
            help="leave out pictures with fewer entities than this",
        )
        add(
            "--count",
            choices=[count.value for count in EntityCountRule],
            default=EntityCountRule.OBJECTS.value,
            help="whether an entity is a detected object, or a class of detected objects",
        )

    def collection_spec(self, **options: Any) -> VcrSource:
        """Return the specification of the collection to import."""
        named = {split: options[split] for split in SPLITS if options[split]}
        return replace(
            find_vcr_source(Path(options["folder"]), named),
            min_entities=options["min_entities"],
            count=EntityCountRule(options["count"]),
            **self.shared_spec_fields(options),
        )
