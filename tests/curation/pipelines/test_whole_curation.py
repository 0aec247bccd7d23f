"""All photographs through all of curation, by the commands a researcher would type, with real encoders.

The photographs are laid out as Visual Genome is, their COCO boxes standing for its regions; a worker's three pairs
are drawn round the first three boxes of each.
"""

import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from curation.features.shards import open_features
from curation.models import (
    Audit,
    ComparisonRound,
    ComparisonSet,
    FeatureSet,
    ImageProposals,
    LeakageRun,
    Pair,
    ProposalOverlap,
    SourceRecord,
    TextAnalysis,
)
from hits.models import Image, Job
from tests.support.curation.features import features_folder
from tests.support.judging.work import Work

pytestmark = [pytest.mark.photos, pytest.mark.long, pytest.mark.django_db(transaction=True)]
GUESSES = (
    "Somebody bought the {what} for a birthday that is still to come",
    "The {what} has been standing there since the morning",
    "It will rain before anybody carries the {what} away",
    "Whoever owns the {what} works near here",
    "The {what} belongs to a family on holiday",
    "People who pass the {what} every day no longer notice it",
    "The {what} was repaired not long ago",
)


@pytest.fixture
def described(photos: Path) -> dict[str, Any]:
    """What is known about the photographs, boxes by image id added."""
    known: dict[str, Any] = json.loads((photos.parent / "coco_cc.json").read_text())
    names = {row["id"]: row["name"] for row in known["categories"]}
    boxes: dict[int, list[tuple[str, list[int]]]] = defaultdict(list)
    sizes = {row["id"]: (row["width"], row["height"]) for row in known["images"]}
    for row in known["annotations"]:
        left, top, width, height = row["bbox"]
        whole = [int(left), int(top), max(4, int(width)), max(4, int(height))]
        wide, high = sizes[row["image_id"]]
        if whole[0] + whole[2] <= wide and whole[1] + whole[3] <= high:
            boxes[row["image_id"]].append((names[row["category_id"]], whole))
    return known | {"boxes": boxes}


def as_visual_genome(folder: Path, photos: Path, described: dict[str, Any]) -> Path:
    """Lay the photographs out as Visual Genome's files; every fifth is for validation, every sixth for testing."""
    (folder / "VG_100K").mkdir(parents=True)
    records, regions = [], []
    splits: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    for place, row in enumerate(described["images"]):
        (folder / "VG_100K" / f"{row['id']}.jpg").symlink_to(photos / row["file_name"])
        records.append(
            {
                "image_id": row["id"],
                "url": f"https://cs.stanford.edu/people/rak248/VG_100K/{row['id']}.jpg",
                "width": row["width"],
                "height": row["height"],
                "coco_id": row["id"],
                "flickr_id": None,
            }
        )
        found = [
            {
                "region_id": 1000 * place + at, "image_id": row["id"], "phrase": f"a {what} in the photo",
                "x": box[0], "y": box[1], "width": box[2], "height": box[3],
            }
            for at, (what, box) in enumerate(described["boxes"][row["id"]])
        ]  # fmt: skip
        regions.append({"id": row["id"], "regions": found})
        splits["val" if place % 5 == 4 else "test" if place % 6 == 5 else "train"].append(row["id"])
    for name, value in (("image_data", records), ("region_descriptions", regions), ("splits", splits)):
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def write_pairs(work: Work, described: dict[str, Any]) -> int:
    """Let a worker write three pairs about each photograph with three boxes or more."""
    count = 0
    for record in SourceRecord.objects.select_related("image").order_by("pk"):
        boxes = described["boxes"][int(record.source_id)][:3]
        if len(boxes) < 3:
            continue
        answer = {
            "observations": [
                {
                    "index": at,
                    "clue": f"the {what} number {at}",
                    "inference": f"{GUESSES[(count + at) % len(GUESSES)].format(what=what)}.",
                    "confidence": at,
                    "boxes": [dict(zip(("left", "top", "width", "height"), box, strict=True))],
                }
                for at, (what, box) in enumerate(boxes, start=1)
            ]
        }
        count += len(work.observed(record.image, worker=f"W{record.pk % 7}", answer=answer))
    return count


def run(command: str, *args: str) -> dict[str, Any]:
    """Call a command as a shell would; return its one JSON object."""
    out = io.StringIO()
    call_command(command, *args, "--json", stdout=out, stderr=io.StringIO())
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


@pytest.mark.timeout(1500)
def test_all_photographs_through_the_whole_pipeline(
    photos: Path, described: dict[str, Any], work: Work, tmp_path: Path
) -> None:
    of = ("--project", work.project.slug)
    folder = as_visual_genome(tmp_path / "vg", photos, described)
    total = len(described["images"])

    run(
        "import_visual_genome", str(folder), *of, "--splits", str(folder / "splits.json"),
        "--regions", str(folder / "region_descriptions.json"),
    )  # fmt: skip
    assert Image.objects.count() == SourceRecord.objects.count() == total
    assert set(Image.objects.values_list("split", flat=True)) == {"train", "val", "test"}

    run("make_features", *of, "--of", "images")
    row = FeatureSet.objects.get()
    vectors = open_features(features_folder(row), manifest_sha256=row.sha256)
    assert vectors.shape[0] == total
    np.testing.assert_allclose(np.linalg.norm(vectors[:], axis=1), 1, atol=1e-5)

    run("deduplicate_photos", *of, "--share", "0.95", "--keep", "largest", "--set-aside")
    offered = Image.objects.filter(duplicate_of__isnull=True).count()
    assert offered == round(0.95 * total)

    run("check_leakage", *of)
    assert LeakageRun.objects.get().checked == offered

    pairs = write_pairs(work, described)
    assert pairs == Pair.objects.count() > 200

    for mode in ("highlight", "hide", "only_region"):
        made = run("make_features", *of, "--of", "regions", "--region-mode", mode)
        assert FeatureSet.objects.get(pk=made["feature_set"]).count == pairs

    run("propose_boxes", *of)
    assert [len(found.boxes) for found in ImageProposals.objects.all()] == [100] * total
    assert ProposalOverlap.objects.count() == pairs
    solvable = ProposalOverlap.objects.filter(best__gt=0.5).count() / pairs
    assert solvable > 0.4, "the first three boxes of a photo are large ones; blind boxes reach less"

    for split in ("train", "val", "test"):
        run("build_comparison_round", *of, "--split", split)
    rounds = ComparisonRound.objects.all()
    assert sum(found.sets.count() + sum(found.skip_totals.values()) for found in rounds) == pairs
    sets = ComparisonSet.objects.all()
    assert sets.filter(round__options__split="train").exists()
    for chosen in sets:
        assert len(set(chosen.chosen)) == 10
        assert all(value > chosen.scores["gold"] for value in chosen.scores["plausibility"])

    for kind in ("duplicates", "topics", "toxicity", "captions"):
        run("analyse_texts", kind, *of)
    assert {row.kind for row in TextAnalysis.objects.filter(pairs=pairs)} == {
        "duplicates", "topics", "toxicity", "captions",
    }  # fmt: skip

    run("create_audit", *of, "--name", "Grounded", "--codebook", "grounded-on-people", "--n", "50")
    assert Audit.objects.get().items.count() == 50
    assert not Job.objects.filter(task__startswith="curation.").exclude(state="done").exists()
