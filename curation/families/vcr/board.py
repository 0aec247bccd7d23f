"""Leaderboards of multiple-choice questions: questions without labels, held labels, and the published CSV.

    public/test.jsonl, metadata.jsonl      questions in the published layout, and the objects of their photos
    held/answer_key.jsonl, kept.json       labels and match rounds; the photos that are private, if there are any
    manifest.json                          the hashes of these files

A submission's zip has ``choices.csv``, the CSV of the published leaderboard (``models/README.md`` of rowanz/r2c).
"""

import io
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from curation.evaluation.answer_keys import HELD_OUT_FILE, AnswerKeyFolder, Subset, make_subsets
from curation.evaluation.choice_files import SCORE_COLUMNS, parse_predictions_csv, read_answer_key_lines
from curation.evaluation.choices import (
    CHANCE,
    CHOICES_TASK,
    MEASURE_NAMES,
    ChoiceKey,
    ChoicePredictions,
    choice_figures,
    correct_choices,
    stage_round_figures,
)
from curation.evaluation.submission_zip import HEADER_BYTES, ZipLayout, open_submission
from curation.families.vcr.board_texts import BOARD_TEXTS
from curation.families.vcr.published import key_line, metadata_of, without_answers
from curation.families.vcr.rows import OBJECT_LIST, QUESTION
from curation.models import ChoiceEvaluation, DatasetVersion, EvaluationSource, VersionRow
from curation.records import InvalidInput
from curation.versions.board import (
    HELD,
    PUBLIC,
    BoardScoring,
    BoardTexts,
    BrokenKey,
    ProgressReport,
    ScoredSubmission,
    WrittenBoard,
    public_and_private_subsets,
)
from curation.versions.export import MANIFEST, WrittenFile, pretty_json, write_file
from curation.versions.family import row_contents
from hits.domain.hashing import canonical_json

FORMAT = "deerstalker-choice-board/1"
ANSWER_KEY, METADATA = "answer_key.jsonl", "metadata.jsonl"
KEY_FIELDS = ("answer_match_iter", "rationale_match_iter")
ROW_BYTES = 100 + 30 * len(SCORE_COLUMNS)  # of a line: an id, and numbers with all their digits
_CHUNK_SIZE = 1000


class VcrBoard(BoardScoring):
    """Q→A, QA→R and Q→AR on the questions of a split of a sealed version."""

    texts: ClassVar[BoardTexts] = BOARD_TEXTS

    def write(
        self,
        version: DatasetVersion,
        *,
        split: str,
        folder: Path,
        options: Mapping[str, Any],
        report_progress: ProgressReport,
    ) -> WrittenBoard:
        """Write questions, objects and labels; see ``BoardScoring.write``."""
        questions = _rows(version, QUESTION, split)
        n = questions.count()
        if not n:
            raise InvalidInput(f"split: {version.name} has no question in {split or 'any split'}")
        report_progress(0, 1)
        folder.mkdir(parents=True)
        (folder / HELD).mkdir(mode=0o700)
        shown, images = _shown_images(version, questions)
        files = [
            write_file(
                folder,
                f"{PUBLIC}/{split or 'all'}.jsonl",
                _lines(map(without_answers, row_contents(questions))),
            ),
            write_file(folder, f"{PUBLIC}/{METADATA}", _lines(_metadata(version, shown))),
            write_file(folder, f"{HELD}/{ANSWER_KEY}", _lines(map(_key_line, row_contents(questions)))),
        ]
        if options.get("private_share"):
            names = {
                "percent": options["private_share"],
                "names": _draw_images(questions, options["private_share"]),
            }
            files.append(write_file(folder, f"{HELD}/{HELD_OUT_FILE}", [pretty_json(names)]))
        expected = {CHOICES_TASK: n}
        manifest = write_file(folder, MANIFEST, [pretty_json(_manifest(version, split, expected, files))])
        report_progress(1, 1)
        return WrittenBoard(expected=expected, left_out={}, sha256=manifest.sha256, image_names=images)

    def key_facts(self, folder: Path, written: WrittenBoard, private_name: str) -> dict[str, Any]:
        """Return chance, people if they were measured, and sample sizes; see ``BoardScoring.key_facts``."""
        key = read_answer_key_lines(folder / HELD / ANSWER_KEY)
        public, *private = make_subsets(AnswerKeyFolder(folder / HELD).held_out_names())
        manifest = json.loads((folder / MANIFEST).read_bytes())
        facts: dict[str, Any] = _subset_facts(key, public)
        people = {} if private else _people(manifest)
        if people:
            facts["references"]["human"] = people
        if private:
            facts[private_name] = _subset_facts(key, private[0])
        return {**facts, "without": [], "largest": _max_bytes(written.expected)}

    def score(
        self,
        path: Path,
        *,
        file_name: str,
        folder: Path,
        expected: Mapping[str, int],
        has_private: bool,
        rng: np.random.Generator,
        report_read: Callable[[], None],
    ) -> ScoredSubmission:
        """Read the CSV of a zip and return its figures; see ``BoardScoring.score``."""
        key = _read_key(folder, expected[CHOICES_TASK])
        subsets = public_and_private_subsets(folder, has_private)
        layout = ZipLayout(
            names=(CHOICES_TASK,),
            suffixes=(".csv",),
            save_hint="save it as CSV in the published layout",
            max_bytes=_max_bytes(expected),
            example=f"{CHOICES_TASK}.csv",
        )
        with open_submission(path, file_name=file_name, layout=layout) as opened:
            if CHOICES_TASK not in opened.files:
                raise InvalidInput(f"{CHOICES_TASK}.csv: is missing; every submission needs it")
            data = opened.read(CHOICES_TASK, _max_bytes(expected))
            name = opened.files[CHOICES_TASK].filename
            predictions = parse_predictions_csv(io.BytesIO(data), name, key.ids)
        report_read()
        # Each subset has a generator of its own, so that the public intervals do not depend on private photos.
        public, *private = (
            _figures(key, predictions, subset, one_rng)
            for subset, one_rng in zip(subsets, rng.spawn(len(subsets)), strict=True)
        )
        return ScoredSubmission(public, private[0] if private else None, opened.notes)


