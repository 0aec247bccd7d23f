"""``manage.py import_visual_genome FOLDER --project P [--splits FILE] [--regions FILE]``."""

from argparse import ArgumentParser
from typing import Any

from curation.management.import_command import ImportCommand
from curation.models import Source
from curation.sources.records import SPLITS
from curation.sources.visual_genome import VisualGenomeSource
from hits.management.jobs import absolute_path


class Command(ImportCommand):
    """Import a copy of Visual Genome: the folder with ``VG_100K``, ``VG_100K_2`` and ``image_data.json``."""

    help = "Import Visual Genome: pictures, sizes, region descriptions, and the splits of published lists."
    source = Source.VISUAL_GENOME
    folder_help = "holds VG_100K, VG_100K_2 and image_data.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--image-data", type=absolute_path, default="", help="image_data.json, if it lies elsewhere"
        )
        parser.add_argument("--regions", type=absolute_path, default="", help="region_descriptions.json")
        parser.add_argument(
            "--splits",
            type=absolute_path,
            default="",
            help="JSON object with the lists train, val and test of image ids",
        )
        for split in SPLITS:
            parser.add_argument(
                f"--{split}",
                type=absolute_path,
                default="",
                help=f"list of the ids of {split}: JSON, or one a line",
            )
        parser.add_argument(
            "--rest",
            choices=SPLITS,
            default="",
            help="split of images in no list; they are left out if absent",
        )

    def collection_spec(self, **options: Any) -> VisualGenomeSource:
        """Return the collection to import as a spec."""
        lists = {"": options["splits"]} | {split: options[split] for split in SPLITS}
        return VisualGenomeSource(
            folder=options["folder"],
            image_data=options["image_data"],
            regions=options["regions"],
            splits={split: path for split, path in lists.items() if path},
            rest=options["rest"],
            **self.shared_options(options),
        )
