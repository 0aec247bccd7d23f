"""The pipelines with the encoders that are installed, on small pictures."""

import pytest

from curation.pipelines.comparison import build_comparison_round
from curation.pipelines.deduplicate import deduplicate_images
from curation.pipelines.encoders import get_image_encoder, get_round_encoders
from curation.services.comparison import RoundOptions
from curation.services.dedup import DedupOptions
from hits.services.errors import Refused
from hits.services.images.import_image import import_image
from tests.curation.pipelines.test_pipelines import brighter, twelve_pairs
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


def test_a_brighter_copy_is_found_by_the_default_encoder(work: Work) -> None:
    images = [work.image(seed) for seed in range(3)]
    twin, _ = import_image(project=work.project, name="twin.png", data=brighter(images[1]))
    found = deduplicate_images(
        project=work.project, options=DedupOptions(set_aside=True, clusters=3, keep="first")
    )
    assert found.groups == {images[1].pk: [twin.pk]}
    assert "efficientnet-lite0" in found.encoder


def test_a_round_with_the_default_encoders_names_them(work: Work) -> None:
    twelve_pairs(work)
    options = RoundOptions(size=3, min_candidates=3)
    found = build_comparison_round(project=work.project, options=options)
    assert found.sets.count() + sum(found.skip_counts.values()) == 12
    assert "not CLIP" in found.encoder
    assert found.provenance["sentence_encoder"] == "all-MiniLM-L6-v2"
    assert found.provenance["torch"]


@pytest.mark.parametrize("name", ["resnet", "clip:", "clip:/nowhere/at/all"])
def test_unavailable_encoder_names_the_install_command(name: str) -> None:
    for load in (get_image_encoder, get_round_encoders):
        with pytest.raises(Refused, match=r"clip:|not available"):
            load(name)
