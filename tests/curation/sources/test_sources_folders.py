"""The scan of an import folder, its path sandbox, and warnings on missing split lists."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curation.records import InvalidInput
from curation.sources import folders
from curation.sources.folders import resolve_inside, scan_folder
from curation.sources.json_stream import InvalidJson, ValueTooLong, open_json_reader
from curation.sources.path_sandbox import PathSandbox
from curation.sources.vcr import VcrSource, find_vcr_source, read_vcr
from curation.sources.visual_genome import VisualGenomeSource, read_visual_genome
from tests.support import made_up_sources as made

FRAMES = {"a@0": ["person", "person", "dog"], "c@0": ["car", "person", "tie"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of imports with a copy of each collection, and a secret beside it."""
    root = tmp_path / "imports"
    made.visual_genome(root / "genome")
    made.vcr(root / "movies" / "vcr1", FRAMES, splits={"train": ["a@0"], "val": ["c@0"]})
    (root / "lists").mkdir()
    made.write(root / "lists" / "splits.json", {"train": [1, 2, 3], "val": [4], "test": [5, 6]})
    (root / "lists" / "allowed.txt").write_text("1\n2\n")
    (tmp_path / "outside").mkdir()
    made.write(tmp_path / "outside" / "secret.json", [1])
    return root


# -- looking


def test_scan_finds_collections_and_lists_by_their_layout(root: Path) -> None:
    made.write(root / "image_data.json", [])  # alone it makes no copy
    (root / "half" / "VG_100K").mkdir(parents=True)
    found = scan_folder(root)
    assert [item.name for item in found.visual_genome] == ["genome"]
    assert [item.name for item in found.vcr] == ["movies/vcr1"]
    assert {"train.jsonl", "val.jsonl"} <= found.vcr[0].files
    assert found.lists == [
        "genome/image_data.json",
        "image_data.json",
        "lists/allowed.txt",
        "lists/splits.json",
    ]
    assert not found.is_cut


def test_scan_accepts_the_folder_itself(root: Path) -> None:
    assert [item.name for item in scan_folder(root / "genome").visual_genome] == ["."]


def test_scan_skips_outside_links_and_hidden_names(root: Path, tmp_path: Path) -> None:
    made.visual_genome(tmp_path / "outside" / "genome")
    (root / "away").symlink_to(tmp_path / "outside" / "genome")
    (root / "lists" / "away.json").symlink_to(tmp_path / "outside" / "secret.json")
    (root / "lists" / "again.json").symlink_to(root / "lists" / "splits.json")
    (root / "round").symlink_to(root)
    (root / "lists" / "gone.json").symlink_to(root / "nowhere.json")
    (root / "lists" / "itself.json").symlink_to(root / "lists" / "itself.json")
    made.write(root / ".hidden.json", [1])
    found = scan_folder(root)
    assert "away" not in {item.name for item in found.visual_genome}
    assert {name for name in found.lists if name.startswith("lists/")} == {
        "lists/again.json",
        "lists/allowed.txt",
        "lists/splits.json",
    }
    assert not any(".hidden" in name for name in found.lists)


def test_collection_with_images_outside_root_is_not_found(root: Path, tmp_path: Path) -> None:
    (root / "genome" / "VG_100K").rename(tmp_path / "outside" / "VG_100K")
    (root / "genome" / "VG_100K_2").rename(tmp_path / "outside" / "VG_100K_2")
    (root / "genome" / "VG_100K").symlink_to(tmp_path / "outside" / "VG_100K")
    assert not scan_folder(root).visual_genome


