"""Prepared pixels: the bytes of every image after drawing, cropping and scaling, computed once for all epochs.

The published loop opens, draws, crops and scales each image again in each epoch, though only later steps are random.
Here the bytes are stored, up to 256 images per file, 150 kB per square of 224 pixels (the whole corpus of 363,000
pairs takes 109 GB with two squares each). The device augments them (``augment.py``).

    pixels/<split>-<digits>/00000.npy    bytes, one image after the other, each (views, 3, height, width)
    pixels/<split>-<digits>/sizes.npy    (n, 2) heights and widths; written last, so its folder is complete

The digits are a hash of everything that determines the bytes. Files are written atomically, so a stopped preparation
can resume. Squares are stored at the model's size. ``Crop.CENTRE`` keeps the long side for random windows along it.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.cores import usable_cores
from curation.features.crops import Crop
from curation.features.parallel import map_in_threads
from curation.features.pixels import SCALING, Normalisation, cut_views, scale_short_side
from curation.files import write_npy
from curation.records import InvalidInput, Region
from hits.domain.images.region_drawing import RegionMode, draw_region, outline_boxes

IMAGES_PER_FILE = 256
SIZES_FILE = "sizes.npy"
CHANNELS = 3
HASH_DIGITS = 16
GIB = 1024**3
Bytes = NDArray[np.uint8]
ProgressCallback = Callable[[int, int], None]


class MarkedItem(Protocol):
    """What pixels are prepared for: an image with boxes to draw, such as a pair's region. id: for messages."""

    @property
    def id(self) -> str:
        """The id."""
        ...

    @property
    def image(self) -> str:
        """The image's path, relative to the image folder."""
        ...

    @property
    def boxes(self) -> tuple[Region, ...]:
        """The boxes to draw."""
        ...


class Drawing(StrEnum):
    """Further ways to draw boxes: each outlined in a colour of its own."""

    COLOURED_OUTLINES = "coloured_outlines"


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """How an image is shown to the model: drawing of boxes, crop and normalisation."""

    mode: RegionMode | Drawing
    crop: Crop
    norm: Normalisation

    def draw(self, picture: Pillow.Image, boxes: Sequence[Region]) -> Pillow.Image:
        """Return the picture as RGB, with its boxes drawn."""
        drawn = (
            draw_region(picture, boxes, self.mode)
            if isinstance(self.mode, RegionMode)
            else outline_boxes(picture, boxes)
        )
        return drawn if drawn.mode == "RGB" else drawn.convert("RGB")


@dataclass(frozen=True, slots=True)
class _MarkedImage:
    """An image with the boxes to draw. Several pairs may share one."""

    item_id: str
    image: str
    boxes: tuple[Region, ...]


class PreparedPixels:
    """The pixels of a list of pairs, on disk. ``image_indices``: the image of each pair.

    Files are opened for each read and not memory-mapped: a corpus has more files than a process may hold open.
    """

    def __init__(self, folder: Path, image_indices: NDArray[np.int64], view: ViewSettings) -> None:
        self._folder, self._image_indices, self._view = folder, image_indices, view
        self._sizes = np.load(folder / SIZES_FILE, allow_pickle=False)
        self._starts = np.empty(len(self._sizes), dtype=np.int64)
        lengths = _byte_counts(self._sizes, view)
        for number, first in enumerate(range(0, len(lengths), IMAGES_PER_FILE)):
            ends = lengths[first : first + IMAGES_PER_FILE].cumsum()
            header = _pixels_file(folder, number).stat().st_size - int(ends[-1])
            starts = header + ends - lengths[first : first + IMAGES_PER_FILE]
            self._starts[first : first + IMAGES_PER_FILE] = starts

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self._image_indices)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Views, channels, height and width of one pair's pixels."""
        return (self._view.crop.view_count, CHANNELS, self._view.norm.side, self._view.norm.side)

    def read(self, pairs: NDArray[np.int64], windows: NDArray[np.float64] | None, out: Bytes) -> None:
        """Copy the (n, views, 3, side, side) bytes of some pairs into ``out``.

        Args:
            windows: (n, views) positions along the long side, 0 to below 1; ``None`` is the middle.
        """
        side = self._view.norm.side
        for row, pair in enumerate(pairs.tolist()):
            index = int(self._image_indices[pair])
            spare = self._sizes[index].astype(int) - side
            if not spare.any():
                self._copy(index, out[row])
                continue
            top, left = spare // 2 if windows is None else (windows[row, 0] * (spare + 1)).astype(int)
            whole = np.empty((*out.shape[1:3], *self._sizes[index]), dtype=np.uint8)
            self._copy(index, whole)
            out[row] = whole[:, :, top : top + side, left : left + side]

    def _copy(self, index: int, out: Bytes) -> None:
        with _pixels_file(self._folder, index // IMAGES_PER_FILE).open("rb", buffering=0) as file:
            file.seek(int(self._starts[index]))
            if file.readinto(out.reshape(-1).data) != out.size:
                raise InvalidInput(f"pixels: {file.name} is cut short; delete the folder {self._folder.name}")


def prepare_pixels(
    pairs: Sequence[MarkedItem],
    images: Path,
    view: ViewSettings,
    folder: Path,
    *,
    split: str,
    noun: str = "pair",
    report_progress: ProgressCallback = lambda *_: None,
) -> None:
    """Make the missing pixels of a split's pairs; delete stale pixels of that split.

    Args:
        folder: contains the prepared splits. noun: what messages call an item.
        report_progress: gets (images done, total); may raise to stop.

    Raises:
        InvalidInput: an image cannot be read (the message names its pair), or there is too little disk space.
    """
    marked_images, _ = _distinct_images(pairs, view.mode)
    split_folder = _pixels_folder(marked_images, view, folder, split)
    for stale in set(folder.glob(f"{split}-*")) - {split_folder}:
        shutil.rmtree(stale)
    if (split_folder / SIZES_FILE).is_file():
        return
    split_folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(marked_images), IMAGES_PER_FILE)
    missing = [n for n in range(len(starts)) if not _is_complete(split_folder, n, view)]
    _check_disk_space(split_folder, len(missing) * IMAGES_PER_FILE, view)

    def make(number: int) -> int:
        batch = marked_images[number * IMAGES_PER_FILE : (number + 1) * IMAGES_PER_FILE]
        arrays = [_prepare_image(subject, images, view, noun) for subject in batch]
        sizes = np.array([array.shape[2:] for array in arrays], dtype=np.int32)
        write_npy(_sizes_file(split_folder, number), sizes)
        write_npy(_pixels_file(split_folder, number), np.concatenate([array.reshape(-1) for array in arrays]))
        return len(batch)

    files = (marked_images[n * IMAGES_PER_FILE : (n + 1) * IMAGES_PER_FILE] for n in missing)
    done = len(marked_images) - sum(map(len, files))
    with closing(map_in_threads(make, missing, threads=usable_cores())) as counts:
        for count in counts:
            done += count
            report_progress(done, len(marked_images))
    sizes = [np.load(_sizes_file(split_folder, n), allow_pickle=False) for n in range(len(starts))]
    write_npy(split_folder / SIZES_FILE, np.concatenate(sizes) if sizes else np.zeros((0, 2), dtype=np.int32))


