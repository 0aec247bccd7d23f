"""A run's folder as it is handed over: its settings and its pairs, written and read. No torch."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.files import write_text
from curation.records import InvalidInput, Region
from curation.scorer.config import TrainingConfig

FORMAT = "deerstalker-run/1"
LEAST_BATCH = 2  # a pair alone has no negative
RUN, TRAIN, VAL = "run.json", "train.jsonl", "val.jsonl"


@dataclass(frozen=True, slots=True)
class Pair:
    """One observation: a region of a picture, its clue and what it lets one infer. image: relative to the images."""

    id: str
    image: str
    boxes: tuple[Region, ...]
    clue: str
    inference: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a run is made of.

    images: the folder of the pictures. sha256: of the settings and both lists of pairs. rehearsal: whether the pairs
    are those of a rehearsal, whose answers may be simulated.
    """

    config: TrainingConfig
    images: Path
    train: tuple[Pair, ...]
    val: tuple[Pair, ...]
    sha256: str
    rehearsal: bool = False

    @property
    def steps_per_epoch(self) -> int:
        """Updates per pass over the pairs. Only whole batches count; what is over differs from epoch to epoch."""
        return len(self.train) // self.config.batch_size

    @property
    def steps(self) -> int:
        """Updates of the whole run, if nothing ends it early."""
        steps = self.config.epochs * self.steps_per_epoch
        return min(steps, self.config.max_steps) if self.config.max_steps else steps


def write_run(
    run: Path, config: TrainingConfig, *, images: Path, train: Iterable[Pair], val: Iterable[Pair] = ()
) -> Path:
    """Write a run's folder for ``curation.scorer.train`` and return it.

    Args:
        images: the folder that the pairs' ``image`` names are relative to; pictures are read from there, not copied.
        val: what validates, every ``checkpoint_every`` updates; without any, the last state is kept.

    Raises:
        InvalidInput: the folder cannot be written to.
    """
    run.mkdir(parents=True, exist_ok=True)
    write_text(run / TRAIN, map(pair_line, train))
    write_text(run / VAL, map(pair_line, val))
    write_settings(run, config, images=images)
    return run


def write_settings(
    run: Path, config: TrainingConfig, *, images: Path, provenance: Mapping[str, Any] | None = None
) -> None:
    """Write a run's settings, which come last: they mean that the run is whole.

    Raises:
        InvalidInput: the folder cannot be written to.
    """
    settings = {
        "format": FORMAT,
        "config": config.as_json(),
        "images": str(images.absolute()),
        "provenance": dict(provenance or {}),
    }
    write_text(run / RUN, [json.dumps(settings, indent=1, sort_keys=True)])


def pair_line(pair: Pair) -> str:
    """Return a pair as a line of a run's lists, with its line end."""
    return json.dumps(asdict(pair)) + "\n"


def read_inputs(run: Path) -> Inputs:
    """Read a run's folder.

    Raises:
        InvalidInput: a file is missing or broken, there are fewer pairs than a batch takes, or a picture is missing.
    """
    raw = _settings(run / RUN)
    config = TrainingConfig.from_json(raw["config"])
    inputs = Inputs(
        config=config,
        images=Path(raw["images"]),
        train=tuple(_pairs(run / TRAIN)),
        val=tuple(_pairs(run / VAL)) if (run / VAL).is_file() else (),
        sha256=_sha256(config, run),
        rehearsal=isinstance(raw.get("provenance"), dict) and bool(raw["provenance"].get("rehearsal")),
    )
    _check_batch(inputs)
    _check_pictures(inputs)
    return inputs


def _settings(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: cannot be read; name the folder of a training run") from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InvalidInput(f"{path}: is not of the format {FORMAT}; make the run anew")
    if not isinstance(raw.get("config"), dict) or not isinstance(raw.get("images"), str):
        raise InvalidInput(f"{path}: lacks config or images; make the run anew")
    return raw


def _pairs(path: Path) -> Iterator[Pair]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read; make the run anew") from error
    # Not splitlines: texts may hold what else it takes for the end of a line, such as U+2028.
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
        try:
            yield _pair(json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise InvalidInput(f"{path}: line {number} is no pair ({error}); make the run anew") from error


def _pair(raw: dict[str, Any]) -> Pair:
    sides = ("left", "top", "width", "height")
    boxes = tuple(Region(*(int(box[side]) for side in sides)) for box in raw["boxes"])
    if not boxes:
        raise InvalidInput("it has no box")
    words = [str(raw[name]) for name in ("id", "image", "clue", "inference")]
    for word in words:
        word.encode()  # half a character, which JSON can name and no tokenizer reads
    number, image, clue, inference = words
    return Pair(number, image, boxes, clue, inference)


def _sha256(config: TrainingConfig, run: Path) -> str:
    """Return one hash of all that decides what comes out: not of where the pictures lie."""
    digest = hashlib.sha256(json.dumps(config.as_json(), sort_keys=True).encode())
    for name in (TRAIN, VAL):
        path = run / name
        digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return digest.hexdigest()


def _check_batch(inputs: Inputs) -> None:
    count, size = len(inputs.train), inputs.config.batch_size
    if not count:
        raise InvalidInput(f"{TRAIN}: holds no pair; choose a split with pairs to train on")
    if count < size:
        largest = count - count % inputs.config.processes
        mend = f"use {largest} or fewer" if largest >= LEAST_BATCH else "choose a split with more pairs"
        raise InvalidInput(f"batch_size: {size} is more than the {count} pairs to train on; {mend}")


def _check_pictures(inputs: Inputs) -> None:
    """Look before anything is made that a picture in the middle would end."""
    there: dict[str, bool] = {}
    for pairs in (inputs.train, inputs.val):
        gone = _first_without_picture(pairs, inputs.images, there)
        if gone is not None:
            raise InvalidInput(f"pair {gone.id}: its picture {gone.image} is missing; restore the file")


def _first_without_picture(pairs: Sequence[Pair], images: Path, there: dict[str, bool]) -> Pair | None:
    for pair in pairs:
        if pair.image not in there:
            there[pair.image] = (images / pair.image).is_file()
        if not there[pair.image]:
            return pair
    return None
