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
    folder_help = "contains VG_100K, VG_100K_2 and image_data.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add(
            "--image-data", type=absolute_path, default="", help="image_data.json, if it is not in the folder"
        )
        add(
            "--regions",
            type=absolute_path,
            default="",
            help="region_descriptions.json, to import descriptions",
        )
        lists = "JSON object {train, val, test} of lists of image ids"
        add("--splits", type=absolute_path, default="", help=lists)
        for split in SPLITS:
            one = f"file of the image ids of {split}: a JSON list, or one id per line"
            add(f"--{split}", type=absolute_path, default="", help=one)
        rest = "split of the images that are in no list; by default they are left out"
        add("--rest", choices=SPLITS, default="", help=rest)

    def collection_spec(self, **options: Any) -> VisualGenomeSource:
        """Return the specification of the collection to import."""
        lists = {"": options["splits"]} | {split: options[split] for split in SPLITS}
        return VisualGenomeSource(
            folder=options["folder"],
            image_data=options["image_data"],
            regions=options["regions"],
            splits={split: path for split, path in lists.items() if path},
            rest=options["rest"],
            **self.shared_spec_fields(options),
        )
