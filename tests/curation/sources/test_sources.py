"""Published collections are read and checked; errors name the file, the record and the fix."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curation.records import InvalidInput
from curation.sources import json_stream
from curation.sources.boxes import check_size, fit_regions
from curation.sources.identity import find_identities
from curation.sources.json_stream import iterate_lines, iterate_list, read_record
from curation.sources.records import MissingImagePolicy, SourceRegion
from curation.sources.splits import read_allowed_names, read_splits
from curation.sources.vcr import URL_PREFIX, EntityCountRule, VcrSource, read_vcr
from curation.sources.visual_genome import VisualGenomeSource, read_visual_genome
from tests.support import made_up_sources as made

FRAMES = {
    "a@0": ["person", "person", "dog"],
    "b@0": ["person", "person"],
    "c@1": ["person", "person", "person", "tie"],
    "d@0": ["car", "car", "car"],
}
SPLITS = {"train": ["a@0", "b@0"], "val": ["c@1"], "test": ["d@0"]}

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
RECORDS = st.lists(
    SCALARS | st.dictionaries(st.text(max_size=3), SCALARS | st.lists(SCALARS, max_size=2), max_size=3)
)


# -- lists of records, one at a time


@UNHURRIED
@given(records=RECORDS, chunk=st.integers(1, 40), indent=st.sampled_from([None, 1]), mark=st.booleans())
def test_json_list_is_read_by_record_for_any_chunk_size(
    records: list[Any], chunk: int, indent: int | None, mark: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("list") / "list.json"
    text = json.dumps(records, ensure_ascii=chunk % 2 == 0, indent=indent)
    path.write_bytes(text.encode("utf-8-sig" if mark else "utf-8", "surrogatepass"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # a lone surrogate is no UTF-8
    found = list(iterate_list(path, chunk=chunk))
    assert [item.value for item in found] == records
    assert [item.number for item in found] == list(range(1, len(records) + 1))
    assert [read_record(path, item.offset, item.length) for item in found] == records


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"id": 1}', "does not start with a list"),
        ("", "does not start with a list"),
        ('[{"id": 1}, {"id": ', "record 2 is not JSON"),
        ('[{"id": 1} {"id": 2}]', "a comma is missing after record 1"),
        ('[{"id": 1}', "a comma is missing after record 1, or the end is cut off"),
        ("[1, 2,]", "record 3 is not JSON"),
        ("[1] 2", "more text after its list"),
        ("[NaN]", "NaN is not a JSON value"),
        ("[[[" + "[" * 100_000, "record 1 is not JSON"),
    ],
)
def test_file_without_a_list_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "regions.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=complaint) as caught:
        list(iterate_list(path, chunk=7))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_endless_record_is_refused_within_the_memory_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "MAX_RECORD_BYTES", 1000)
    path = tmp_path / "regions.json"
    path.write_text('["' + "a" * 100_000)
    with pytest.raises(InvalidInput, match="longer than"):
        list(iterate_list(path, chunk=64))


def test_memory_stays_at_a_few_records(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "many.json"
    path.write_text("[" + ",".join(['{"text": "' + "x" * 1000 + '"}'] * 5000) + "]")
    tracemalloc.start()
    assert sum(1 for _ in iterate_list(path, chunk=1 << 16)) == 5000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 5_000_000
    assert peak < 1_000_000


def test_endless_line_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_RECORD_BYTES", 20)
    path = tmp_path / "train.jsonl"
    longest = '"' + "x" * 17 + '"\n'  # 20 characters
    path.write_text(longest + longest)
    assert len(list(iterate_lines(path))) == 2
    path.write_text(longest + "x" * 1000)
    with pytest.raises(
        InvalidInput, match="line 2 is longer than 20 characters; give one JSON value per line"
    ):
        list(iterate_lines(path))


def test_json_line_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"a": 1}\n\n{"a": \n')
    with pytest.raises(InvalidInput, match="line 3: is not JSON"):
        list(iterate_lines(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        list(iterate_lines(path))
    with pytest.raises(InvalidInput, match="cannot be read"):
        list(iterate_lines(tmp_path / "absent.jsonl"))


# -- splits and allowed lists


def test_published_split_files_are_read(tmp_path: Path) -> None:
    whole = made.write(tmp_path / "densecap_splits.json", {"train": [1, 2], "val": [3], "test": [4]})
    assert read_splits({"": str(whole)}) == {"1": "train", "2": "train", "3": "val", "4": "test"}
    lines = tmp_path / "train.txt"
    lines.write_text(
        "# of bottom-up attention\nVG_100K/2372979.jpg xml/2372979.xml\n\nVG_100K_2/2407359.jpg x\n"
    )
    val = made.write(tmp_path / "val_split.json", [2354019])
    assert read_splits({"train": str(lines), "val": str(val)}) == {
        "2372979": "train",
        "2407359": "train",
        "2354019": "val",
    }


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"train": [1], "val": [1]}, "image 1 is in the lists of train and val"),
        ({"train": []}, "train must be a non-empty list of image ids"),
        ({"dev": [1]}, "must be an object with the lists train, val, test"),
        ([1, 2], "must be an object with the lists"),
        ({"train": [1, None]}, "train, entry 2: names no image"),
        ({"train": [True]}, "train, entry 1: names no image"),
    ],
)
def test_invalid_split_files_are_refused(tmp_path: Path, value: Any, complaint: str) -> None:
    path = made.write(tmp_path / "splits.json", value)
    with pytest.raises(InvalidInput, match=complaint):
        read_splits({"": str(path)})


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "train.txt"
    empty.write_text("\n# nothing\n")
    with pytest.raises(InvalidInput, match="names no image for train"):
        read_splits({"train": str(empty)})
    with pytest.raises(InvalidInput, match="names no image"):
        read_allowed_names([str(empty)])
    with pytest.raises(InvalidInput, match="'dev' is unknown"):
        read_splits({"dev": str(empty)})


def test_visual_comet_records_are_an_allowed_list(tmp_path: Path) -> None:
    path = made.write(
        tmp_path / "val_annots.json", [{"img_fn": "m/a@0.jpg", "event": "1 waits"}, {"img_fn": "m/a@0.jpg"}]
    )
    assert read_allowed_names([str(path)]) == {"m/a@0.jpg"}


# -- boxes


def test_boxes_are_rounded_outwards_and_clipped() -> None:
    regions = [
        SourceRegion("0", (2.5, 3.25, 20.75, 30.5), "person"),
        SourceRegion("1", (-3, -2, 10, 10), "over the corner"),
        SourceRegion("2", (60, 40, 90, 90), "over the other"),
        SourceRegion("3", (64, 0, 70, 10), "outside"),
        SourceRegion("4", (10, 10, 10, 20), "no width"),
        SourceRegion("5", (20, 10, 10, 20), "inside out"),
        SourceRegion("6", (0, 0, 64, 48), "all"),
    ]
    fitted = fit_regions(regions, (64, 48), (64, 48))
    assert [(region["id"], region["box"]) for region in fitted.regions] == [
        ("0", [2, 3, 19, 28]),
        ("1", [0, 0, 10, 10]),
        ("2", [60, 40, 4, 8]),
        ("6", [0, 0, 64, 48]),
    ]
    assert (fitted.clipped, fitted.dropped) == (2, 3)


@UNHURRIED
@given(
    st.tuples(st.integers(1, 400), st.integers(1, 400)),
    st.floats(0.1, 3),
    st.tuples(*[st.floats(-500, 500)] * 4),
)
def test_a_fitted_box_is_always_inside(
    stated: tuple[int, int], scale: float, box: tuple[float, float, float, float]
) -> None:
    stored = (max(1, round(stated[0] * scale)), max(1, round(stated[1] * scale)))
    for region in fit_regions([SourceRegion("0", box, "")], stated, stored).regions:
        left, top, width, height = region["box"]
        assert left >= 0 <= top
        assert width >= 1 <= height
        assert left + width <= stored[0]
        assert top + height <= stored[1]


def test_scaling_by_a_third_keeps_edges() -> None:
    fitted = fit_regions([SourceRegion("0", (30, 60, 90, 120), "")], (900, 600), (300, 200))
    assert fitted.regions[0]["box"] == [10, 20, 20, 20]


def test_only_the_published_size_fits_unless_copies_are_allowed() -> None:
    check_size((640, 427), (640, 427), allow_resized=False)
    check_size((640, 427), (512, 342), allow_resized=True)
    with pytest.raises(InvalidInput, match=r"640 × 427, the file is 512 × 342; .*allow resized copies"):
        check_size((640, 427), (512, 342), allow_resized=False)
    with pytest.raises(InvalidInput, match="427 × 640"):
        check_size((640, 427), (427, 640), allow_resized=True)


# -- Visual Genome


def vg(folder: Path, **options: Any) -> Any:
    return read_visual_genome(VisualGenomeSource(str(folder), **options))


def test_visual_genome_is_read_with_splits_regions_and_published_urls(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    path = tmp_path / "region_descriptions.json"
    made.regions(path, [6, 1, 2, 3])  # another order, and two without
    splits = made.write(tmp_path / "splits.json", {"train": [1, 2], "val": [3], "test": [4]})
    plan = vg(tmp_path, regions=str(path), splits={"": str(splits)})
    assert [(image.source_id, image.split) for image in plan.images] == [
        ("1", "train"),
        ("2", "train"),
        ("3", "val"),
        ("4", "test"),
    ]
    second = plan.images[1]
    assert second.url == "https://cs.stanford.edu/people/rak248/VG_100K_2/2.jpg"
    assert second.path == str(tmp_path / "VG_100K_2" / "2.jpg")
    assert second.facts == {"coco_id": 1002, "flickr_id": 7_000_000_002}
    assert "coco_id" not in plan.images[0].facts
    assert plan.regions(second) == [
        SourceRegion("200", (0, 3, 10, 15), "Grüner Baum № 0 of 2"),
        SourceRegion("201", (4, 3, 14, 15), "Grüner Baum № 1 of 2"),
    ]
    assert plan.regions(plan.images[3]) == ()
    assert plan.left_out == {"in no list of a split": 2}
    assert plan.notes == [f"1 images have no regions in {path}"]


def test_images_without_split_lists_are_train_or_rest(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    assert {image.split for image in vg(tmp_path).images} == {"train"}
    test = made.write(tmp_path / "test.json", [2])
    plan = vg(tmp_path, splits={"test": str(test)}, rest="train")
    assert [image.split for image in plan.images] == ["train", "test", "train", "train", "train", "train"]


def test_both_archives_in_one_folder_and_the_older_field_name_are_read(tmp_path: Path) -> None:
    records = made.visual_genome(tmp_path)
    for path in (tmp_path / "VG_100K_2").iterdir():
        path.rename(tmp_path / "VG_100K" / path.name)
    (tmp_path / "VG_100K_2").rmdir()
    for record in records:
        record["id"] = record.pop("image_id")
    made.write(tmp_path / "image_data.json", records)
    assert len(vg(tmp_path).images) == 6


def test_a_limit_and_an_allowed_list(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("2\n3\n5\n")
    plan = vg(tmp_path, allowed=(str(allowed),), limit=2)
    assert [image.source_id for image in plan.images] == ["2", "3"]
    assert plan.left_out == {"not in the lists of allowed images": 3}


def test_missing_images_are_refused_or_skipped_and_counted(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    (tmp_path / "VG_100K" / "3.jpg").unlink()
    (tmp_path / "VG_100K" / "5.jpg").unlink()
    with pytest.raises(
        InvalidInput, match=r"record 3 \(image_id 3\): VG_100K/3.jpg is not in .* \(2 missing"
    ):
        vg(tmp_path)
    plan = vg(tmp_path, missing=MissingImagePolicy.SKIP)
    assert [image.source_id for image in plan.images] == ["1", "2", "4", "6"]
    assert plan.left_out == {"the image is missing": 2}
    assert len(plan.notes) == 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"image_id": 1}, "record 2: image_id 1 occurs twice"),
        ({"image_id": "2"}, "record 2: image_id is '2'; it must be a whole number"),
        ({"image_id": True}, "record 2: image_id is True"),
        ({"width": 0}, "record 2: width is 0; it must be a whole number from 1"),
        ({"height": 48.0}, "record 2: height is 48.0"),
        ({"url": "VG_100K_2/2.jpg"}, "record 2: url .* is not a web address"),
        ({"url": None}, "record 2: url is None; it must be a text"),
        ({"url": "https://x.org/" + "a" * 500}, "is not a web address of up to 500"),
        ({"coco_id": "12"}, "record 2: coco_id is '12'"),
    ],
)
def test_invalid_image_data_is_refused_with_record_and_field(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    made.visual_genome(tmp_path, image_2=change)
    with pytest.raises(InvalidInput, match=complaint):
        vg(tmp_path)


def test_image_urls_cannot_leave_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").write_bytes(b"x")
    made.visual_genome(tmp_path / "vg", image_2={"url": "https://x.org/VG_100K/../../secret.jpg"})
    plan = vg(tmp_path / "vg")
    assert plan.images[1].path == str(tmp_path / "vg" / "VG_100K_2" / "2.jpg")  # found by its id


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda r: r[1].update(id=99), "record 2: image 99 is not in .*use files of the same release"),
        (lambda r: r[1].update(id=1), "record 2: image 1 occurs twice"),
        (lambda r: r[1].pop("id"), "record 2: id is None"),
        (lambda r: r[1].pop("regions"), "record 2: regions is None; it must be a list"),
        (lambda r: r[1]["regions"][1].pop("x"), "record 2, region 2: x is None; it must be a number"),
        (lambda r: r[1]["regions"][1].update(width="3"), "record 2, region 2: width is '3'"),
        (lambda r: r[1]["regions"][1].update(height=10**400), "height is too large a number"),
        (lambda r: r[1]["regions"][1].pop("phrase"), "record 2, region 2: phrase is missing"),
        (lambda r: r[1]["regions"].append(7), "record 2, region 3: is int, not an object"),
        (list.clear, "describes no image"),
    ],
)
def test_invalid_regions_are_refused_with_record_and_region(
    tmp_path: Path, damage: Callable[[Any], Any], complaint: str
) -> None:
    made.visual_genome(tmp_path)
    path = tmp_path / "region_descriptions.json"
    records = made.regions(path)
    damage(records)
    made.write(path, records)
    with pytest.raises(InvalidInput, match=complaint):
        vg(tmp_path, regions=str(path))


def test_texts_with_nul_or_surrogates_are_cleaned(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    path = tmp_path / "region_descriptions.json"
    records = made.regions(path)
    records[0]["regions"][0] |= {"phrase": " a\x00b \ud800 ", "region_id": 900100184613}
    path.write_text(json.dumps(records))
    plan = vg(tmp_path, regions=str(path))
    region = plan.regions(plan.images[0])[0]
    assert (region.id, region.text) == ("900100184613", "ab ?")


def test_lists_of_another_release_are_refused_or_counted(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    train = made.write(tmp_path / "train.json", [1, 2, 77])
    with pytest.raises(InvalidInput, match="the lists of splits name image 77"):
        vg(tmp_path, splits={"train": str(train)})
    plan = vg(tmp_path, splits={"train": str(train)}, missing=MissingImagePolicy.SKIP)
    assert len(plan.images) == 2
    assert plan.left_out["in the lists of splits and not in the image data"] == 1


def test_empty_folder_names_the_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has neither VG_100K nor VG_100K_2"):
        vg(tmp_path)
    (tmp_path / "VG_100K").mkdir()
    with pytest.raises(InvalidInput, match=r"image_data.json: cannot be read"):
        vg(tmp_path)
    made.write(tmp_path / "image_data.json", [])
    with pytest.raises(InvalidInput, match="lists no image"):
        vg(tmp_path)


def test_region_file_changed_while_reading_is_refused(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    path = tmp_path / "region_descriptions.json"
    made.regions(path)
    plan = vg(tmp_path, regions=str(path))
    made.regions(path, [2, 1, 3, 4, 5, 6])
    with pytest.raises(InvalidInput, match=r"has changed since it was read|is not JSON"):
        plan.regions(plan.images[0])


# -- VCR


def read(images: Path, folder: Path, **options: Any) -> Any:
    annotations = {split: str(folder / f"{split}.jsonl") for split in SPLITS}
    return read_vcr(VcrSource(str(images), annotations=options.pop("annotations", annotations), **options))


def test_vcr_keeps_images_with_three_entities_and_published_splits(tmp_path: Path) -> None:
    images = made.vcr(tmp_path, FRAMES, splits=SPLITS)
    plan = read(images, tmp_path)
    assert [(image.source_id, image.split, image.entities) for image in plan.images] == [
        (f"{made.MOVIE}/a@0.jpg", "train", 3),
        (f"{made.MOVIE}/c@1.jpg", "val", 4),
        (f"{made.MOVIE}/d@0.jpg", "test", 3),
    ]
    assert plan.left_out == {"fewer than 3 entities": 1}
    first = plan.images[0]
    assert first.url == f"{URL_PREFIX}{made.MOVIE}/a@0.jpg"
    assert first.facts["img_id"] == "train-0"
    assert first.facts["movie"] == "3005_ABRAHAM_LINCOLN_VAMPIRE_HUNTER"
    assert plan.regions(first)[2] == SourceRegion("2", (4.5, 3.25, 22.75, 30.5), "dog", 0.98)


def test_the_two_readings_of_unique_entities(tmp_path: Path) -> None:
    images = made.vcr(tmp_path, FRAMES, splits=SPLITS)
    names = read(images, tmp_path, count=EntityCountRule.NAMES, min_entities=2)
    assert [(image.source_id[-7:], image.entities) for image in names.images] == [
        ("a@0.jpg", 2),
        ("c@1.jpg", 2),
    ]
    path = images / made.MOVIE / "a@0.json"
    about = json.loads(path.read_text())
    about["boxes"][1] = about["boxes"][0]  # the same person found twice
    made.write(path, about)
    assert read(images, tmp_path).left_out == {"fewer than 3 entities": 2}


def test_vcr_allowed_list_by_file_or_id(tmp_path: Path) -> None:
    images = made.vcr(tmp_path, FRAMES, splits=SPLITS)
    annots = made.write(tmp_path / "train_annots.json", [{"img_fn": f"{made.MOVIE}/a@0.jpg", "place": "x"}])
    ids = tmp_path / "ids.txt"
    ids.write_text("test-0\n")
    plan = read(images, tmp_path, allowed=(str(annots), str(ids)))
    assert [image.split for image in plan.images] == ["train", "test"]
    ids.write_text("test-9\n")
    with pytest.raises(InvalidInput, match="name test-9, which is not among the images"):
        read(images, tmp_path, allowed=(str(ids), str(annots)))


def test_vcr_without_annotations_is_all_train(tmp_path: Path) -> None:
    images = made.vcr(tmp_path, FRAMES)
    plan = read(images, tmp_path, annotations={}, min_entities=0)
    assert [image.split for image in plan.images] == ["train"] * 4
    assert plan.images[0].facts["movie"] == made.MOVIE


def test_vcr_names_come_from_annotations_if_metadata_has_none(tmp_path: Path) -> None:
    images = made.vcr(tmp_path, FRAMES, splits=SPLITS, names=False)
    plan = read(images, tmp_path)
    assert [region.text for region in plan.regions(plan.images[0])] == FRAMES["a@0"]
    with pytest.raises(InvalidInput, match="has no names; give the annotation files"):
        read(images, tmp_path, annotations={})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"boxes": [[1, 2, 3]]}, r"a@0.json, box 0: is \[1, 2, 3\]; it must be"),
        ({"boxes": [[1, 2, 3, "4", 0.9]]}, "box 0: an edge is '4'; it must be a number"),
        ({"boxes": None}, "boxes is None; it must be a list"),
        ({"boxes": [[1, 2, 3, 4]]}, "has 1 boxes and 3 names"),
        ({"names": ["person", "person", "cat"]}, "its names differ from the objects of the annotation files"),
        ({"names": [1, 2, 3]}, "names must be a list of texts"),
        ({"width": -1}, "width is -1; it must be a whole number from 1"),
    ],
)
def test_invalid_vcr_metadata_names_the_file(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    images = made.vcr(tmp_path, FRAMES, splits=SPLITS)
    path = images / made.MOVIE / "a@0.json"
    about = json.loads(path.read_text()) | change
    if "names" not in change and change.get("boxes") and len(change["boxes"][0]) != 4:
        about["names"] = ["person"]
    if "box 0" in complaint:  # the annotation files must agree to get so far
        made.write(path, about)
        for split, frames in SPLITS.items():
            lines = [made.annotation(f, split, 0, ["person"] if f == "a@0" else FRAMES[f]) for f in frames]
            (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    made.write(path, about)
    with pytest.raises(InvalidInput, match=complaint):
        read(images, tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"img_fn": "../../etc/passwd"}, "line 1: img_fn .* leaves the folder"),
        ({"img_fn": "/etc/passwd"}, "leaves the folder"),
        ({"metadata_fn": "..\\x.json"}, "metadata_fn .* leaves the folder"),
        ({"img_fn": ""}, "line 1: img_fn is ''; it must be a text"),
        ({"img_fn": "m/" + "a" * 300 + ".jpg"}, "longer than 200 characters"),
        ({"objects": "person"}, "line 1: objects must be a list of names"),
        ({"movie": "m" * 121}, "train.jsonl: line 1: film 'mm.*' has 121 characters; rename it.*most 120"),
        ({"img_fn": "m/gone.jpg"}, "line 1: m/gone.jpg is missing below"),
        ({"img_fn": f"{made.MOVIE}/c@1.jpg", "metadata_fn": f"{made.MOVIE}/c@1.json"}, "is in train already"),
    ],
)
def test_invalid_vcr_annotations_name_the_line(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    images = made.vcr(tmp_path, FRAMES, splits=SPLITS)
    line = made.annotation("a@0", "train", 0, FRAMES["a@0"]) | change
    (tmp_path / "train.jsonl").write_text(json.dumps(line))
    with pytest.raises(InvalidInput, match=complaint):
        read(images, tmp_path)


@pytest.mark.parametrize("has_annotations", [True, False])
def test_vcr_folder_that_is_too_long_for_a_film_is_refused_by_file(
    tmp_path: Path, has_annotations: bool
) -> None:
    images = made.vcr(tmp_path, FRAMES)
    film = "m" * 121
    (images / made.MOVIE).rename(images / film)
    names = {"img_fn": f"{film}/a@0.jpg", "metadata_fn": f"{film}/a@0.json", "movie": ""}
    line = made.annotation("a@0", "train", 0, FRAMES["a@0"]) | names
    path = made.write(tmp_path / "train.jsonl", line)
    annotations = {"train": str(path)} if has_annotations else {}
    location = "train.jsonl: line 1" if has_annotations else f"{film}/a@0.json"
    with pytest.raises(InvalidInput, match=f"{location}: film 'mm.*' has 121 characters; rename"):
        read(images, tmp_path, annotations=annotations)


def test_missing_vcr_images_can_be_skipped(tmp_path: Path) -> None:
    images = made.vcr(tmp_path, FRAMES, splits=SPLITS)
    (images / made.MOVIE / "a@0.jpg").unlink()
    (images / made.MOVIE / "c@1.json").unlink()
    plan = read(images, tmp_path, missing=MissingImagePolicy.SKIP)
    assert [image.split for image in plan.images] == ["test"]
    assert plan.left_out["the image or its metadata is missing"] == 2


def test_reading_reports_progress_and_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.visual_genome(tmp_path)
    monkeypatch.setattr("curation.sources.source_scan.PROGRESS_EVERY", 2)
    seen: list[int] = []
    read_visual_genome(VisualGenomeSource(str(tmp_path)), report_progress=seen.append)
    assert seen == [2, 4, 6]

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_visual_genome(VisualGenomeSource(str(tmp_path)), report_progress=stop)


# -- the same photograph under other names


def test_published_ids_are_recognised_across_collections() -> None:
    genome = find_identities(
        "https://cs.stanford.edu/people/rak248/VG_100K/2370463.jpg",
        {"coco_id": 547168, "flickr_id": 8505158818},
    )
    assert genome == {"coco:547168", "flickr:8505158818"}
    assert find_identities("http://images.cocodataset.org/train2017/000000547168.jpg", {}) == {"coco:547168"}
    assert find_identities("http://mscoco.org/images/COCO_val2014_000000547168.jpg", {}) == {"coco:547168"}
    assert find_identities("http://farm9.staticflickr.com/8505/8505158818_e622c8349a_z.jpg", {}) == {
        "flickr:8505158818"
    }
    assert find_identities("https://elsewhere.org/train2017/000000547168.jpg", {}) == frozenset()
    assert find_identities("http://[broken", {"coco_id": None, "flickr_id": "x"}) == frozenset()
