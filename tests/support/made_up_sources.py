"""Tiny copies of published collections, laid out as the real ones are."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.pictures import picture

SIZE = (64, 48)
MOVIE = "lsmdc_3005_ABRAHAM_LINCOLN_VAMPIRE_HUNTER"


def visual_genome(
    folder: Path, ids: Sequence[int] = (1, 2, 3, 4, 5, 6), **changes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Write pictures and ``image_data.json``; return its records. ``changes`` are fields by ``image_<id>``."""
    records = []
    for place, image_id in enumerate(ids):
        sub = ("VG_100K", "VG_100K_2")[place % 2]
        (folder / sub).mkdir(parents=True, exist_ok=True)
        (folder / sub / f"{image_id}.jpg").write_bytes(picture(*SIZE, seed=image_id, image_format="JPEG"))
        record = {
            "image_id": image_id,
            "url": f"https://cs.stanford.edu/people/rak248/{sub}/{image_id}.jpg",
            "width": SIZE[0],
            "height": SIZE[1],
            "coco_id": None if image_id % 2 else 1000 + image_id,
            "flickr_id": 7_000_000_000 + image_id,
        }
        records.append(record | dict(changes.get(f"image_{image_id}", {})))
    write(folder / "image_data.json", records)
    return records


def regions(path: Path, ids: Sequence[int] = (1, 2, 3, 4, 5, 6), *, each: int = 2) -> list[dict[str, Any]]:
    """Write ``region_descriptions.json`` and return its records."""
    records = [
        {
            "id": image_id,
            "regions": [
                {
                    "region_id": 100 * image_id + at,
                    "image_id": image_id,
                    "phrase": f"Grüner Baum № {at} of {image_id}",
                    "x": 4 * at,
                    "y": 3,
                    "width": 10,
                    "height": 12,
                }
                for at in range(each)
            ],
        }
        for image_id in ids
    ]
    write(path, records)
    return records


def vcr(
    folder: Path,
    objects: Mapping[str, Sequence[str]],
    *,
    splits: Mapping[str, Sequence[str]] | None = None,
    names: bool = True,
) -> Path:
    """Write ``vcr1images`` and the annotation files; return the folder of pictures.

    Args:
        objects: the names of the detected objects by frame, such as ``{"a@0": ["person", "dog"]}``.
        splits: the frames of each annotation file; every frame is asked about twice.
        names: whether metadata tells the names, as the real files do.
    """
    images = folder / "vcr1images"
    (images / MOVIE).mkdir(parents=True, exist_ok=True)
    for seed, (frame, found) in enumerate(objects.items(), start=100):
        (images / MOVIE / f"{frame}.jpg").write_bytes(picture(*SIZE, seed=seed, image_format="JPEG"))
        boxes = [[2.5 + at, 3.25, 20.75 + at, 30.5, 0.98] for at in range(len(found))]
        about = {"boxes": boxes, "segms": [[] for _ in boxes], "width": SIZE[0], "height": SIZE[1]}
        write(images / MOVIE / f"{frame}.json", about | ({"names": list(found)} if names else {}))
    for split, frames in (splits or {}).items():
        lines = [annotation(frame, split, at, objects[frame]) for at, frame in enumerate(frames)] * 2
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
    return images


def annotation(frame: str, split: str, at: int, objects: Sequence[str]) -> dict[str, Any]:
    """Return one line of an annotation file."""
    return {
        "movie": MOVIE.removeprefix("lsmdc_"),
        "objects": list(objects),
        "img_fn": f"{MOVIE}/{frame}.jpg",
        "metadata_fn": f"{MOVIE}/{frame}.json",
        "img_id": f"{split}-{at}",
        "question": ["Why", "is", [0], "here", "?"],
    }


def write(path: Path, value: Any) -> Path:
    """Write JSON, as the published files are: one line, not only ASCII."""
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path
