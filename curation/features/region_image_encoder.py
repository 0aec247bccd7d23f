"""The shared code of encoders that encode images as Hessel et al. 2022 do.

The region is drawn on the whole image, the views of the crop are encoded, their unnormalised vectors are averaged,
and the mean is scaled to length 1 (Hessel et al. 2022, appendix B; the published code).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.crops import Crop
from curation.features.encoder import unit_float32
from curation.features.pixels import Normalisation, to_pixels
from curation.records import Region
from hits.domain.images.region_drawing import RegionMode, draw_region

BATCH_SIZE = 16


class RegionImageEncoder:
    """The image methods of an encoder; a subclass sets the attributes and implements ``encode_pixels``."""

    dim: int
    region_modes = frozenset(RegionMode)
    region_mode = RegionMode.HIGHLIGHT  # the default mode
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
        """Return (n, dim) float32 rows of length 1, of images on which their boxes are drawn."""
        return self._encode(list(zip(pictures, regions, strict=True)), mode or self.region_mode)

    def pixels(self, pictures: Sequence[Pillow.Image]) -> torch.Tensor:
        """Return the tower's input for n RGB images: (n * views, 3, side, side), in the model's precision."""
        return to_pixels(pictures, self._crop, self._norm, self._dtype)

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) unnormalised rows, one per image: the mean of its views."""
        raise NotImplementedError

    def _encode(
        self, marked: Sequence[tuple[Pillow.Image, Sequence[Region] | None]], mode: RegionMode
    ) -> NDArray[np.float32]:
        rows = []
        for start in range(0, len(marked), BATCH_SIZE):
            drawn = [
                _draw_if_marked(picture, boxes, mode) for picture, boxes in marked[start : start + BATCH_SIZE]
            ]
            rows.append(self.encode_pixels(self.pixels(drawn)))
        return unit_float32(np.concatenate(rows)) if rows else self._empty_rows()

    def _mean_of_views(self, views: torch.Tensor) -> NDArray[np.float32]:
        """Return the (n, dim) means of (n * views, dim) vectors."""
        vectors = np.asarray(views.float().cpu().numpy(), dtype=np.float32)
        return vectors.reshape(-1, self._crop.view_count, self.dim).mean(axis=1)

    def _empty_rows(self) -> NDArray[np.float32]:
        return np.zeros((0, self.dim), dtype=np.float32)


def _draw_if_marked(picture: Pillow.Image, boxes: Sequence[Region] | None, mode: RegionMode) -> Pillow.Image:
    drawn = picture if boxes is None else draw_region(picture, boxes, mode)
    return drawn if drawn.mode == "RGB" else drawn.convert("RGB")