def test_scan_is_limited_in_depth_and_entries(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.visual_genome(root / "a" / "b" / "c")
    made.visual_genome(root / "a" / "b" / "c" / "d")
    assert [item.name for item in scan_folder(root).visual_genome] == ["genome", "a/b/c"]
    monkeypatch.setattr(folders, "MAX_LISTS", 1)
    assert len(scan_folder(root).lists) == 1
    assert scan_folder(root).is_cut
    monkeypatch.undo()
    monkeypatch.setattr(folders, "MAX_ENTRIES", 2)
    assert scan_folder(root).is_cut


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere: cannot be read .*check the import folder"):
        scan_folder(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name", ["../outside/secret.json", "/etc/passwd", "lists/../../outside", "lists/away.json"]
)
def test_path_outside_the_folder_is_refused(root: Path, tmp_path: Path, name: str) -> None:
    (root / "lists" / "away.json").symlink_to(tmp_path / "outside" / "secret.json")
    with pytest.raises(InvalidInput, match="is outside of"):
        resolve_inside(root, name)


def test_linked_root_contains_its_target(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert resolve_inside(tmp_path / "link", "lists/splits.json") == root.resolve() / "lists" / "splits.json"
    assert [item.name for item in scan_folder(tmp_path / "link").visual_genome] == ["genome"]


def test_folder_with_a_common_name_prefix_is_outside(tmp_path: Path) -> None:
    sandbox = PathSandbox(tmp_path / "imports")
    assert sandbox.contains(tmp_path / "imports" / "a.json")
    assert not sandbox.contains(tmp_path / "imports-of-others" / "a.json")
    assert not sandbox.contains(tmp_path / "imports" / "a\0.json")
    assert PathSandbox("").contains(Path("/anywhere"))


# -- reading within it


def refused(path: Path) -> Any:
    return pytest.raises(InvalidInput, match=rf"{path.name}: is outside of .*; put the file itself there")


@pytest.mark.parametrize(
    "name",
    ["VG_100K/3.jpg", "image_data.json", "VG_100K", "region_descriptions.json", "splits.json", "allowed.txt"],
)
def test_visual_genome_links_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "imports"
    made.visual_genome(folder)
    made.regions(folder / "region_descriptions.json")
    made.write(folder / "splits.json", {"train": [1, 2, 3, 4, 5, 6]})
    (folder / "allowed.txt").write_text("1\n3\n")
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    options: dict[str, Any] = {
        "regions": str(folder / "region_descriptions.json"),
        "splits": {"": str(folder / "splits.json")},
        "allowed": (str(folder / "allowed.txt"),),
    }
    assert (
        len(read_visual_genome(VisualGenomeSource(str(folder), **options)).images) == 2
    )  # a command may follow links
    with refused(folder / ("VG_100K/1.jpg" if name == "VG_100K" else name)):
        read_visual_genome(VisualGenomeSource(str(folder), within=str(folder), **options))


@pytest.mark.parametrize(
    "name", [f"vcr1images/{made.MOVIE}/a@0.jpg", f"vcr1images/{made.MOVIE}/a@0.json", "val.jsonl"]
)
def test_vcr_links_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "imports"
    made.vcr(folder, FRAMES, splits={"train": ["a@0"], "val": ["c@0"]})
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    copy = find_vcr_source(folder, {})
    assert len(read_vcr(copy).images) == 2
    with refused(folder / name):
        read_vcr(VcrSource(copy.folder, annotations=copy.annotations, within=str(folder)))


# -- splits that nobody gave


def test_single_split_is_warned_about(tmp_path: Path) -> None:
    made.visual_genome(tmp_path)
    remedy = "give --splits, or --train, --val and --test"
    assert read_visual_genome(VisualGenomeSource(str(tmp_path))).warning == (
        f"No list of splits was given: all 6 images are put into train; {remedy}"
    )
    assert read_visual_genome(VisualGenomeSource(str(tmp_path), rest="val", limit=1)).warning == (
        f"No list of splits was given: the only image is put into val; {remedy}"
    )
    lists = made.write(tmp_path / "test.json", [1])
    assert not read_visual_genome(VisualGenomeSource(str(tmp_path), splits={"test": str(lists)})).warning


def test_vcr_without_annotation_files_is_warned_about(tmp_path: Path) -> None:
    made.vcr(tmp_path, FRAMES)
    assert read_vcr(find_vcr_source(tmp_path, {})).warning == (
        "No annotation file was given: all 2 images are put into train; put train.jsonl, val.jsonl, test.jsonl "
        "beside vcr1images, or give --train, --val and --test"
    )
    made.vcr(tmp_path, FRAMES, splits={"train": ["a@0"]})
    assert not read_vcr(find_vcr_source(tmp_path, {})).warning


def test_large_counts_have_thousands_separators() -> None:
    from curation.sources.visual_genome import missing_splits_warning

    assert "all 108,077 images are put into train" in missing_splits_warning(
        VisualGenomeSource("vg"), 108_077
    )
    assert "all images are put into train" in missing_splits_warning(VisualGenomeSource("vg"))


# -- JSON piece by piece


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    record=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
        st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.lists(st.integers(), max_size=3),
        max_size=5,
    ),
    chunk=st.integers(1, 30),
)
def test_json_object_is_read_by_member_for_any_chunk_size(
    record: dict[str, Any], chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("object") / "object.json"
    text = json.dumps(record, ensure_ascii=chunk % 2 == 0)
    path.write_text(text, encoding="utf-8-sig")
    found = {}
    with open_json_reader(path, chunk=chunk) as pieces:
        assert pieces.next_character() == "{"
        while pieces.peek() not in {"}", ""}:
            key = pieces.read_value()
            assert pieces.next_character() == ":"
            found[key] = pieces.read_value()
            if pieces.peek() == ",":
                pieces.next_character()
        assert pieces.next_character() == "}"
        assert pieces.next_character() == ""
        assert pieces.character == len(text)
        assert pieces.byte == path.stat().st_size
    assert found == record


def test_endless_and_invalid_values_have_different_errors(tmp_path: Path) -> None:
    path = tmp_path / "object.json"
    path.write_text('["' + "a" * 1000)
    with open_json_reader(path, chunk=64, max_length=100) as pieces, pytest.raises(ValueTooLong):
        pieces.read_value()
    path.write_text("NaN")
    with open_json_reader(path) as pieces, pytest.raises(InvalidJson, match="NaN is not a JSON value"):
        pieces.read_value()
    with open_json_reader(path, lenient=True) as pieces:
        assert math.isnan(pieces.read_value())
