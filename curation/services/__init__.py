"""What pages and commands ask of curation. Light: heavy work is a job in ``curation.pipelines``."""

from curation.services.comparison import (
    BuiltRound,
    BuiltSet,
    JudgesPage,
    RoundOptions,
    launch_comparison_batch,
    launchable,
    leave_out,
    request_comparison_round,
    splits_in_use,
    store_round,
)
from curation.services.dedup import DedupOptions, request_deduplication, store_groups
from curation.services.features import FeatureOptions, request_features
from curation.services.versions import (
    create_version,
    export_folder,
    export_path,
    make_sealed_version,
    request_seal,
    seal_version,
)

__all__ = [
    "BuiltRound",
    "BuiltSet",
    "DedupOptions",
    "FeatureOptions",
    "JudgesPage",
    "RoundOptions",
    "create_version",
    "export_folder",
    "export_path",
    "launch_comparison_batch",
    "launchable",
    "leave_out",
    "make_sealed_version",
    "request_comparison_round",
    "request_deduplication",
    "request_features",
    "request_seal",
    "seal_version",
    "splits_in_use",
    "store_groups",
    "store_round",
]
