"""``manage.py make_features --project SLUG --of images|regions|texts --encoder NAME …``."""

from argparse import ArgumentParser
from typing import Any

from curation.features.encoder import DEFAULT_ENCODER
from curation.features.regions import Crop
from curation.features.shards import SHARD_ROWS
from curation.management.encoder_names import absolute_encoder
from curation.selectors.jobs import FEATURES
from curation.services.features import (
    CROPS,
    MODES,
    PRECISIONS,
    SUBJECTS,
    TEXTS,
    FeatureOptions,
    request_features,
)
from hits.domain.images.region_drawing import RegionMode
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Encode a project's images, regions or texts, shard by shard."""

    help = (
        "Encode a project's images, regions of approved pairs, or their texts, into shards of vectors below the "
        "media folder. Stopped or killed, it goes on at the first missing shard; running workers help."
    )
    tasks = (FEATURES,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("--project", help="the project's slug")
        parser.add_argument("--of", choices=SUBJECTS, default=SUBJECTS[0], help="what is encoded")
        parser.add_argument("--region-mode", choices=MODES, help="how regions are drawn; default highlight")
        parser.add_argument("--text", choices=TEXTS, help="which texts; default inference")
        parser.add_argument(
            "--encoder",
            type=absolute_encoder,
            default=DEFAULT_ENCODER,
            help="label-sentence, efficientnet-lite0 (images), clip:<hub id or folder>, clip-openvino:<folder>, "
            "scorer:<name or number>",
        )
        parser.add_argument("--precision", choices=PRECISIONS, default=PRECISIONS[0], help="of CLIP")
        parser.add_argument("--crop", choices=CROPS, default=Crop.TWO_SQUARES.value, help="of CLIP")
        parser.add_argument("--shard-rows", type=int, default=SHARD_ROWS, help="rows a shard")

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Request the set."""
        return request_features(
            project=find_project(options["project"]), by=None, options=_options(options), queue=queue
        )


def _options(given: dict[str, Any]) -> FeatureOptions:
    regions, texts = given["of"] == "regions", given["of"] == "texts"
    return FeatureOptions(
        subject=given["of"],
        region_mode=given["region_mode"] or (RegionMode.HIGHLIGHT.value if regions else ""),
        text=given["text"] or (TEXTS[0] if texts else ""),
        encoder=given["encoder"],
        precision=given["precision"],
        crop=given["crop"],
        shard_rows=given["shard_rows"],
    )
