"""The encoder that wraps each text in a prompt."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.encoder import Encoder
from curation.features.prompted import PromptedEncoder
from curation.records import InvalidInput, Region
from hits.domain.images.region_drawing import RegionMode


class Recording:
    """An encoder that records its calls."""

    name = "recording"
    revision = "7"
    dim = 2
    is_clip = True
    preprocessing: ClassVar[dict[str, Any]] = {"side": 8}
    region_modes = frozenset({RegionMode.HIGHLIGHT, RegionMode.NONE})

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.modes: list[RegionMode] = []

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        return np.ones((len(pictures), 2), dtype=np.float32)

    def encode_regions(
        self,
        pictures: Sequence[Pillow.Image],
        regions: Sequence[Sequence[Region]],
        mode: RegionMode = RegionMode.HIGHLIGHT,
    ) -> NDArray[np.float32]:
        self.modes.append(mode)
        return np.zeros((len(regions), 2), dtype=np.float32)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return np.ones((len(texts), 2), dtype=np.float32)


def test_prompted_encoder_wraps_texts_only() -> None:
    inner = Recording()
    made = PromptedEncoder(inner, "A photo in which {}")
    as_any_other: Encoder = made
    assert as_any_other.name == inner.name
    assert made.encode_texts(["it {rained}", "a party"]).shape == (2, 2)
    assert inner.texts == ["A photo in which it {rained}", "A photo in which a party"]
    picture = Pillow.new("RGB", (8, 8))
    assert made.encode_images([picture]).tolist() == [[1.0, 1.0]]
    assert made.encode_regions([picture], [[]], RegionMode.NONE).tolist() == [[0.0, 0.0]]
    assert inner.modes == [RegionMode.NONE]
    assert made.region_mode is RegionMode.HIGHLIGHT
    assert made.encode_clues(["a cup"]).shape == (1, 2)
    assert inner.texts[2:] == ["A photo in which a cup"]
    assert (made.name, made.dim, made.is_clip, made.region_modes) == (
        "recording",
        2,
        True,
        inner.region_modes,
    )


def test_prompt_changes_the_revision() -> None:
    inner = Recording()
    one, other = PromptedEncoder(inner, "a {}"), PromptedEncoder(inner, "the {}")
    assert len({inner.revision, one.revision, other.revision}) == 3
    assert one.revision == PromptedEncoder(inner, "a {}").revision
    assert one.preprocessing == {"side": 8, "prompt": "a {}"}


@pytest.mark.parametrize("prompt", ["", "A photo", "{} and {}"])
def test_prompt_without_exactly_one_placeholder_is_refused(prompt: str) -> None:
    with pytest.raises(InvalidInput, match=r"^prompt: .* needs exactly one"):
        PromptedEncoder(Recording(), prompt)
