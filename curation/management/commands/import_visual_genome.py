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
        add = parser.add_argument
        add("--image-data", type=absolute_path, default="", help="image_data.json, if it lies elsewhere")
        add("--regions", type=absolute_path, default="", help="region_descriptions.json")
        lists = "JSON object with the lists train, val and test of image ids"
        add("--splits", type=absolute_path, default="", help=lists)
        for split in SPLITS:
            one = f"list of the ids of {split}: JSON, or one a line"
            add(f"--{split}", type=absolute_path, default="", help=one)
        rest = "split of images in no list; they are left out if absent"
        add("--rest", choices=SPLITS, default="", help=rest)

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
