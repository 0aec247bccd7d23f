"""Write the inputs of a training run: settings, and the pairs to train on and to validate with.

The rows come from a sealed version. Photos are found by SHA-256, so that boxes are never used with another file.
Pairs on photos that were taken down since are omitted and counted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings

from curation.files import write_text
from curation.models import DatasetVersion, Part, Scorer, VersionImage, VersionRow
from curation.records import Region
from curation.scorer.config import TrainingConfig
from curation.scorer.training.inputs import RUN_FILE, TRAIN_FILE, VAL_FILE, Pair, pair_line, write_settings
from curation.selectors.scorers import SCORER_PREFIX, scorer_by_encoder, scorer_folder, weights_folder
from curation.services.refusals import refuse_invalid_input
from curation.services.scorer_splits import check_batch_size, validation_image_hashes
from hits.models import Image
from hits.services.errors import Refused

_CHUNK_SIZE = 1000
_BOX = ("left", "top", "width", "height")


@dataclass(frozen=True, slots=True)
class VersionPhoto:
    """A photo of a version: its SHA-256, and its file below the media folder, empty if it was taken down."""

    sha256: str
    file: str


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A run's folder, its configuration, and the numbers of pairs and photos: training, validation, omitted."""

    folder: Path
    config: TrainingConfig
    counts: dict[str, int]


def load_or_write_run(scorer: Scorer) -> RunFiles:
    """Return a scorer's run, and write it if needed; ``run.json`` is written last and marks the run as complete.

    Raises:
        Refused: a photo of the run was taken down or lost since, too few pairs remain, or the starting model is
            missing.
    """
    assert scorer.version is not None
    folder = scorer_folder(scorer)
    config = _resolve_model(TrainingConfig.from_json(scorer.config))
    photos = load_photos(scorer.version)
    if (folder / RUN_FILE).is_file():
        return RunFiles(folder, config, _check_photos_and_read_counts(scorer, folder, photos))
    folder.mkdir(parents=True, exist_ok=True)
    counts = _write_pairs(scorer, folder, photos)
    _check_counts(scorer, config, counts)
    provenance = {**scorer.provenance, "scorer": scorer.name, "splits": scorer.splits, **counts}
    write_settings(folder, config, images=Path(settings.MEDIA_ROOT), provenance=provenance)
    return RunFiles(folder, config, counts)


def load_photos(version: DatasetVersion) -> dict[str, VersionPhoto]:
    """Return the photos of a sealed version by their address in rows."""
    available = Image.objects.filter(project=version.project_id, taken_down_at__isnull=True)
    files = dict(available.values_list("sha256", "file"))
    sealed = VersionImage.objects.filter(version=version).values_list("url", "sha256")
    return {url: VersionPhoto(sha256, files.get(sha256, "")) for url, sha256 in sealed}


def _resolve_model(config: TrainingConfig) -> TrainingConfig:
    """Return the configuration for the training loop: a starting scorer is replaced by its folder."""
    if not config.model.startswith(SCORER_PREFIX):
        return config
    parent = scorer_by_encoder(config.model)
    if parent is None:
        raise Refused(f"model: {config.model} is not ready any more; start from another model")
    return replace(config, model=f"{SCORER_PREFIX}{weights_folder(parent).absolute()}")


def _check_photos_and_read_counts(
    scorer: Scorer, folder: Path, photos: Mapping[str, VersionPhoto]
) -> dict[str, int]:
    """Return the counts of an existing run, after checking that its photos may still be used."""
    available = {photo.file for photo in photos.values()}
    try:
        lines = (line for name in (TRAIN_FILE, VAL_FILE) for line in _read_lines(folder / name))
        used = {json.loads(line)["image"] for line in lines}
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{folder.name}: the run's pairs are damaged; start a new training run") from error
    check_photos_remain(used, available)
    return {name: count for name, count in scorer.splits.items() if name.endswith(("_pairs", "_images"))}


def check_photos_remain(used: Set[str], available: Set[str]) -> None:
    """Refuse to resume a run with photos that were taken down meanwhile.

    Args:
        used, available: files of photos, those of the run and those of the project, below the media folder.
    """
    missing = len(used - available)
    if missing:
        raise Refused(
            f"photos: {missing} of this run {'were' if missing > 1 else 'was'} taken down meanwhile; "
            "start a new training run"
        )


def _read_lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except OSError as error:
        raise Refused(f"{path.name}: is missing from the run's folder; start a new training run") from error


def _write_pairs(scorer: Scorer, folder: Path, photos: Mapping[str, VersionPhoto]) -> dict[str, int]:
    train, val = scorer.splits["train"], scorer.splits["val"]
    validation_urls = _validation_urls_if_split_shared(scorer, photos)
    counts: Counter[str] = Counter()
    rows_by_file = {
        TRAIN_FILE: _filter_rows(scorer, train, exclude_urls=validation_urls),
        VAL_FILE: _filter_rows(scorer, val, only_urls=validation_urls),
    }
    for name, rows in rows_by_file.items():
        writer = _PairWriter(name.removesuffix(".jsonl"), photos, counts)
        with refuse_invalid_input():
            write_text(folder / name, writer.lines(rows))
    return dict(counts)


def _validation_urls_if_split_shared(scorer: Scorer, photos: Mapping[str, VersionPhoto]) -> set[str] | None:
    """Return the addresses of the validation photos if both splits are the same; otherwise None."""
    share = scorer.splits.get("val_share", 0.0)
    if not share:
        return None
    urls = {row["inputs"]["image"]["url"] for row in _rows(scorer, scorer.splits["train"])}
    available = {url: photos[url].sha256 for url in urls if url in photos and photos[url].file}
    chosen = validation_image_hashes(available.values(), share, scorer.splits["seed"])
    return {url for url, sha256 in available.items() if sha256 in chosen}


def _filter_rows(
    scorer: Scorer, split: str, *, exclude_urls: set[str] | None = None, only_urls: set[str] | None = None
) -> Iterator[dict[str, Any]]:
    for row in _rows(scorer, split):
        url = row["inputs"]["image"]["url"]
        if (exclude_urls is None or url not in exclude_urls) and (only_urls is None or url in only_urls):
            yield row


def _rows(scorer: Scorer, split: str) -> Iterator[dict[str, Any]]:
    rows = VersionRow.objects.filter(version=scorer.version_id, part=Part.OBSERVATION, split=split)
    return rows.order_by("pk").values_list("row", flat=True).iterator(chunk_size=_CHUNK_SIZE)


class _PairWriter:
    """Converts rows to lines of a run's file, and counts used and omitted pairs."""

    def __init__(self, part: str, photos: Mapping[str, VersionPhoto], counts: Counter[str]) -> None:
        self._part, self._photos, self._counts = part, photos, counts

    def lines(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yield a line of JSON for each pair whose photo is available."""
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
            yield pair_line(_make_pair(row, photo))
        self._counts[f"{self._part}_images"] = len(seen)


def _make_pair(row: Mapping[str, Any], photo: VersionPhoto) -> Pair:
    inputs = row["inputs"]
    boxes = tuple(Region(*(box[side] for side in _BOX)) for box in inputs["bboxes"])
    return Pair(row["instance_id"], photo.file, boxes, inputs["clue"], row["targets"]["inference"])


def _check_counts(scorer: Scorer, config: TrainingConfig, counts: Mapping[str, int]) -> None:
    check_batch_size(config, counts["train_pairs"])
    if not counts["val_pairs"]:
        raise Refused(f"val_split: every photo of it in {scorer.version} was taken down; choose another")