def _rows(version: DatasetVersion, part: str, split: str) -> Any:
    rows = VersionRow.objects.filter(version=version, part=part).order_by("pk")
    return rows.filter(split=split) if split else rows


def _lines(rows: Any) -> Iterator[bytes]:
    return (canonical_json(row) + b"\n" for row in rows)


def _key_line(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of the held key: the labels, and the match rounds for the audits of an entry."""
    return key_line(row) | {name: row[name] for name in KEY_FIELDS}


def _shown_images(version: DatasetVersion, questions: Any) -> tuple[set[str], dict[str, str]]:
    """Return the metadata files that questions name, and the published name of each of their images by address."""
    shown, names = set(), set()
    fields = questions.order_by().values_list("row__metadata_fn", "row__img_fn")
    for metadata_file, image_file in fields.iterator(chunk_size=_CHUNK_SIZE):
        shown.add(metadata_file)
        names.add(image_file)
    lists = VersionRow.objects.filter(version=version, part=OBJECT_LIST)
    found = lists.values_list("row__image__url", "row__img_fn").iterator(chunk_size=_CHUNK_SIZE)
    return shown, {url: name for url, name in found if name in names}


def _metadata(version: DatasetVersion, shown: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the metadata of each image, with the name of its published file."""
    for row in row_contents(_rows(version, OBJECT_LIST, "")):
        if row["metadata_fn"] in shown:
            yield {"metadata_fn": row["metadata_fn"], "img_fn": row["img_fn"], **metadata_of(row)}


def _draw_images(questions: Any, percent: int) -> list[str]:
    """Return the images that are private, by their published ids; nobody can compute which."""
    ids = sorted(set(questions.order_by().values_list("row__img_id", flat=True)))
    count = min(max(1, round(len(ids) * percent / 100)), len(ids) - 1)
    if count < 1:
        raise InvalidInput("private share: the split has one photo only; use 0 %")
    return sorted(secrets.SystemRandom().sample(ids, count))


def _manifest(
    version: DatasetVersion, split: str, expected: Mapping[str, int], files: Sequence[WrittenFile]
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "project": version.project.slug,
        "version": version.name,
        "rehearsal": version.rehearsal,
        "seal": version.manifest_sha256,
        "split": split,
        "expected": dict(expected),
        "question_sets": [source["name"] for source in version.provenance.get("question_sets", [])],
        "files": [asdict(file) for file in files],
    }


def _max_bytes(expected: Mapping[str, int]) -> int:
    """Return the maximum bytes of a submission, packed or unpacked."""
    return sum(ROW_BYTES * count + HEADER_BYTES for count in expected.values())


def _read_key(folder: Path, expected: int) -> ChoiceKey:
    try:
        key = read_answer_key_lines(folder / HELD / ANSWER_KEY)
    except InvalidInput as error:
        raise BrokenKey(f"the answer key of {CHOICES_TASK} is missing or damaged") from error
    if len(key.ids) != expected:
        raise BrokenKey(
            f"the answer key of {CHOICES_TASK} has {len(key.ids)} questions, but {expected} were written"
        )
    return key


def _figures(
    key: ChoiceKey, predictions: ChoicePredictions, subset: Subset, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the three measures, and the wrong choices by match round, of a subset of the questions."""
    rows = np.flatnonzero(subset(key.images)).tolist()
    key, predictions = key.take(rows), predictions.take(rows)
    correct = correct_choices(predictions, key)
    figures: dict[str, Any] = {CHOICES_TASK: choice_figures(correct, key.images, rng=rng)}
    return figures | {"rounds": stage_round_figures(key, predictions)}


def _subset_facts(key: ChoiceKey, subset: Subset) -> dict[str, Any]:
    chance = {name: {"value": CHANCE[name], "low": None, "high": None} for name in MEASURE_NAMES}
    return {
        "references": {"random": chance},
        "counts": dict.fromkeys(MEASURE_NAMES, int(subset(key.images).sum())),
    }


def _people(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of people on the board's split, if they were measured on its question set."""
    found = ChoiceEvaluation.objects.filter(
        project__slug=manifest["project"],
        question_set__name__in=manifest["question_sets"],
        split=manifest["split"],
        source=EvaluationSource.JUDGMENTS.value,
    )
    row = found.exclude(figures={}).order_by("-pk").first()
    figures = row.figures[CHOICES_TASK] if row else {}
    return {name: figures[name] for name in MEASURE_NAMES if name in figures}


BOARD = VcrBoard()
