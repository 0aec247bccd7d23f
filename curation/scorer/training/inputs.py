"""Write and read the inputs of a run's folder: settings and pairs. No torch."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.files import write_text
from curation.records import InvalidInput, Region
from curation.scorer.config import TrainingConfig
from curation.scorer.settings import LoopSettings

FORMAT = "deerstalker-run/1"
MIN_BATCH_SIZE = 2  # a single pair has no negative
RUN_FILE, TRAIN_FILE, VAL_FILE = "run.json", "train.jsonl", "val.jsonl"


@dataclass(frozen=True, slots=True)
class Pair:
    """One observation: an image region, its clue and its inference. image: path relative to the image folder."""

    id: str
    image: str
    boxes: tuple[Region, ...]
    clue: str
    inference: str


@dataclass(frozen=True, slots=True)
class RunInputs:
    """The inputs of a run.

    images: the image folder. sha256: of the settings and both lists of pairs. rehearsal: whether the pairs come from
    a rehearsal, whose answers may be simulated.
    """

    config: TrainingConfig
    images: Path
    train: tuple[Pair, ...]
    val: tuple[Pair, ...]
    sha256: str
    rehearsal: bool = False

    @property
    def total_steps(self) -> int:
        """Updates of the whole run, without early stopping."""
        return self.config.count_steps(len(self.train))


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What ``run.json`` has: the configuration as plain values, the image folder, and ``rehearsal``."""

    config: Mapping[str, Any]
    images: Path
    rehearsal: bool


def write_run(
    run: Path, config: TrainingConfig, *, images: Path, train: Iterable[Pair], val: Iterable[Pair] = ()
) -> Path:
    """Write a run's folder for ``curation.scorer.train`` and return it.

    Args:
        images: the folder to which the pairs' ``image`` paths are relative; images are read there, not copied.
        val: pairs to validate with, every ``checkpoint_every`` updates; without any, the last state is saved.

    Raises:
        InvalidInput: the folder cannot be written to.
    """
    run.mkdir(parents=True, exist_ok=True)
    write_text(run / TRAIN_FILE, map(pair_line, train))
    write_text(run / VAL_FILE, map(pair_line, val))
    write_settings(run, config, images=images)
    return run


def write_settings(
    run: Path,
    config: LoopSettings,
    *,
    images: Path,
    provenance: Mapping[str, Any] | None = None,
    layout: str = FORMAT,
) -> None:
    """Write a run's settings. Write them last: they mark the run as complete.

    Args:
        layout: the format of the run's folder.

    Raises:
        InvalidInput: the folder cannot be written to.
    """
    settings = {
        "format": layout,
        "config": config.as_json(),
        "images": str(images.absolute()),
        "provenance": dict(provenance or {}),
    }
    write_text(run / RUN_FILE, [json.dumps(settings, indent=1, sort_keys=True)])


def read_settings(run: Path, *, layout: str = FORMAT, noun: str = "training") -> RunSettings:
    """Return a run's settings.

    Args:
        layout: the format that the folder must have. noun: what kind of run it is, for messages.

    Raises:
        InvalidInput: the file is missing or broken.
    """
    path = run / RUN_FILE
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: cannot be read; give the folder of a {noun} run") from error
    if not isinstance(raw, dict) or raw.get("format") != layout:
        raise InvalidInput(f"{path}: is not of the format {layout}; create the run again")
    if not isinstance(raw.get("config"), dict) or not isinstance(raw.get("images"), str):
        raise InvalidInput(f"{path}: lacks config or images; create the run again")
    provenance = raw.get("provenance")
    rehearsal = isinstance(provenance, dict) and bool(provenance.get("rehearsal"))
    return RunSettings(raw["config"], Path(raw["images"]), rehearsal)


def pair_line(pair: Pair) -> str:
    """Return a pair as a line of a run's list, with its line end."""
    return json.dumps(asdict(pair)) + "\n"


def read_inputs(run: Path) -> RunInputs:
    """Read a run's folder.

    Raises:
        InvalidInput: a file is missing or broken, there are fewer pairs than the batch size, or an image is missing.
    """
    settings = read_settings(run)
    config = TrainingConfig.from_json(settings.config)
    inputs = RunInputs(
        config=config,
        images=settings.images,
        train=tuple(_read_pairs(run / TRAIN_FILE)),
        val=tuple(_read_pairs(run / VAL_FILE)) if (run / VAL_FILE).is_file() else (),
        sha256=_inputs_sha256(config, run),
        rehearsal=settings.rehearsal,
    )
    _check_pairs_fill_batch(inputs)
    _check_images_exist(inputs)
    return inputs


def _read_pairs(path: Path) -> Iterator[Pair]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read; create the run again") from error
    # Not splitlines: it also splits at characters such as U+2028, which texts may contain.
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
        try:
            yield _parse_pair(json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise InvalidInput(
                f"{path}: line {number} is not a pair ({error}); create the run again"
            ) from error


def _parse_pair(raw: dict[str, Any]) -> Pair:
    sides = ("left", "top", "width", "height")
    boxes = tuple(Region(*(int(box[side]) for side in sides)) for box in raw["boxes"])
    if not boxes:
        raise InvalidInput("it has no box")
    texts = [str(raw[name]) for name in ("id", "image", "clue", "inference")]
    for text in texts:
        text.encode()  # raises for half a surrogate pair, which JSON allows and tokenizers reject
    pair_id, image, clue, inference = texts
    return Pair(pair_id, image, boxes, clue, inference)


def _inputs_sha256(config: TrainingConfig, run: Path) -> str:
    """Return one hash of everything that determines the result, which excludes the image folder."""
    digest = hashlib.sha256(json.dumps(config.as_json(), sort_keys=True).encode())
    for name in (TRAIN_FILE, VAL_FILE):
        path = run / name
        digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return digest.hexdigest()


def _check_pairs_fill_batch(inputs: RunInputs) -> None:
    count, size = len(inputs.train), inputs.config.batch_size
    if not count:
        raise InvalidInput(f"{TRAIN_FILE}: contains no pair; choose a split with pairs to train on")
    if count < size:
        largest = count - count % inputs.config.processes
        hint = f"use {largest} or fewer" if largest >= MIN_BATCH_SIZE else "choose a split with more pairs"
        raise InvalidInput(f"batch_size: {size} is more than the {count} pairs to train on; {hint}")


def _check_images_exist(inputs: RunInputs) -> None:
    """Check all images before any work: a missing image would stop the preparation midway."""
    is_present: dict[str, bool] = {}
    for pairs in (inputs.train, inputs.val):
        pair = _first_missing_image(pairs, inputs.images, is_present)
        if pair is not None:
            raise InvalidInput(f"pair {pair.id}: its image {pair.image} is missing; restore the file")


def _first_missing_image(pairs: Sequence[Pair], images: Path, is_present: dict[str, bool]) -> Pair | None:
    for pair in pairs:
        if pair.image not in is_present:
            is_present[pair.image] = (images / pair.image).is_file()
        if not is_present[pair.image]:
            return pair
    return None
