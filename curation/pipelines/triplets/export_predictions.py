"""Write the answers of an evaluation as files that ``manage.py evaluate nleye`` reads."""

import json
from collections.abc import Iterable
from pathlib import Path

from curation.evaluation.nleye_files import pair_score_lines, prediction_lines, triplet_key_json
from curation.models import TripletEvaluation
from curation.selectors.triplets.evaluations import (
    explanations_by_presentation,
    read_choices,
    read_scores,
    triplet_key,
    version_triplets,
)
from curation.services.triplets.evaluations import TRIPLET
from hits.domain.files.atomic_files import atomic_file

KEY_FILE, PREDICTIONS_FILE, PAIRS_FILE = "key.json", "predictions.jsonl", "pairs.jsonl"


def prediction_files(evaluation: TripletEvaluation) -> dict[str, bytes]:
    """Return the answers and the answer key as files by name; ids are the numbers of the exported table."""
    assert evaluation.version is not None
    triplets = version_triplets(evaluation.version, evaluation.options.get("split", ""))
    ids = [row.id for row in triplets]
    numbers = [str(row.number) for row in triplets]
    key = triplet_key_json(triplet_key(triplets, by_number=True))
    files = {KEY_FILE: json.dumps(key, ensure_ascii=False, indent=1).encode() + b"\n"}
    if evaluation.setup == TRIPLET:
        shown = dict(zip(ids, numbers, strict=True))
        explained = {
            (shown[triplet], presentation): row.explanation
            for (triplet, presentation), row in explanations_by_presentation(evaluation).items()
            if triplet in shown
        }
        lines = prediction_lines(numbers, read_choices(evaluation, ids), explained)
        files[PREDICTIONS_FILE] = _join(lines)
    else:
        files[PAIRS_FILE] = _join(pair_score_lines(numbers, read_scores(evaluation, ids)))
    return files


def _join(lines: Iterable[str]) -> bytes:
    return "".join(f"{line.rstrip()}\n" for line in lines).encode()


def export_predictions(evaluation: TripletEvaluation, folder: Path) -> list[str]:
    """Write the files of an evaluation into a folder, and return their names; each appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    files = prediction_files(evaluation)
    for name, content in files.items():
        with atomic_file(folder / name) as file:
            file.write(content)
    return sorted(files)
