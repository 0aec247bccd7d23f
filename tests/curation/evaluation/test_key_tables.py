"""Retrieval keys read as tables equal the same keys read as JSON."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.evaluation.inputs import read_answer_key, sorted_order
from curation.evaluation.key_tables import PairTable, parse_pair_table, sorted_positions
from curation.evaluation.retrieval import parse_retrieval_key
from curation.records import InvalidInput


def digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def square(n: int) -> dict[str, list[str]]:
    return {digits(f"{i}/{j}"): [digits(f"i{i}"), digits(f"i{j}")] for i in range(n) for j in range(n)}


LAYOUTS: list[dict[str, Any]] = [{}, {"indent": 1}, {"separators": (",", ":")}, {"sort_keys": True}]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("ending", ["", "\n", " \n"])
def test_common_layouts_are_read_as_a_table(tmp_path: Path, layout: dict[str, Any], ending: str) -> None:
    raw = square(7)
    path = tmp_path / "key.json"
    path.write_text(json.dumps(raw, **layout) + ending)
    table = read_answer_key(path)
    assert isinstance(table, PairTable)
    assert dict(table) == raw
    assert len(table) == 49
    key, plain = parse_retrieval_key(table), parse_retrieval_key(raw)
    assert key.ids == plain.ids
    names = list(key.test_ids)
    place = {name: at for at, name in enumerate(plain.test_ids)}
    again = [place[name] for name in names]
    assert (key.rows == plain.rows[again]).all()
    assert (key.columns == plain.columns[again]).all()
    assert sorted_order(key.test_ids).tolist() == sorted_order(names).tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('": [', '":  [', 1),
        lambda text: text.replace("0", "\\u0030", 1),
        lambda text: text.replace("a", "ä", 1),
        lambda text: text[:-1] + ', "short": ["x", "y"]}',
        lambda text: text[:-1],
        lambda text: text[:-1] + ",}",
        lambda text: text + "{}",
        lambda text: "[" + text + "]",
        lambda text: text.replace("]", "}", 1),
        lambda text: "\v" + text,  # space to a regular expression, none to JSON
        lambda text: text.replace(", ", ",\f"),
        lambda text: text + "\v",
    ],
)
def test_layout_that_differs_in_a_byte_is_not_a_table(change: Any) -> None:
    assert parse_pair_table(change(json.dumps(square(3))).encode()) is None


def test_repeated_test_id_is_left_to_the_json_reader(tmp_path: Path) -> None:
    text = json.dumps(square(3))
    once = next(iter(square(3)))
    path = tmp_path / "key.json"
    path.write_text(f'{text[:-1]}, "{once}": ["{digits("i0")}", "{digits("i1")}"]}}')
    assert parse_pair_table(path.read_bytes()) is None
    with pytest.raises(InvalidInput, match="keep one entry for each"):
        read_answer_key(path)


def test_table_errors_equal_json_errors(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    gap = square(3)
    gap.pop(digits("1/2"))
    twice = square(3)
    twice[digits("1/2")] = twice[digits("1/1")]
    foreign = square(3)
    foreign[digits("1/2")] = [digits("i1"), digits("nobody")]
    for raw in (gap, twice, foreign):
        path.write_text(json.dumps(raw))
        assert isinstance(read_answer_key(path), PairTable)
        with pytest.raises(InvalidInput) as reported:
            parse_retrieval_key(read_answer_key(path))
        with pytest.raises(InvalidInput) as plain:
            parse_retrieval_key(raw)
        assert str(reported.value) == str(plain.value)


def test_ids_with_a_common_prefix_are_distinguished(tmp_path: Path) -> None:
    names = [f"instance-{n:04}" for n in range(5)]
    raw = {f"test-id-{i}-{j}": [names[i], names[j]] for i in range(5) for j in range(5)}
    path = tmp_path / "key.json"
    path.write_text(json.dumps(raw))
    table = read_answer_key(path)
    assert isinstance(table, PairTable)
    assert table.instance_positions() is None  # their first eight letters are equal
    assert parse_retrieval_key(table).ids == tuple(names)
    assert [table.test_ids[place] for place in table.test_ids.order.tolist()] == sorted(raw)


def test_ids_with_a_common_prefix_are_sorted() -> None:
    rng = np.random.default_rng(0)
    ids = [digits(str(n)) for n in range(3000)]
    for place in range(0, 20, 2):  # pairs and one run of three, far below a hundredth
        ids[place + 1] = ids[place][:8] + digits(f"more {place}")[8:]
    ids[40] = ids[0][:8] + "0" * 24
    mixed = np.array(ids, dtype=np.bytes_)[rng.permutation(len(ids))]
    assert mixed[sorted_positions(mixed)].tolist() == sorted(mixed.tolist())


LETTERS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=8, max_size=9)


@given(st.dictionaries(LETTERS, st.tuples(LETTERS, LETTERS), max_size=6), st.sampled_from([None, 1]))
def test_table_equals_json(raw: dict[str, tuple[str, str]], indent: int | None) -> None:
    text = json.dumps(raw, indent=indent)
    table = parse_pair_table(text.encode())
    assert table is None or dict(table) == json.loads(text)


@given(st.binary(max_size=80))
def test_arbitrary_bytes_raise_no_other_error(data: bytes) -> None:
    start = json.dumps(square(2)).encode()
    for text in (data, start[:-1] + data, data + start, start.replace(b"a", data)):
        table = parse_pair_table(text)
        assert table is None or dict(table) == json.loads(text)
