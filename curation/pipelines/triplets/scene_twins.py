"""A job that finds, for each scene of a project, the most similar other one by the vectors of their texts."""

from typing import Any

import numpy as np

from curation.models import SceneTwins
from curation.pipelines.questions.vectors import load_sentence_encoder, sentence_origin
from curation.selectors.triplets.scenes import scenes
from curation.services.triplets.audits import store_twins
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

_BLOCK = 512  # scenes whose cosines with all others are in memory at once


def find_scene_twins(progress: Progress) -> dict[str, Any]:
    """Run a job: encode premise and plausible hypothesis of each scene, and store the nearest other scene.

    Raises:
        Refused: there are fewer than two scenes, or the encoder is not installed.
    """
    row = SceneTwins.objects.select_related("project").get(pk=progress.job.args["twins"])
    found = list(scenes(row.project))
    if len(found) < 2:  # noqa: PLR2004 - a pair
        raise Refused("scenes: there are fewer than two to compare")
    texts = [f"{scene.premise} {scene.plausible_text}" for scene in found]
    vectors = np.asarray(load_sentence_encoder().encode_texts(texts), dtype=np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    ids = [scene.public_id for scene in found]
    twins: dict[str, tuple[str, float]] = {}
    for start in range(0, len(ids), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T  # (block, n)
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -1.0
        nearest = cosines.argmax(axis=1)
        for at, other in zip(rows.tolist(), nearest.tolist(), strict=True):
            twins[ids[start + at]] = (ids[other], round(float(cosines[at, other]), 4))
        progress.advance(min(start + _BLOCK, len(ids)), len(ids))
    origin = sentence_origin()
    store_twins(row=row, encoder=origin.encoder, revision=origin.revision, twins=twins)
    return {"twins": row.pk, "scenes": len(ids)}