def open_pixels(
    pairs: Sequence[MarkedItem], view: ViewSettings, folder: Path, *, split: str
) -> PreparedPixels:
    """Open the pixels that ``prepare_pixels`` made of the same pairs."""
    marked_images, image_indices = _distinct_images(pairs, view.mode)
    return PreparedPixels(_pixels_folder(marked_images, view, folder, split), image_indices, view)


def _distinct_images(
    pairs: Sequence[MarkedItem], mode: RegionMode | Drawing
) -> tuple[list[_MarkedImage], NDArray[np.int64]]:
    """Return the distinct images to draw, and each pair's index among them. Mode NONE draws no boxes."""
    positions: dict[tuple[str, tuple[Region, ...]], int] = {}
    marked_images: list[_MarkedImage] = []
    image_indices: list[int] = []
    for pair in pairs:
        key = (pair.image, () if mode is RegionMode.NONE else pair.boxes)
        if key not in positions:
            positions[key] = len(marked_images)
            marked_images.append(_MarkedImage(pair.id, *key))
        image_indices.append(positions[key])
    return marked_images, np.array(image_indices, dtype=np.int64)


def _pixels_folder(images: Sequence[_MarkedImage], view: ViewSettings, folder: Path, split: str) -> Path:
    digest = hashlib.sha256(json.dumps([SCALING, str(view.mode), str(view.crop), asdict(view.norm)]).encode())
    for marked in images:
        boxes = [(box.left, box.top, box.width, box.height) for box in marked.boxes]
        digest.update(json.dumps([marked.image, boxes]).encode())
    return folder / f"{split}-{digest.hexdigest()[:HASH_DIGITS]}"


def _prepare_image(marked: _MarkedImage, images: Path, view: ViewSettings, noun: str) -> Bytes:
    """Return the (views, 3, height, width) bytes of an image."""
    try:
        with Pillow.open(images / marked.image) as opened:
            opened.load()
            rgb = view.draw(opened, marked.boxes)
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError) as error:
        raise InvalidInput(
            f"{noun} {marked.item_id}: its image {marked.image} cannot be read; restore the file"
        ) from error
    if view.crop is Crop.CENTRE:
        return _to_bytes(scale_short_side(rgb, view.norm.side))
    return _to_bytes(cut_views(rgb, view.crop, view.norm))


def _to_bytes(values: torch.Tensor) -> Bytes:
    return np.ascontiguousarray(values.contiguous().numpy())


def _check_disk_space(folder: Path, images: int, view: ViewSettings) -> None:
    required = images * view.crop.view_count * CHANNELS * view.norm.side**2
    free = shutil.disk_usage(folder).free
    if required > free:
        raise InvalidInput(
            f"pixels: {required / GIB:.1f} GiB are needed, {free / GIB:.1f} are free; "
            "free disk space, or use fewer pairs"
        )


def _is_complete(folder: Path, number: int, view: ViewSettings) -> bool:
    """Whether a file of pixels exists and has the length of its sizes (a power failure may truncate it)."""
    try:
        sizes = np.load(_sizes_file(folder, number), allow_pickle=False)
        pixels = np.load(_pixels_file(folder, number), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return False
    return bool(pixels.size == _byte_counts(sizes, view).sum())


def _byte_counts(sizes: NDArray[np.int32], view: ViewSettings) -> NDArray[np.int64]:
    return sizes.prod(axis=1, dtype=np.int64) * (view.crop.view_count * CHANNELS)


def _pixels_file(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}.npy"


def _sizes_file(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}-sizes.npy"
