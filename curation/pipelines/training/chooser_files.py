"""Write the inputs of a chooser's run: from a question set, or from a folder in the published layout.

Questions of photos that were taken down are omitted and counted; so are questions without both stages.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from curation.chooser.config import FEATURES_FOLDER, ChooserConfig
from curation.chooser.training.inputs import write_run
from curation.evaluation.choice_items import Stage, item_record, iterate_json_lines, question_line
from curation.files import write_text
from curation.models import Chooser, QuestionSet
from curation.pipelines.training.training_files import check_photos_remain
from curation.scorer.training.inputs import RUN_FILE, TRAIN_FILE, VAL_FILE
from curation.selectors.choice_items import built_questions, iterate_items
from curation.selectors.choosers import chooser_folder
from curation.selectors.object_lists import objects_of_records
from curation.services.choosers import IMAGE_FOLDERS
from curation.services.refusals import refuse_invalid_input
from curation.sources.vcr_metadata import object_fields
from curation.versions.splits import Split
from hits.domain.images.detections import DetectedObject, objects_sha256
from hits.models import Image, Record
from hits.selectors.records import id_chunks
from hits.services.errors import Refused

OBJECTS_FOLDER = "objects"
_HASH_DIGITS = 16
_SPLITS = {Split.TRAIN.value: TRAIN_FILE, Split.VAL.value: VAL_FILE}


@dataclass(frozen=True, slots=True)
class ChooserRun:
    """A run's folder, its settings, and the numbers of questions: training, validation, omitted."""

    folder: Path
    config: ChooserConfig
    counts: dict[str, int]


def load_or_write_chooser_run(chooser: Chooser, data: str) -> ChooserRun:
    """Return a chooser's run, and write it if needed; ``run.json`` is written last and marks the run as complete.

    Args:
        data: the folder in the published layout; empty for a question set.

    Raises:
        Refused: a photo of the run was taken down or lost since, or no question remains.
    """
    folder = chooser_folder(chooser)
    config = ChooserConfig.from_json(chooser.config)
    if (folder / RUN_FILE).is_file():
        if not data:
            _check_photos(chooser, folder)
        counts = {name: count for name, count in chooser.splits.items() if isinstance(count, int)}
        return ChooserRun(folder, config, counts)
    folder.mkdir(parents=True, exist_ok=True)
    with refuse_invalid_input():
        counts = (
            _write_folder(chooser, config, folder, Path(data))
            if data
            else _write_set(chooser, config, folder)
        )
    return ChooserRun(folder, config, counts)


def _write_folder(chooser: Chooser, config: ChooserConfig, folder: Path, data: Path) -> dict[str, int]:
    lines = {
        split: [record for _, record in iterate_json_lines(data / file)] for split, file in _SPLITS.items()
    }
    features = data / FEATURES_FOLDER
    if features.is_dir() and not (folder / FEATURES_FOLDER).exists():
        (folder / FEATURES_FOLDER).symlink_to(features.absolute())
    images = next((data / name for name in IMAGE_FOLDERS if (data / name).is_dir()), data)
    counts = {f"{split}_questions": len(found) for split, found in lines.items()}
    return _write_run(chooser, config, folder, images, lines, counts)


def _write_set(chooser: Chooser, config: ChooserConfig, folder: Path) -> dict[str, int]:
    assert chooser.question_set is not None
    writer = _SetWriter(chooser, chooser.question_set, folder)
    lines = {split: list(writer.lines(split)) for split in _SPLITS}
    for split, found in lines.items():
        if not found:
            raise Refused(
                f"set {chooser.question_set}: no question of {split} remains, since their photos were taken down"
            )
    return _write_run(chooser, config, folder, Path(settings.MEDIA_ROOT), lines, dict(writer.counts))


def _write_run(
    chooser: Chooser,
    config: ChooserConfig,
    folder: Path,
    images: Path,
    lines: Mapping[str, list[dict[str, Any]]],
    counts: dict[str, int],
) -> dict[str, int]:
    """Write a run's files, and return the counts."""
    write_run(
        folder,
        config,
        images=images,
        train=lines[Split.TRAIN],
        val=lines[Split.VAL],
        provenance={**chooser.provenance, "chooser": chooser.name, **counts},
    )
    return counts


def write_set_questions(chooser: Chooser, question_set: QuestionSet, split: str, path: Path) -> int:
    """Write the questions of a set's split for a chooser to predict, and return how many were omitted.

    Args:
        split: empty for all.
    """
    writer = _SetWriter(chooser, question_set, chooser_folder(chooser))
    write_text(path, map(question_line, writer.lines(split)))
    return writer.counts["left_out_questions"]


class _SetWriter:
    """Converts the questions of a set to lines of a run, and writes their objects beside them."""

    def __init__(self, chooser: Chooser, question_set: QuestionSet, folder: Path) -> None:
        self._set, self._folder, self._path = question_set, folder, chooser.path
        self.counts: Counter[str] = Counter()
        self._files = _available_files(chooser.project_id)

    def lines(self, split: str) -> Iterator[dict[str, Any]]:
        """Yield the questions of a split in the published layout, without their sources."""
        questions = built_questions(self._set, split)
        metadata = self._write_objects(dict(questions.values_list("annot_id", "triplet_id")))
        self.counts[f"{split}_questions"] = 0
        for item in iterate_items(questions):
            file = self._files.get(int(item.image), "")
            is_complete = all(stage in item.stages for stage in Stage)
            if not file or not is_complete:
                self.counts["left_out_questions"] += 1
                continue
            self.counts[f"{split}_questions"] += 1
            yield item_record(item) | {"img_fn": file, "metadata_fn": metadata[item.annot_id]}

    def _write_objects(self, triplets: dict[str, int]) -> dict[str, str]:
        """Write the object list of each triplet; return its path below the media folder by the question's id."""
        paths: dict[int, str] = {}
        for chunk in id_chunks(sorted(set(triplets.values()))):
            records = list(Record.objects.filter(pk__in=chunk))
            objects = objects_of_records(records)
            for record in records:
                paths[record.pk] = self._write_list(record.image_id or 0, objects[record.pk])
        return {name: paths[triplet] for name, triplet in triplets.items()}

    def _write_list(self, image_id: int, objects: list[DetectedObject]) -> str:
        name = f"{OBJECTS_FOLDER}/{image_id}-{objects_sha256(objects)[:_HASH_DIGITS]}.json"
        path = self._folder / name
        if not path.is_file():
            path.parent.mkdir(exist_ok=True)
            write_text(path, [json.dumps(object_fields(objects))])
        return f"{self._path}/{name}"


def _available_files(project_id: int) -> dict[int, str]:
    """Return the file of each photo of a project that was not taken down, below the media folder, by photo."""
    rows = Image.objects.filter(project=project_id, taken_down_at__isnull=True)
    return dict(rows.values_list("pk", "file"))


def _check_photos(chooser: Chooser, folder: Path) -> None:
    """Refuse to resume a run with photos that were taken down meanwhile."""
    with refuse_invalid_input():
        used = {
            record["img_fn"]
            for file in (TRAIN_FILE, VAL_FILE)
            for _, record in iterate_json_lines(folder / file)
        }
    check_photos_remain(used, set(_available_files(chooser.project_id).values()))
