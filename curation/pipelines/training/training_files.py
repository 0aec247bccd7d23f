"""Write what a training run reads: its settings, and the pairs to train on and to validate with.

The rows are those of a sealed version. Their photos are found by their sha256, so that boxes never meet another file;
photos that were taken down since are left out with their pairs, and counted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings

from curation.files import write_text
from curation.models import DatasetVersion, Part, Scorer, VersionImage, VersionRow
from curation.records import InvalidInput, Region
from curation.scorer.config import TrainingConfig
from curation.scorer.training.inputs import RUN, TRAIN, VAL, Pair, pair_line, write_settings
from curation.selectors.scorers import PREFIX, scorer_folder, scorer_of, weights_folder
from curation.services.scorer_splits import check_batch, held_images
from hits.models import Image
from hits.services.errors import Refused

_ROWS = 1000
_BOX = ("left", "top", "width", "height")


@dataclass(frozen=True, slots=True)
class Photo:
    """A photo of a version: its sha256, and its file below the media folder, empty when it was taken down."""

    sha256: str
    file: str


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A run's folder, its configuration, and how many pairs and photos train, validate and are left out."""

    folder: Path
    config: TrainingConfig
    counts: dict[str, int]


def write_run(scorer: Scorer) -> RunFiles:
    """Return a scorer's run, written if it is not there yet; ``run.json`` comes last, so that it means a whole run.

    Raises:
        Refused: a photo of the run was taken down or lost since, too few pairs are left, or the model that training
            starts from is gone.
    """
    assert scorer.version is not None
    folder = scorer_folder(scorer)
    config = _resolved(TrainingConfig.from_json(scorer.config))
    photos = photos_of(scorer.version)
    if (folder / RUN).is_file():
        return RunFiles(folder, config, _standing_counts(scorer, folder, photos))
    folder.mkdir(parents=True, exist_ok=True)
    counts = _write_pairs(scorer, folder, photos)
    _check(scorer, config, counts)
    provenance = {**scorer.provenance, "scorer": scorer.name, "splits": scorer.splits, **counts}
    write_settings(folder, config, images=Path(settings.MEDIA_ROOT), provenance=provenance)
    return RunFiles(folder, config, counts)


def photos_of(version: DatasetVersion) -> dict[str, Photo]:
    """Return the photos of a sealed version by what its rows call them."""
    standing = Image.objects.filter(project=version.project_id, withdrawn_at__isnull=True)
    files = dict(standing.values_list("sha256", "file"))
    sealed = VersionImage.objects.filter(version=version).values_list("url", "sha256")
    return {url: Photo(sha256, files.get(sha256, "")) for url, sha256 in sealed}


def _resolved(config: TrainingConfig) -> TrainingConfig:
    """The configuration as the training loop reads it: a scorer to start from is a folder there."""
    if not config.model.startswith(PREFIX):
        return config
    parent = scorer_of(config.model)
    if parent is None:
        raise Refused(f"model: {config.model} is not ready any more; start from another model")
    return replace(config, model=f"{PREFIX}{weights_folder(parent).absolute()}")


def _standing_counts(scorer: Scorer, folder: Path, photos: Mapping[str, Photo]) -> dict[str, int]:
    """What an earlier run counted, once it is sure that its photos may still be used."""
    standing = {photo.file for photo in photos.values()}
    try:
        used = {json.loads(line)["image"] for name in (TRAIN, VAL) for line in _lines(folder / name)}
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{folder.name}: the run's pairs are damaged; start a new training") from error
    gone = len(used - standing)
    if gone:
        raise Refused(
            f"photos: {gone} of this run {'were' if gone > 1 else 'was'} taken down meanwhile; start a new training"
        )
    return {name: count for name, count in scorer.splits.items() if name.endswith(("_pairs", "_images"))}


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except OSError as error:
        raise Refused(f"{path.name}: is gone from the run's folder; start a new training") from error


def _write_pairs(scorer: Scorer, folder: Path, photos: Mapping[str, Photo]) -> dict[str, int]:
    train, val = scorer.splits["train"], scorer.splits["val"]
    held = _held(scorer, photos)
    counts: Counter[str] = Counter()
    parts = {TRAIN: _wanted(scorer, train, exclude=held), VAL: _wanted(scorer, val, only=held)}
    for name, rows in parts.items():
        kept = _Counted(name.removesuffix(".jsonl"), photos, counts)
        try:
            write_text(folder / name, kept.lines(rows))
        except InvalidInput as error:
            raise Refused(str(error)) from error
    return dict(counts)


def _held(scorer: Scorer, photos: Mapping[str, Photo]) -> set[str] | None:
    """What the rows call the photos that validate, where both splits are one; otherwise nothing."""
    share = scorer.splits.get("val_share", 0.0)
    if not share:
        return None
    urls = {row["inputs"]["image"]["url"] for row in _rows(scorer, scorer.splits["train"])}
    standing = {url: photos[url].sha256 for url in urls if url in photos and photos[url].file}
    chosen = held_images(standing.values(), share, scorer.splits["seed"])
    return {url for url, sha256 in standing.items() if sha256 in chosen}


def _wanted(
    scorer: Scorer, split: str, *, exclude: set[str] | None = None, only: set[str] | None = None
) -> Iterator[dict[str, Any]]:
    for row in _rows(scorer, split):
        url = row["inputs"]["image"]["url"]
        if (exclude is None or url not in exclude) and (only is None or url in only):
            yield row


def _rows(scorer: Scorer, split: str) -> Iterator[dict[str, Any]]:
    rows = VersionRow.objects.filter(version=scorer.version_id, part=Part.OBSERVATION, split=split)
    return rows.order_by("pk").values_list("row", flat=True).iterator(chunk_size=_ROWS)


class _Counted:
    """Turns rows into lines of a run's file, and counts what is kept and what is left out."""

    def __init__(self, part: str, photos: Mapping[str, Photo], counts: Counter[str]) -> None:
        self._part, self._photos, self._counts = part, photos, counts

    def lines(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yield a line of JSON for each pair whose photo stands."""
        seen: set[str] = set()
        self._counts[f"{self._part}_pairs"] = self._counts[f"{self._part}_images"] = 0
        for row in rows:
            inputs = row["inputs"]
            photo = self._photos.get(inputs["image"]["url"])
            if photo is None or not photo.file:
                self._counts["left_out_pairs"] += 1
                continue
            self._counts[f"{self._part}_pairs"] += 1
            seen.add(photo.sha256)
            yield pair_line(_pair(row, photo))
        self._counts[f"{self._part}_images"] = len(seen)


def _pair(row: Mapping[str, Any], photo: Photo) -> Pair:
    inputs = row["inputs"]
    boxes = tuple(Region(*(box[side] for side in _BOX)) for box in inputs["bboxes"])
    return Pair(row["instance_id"], photo.file, boxes, inputs["clue"], row["targets"]["inference"])


def _check(scorer: Scorer, config: TrainingConfig, counts: Mapping[str, int]) -> None:
    check_batch(config, counts["train_pairs"])
    if not counts["val_pairs"]:
        raise Refused(
            f"val_split: every photo of it in {scorer.version} was taken down; choose another split"
        )
