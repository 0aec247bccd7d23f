"""Labels of a job's results on its page; results without a label show their key."""

from hits.domain.answers.evidence import humanize

_LABELS = {
    "boxes": "Boxes proposed",
    "clipped": "Regions clipped to the photo",
    "clusters": "Clusters",
    "described": "Existing photos with new details",
    "dropped": "Regions outside the photo, dropped",
    "encoder": "Encoder",
    "groups": "Groups of near-duplicates",
    "images": "Photos",
    "least_cosine": "Lowest cosine within a group",
    "marked": "Photos set aside",
    "marked_though_offered_again": "Set aside although people had offered them again",
    "problems": "Problems",
    "regions": "Regions",
    "set_aside_again": "Set aside because people marked them as duplicates",
    "source": "Collection",
    "threshold": "Distance of the last merge",
    "to_set_aside": "Photos to set aside",
    "count": "Vectors",
    "dim": "Dimensions per vector",
    "feature_set": "Feature set, number",
    "known": "Already imported",
    "new": "Added",
    "refused": "Refused",
    "im2txt": "Mean rank, image to text",
    "kept": "Kept",
    "method": "Clustering method",
    "p_at_1": "P@1, %",
    "path": "Folder in the media folder",
    "run": "Run",
    "seal": "Seal (sha256)",
    "sha256": "sha256",
    "skipped": "Skipped",
    "txt2im": "Mean rank, text to image",
    "weights_sha256": "Weights (sha256)",
    "why": "Reason for this method",
    "options_clusters": "Requested clusters",
    "options_distance": "Largest distance within a group",
    "options_encoder": "Requested encoder",
    "options_fraction": "Share of photos to keep",
    "options_keep": "Which photo to keep",
    "options_linkage": "Linkage",
    "options_memory_mib": "Memory limit, MiB",
    "options_seed": "Seed",
    "options_set_aside": "Set aside without a preview",
    "options_source": "Collection",
}


def job_result_label(name: str) -> str:
    """Return the label of a result; nested keys are joined, such as ``options_memory_mib``."""
    return _LABELS.get(name) or humanize(name)
