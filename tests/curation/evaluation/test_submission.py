"""Submissions: the published layout is scored, and every defect has a message with its fix."""

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.evaluation.submission import (
    Submission,
    max_submission_bytes,
    read_submission,
    score_submission,
)
from curation.evaluation.submission_zip import ZIP_NAME
from curation.records import InvalidInput

FOLDER = "test_set_predictions"
Files = dict[str, bytes]


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Keys of two images in each task: four candidates, a square of two and two proposed boxes, two chunks of two."""
    keys: dict[str, Any] = {
        "comparison/test_comparison": {
            "test_id_map": {f"c{n}": {"Input_iid": "one", "candidate": str(n)} for n in range(4)},
            "annotations": [
                {
                    "Input_iid": "one",
                    "candidates": [
                        {"source_iid": str(n), "annot1": 1 + n % 3, "annot2": 1} for n in range(4)
                    ],
                }
            ],
        },
        "localization/test_localization": {
            f"g{i}{j}": {"type": "gt", "image": "x", "inst_id": str(j), "bbox_idx": i, "correct": i == j}
            for i in range(2)
            for j in range(2)
        }
        | {
            f"a{j}{n}": {"type": "auto", "image": "x", "inst_id": str(j), "IoU": 0.4 + 0.2 * n}
            for j in range(2)
            for n in range(2)
        },
    }
    for chunk in range(2):
        keys[f"retrieval/test_retrieval_{chunk}"] = {
            f"r{chunk}{i}{j}": [f"{chunk}{i}", f"{chunk}{j}"] for i in range(2) for j in range(2)
        }
    for stem, key in keys.items():
        path = tmp_path / "held" / f"test_{stem}_answer_key.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(key))
    return tmp_path / "held"


EXPECTED = {"comparison": 4, "localization": 8, "retrieval_0": 4, "retrieval_1": 4}


def npy(array: Any, dtype: Any = np.float32) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array, dtype=dtype), allow_pickle=True)
    return file.getvalue()


def whole(**more: bytes | None) -> Files:
    files = {f"{FOLDER}/{name}.npy": npy(np.arange(count)) for name, count in EXPECTED.items()}
    for name, data in more.items():
        if data is None:
            files.pop(f"{FOLDER}/{name}.npy")
        else:
            files[f"{FOLDER}/{name}.npy"] = data
    return files


def zipped(folder: Path, files: Files, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "upload.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def read(tmp_path: Path, held: Path) -> Callable[..., Submission]:
    def of(files: Files | bytes, *, name: str = ZIP_NAME, expected: Any = EXPECTED) -> Submission:
        if isinstance(files, bytes):
            path = tmp_path / "upload.zip"
            path.write_bytes(files)
        else:
            path = zipped(tmp_path, files)
        return read_submission(path, file_name=name, expected=expected, keys=held)

    return of


Read = Callable[..., Submission]


def defect(read: Read, files: Files | bytes, **more: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        read(files, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_complete_submission_scores_are_reproducible(read: Read, held: Path) -> None:
    found = read(whole())
    assert found.notes == ()
    figures = score_submission(found, held, rng=np.random.default_rng(5))
    assert figures == score_submission(read(whole()), held, rng=np.random.default_rng(5))
    assert set(figures) == {"comparison", "localization", "retrieval"}
    assert figures["retrieval"]["instances"] == 4
    assert figures["retrieval"]["chunks"] == 2
    # Scores 0, 1, 2, 3 in sorted order: of the pairs (00, 01, 10, 11) only the second image's own one is its best.
    assert figures["retrieval"]["p_at_1"]["value"] == 50
    assert figures["retrieval"]["im2txt"]["value"] == 1.5
    assert figures["localization"]["auto_accuracy"]["value"] == 100
    assert figures["comparison"]["images"] == 1


def test_comparison_alone_is_enough_and_its_figures_stay_the_same(read: Read, held: Path) -> None:
    alone = read({f"{FOLDER}/comparison.npy": npy(range(4))})
    figures = score_submission(alone, held, rng=np.random.default_rng(5))
    assert set(figures) == {"comparison"}
    assert figures == {
        "comparison": score_submission(read(whole()), held, rng=np.random.default_rng(5))["comparison"]
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float32_and_float64_are_accepted(read: Read, dtype: Any) -> None:
    found = read(whole(comparison=npy([1, 2, 3, 4], dtype)))
    assert found.scores["comparison"].tolist() == [1, 2, 3, 4]


def test_json_by_id_is_accepted_and_sorted(read: Read) -> None:
    files = whole(comparison=None)
    files[f"{FOLDER}/comparison.json"] = json.dumps({f"c{n}": -n for n in reversed(range(4))}).encode()
    assert read(files).scores["comparison"].tolist() == [0, -1, -2, -3]


def test_readme_folder_name_is_accepted_with_a_note(read: Read) -> None:
    files = {name.replace(FOLDER, "test_set_submission"): data for name, data in whole().items()}
    assert "README" in read(files, name="test_set_submission.zip").notes[0]
    assert read(whole(), name="test_set_submission.zip").notes
    assert read(whole(), name="test_set_predictions (1).zip").notes == ()


def test_desktop_metadata_files_are_ignored(read: Read) -> None:
    noise = {
        f"__MACOSX/{FOLDER}/._comparison.npy": b"x",
        f"{FOLDER}/.DS_Store": b"x",
        f"{FOLDER}/": b"",
        "Thumbs.db": b"x",
    }
    assert set(read(whole() | noise).scores) == set(EXPECTED)


@pytest.mark.parametrize(
    ("files", "more", "words"),
    [
        (whole(), {"name": "mine.zip"}, "mine.zip: is not called test_set_predictions.zip; rename it"),
        (whole(), {"name": "../../etc/passwd"}, "passwd: is not called"),
        (b"PK but no zip", {}, "is not a complete zip file"),
        (b"", {}, "is not a complete zip file"),
        ({}, {}, "comparison.npy: is missing"),
        (whole(comparison=None), {}, "comparison.npy: is missing; every submission needs it"),
        (whole(retrieval_1=None), {}, "'retrieval_1.npy' missing of 2 retrieval files; include all or none"),
        ({"comparison.npy": npy(range(4))}, {}, "comparison.npy: is not in a folder; zip the folder"),
        (
            {f"{FOLDER}/{FOLDER}/comparison.npy": npy(range(4))},
            {},
            "is 2 folders deep instead of one",
        ),
        ({"predictions/comparison.npy": npy(range(4))}, {}, "the folder is called predictions; rename it"),
        ({f"../{FOLDER}/comparison.npy": b""}, {}, "is outside of the zip's folder"),
        ({f"/{FOLDER}/comparison.npy": b""}, {}, "is outside of the zip's folder"),
        ({f"C:/{FOLDER}/comparison.npy": b""}, {}, "is outside of the zip's folder"),
        (whole(comparision=npy(range(4))), {}, "rename it to comparison.npy"),
        (whole() | {f"{FOLDER}/notes.txt": b"hello"}, {}, "is not a file of this leaderboard's submissions"),
        (whole() | {f"{FOLDER}/comparison.csv": b"1,2"}, {}, "is not a .npy file; save it with numpy.save"),
        (whole() | {f"{FOLDER}/comparison.json": b"{}"}, {}, "keep one of the two"),
        (
            whole() | {"test_set_submission/localization.npy": npy(range(8))},
            {},
            "localization.npy is included too; keep one",
        ),
        (whole(retrieval_23=npy([1])), {}, "retrieval_23.npy: is not a file of this leaderboard's"),
        (whole(comparison=npy(range(3))), {}, "3 scores instead of 4: 1 missing"),
        (whole(comparison=npy(range(5))), {}, "5 scores instead of 4: 1 too many"),
        (whole(localization=npy(range(30))), {}, "30 scores instead of 8; is it the file of another"),
        (whole(comparison=npy(np.ones((4, 1)))), {}, "have shape (4, 1) instead of one dimension"),
        (whole(comparison=npy(4.0)), {}, "have shape () instead of one dimension"),
        (whole(comparison=npy([1, 2, 3, 4], np.int64)), {}, "scores are int64 instead of float32 or float64"),
        (whole(comparison=npy([1, 2, 3, 4], np.float16)), {}, "scores are float16"),
        (whole(comparison=npy([1, 2, 3, 4], ">f4")), {}, "scores are big-endian (>f4)"),
        (
            whole(comparison=npy([{"a": 1}] * 4, object)),
            {},
            "contains pickled objects, which are never loaded",
        ),
        (whole(comparison=b"1 2 3 4"), {}, "is not a plain .npy array; write it with numpy.save"),
        (whole(comparison=b""), {}, "is not a plain .npy array"),
        (whole(comparison=b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000), {}, "is not a plain .npy array"),
        (whole() | {f"{FOLDER}/a\nb.npy": npy(range(4))}, {}, "has unprintable characters"),
        (whole(comparison=npy(range(4))[:-3]), {}, "the file is truncated or damaged: save it again"),
        (whole(comparison=npy(range(4)) + b"more"), {}, "the file is truncated or damaged"),
        (
            whole(comparison=npy([1, np.nan, np.inf, np.nan])),
            {},
            "2 NaN and 1 infinite of 4 scores, the first at position 1 (counted from 0)",
        ),
    ],
)
def test_each_defect_has_its_message(read: Read, files: Any, more: Any, words: str) -> None:
    assert words in defect(read, files, **more)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"c0": 1, "c1": 2, "c2": 3}, "no score for 'c3'"),
        ({"c0": 1, "c1": 2, "c2": 3, "c3": 4, "zz": 5}, "'zz' not in the answer key"),
        ({"c0": 1, "c1": 2, "c2": 3, "c3": "high"}, "the score of 'c3' is not a number"),
        ([1, 2, 3, 4], "must be a JSON object"),
    ],
)
def test_json_names_the_ids(read: Read, scores: Any, words: str) -> None:
    files = {f"{FOLDER}/comparison.json": json.dumps(scores).encode()}
    message = defect(read, files)
    assert words in message
    assert message.startswith(f"{FOLDER}/comparison.json: ")


def test_json_with_nan_repeated_key_or_truncation_is_refused(read: Read) -> None:
    for text, words in (
        (b'{"c0": NaN, "c1": 1, "c2": 1, "c3": 1}', "NaN or infinite score for 'c0'"),
        (b'{"c0": 1, "c0": 1, "c2": 1, "c3": 1}', "repeated: 'c0'"),
        (b'{"c0": 1, ', "not valid JSON"),
        (b'{"c0": ' + b"9" * 5000 + b"}", "comparison.json: not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
    ):
        assert words in defect(read, {f"{FOLDER}/comparison.json": text})


def test_zip_bomb_is_refused_by_declared_and_real_size(read: Read, tmp_path: Path) -> None:
    bomb = whole(comparison=npy(np.zeros(10_000_000)))
    assert "bytes unpacked, but its scores need at most" in defect(read, bomb)
    path = zipped(tmp_path, bomb)
    data = bytearray(path.read_bytes())
    lying = 200  # the size that both headers now state
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{FOLDER}/comparison.npy")
    struct.pack_into("<I", data, info.header_offset + 22, lying)
    central = data.index(b"PK\x01\x02")
    while data[central + 46 : central + 46 + len(info.filename)] != info.filename.encode():
        central = data.index(b"PK\x01\x02", central + 4)
    struct.pack_into("<I", data, central + 24, lying)
    message = defect(read, bytes(data))
    assert "zip" in message or "npy" in message


def test_oversized_npy_header_allocates_nothing(read: Read) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"
    header += b" " * (118 - len(header) - 1) + b"\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    assert "1000000000000 scores instead of 4" in defect(read, whole(comparison=data))


def test_encrypted_and_damaged_zips_are_refused(read: Read, tmp_path: Path) -> None:
    path = zipped(tmp_path, whole())
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    assert "is encrypted; zip the folder without a password" in defect(read, bytes(data))
    data = bytearray(zipped(tmp_path, whole(), zipfile.ZIP_STORED).read_bytes())
    data[data.index(b"NUMPY") + 130] ^= 0xFF
    assert "zip" in defect(read, bytes(data))


def test_oversized_upload_is_not_opened(read: Read) -> None:
    assert "more than all scores need" in defect(read, b"x" * (max_submission_bytes(EXPECTED) + 1))


def test_zip_with_hundreds_of_files_is_refused(read: Read) -> None:
    many = {f"{FOLDER}/{n}.npy": b"" for n in range(600)}
    assert "contains 600 files" in defect(read, many, expected={"comparison": 100_000})


def test_arbitrary_damage_is_refused_in_one_line(read: Read, tmp_path: Path) -> None:
    """Whatever is changed in a zip, it is read whole or refused in one line."""
    rng = np.random.default_rng(0)
    lines: list[str] = []
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        data = zipped(tmp_path, whole(), compression).read_bytes()
        for _ in range(300):
            broken = bytearray(data)
            for place in rng.integers(0, len(data), rng.integers(1, 4)):
                broken[place] = rng.integers(0, 256)
            if rng.random() < 0.2:
                broken = broken[: rng.integers(0, len(data))]
            try:
                found = read(bytes(broken))
                assert all(np.isfinite(values).all() for values in found.scores.values())
            except InvalidInput as error:
                lines.append(str(error))
    assert len(lines) > 300
    assert not any("\n" in line for line in lines)


def test_comparison_is_optional_without_comparison_on_the_leaderboard(read: Read) -> None:
    expected = {"retrieval_0": 4, "retrieval_1": 4}
    files = {f"{FOLDER}/retrieval_{n}.npy": npy(range(4)) for n in range(2)}
    assert set(read(files, expected=expected).scores) == set(expected)
    assert "contains no predictions; add 'retrieval_0'" in defect(read, {}, expected=expected)
    assert "comparison.npy: is not a file of this leaderboard's" in defect(read, whole(), expected=expected)


def test_missing_answer_key_is_named(read: Read, held: Path) -> None:
    found = read(whole())
    (held / "test_comparison" / "test_comparison_answer_key.json").unlink()
    with pytest.raises(InvalidInput, match="holds 0 answer keys for comparison"):
        score_submission(found, held, rng=np.random.default_rng(0))
