"""Prepared pixels: what drawing, crops and scaling leave of every picture, made once and read in every epoch.

The published loop opens, draws, cuts and scales each picture anew in each epoch, though only what comes after is
random. Here the bytes are kept, n pictures in files of up to 256, 150 kB a square of 224 pixels (the whole corpus of
363,000 pairs takes 109 GB as two squares each); augmenting is left to the device (``augment.py``).

    pixels/<part>-<digits>/00000.npy    bytes, one picture behind the other, each (views, 3, height, width)
    pixels/<part>-<digits>/sizes.npy    (n, 2) heights and widths; written last, so that a folder with it is whole

The digits are of all that decides the bytes; a file is whole or absent, so a stopped preparation goes on. Squares are
stored as the model takes them. ``Crop.CENTRE`` keeps the long side, so that training can cut a window along it.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.cores import usable_cores
from curation.features.parallel import in_threads
from curation.features.pixels import SCALING, Normalisation, scaled_whole, squares
from curation.features.regions import Crop
from curation.files import write_npy
from curation.records import InvalidInput, Region
from curation.scorer.training.inputs import Pair
from hits.domain.images.region_drawing import RegionMode, draw_region

PER_FILE = 256
SIZES = "sizes.npy"
CHANNELS = 3
DIGITS = 16
GIB = 1024**3
Bytes = NDArray[np.uint8]
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Look:
    """How a picture is shown to the model."""

    mode: RegionMode
    crop: Crop
    norm: Normalisation


@dataclass(frozen=True, slots=True)
class _Subject:
    """A picture with its boxes: what the pixels are made of. Pairs may share one."""

    pair: str
    image: str
    boxes: tuple[Region, ...]


class PreparedPixels:
    """The pixels of a list of pairs, on the disk. ``places``: which picture belongs to each pair.

    Files are opened for each read and not mapped: a corpus has more of them than a process may hold open.
    """

    def __init__(self, folder: Path, places: NDArray[np.int64], look: Look) -> None:
        self._folder, self._places, self._look = folder, places, look
        self._sizes = np.load(folder / SIZES, allow_pickle=False)
        self._starts = np.empty(len(self._sizes), dtype=np.int64)
        lengths = _lengths(self._sizes, look)
        for number, first in enumerate(range(0, len(lengths), PER_FILE)):
            ends = lengths[first : first + PER_FILE].cumsum()
            header = _file(folder, number).stat().st_size - int(ends[-1])
            self._starts[first : first + PER_FILE] = header + ends - lengths[first : first + PER_FILE]

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self._places)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return views, channels, height and width of what one pair gives."""
        return (self._look.crop.views, CHANNELS, self._look.norm.side, self._look.norm.side)

    def read(self, pairs: NDArray[np.int64], windows: NDArray[np.float64] | None, out: Bytes) -> None:
        """Copy the (n, views, 3, side, side) bytes of some pairs into ``out``.

        Args:
            windows: (n, views) places along the long side, 0 to below 1; ``None`` is the middle.
        """
        side = self._look.norm.side
        for row, pair in enumerate(pairs.tolist()):
            place = int(self._places[pair])
            spare = self._sizes[place].astype(int) - side
            if not spare.any():
                self._copy(place, out[row])
                continue
            top, left = spare // 2 if windows is None else (windows[row, 0] * (spare + 1)).astype(int)
            whole = np.empty((*out.shape[1:3], *self._sizes[place]), dtype=np.uint8)
            self._copy(place, whole)
            out[row] = whole[:, :, top : top + side, left : left + side]

    def _copy(self, place: int, out: Bytes) -> None:
        with _file(self._folder, place // PER_FILE).open("rb", buffering=0) as file:
            file.seek(int(self._starts[place]))
            if file.readinto(out.reshape(-1).data) != out.size:
                raise InvalidInput(
                    f"pixels: {file.name} was cut short; delete the folder {self._folder.name}"
                )


def prepare(
    pairs: Sequence[Pair], images: Path, look: Look, folder: Path, *, part: str, tell: Told = lambda *_: None
) -> None:
    """Make the pixels of a part's pairs where they are missing; stale ones of that part are removed.

    Args:
        folder: holds the prepared parts. tell: pictures done, of how many; may raise to stop.

    Raises:
        InvalidInput: a picture cannot be read (the message names its pair), or there is too little room.
    """
    subjects, _ = _subjects(pairs, look.mode)
    own = _own_folder(subjects, look, folder, part)
    for stale in set(folder.glob(f"{part}-*")) - {own}:
        shutil.rmtree(stale)
    if (own / SIZES).is_file():
        return
    own.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(subjects), PER_FILE)
    missing = [n for n in range(len(starts)) if not _is_whole(own, n, look)]
    _check_room(own, len(missing) * PER_FILE, look)

    def make(number: int) -> int:
        few = subjects[number * PER_FILE : (number + 1) * PER_FILE]
        made = [_prepared(subject, images, look) for subject in few]
        write_npy(_sizes_file(own, number), np.array([one.shape[2:] for one in made], dtype=np.int32))
        write_npy(_file(own, number), np.concatenate([one.reshape(-1) for one in made]))
        return len(few)

    done = len(subjects) - sum(len(subjects[n * PER_FILE : (n + 1) * PER_FILE]) for n in missing)
    with closing(in_threads(make, missing, threads=usable_cores())) as counts:
        for count in counts:
            done += count
            tell(done, len(subjects))
    sizes = [np.load(_sizes_file(own, n), allow_pickle=False) for n in range(len(starts))]
    write_npy(own / SIZES, np.concatenate(sizes) if sizes else np.zeros((0, 2), dtype=np.int32))


