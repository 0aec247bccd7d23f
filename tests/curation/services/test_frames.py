"""Clips that are taken down and put back: which of their frames go with them."""

import pytest

from curation.models import Clip
from curation.services import frames as services
from hits.models import Image, Project
from hits.services.errors import Conflict
from hits.services.images.take_down import put_back_image, take_down_image
from tests.support.vcr.frames import write_frames

pytestmark = pytest.mark.django_db


@pytest.fixture
def frames(project: Project) -> list[Image]:
    """Three frames of one clip."""
    return write_frames(project, [(2, 1)] * 3, ["The Moor"] * 3)


def shown() -> list[int]:
    return list(Image.objects.filter(taken_down_at=None).order_by("pk").values_list("pk", flat=True))


def test_frames_that_were_down_before_their_clip_stay_down(frames: list[Image]) -> None:
    early, *others = frames
    take_down_image(image=early, reason="a face", by=None)
    clip = Clip.objects.get()
    assert services.take_down_clip(clip=clip, reason="asked", by=None) == others
    assert shown() == []
    assert services.put_back_clip(clip=clip, reason="a mistake", by=None) == 2
    assert shown() == [image.pk for image in others]
    with pytest.raises(Conflict, match="is not taken down"):
        services.put_back_clip(clip=clip, reason="again", by=None)


def test_a_frame_with_a_take_down_of_its_own_stays_down_when_its_clip_returns(frames: list[Image]) -> None:
    clip = Clip.objects.get()
    own, again, other = services.take_down_clip(clip=clip, reason="asked", by=None)
    put_back_image(image=own, reason="this one may be used", by=None)
    take_down_image(image=own, reason="a face", by=None)
    put_back_image(image=again, reason="this one may be used, too", by=None)
    assert services.put_back_clip(clip=clip, reason="a mistake", by=None) == 1
    assert shown() == [again.pk, other.pk]
