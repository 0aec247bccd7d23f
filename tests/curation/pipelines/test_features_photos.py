"""Real photographs through feature jobs, with the encoders that are installed and a CLIP of random weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.features.shards import open_features
from curation.models import FeatureSet
from curation.services.features import FeatureOptions, request_features
from hits.domain.states import JobState
from hits.services.images.import_image import import_image
from hits.services.jobs import jobs
from tests.support.curation.fakes import save_tiny_clip
from tests.support.curation.features import features_folder
from tests.support.judging.work import Work

pytestmark = [pytest.mark.photos, pytest.mark.long, pytest.mark.django_db(transaction=True)]
PAIRS_ON = 4


def made(work: Work, **options: Any) -> FeatureSet:
    request = request_features(
        project=work.project, by=None, options=FeatureOptions(**options, shard_rows=40), queue=False
    )
    job = jobs.run_in_process(job=request)
    assert job.state == JobState.DONE, job.error
    return FeatureSet.objects.get(pk=job.result["feature_set"])


@pytest.mark.timeout(900)
def test_all_photographs_go_through_every_kind_of_set(photos: Path, work: Work, tmp_path: Path) -> None:
    files = sorted(photos.glob("*.jpg"))
    images = [import_image(project=work.project, name=file.name, data=file.read_bytes())[0] for file in files]
    for n, image in enumerate(images[:PAIRS_ON]):
        work.observed(image, worker=f"W{n}")
    clip = f"clip:{save_tiny_clip(tmp_path / 'tiny')}"
    pairs = PAIRS_ON * 3
    expected = [
        ({"subject": "images"}, len(images), 384),
        ({"subject": "images", "encoder": "efficientnet-lite0"}, len(images), 1280),
        ({"subject": "images", "encoder": clip}, len(images), 24),
        ({"subject": "regions", "region_mode": "highlight"}, pairs, 384),
        ({"subject": "regions", "region_mode": "position_only", "encoder": clip}, pairs, 24),
        ({"subject": "texts", "text": "inference"}, pairs, 384),
        ({"subject": "texts", "text": "clue", "encoder": clip}, pairs, 24),
    ]
    for options, count, dim in expected:
        row = made(work, **options)
        found = open_features(features_folder(row), manifest_sha256=row.sha256)
        assert found.shape == (count, dim), options
        np.testing.assert_allclose(np.linalg.norm(found[:], axis=1), 1, atol=1e-5)
    pooled = FeatureSet.objects.get(encoder__startswith="efficientnet-lite0 pooled")
    vectors = open_features(features_folder(pooled)).memory_map()
    assert len(np.unique(vectors, axis=0)) == len(images), "different photographs, different vectors"
