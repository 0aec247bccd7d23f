"""Rows in the published layout: lines of questions, and metadata of images.

Source: the readme of VCR 1.0 and ``dataloaders/vcr.py`` of rowanz/r2c (Zellers et al. 2019,
doi:10.1109/CVPR.2019.00688).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.sources.vcr_metadata import object_fields
from hits.domain.images.detections import DetectedObject
from hits.domain.tagged_text import original_text, tokenize_segments

HELD_FIELDS = (
    "answer_label",
    "rationale_label",
    "question_orig",
    "answer_orig",
    "rationale_orig",
    "answer_sources",
    "rationale_sources",
    "answer_match_iter",
    "rationale_match_iter",
    "answer_likelihood",
)
KEY_FIELDS = ("annot_id", "img_id", "answer_label", "rationale_label")
QUESTION_MARK, FULL_STOP = "?", "."
Row = dict[str, Any]


def question_row(
    triplet: Mapping[str, Any],
    stages: Mapping[str, Mapping[str, Any]],
    *,
    annot_id: str,
    img_id: str,
    question_number: int,
    match_fold: str,
    match_index: int,
    interesting_scores: Sequence[int],
) -> Row:
    """Return one published line.

    Args:
        triplet: a row of the part ``triplet``.
        stages: ``choices`` and ``label`` by stage (``curation.models.Question``).
        annot_id, img_id: published ids, such as ``val-17`` and ``val-3``.
        question_number: counts the questions of the image from 0.
        match_fold, match_index: the fold, and the question's number within it.
        interesting_scores: 1, 0 or -1 by each worker who judged the image.
    """
    row: Row = {
        "movie": triplet["movie"],
        "objects": triplet["objects"],
        "interesting_scores": list(interesting_scores),
        "answer_likelihood": triplet["answer_likelihood"],
        "img_fn": triplet["img_fn"],
        "metadata_fn": triplet["metadata_fn"],
        "question_orig": original_text(triplet["question"]),
        "answer_orig": original_text(triplet["answer"]),
        "rationale_orig": original_text(triplet["rationale"]),
        "question": tokenize_segments(triplet["question"], closing=QUESTION_MARK),
    }
    for stage, question in stages.items():
        choices = question["choices"]
        row[f"{stage}_choices"] = [tokenize_segments(choice["text"], closing=FULL_STOP) for choice in choices]
        row[f"{stage}_label"] = question["label"]
        row[f"{stage}_sources"] = [choice["source"] for choice in choices]
        row[f"{stage}_match_iter"] = [choice["round"] for choice in choices]
    return row | {
        "img_id": img_id,
        "question_number": question_number,
        "annot_id": annot_id,
        "match_fold": match_fold,
        "match_index": match_index,
    }


def without_answers(row: Mapping[str, Any]) -> Row:
    """Return a line as published for a split whose answers are held."""
    return {name: value for name, value in row.items() if name not in HELD_FIELDS}


def key_line(row: Mapping[str, Any]) -> Row:
    """Return a line of the answer key."""
    return {name: row[name] for name in KEY_FIELDS}


def object_list_row(
    image: Mapping[str, Any], *, img_fn: str, metadata_fn: str, objects: Sequence[DetectedObject]
) -> Row:
    """Return the row of an image's object list; the published metadata are a part of it (``metadata_of``)."""
    return {
        "image": dict(image),
        "img_fn": img_fn,
        "metadata_fn": metadata_fn,
        **object_fields(objects),
        "width": image["width"],
        "height": image["height"],
    }


def metadata_of(row: Mapping[str, Any]) -> Row:
    """Return the content of an image's metadata file."""
    return {name: row[name] for name in ("boxes", "segms", "names", "width", "height")}
