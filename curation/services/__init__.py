"""The services that pages and commands call. Heavy work runs in jobs (``curation.pipelines``)."""

from curation.services.comparison import (
    BuiltRound,
    BuiltSet,
    JudgePageOptions,
    RoundOptions,
    accepted_pair_splits,
    launch_comparison_batch,
    launchable_sets,
    leave_out_set,
    request_comparison_round,
    store_round,
)
from curation.services.dedup import (
    DedupOptions,
    mark_group_as_different,
    request_deduplication,
    set_aside_duplicates,
    store_duplicate_groups,
    undo_duplicates,
)
from curation.services.drafts import changed_rows, draft_contents, request_plan, store_draft_summary
from curation.services.features import FeatureOptions, request_features
from curation.services.versions import (
    create_sealed_version,
    create_version,
    ensure_export_folder,
    export_folder,
    request_seal,
    seal_version,
)

__all__ = [
    "BuiltRound",
    "BuiltSet",
    "DedupOptions",
    "FeatureOptions",
    "JudgePageOptions",
    "RoundOptions",
    "accepted_pair_splits",
    "changed_rows",
    "create_sealed_version",
    "create_version",
    "draft_contents",
    "ensure_export_folder",
    "export_folder",
    "launch_comparison_batch",
    "launchable_sets",
    "leave_out_set",
    "mark_group_as_different",
    "request_comparison_round",
    "request_deduplication",
    "request_features",
    "request_plan",
    "request_seal",
    "seal_version",
    "set_aside_duplicates",
    "store_draft_summary",
    "store_duplicate_groups",
    "store_round",
    "undo_duplicates",
]
