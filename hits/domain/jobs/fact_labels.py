"""What a job's page calls the facts that the job left; what is not named here is shown by its own name."""

from hits.domain.answers.evidence import words

_LABELS = {
    "boxes": "Boxes proposed",
    "clipped": "Regions cut at the photo’s edge",
    "clusters": "Clusters",
    "described": "Already here, and added to",
    "dropped": "Regions outside the photo",
    "encoder": "Encoder",
    "groups": "Groups of near-duplicates",
    "images": "Photos",
    "least_cosine": "Cosine of the least alike pair in a group",
    "marked": "Photos set aside",
    "marked_though_offered_again": "Set aside though offered again before",
    "problems": "Problems",
    "regions": "Regions",
    "set_aside_again": "Set aside since people call them the same",
    "source": "Collection",
    "threshold": "Distance of the last merge",
    "to_set_aside": "Photos that would be set aside",
    "count": "Vectors",
    "dim": "Numbers per vector",
    "feature_set": "Feature set, number",
    "known": "Already here",
    "new": "Added",
    "refused": "Could not be used",
    "im2txt": "Mean rank, image to text",
    "kept": "Kept",
    "method": "Clustering method",
    "p_at_1": "P@1, %",
    "path": "Folder, below the media folder",
    "run": "Run, number",
    "seal": "Seal (sha256)",
    "sha256": "sha256",
    "skipped": "Skipped",
    "txt2im": "Mean rank, text to image",
    "weights_sha256": "Weights (sha256)",
    "why": "Why this method",
    "options_clusters": "Clusters asked for",
    "options_distance": "Largest distance within a group",
    "options_encoder": "Encoder asked for",
    "options_fraction": "Share of photos to keep",
    "options_keep": "Which photo to keep",
    "options_linkage": "Linkage",
    "options_memory_mib": "Memory limit, MiB",
    "options_seed": "Seed",
    "options_set_aside": "Set aside without a preview",
    "options_source": "Collection",
}


def fact_label(name: str) -> str:
    """Return the label of a fact; the names of nested ones are joined, such as ``options_memory_mib``."""
    return _LABELS.get(name) or words(name)
