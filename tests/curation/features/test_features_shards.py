"""Shards on disk: complete or absent, reused after a kill, read as one array."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from curation.features.shards import (
    FORMAT,
    EncodedItem,
    FeatureSpec,
    ShardFolder,
    combine_hashes,
    open_features,
)
from curation.files import file_sha256
from curation.records import InvalidInput

ROWS = np.random.default_rng(0).standard_normal((10, 3)).astype(np.float32)
ITEMS = [EncodedItem(f"item {n} ü", hashlib.sha256(bytes([n])).hexdigest()) for n in range(10)]


def made_of(count: int = 10, shard_rows: int = 4) -> FeatureSpec:
    return FeatureSpec(
        encoder="letters",
        revision="1",
        subject="texts",
        count=count,
        items_sha256=combine_hashes([item.sha256 for item in ITEMS[:count]]),
        preprocessing={"precision": "fp32"},
        shard_rows=shard_rows,
    )


def filled(folder: Path, made: FeatureSpec, rows: NDArray[np.float32] = ROWS) -> ShardFolder:
    found = ShardFolder(folder)
    found.write_items(ITEMS[: made.count])
    for shard in found.missing_shards(made):
        span = made.rows(shard)
        found.write(shard, rows[span.start : span.stop])
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_manifest_has_all_fields(tmp_path: Path) -> None:
    sha256 = filled(tmp_path, made_of()).seal(made_of())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert sha256 == file_sha256(tmp_path / "manifest.json")
    assert (manifest["format"], manifest["count"], manifest["dim"], manifest["dtype"]) == (
        FORMAT,
        10,
        3,
        "float32",
    )
    assert (manifest["precision"], manifest["shard_rows"]) == ("fp32", 4)
    assert [shard["rows"] for shard in manifest["shards"]] == [4, 4, 2]
    for entry in [manifest["items"], *manifest["shards"]]:
        assert file_sha256(tmp_path / entry["file"]) == entry["sha256"]


def test_shards_read_as_one_array(tmp_path: Path) -> None:
    filled(tmp_path, made_of()).seal(made_of())
    found = open_features(tmp_path)
    assert (len(found), found.shape, found.dtype) == (10, (10, 3), np.float32)
    assert found.ids() == [item.id for item in ITEMS]
    for rows in (
        slice(0, 10),
        slice(1, 3),
        slice(3, 9),
        slice(4, 8),
        slice(-2, None),
        slice(7, 2),
        slice(0, 9, 3),
    ):
        np.testing.assert_array_equal(found[rows], ROWS[rows])
    np.testing.assert_array_equal(found.take(np.array([9, 0, 4, 4])), ROWS[[9, 0, 4, 4]])
    np.testing.assert_array_equal(np.concatenate(list(found.blocks(3))), ROWS)
    with pytest.raises(IndexError, match="0 to 9"):
        found.take(np.array([10]))


def test_a_range_within_a_shard_is_not_copied(tmp_path: Path) -> None:
    filled(tmp_path, made_of()).seal(made_of())
    part = open_features(tmp_path)[4:8]
    assert isinstance(part, np.memmap)
    assert not part.flags.writeable


@pytest.mark.parametrize("shard_rows", [3, 100])
def test_one_memory_map_over_all_shards(tmp_path: Path, shard_rows: int) -> None:
    made = made_of(shard_rows=shard_rows)
    filled(tmp_path, made).seal(made)
    for _ in range(2):
        whole = open_features(tmp_path).memory_map()
        assert isinstance(whole, np.memmap)
        np.testing.assert_array_equal(whole, ROWS)
    assert (tmp_path / "vectors.npy").exists() == (shard_rows == 3)
    if shard_rows == 3:
        np.testing.assert_array_equal(np.load(tmp_path / "vectors.npy"), ROWS)


def test_shards_of_a_killed_run_are_reused(tmp_path: Path) -> None:
    made = made_of()
    folder = ShardFolder(tmp_path / "broken")
    folder.write_items(ITEMS)
    folder.write(1, ROWS[4:8])
    (folder.path / "shard-00000.npy.0123.partial").write_bytes(b"half")  # killed while it wrote
    np.save(folder.path / "shard-00002.npy", ROWS[8:])  # killed before it wrote the note
    assert folder.missing_shards(made) == [0, 2]
    filled(folder.path, made).seal(made)
    filled(tmp_path / "whole", made).seal(made)
    assert contents(folder.path) == contents(tmp_path / "whole")


def test_truncated_shard_is_remade_and_never_sealed(tmp_path: Path) -> None:
    made, path = made_of(), tmp_path / "shard-00001.npy"
    folder = filled(tmp_path, made)
    folder.seal(made)
    for torn in (path.read_bytes()[:-3], path.read_bytes()[:-1] + b"\x7f", b""):
        path.write_bytes(torn)
        assert folder.missing_shards(made) == [1]
        with pytest.raises(InvalidInput, match=r"shard-00001\.npy: is damaged"):
            open_features(tmp_path)
        with pytest.raises(InvalidInput, match="1 shards are missing"):
            folder.seal(made)
        filled(tmp_path, made)
        np.testing.assert_array_equal(open_features(tmp_path)[:], ROWS)


def test_shard_of_another_length_is_ignored(tmp_path: Path) -> None:
    folder = ShardFolder(tmp_path)
    folder.write(0, ROWS[:3])
    assert folder.missing_shards(made_of()) == [0, 1, 2]


def test_sealing_again_removes_the_earlier_joined_file(tmp_path: Path) -> None:
    made = made_of()
    filled(tmp_path, made).seal(made)
    open_features(tmp_path).memory_map()
    for path in tmp_path.glob("shard-*"):
        path.unlink()
    filled(tmp_path, made, -ROWS).seal(made)
    np.testing.assert_array_equal(open_features(tmp_path).memory_map(), -ROWS)


def test_another_manifest_than_the_sealed_one_is_refused(tmp_path: Path) -> None:
    filled(tmp_path, made_of()).seal(made_of())
    with pytest.raises(InvalidInput, match="is not the sealed manifest"):
        open_features(tmp_path, manifest_sha256="0" * 64)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InvalidInput, match="format None"):
        open_features(tmp_path)
    with pytest.raises(InvalidInput, match="is not a complete feature set"):
        open_features(tmp_path / "nowhere")


@pytest.mark.parametrize("rows", [ROWS[0], np.full((2, 3), np.nan), np.array([[1.0, np.inf]])])
def test_invalid_rows_are_refused(tmp_path: Path, rows: NDArray[np.floating]) -> None:
    with pytest.raises(InvalidInput, match="shard 7: the encoder did not return a finite vector"):
        ShardFolder(tmp_path).write(7, rows)
    assert not list(tmp_path.iterdir())
