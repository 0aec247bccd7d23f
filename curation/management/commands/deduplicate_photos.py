"""``manage.py deduplicate_photos --project P [--share 0.9 | --clusters N | --distance D] [--source S] …``."""

from argparse import ArgumentParser
from typing import Any

from curation.dedup.cuts import Linkage
from curation.features.encoder import POOLED_ENCODER
from curation.management.encoder_names import absolute_encoder
from curation.models import Source
from curation.selectors.jobs import DEDUPLICATE
from curation.services import request_deduplication
from curation.services.dedup import KEEPS, MEMORY_MIB
from hits.management.base import bad_input
from hits.management.jobs import JobCommand
from hits.management.rows import project_called
from hits.models import Job

SHARE = 0.9
AS_GIVEN = ("clusters", "distance", "linkage", "keep", "seed", "encoder", "source", "memory_mib")


class Command(JobCommand):
    """Mark near-duplicates among a project's photos."""

    help = "Cluster a project's photos hierarchically, keep one of each cluster and mark the others."
    tasks = (DEDUPLICATE,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")
        parser.add_argument(
            "--source",
            choices=[source.value for source in Source],
            default="",
            help="cluster this collection's photos alone, and leave the marks of all others; default: all photos",
        )
        cut = parser.add_mutually_exclusive_group()
        cut.add_argument("--share", type=float, help=f"of the photos that are kept; default {SHARE}")
        cut.add_argument("--clusters", type=int, help="how many photos are kept")
        cut.add_argument(
            "--distance",
            type=float,
            help="merge what is at most this far apart: 1 - cosine; of ward, the height of the merge",
        )
        parser.add_argument("--linkage", choices=[linkage.value for linkage in Linkage], default="average")
        parser.add_argument("--keep", choices=KEEPS, default=KEEPS[0], help="who stays of a cluster")
        parser.add_argument("--seed", type=int, default=0, help="of the draw of kept photos")
        parser.add_argument(
            "--encoder",
            type=absolute_encoder,
            default="",
            help=f"{POOLED_ENCODER} (default), clip:<hub id or folder>, clip-openvino:<folder>",
        )
        parser.add_argument(
            "--memory-mib",
            type=int,
            default=MEMORY_MIB,
            help=f"most that clustering takes beside the vectors; default {MEMORY_MIB}",
        )

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Ask for the run."""
        if not options["project"]:
            raise bad_input("name --project, or a job to --resume")
        share = SHARE if options["clusters"] is None and options["distance"] is None else None
        return request_deduplication(
            project=project_called(options["project"]),
            by=None,
            queue=queue,
            fraction=share if options["share"] is None else options["share"],
            **{name: options[name] for name in AS_GIVEN},
        )