def open_prepared(pairs: Sequence[Pair], look: Look, folder: Path, *, part: str) -> PreparedPixels:
    """Open what ``prepare`` made of the same pairs."""
    subjects, places = _subjects(pairs, look.mode)
    return PreparedPixels(_own_folder(subjects, look, folder, part), places, look)


def _subjects(pairs: Sequence[Pair], mode: RegionMode) -> tuple[list[_Subject], NDArray[np.int64]]:
    """Return what is to be drawn, each once, and which of it each pair takes. No boxes are drawn without a mode."""
    found: dict[tuple[str, tuple[Region, ...]], int] = {}
    subjects: list[_Subject] = []
    places: list[int] = []
    for pair in pairs:
        key = (pair.image, () if mode is RegionMode.NONE else pair.boxes)
        if key not in found:
            found[key] = len(subjects)
            subjects.append(_Subject(pair.id, *key))
        places.append(found[key])
    return subjects, np.array(places, dtype=np.int64)


def _own_folder(subjects: Sequence[_Subject], look: Look, folder: Path, part: str) -> Path:
    digest = hashlib.sha256(json.dumps([SCALING, str(look.mode), str(look.crop), asdict(look.norm)]).encode())
    for subject in subjects:
        boxes = [(box.left, box.top, box.width, box.height) for box in subject.boxes]
        digest.update(json.dumps([subject.image, boxes]).encode())
    return folder / f"{part}-{digest.hexdigest()[:DIGITS]}"


def _prepared(subject: _Subject, images: Path, look: Look) -> Bytes:
    """Return the (views, 3, height, width) bytes of a picture."""
    try:
        with Pillow.open(images / subject.image) as opened:
            opened.load()
            drawn = draw_region(opened, subject.boxes, look.mode)
            picture = drawn if drawn.mode == "RGB" else drawn.convert("RGB")
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError) as error:
        raise InvalidInput(
            f"pair {subject.pair}: its picture {subject.image} cannot be read; restore the file"
        ) from error
    if look.crop is Crop.CENTRE:
        return _array(scaled_whole(picture, look.norm.side))
    return _array(squares(picture, look.crop, look.norm))


def _array(values: torch.Tensor) -> Bytes:
    return np.ascontiguousarray(values.contiguous().numpy())


def _check_room(folder: Path, pictures: int, look: Look) -> None:
    need = pictures * look.crop.views * CHANNELS * look.norm.side**2
    free = shutil.disk_usage(folder).free
    if need > free:
        raise InvalidInput(
            f"pixels: {need / GIB:.1f} GiB are needed, {free / GIB:.1f} are free; make room, or use fewer pairs"
        )


def _is_whole(folder: Path, number: int, look: Look) -> bool:
    """Whether a file of pixels is there, and as long as its sizes say (a power failure may cut it)."""
    try:
        sizes = np.load(_sizes_file(folder, number), allow_pickle=False)
        found = np.load(_file(folder, number), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return False
    return bool(found.size == _lengths(sizes, look).sum())


def _lengths(sizes: NDArray[np.int32], look: Look) -> NDArray[np.int64]:
    return sizes.prod(axis=1, dtype=np.int64) * (look.crop.views * CHANNELS)


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}.npy"


def _sizes_file(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}-sizes.npy"
