"""What encoders share that see pictures as in Sherlock.

The region is drawn on the whole picture, the views of the crop are encoded, their unnormalised vectors are averaged,
and the mean is scaled to length 1 (paper 001 B; the published code).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.encoder import unit_float32
from curation.features.pixels import Normalisation, pixels_of
from curation.features.regions import Crop
from curation.records import Region
from hits.domain.images.region_drawing import RegionMode, draw_region

BATCH = 16


class MarkedPictures:
    """The picture half of an encoder; a subclass sets the attributes and says what its tower makes of pixels."""

    dim: int
    region_modes = frozenset(RegionMode)
    region_mode = RegionMode.HIGHLIGHT  # how regions are drawn where a caller does not say
    _crop: Crop
    _norm: Normalisation
    _dtype: torch.dtype

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1."""
        return self._encode([(picture, None) for picture in pictures], RegionMode.NONE)

    def encode_regions(
        self,
        pictures: Sequence[Pillow.Image],
        regions: Sequence[Sequence[Region]],
        mode: RegionMode | None = None,
    ) -> NDArray[np.float32]:
        """Return (n, dim) rows of pictures with their boxes drawn."""
        return self._encode(list(zip(pictures, regions, strict=True)), mode or self.region_mode)

    def pixels(self, pictures: Sequence[Pillow.Image]) -> torch.Tensor:
        """Return what the tower takes of n RGB pictures: (n * views, 3, side, side), in the model's precision."""
        return pixels_of(pictures, self._crop, self._norm, self._dtype)

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) rows, one per picture, the mean of its views, not yet of length 1."""
        raise NotImplementedError

    def _encode(
        self, marked: Sequence[tuple[Pillow.Image, Sequence[Region] | None]], mode: RegionMode
    ) -> NDArray[np.float32]:
        rows = []
        for start in range(0, len(marked), BATCH):
            drawn = [_drawn(picture, boxes, mode) for picture, boxes in marked[start : start + BATCH]]
            rows.append(self.encode_pixels(self.pixels(drawn)))
        return unit_float32(np.concatenate(rows)) if rows else self._none()

    def _mean_of_views(self, views: torch.Tensor) -> NDArray[np.float32]:
        """Return the (n, dim) means of (n * views, dim) vectors."""
        found = np.asarray(views.float().cpu().numpy(), dtype=np.float32)
        return found.reshape(-1, self._crop.views, self.dim).mean(axis=1)

    def _none(self) -> NDArray[np.float32]:
        return np.zeros((0, self.dim), dtype=np.float32)


def _drawn(picture: Pillow.Image, boxes: Sequence[Region] | None, mode: RegionMode) -> Pillow.Image:
    drawn = picture if boxes is None else draw_region(picture, boxes, mode)
    return drawn if drawn.mode == "RGB" else drawn.convert("RGB")
