"""``manage.py make_features --project SLUG --of images|regions|texts --encoder NAME …``."""

from argparse import ArgumentParser
from typing import Any

from curation.features.crops import Crop
from curation.features.encoder import DEFAULT_ENCODER
from curation.features.shards import SHARD_ROWS
from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.option_fields import option_fields
from curation.selectors.jobs import FEATURES
from curation.services import features
from curation.services.features import TEXTS, FeatureOptions, request_features
from hits.domain.images.region_drawing import RegionMode
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Encode a project's images, regions or texts, shard by shard."""

    help = (
        "Encode a project's images, or the regions or texts of its approved pairs, as shards of vectors below the "
        "media folder. A stopped or killed job resumes at the first missing shard. Worker processes share the work."
    )
    tasks = (FEATURES,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--of", choices=features.SUBJECTS, default=features.SUBJECTS[0], help="what to encode")
        add("--region-mode", choices=features.MODES, help="how regions are drawn; default: highlight")
        add("--text", choices=TEXTS, help="texts to encode; default: inference")
        encoders = (
            "label-sentence, efficientnet-lite0 (images), clip:<hub id or folder>, clip-openvino:<folder>, "
            "scorer:<name or number>"
        )
        add("--encoder", type=make_encoder_path_absolute, default=DEFAULT_ENCODER, help=encoders)
        precision = "precision of CLIP models"
        add("--precision", choices=features.PRECISIONS, default=features.PRECISIONS[0], help=precision)
        add("--crop", choices=features.CROPS, default=Crop.TWO_SQUARES.value, help="crop of CLIP models")
        add("--shard-rows", type=int, default=SHARD_ROWS, help="rows per shard")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        subject = options["of"]
        given = option_fields(FeatureOptions, options) | {"subject": subject}
        drawn = RegionMode.HIGHLIGHT if subject == "regions" else ""
        given["region_mode"] = options["region_mode"] or drawn
        given["text"] = options["text"] or (TEXTS[0] if subject == "texts" else "")
        project = find_project(options["project"])
        return request_features(project=project, by=None, options=FeatureOptions(**given), queue=queue)
