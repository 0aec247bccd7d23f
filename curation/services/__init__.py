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
from curation.services.dedup import (
    DedupOptions,
    keep_all,
    request_deduplication,
    set_aside_duplicates,
    store_groups,
    undo_duplicates,
)
from curation.services.drafts import changed_rows, draft_contents, plan_draft, request_plan
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
    "changed_rows",
    "create_version",
    "draft_contents",
    "export_folder",
    "export_path",
    "keep_all",
    "launch_comparison_batch",
    "launchable",
    "leave_out",
    "make_sealed_version",
    "plan_draft",
    "request_comparison_round",
    "request_deduplication",
    "request_features",
    "request_plan",
    "request_seal",
    "seal_version",
    "set_aside_duplicates",
    "splits_in_use",
    "store_groups",
    "store_round",
    "undo_duplicates",
]
