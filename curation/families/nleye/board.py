"""Leaderboards of image triplets: instances under random ids, and held gold.

    public/triplet.jsonl, pairs.jsonl    instances without texts, gold or facets
    held/answer_key.json                 gold and facets of each triplet
    held/triplet.jsonl, pairs.jsonl      which triplet and order, or hypothesis, each id means
    held/kept.json                       the triplets that are private, if there are any
    manifest.json                        the hashes of the public files alone

A submission's zip has ``triplet.jsonl``, ``pairs.jsonl`` or both. Nothing public has a hash of a row or of a held
file: gold has two values, and whoever has the hash tries both.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from curation.evaluation.answer_keys import HELD_OUT_FILE, AnswerKeyFolder, Subset, make_subsets
from curation.evaluation.measures import TRIPLET_MEASURES
from curation.evaluation.nleye import PAIRS, nleye_figures
from curation.evaluation.nleye import TRIPLET as TRIPLET_TASK
from curation.evaluation.nleye_files import (
    parse_submitted_choices,
    parse_submitted_scores,
    read_triplet_key,
    triplet_key_json,
)
from curation.evaluation.nleye_key import PairScores, TripletKey, TripletPredictions
from curation.evaluation.submission_zip import HEADER_BYTES, ZipLayout, open_submission
from curation.families.nleye.board_texts import BOARD_TEXTS
from curation.families.nleye.export import instance_secret
from curation.families.nleye.instances import Instance, image_name, pair_instances, triplet_instances
from curation.families.nleye.rows import TRIPLET
from curation.models import DatasetVersion, TripletEvaluation, TripletSource, VersionImage, VersionRow
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
from hits.domain.answers.scene_facets import temporal_cell
from hits.domain.hashing import canonical_json

FORMAT = "deerstalker-triplet-board/1"
ANSWER_KEY = "answer_key.json"
FILES: Mapping[str, str] = {TRIPLET_TASK: f"{TRIPLET_TASK}.jsonl", PAIRS: f"{PAIRS}.jsonl"}
LINE_BYTES = 4_000  # of a submitted line, which may have an explanation
_SHOWN = ("as_listed", "hypothesis1")  # the first of both instances of a triplet
_CHUNK_SIZE = 1000


class NlEyeBoard(BoardScoring):
    """Consistency and order-faithful accuracy on the triplets of a split of a sealed version."""

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
        """Write instances, and the key that tells them; see ``BoardScoring.write``."""
        rows = list(_keyed_rows(version, split))
        if not rows:
            raise InvalidInput(f"split: {version.name} has no triplet in {split or 'any split'}")
        report_progress(0, 1)
        folder.mkdir(parents=True)
        (folder / HELD).mkdir(mode=0o700)
        secret = instance_secret(version)
        instances = {TRIPLET_TASK: triplet_instances(rows, secret), PAIRS: pair_instances(rows, secret)}
        public = [
            write_file(folder, f"{PUBLIC}/{FILES[task]}", _lines(row.public_row for row in found))
            for task, found in instances.items()
        ]
        for task, found in instances.items():
            write_file(folder, f"{HELD}/{FILES[task]}", _lines(row.held_row for row in found))
        key = _key_of_rows(rows)
        write_file(folder, f"{HELD}/{ANSWER_KEY}", [pretty_json(triplet_key_json(key))])
        if options.get("private_share"):
            kept = {"percent": options["private_share"], "names": _draw(key.ids, options["private_share"])}
            write_file(folder, f"{HELD}/{HELD_OUT_FILE}", [pretty_json(kept)])
        expected = {task: len(found) for task, found in instances.items()}
        manifest = write_file(folder, MANIFEST, [pretty_json(_manifest(version, split, expected, public))])
        report_progress(1, 1)
        return WrittenBoard(
            expected=expected,
            left_out={},
            sha256=manifest.sha256,
            image_names=_image_names(version, rows, secret),
        )

    def key_facts(self, folder: Path, written: WrittenBoard, private_name: str) -> dict[str, Any]:
        """Return chance, people if they were measured, and sample sizes; see ``BoardScoring.key_facts``."""
        key = read_triplet_key(folder / HELD / ANSWER_KEY)
        public, *private = make_subsets(AnswerKeyFolder(folder / HELD).held_out_names())
        facts: dict[str, Any] = _subset_facts(key, public)
        people = {} if private else _people(json.loads((folder / MANIFEST).read_bytes()))
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
        """Read the answers of a zip and return their figures; see ``BoardScoring.score``.

        The intervals are always drawn alike, so that ``manage.py evaluate nleye`` gives the same figures.
        """
        key = _read_key(folder, expected)
        subsets = public_and_private_subsets(folder, has_private)
        layout = ZipLayout(
            names=tuple(FILES),
            suffixes=(".jsonl",),
            save_hint="save it as JSON lines",
            max_bytes=_max_bytes(expected),
            example=FILES[TRIPLET_TASK],
        )
        with open_submission(path, file_name=file_name, layout=layout) as opened:
            if not opened.files:
                raise InvalidInput(
                    f"{file_name}: has neither {' nor '.join(FILES.values())}; add one of them"
                )
            lines = {
                task: opened.read(task, _max_bytes(expected)).splitlines(keepends=True)
                for task in FILES
                if task in opened.files
            }
            names = {task: opened.files[task].filename for task in lines}
            predictions = (
                _predictions(folder, key, lines[TRIPLET_TASK], names[TRIPLET_TASK])
                if TRIPLET_TASK in lines
                else None
            )
            scores = _scores(folder, key, lines[PAIRS], names[PAIRS]) if PAIRS in lines else None
        report_read()
        public, *private = (_figures(key, predictions, scores, subset) for subset in subsets)
        return ScoredSubmission(public, private[0] if private else None, opened.notes)


def _keyed_rows(version: DatasetVersion, split: str) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = VersionRow.objects.filter(version=version, part=TRIPLET).order_by("pk")
    rows = rows.filter(split=split) if split else rows
    yield from rows.values_list("instance_id", "row").iterator(chunk_size=_CHUNK_SIZE)


def _key_of_rows(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> TripletKey:
    return TripletKey.from_rows(
        (
            key,
            row["gold"],
            row["reasoning_category"],
            row["domain"],
            temporal_cell(row["time_direction"], row["time_duration"]),
        )
        for key, row in rows
    )


def _lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    return (canonical_json(dict(row)) + b"\n" for row in rows)


def _draw(ids: Sequence[str], percent: int) -> list[str]:
    """Return the triplets that are private; nobody can compute which."""
    count = min(max(1, round(len(ids) * percent / 100)), len(ids) - 1)
    if count < 1:
        raise InvalidInput("private share: the split has one triplet only; use 0 %")
    return sorted(secrets.SystemRandom().sample(list(ids), count))


def _image_names(
    version: DatasetVersion, rows: Iterable[tuple[str, Mapping[str, Any]]], secret: str
) -> dict[str, str]:
    """Return the published name of each shown image by its address in the version."""
    shown = {sha256 for _, row in rows for sha256 in row["images"].values()}
    images = VersionImage.objects.filter(version=version).values_list("url", "sha256")
    return {url: image_name(sha256, secret) for url, sha256 in images if sha256 in shown}


def _manifest(
    version: DatasetVersion, split: str, expected: Mapping[str, int], files: Sequence[WrittenFile]
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "project": version.project.slug,
        "version": version.name,
        "rehearsal": version.rehearsal,
        "split": split,
        "expected": dict(expected),
        "files": [asdict(file) for file in files],
    }


def _max_bytes(expected: Mapping[str, int]) -> int:
    """Return the maximum bytes of a submission, packed or unpacked."""
    return sum(LINE_BYTES * count + HEADER_BYTES for count in expected.values())


def _read_key(folder: Path, expected: Mapping[str, int]) -> TripletKey:
    try:
        key = read_triplet_key(folder / HELD / ANSWER_KEY)
    except InvalidInput as error:
        raise BrokenKey("the answer key is missing or damaged") from error
    if any(2 * len(key) != count for count in expected.values()):
        raise BrokenKey(f"the answer key has {len(key)} triplets, and not half of the instances")
    return key


def _slots(folder: Path, key: TripletKey, task: str) -> list[str]:
    """Return the opaque ids of a task, both of the first triplet of the key, then both of the second …"""
    try:
        lines = (folder / HELD / FILES[task]).read_text("utf-8").splitlines()
        held = [Instance(row["id"], row["triplet"], row["shown"], {}) for row in map(json.loads, lines)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BrokenKey(f"the key of {FILES[task]} is missing or damaged") from error
    by_slot = {(row.triplet, row.shown in _SHOWN): row.id for row in held}
    try:
        return [by_slot[triplet, is_first] for triplet in key.ids for is_first in (True, False)]
    except KeyError as error:
        raise BrokenKey(f"the key of {FILES[task]} lacks an instance") from error


def _predictions(folder: Path, key: TripletKey, lines: list[bytes], name: str) -> TripletPredictions:
    return parse_submitted_choices(lines, name, _slots(folder, key, TRIPLET_TASK)).as_predictions()


def _scores(folder: Path, key: TripletKey, lines: list[bytes], name: str) -> PairScores:
    found = parse_submitted_scores(lines, name, _slots(folder, key, PAIRS))
    return PairScores.from_rows(zip(found[::2], found[1::2], strict=True))


def _figures(
    key: TripletKey, predictions: TripletPredictions | None, scores: PairScores | None, subset: Subset
) -> dict[str, Any]:
    rows = np.flatnonzero(subset(key.ids)).tolist()
    return nleye_figures(
        key.take(rows),
        None if predictions is None else predictions.take(rows),
        None if scores is None else scores.take(rows),
    )


def _subset_facts(key: TripletKey, subset: Subset) -> dict[str, Any]:
    n = int(subset(key.ids).sum())
    guesses = TripletPredictions.all_missing(0)
    chance = nleye_figures(key.take([]), guesses, PairScores.from_rows([]))["chance"]
    references = {name: {"value": value, "low": None, "high": None} for name, value in chance.items()}
    return {"references": {"random": references}, "counts": dict.fromkeys(TRIPLET_MEASURES, n)}


def _people(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return people's majority accuracy by the newest evaluation of all triplets of the board's split, if it has one.

    One of another split is about other triplets than the entries.
    """
    version = DatasetVersion.objects.get(project__slug=manifest["project"], name=manifest["version"])
    found = TripletEvaluation.objects.filter(version=version, source=TripletSource.PEOPLE).exclude(figures={})
    splits = _splits(version, manifest["split"])
    row = next((row for row in found if _splits(version, row.options.get("split", "")) == splits), None)
    figure = (row.figures.get("people") or {}).get("majority_accuracy") if row else None
    return {"consistency_accuracy": figure} if figure and figure["value"] is not None else {}


def _splits(version: DatasetVersion, split: str) -> set[str]:
    """Return the splits whose triplets are meant: one, or all of the version if ``split`` is empty."""
    if split:
        return {split}
    return set(VersionRow.objects.filter(version=version, part=TRIPLET).values_list("split", flat=True))


BOARD = NlEyeBoard()
