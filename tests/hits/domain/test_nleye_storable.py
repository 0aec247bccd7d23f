"""What a foreign server sends is stored by every database, and what can be stored already is left as it is."""

import json
from typing import Any

import pytest

from hits.domain.storable import MAX_DEPTH, TOO_DEEP, storable_json, storable_text


def nested(levels: int) -> Any:
    """Return a number in so many lists."""
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("half \ud83d, whole \U0001f600, nul \x00", "half \ufffd, whole \U0001f600, nul \ufffd"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**63 - 1, 2**63 - 1),
        (-(2**63) + 1, -(2**63) + 1),
        (2**63, "9223372036854775808"),
        (10**23, "1" + "0" * 23),
        (2**10_000, "[integer of 10001 bits]"),
        ({"a\x00": ({"b": float("inf")},)}, {"a\ufffd": [{"b": "inf"}]}),
        ([True, None, 1.5, "x\n\ty", {}, []], [True, None, 1.5, "x\n\ty", {}, []]),
        ({1: b"bytes"}, {"1": "b'bytes'"}),
        (nested(MAX_DEPTH), nested(MAX_DEPTH)),
    ],
)
def test_values(value: Any, stored: Any) -> None:
    found = storable_json(value)
    assert found == stored
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    json.dumps(found, ensure_ascii=False).encode()


def test_endless_nesting_becomes_a_text() -> None:
    found = storable_json(json.loads("[" * 900 + "]" * 900))
    for _ in range(MAX_DEPTH - 1):
        (found,) = found
    assert found == [TOO_DEEP]
    assert storable_text("as it is") == "as it is"
