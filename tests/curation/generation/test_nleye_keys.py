"""Keys are read from the environment and blanked everywhere else."""

import base64
import json
import re
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from curation.generation.errors import MAX_MESSAGE_LENGTH, BadReply, Permanent
from curation.generation.keys import BLANK, blank_keys, known_keys, read_key
from curation.records import InvalidInput

KEY = 'sk-te/st"01+23=456&xyz'


def shown(text: str) -> bool:
    """Return whether a text shows a part of the key."""
    return any(KEY[start : start + 6] in text for start in range(len(KEY) - 5))


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        f"Bearer {KEY}",
        f"Incorrect key: '{KEY}'.",
        quote(KEY, safe=""),
        re.sub("%..", lambda code: code[0].lower(), quote(KEY, safe="")),
        json.dumps(KEY),
        json.dumps({"a": KEY}).replace("/", "\\/"),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        *(base64.b64encode(f"{'u' * n}:{KEY}".encode()).decode() for n in range(1, 4)),
        *(base64.urlsafe_b64encode(f"{'u' * n}:{KEY};more".encode()).decode() for n in range(1, 4)),
        f"Incorrect API key provided: {KEY[:8]}*******{KEY[-4:]}.",
        f"key {KEY[:5]}...xyz",
    ],
)
def test_every_form_of_a_key_is_blanked(form: str) -> None:
    found = blank_keys({"text": f"before {form} after", form: [form, 3, None]}, [KEY])
    written = json.dumps(found)
    assert BLANK in found["text"]
    assert found["text"].startswith("before ")
    assert found["text"].endswith(" after")
    for part in written.replace('"', " ").replace("=", " ").split():
        padded = part + "=" * (-len(part) % 4)
        for decode in (base64.b64decode, base64.urlsafe_b64decode):
            try:
                assert not shown(decode(padded).decode("latin-1"))
            except ValueError:
                continue
    assert not shown(written)
    assert KEY[:5] not in written


def test_other_texts_and_values_stay_as_they_are() -> None:
    content = {"a": ["sk-other***xyz", "wait…", 1, 2.5, True, None], "b": "skip... and more"}
    assert blank_keys(content, [KEY]) == content
    assert blank_keys("x", []) == "x"


def test_a_long_text_is_searched_in_linear_time() -> None:
    started = time.process_time()
    assert blank_keys("A" * 2_000_000, [KEY]) == "A" * 2_000_000
    assert time.process_time() - started < 2.0


def test_a_key_comes_from_the_variable_or_its_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    assert read_key("CHAT_API_KEY", {}) == ""
    assert read_key("CHAT_API_KEY", {"CHAT_API_KEY": f" {KEY} "}) == KEY
    assert read_key("CHAT_API_KEY", {"CHAT_API_KEY_FILE": str(file)}) == KEY
    environment = {"CHAT_API_KEY": "first-key", "CHAT_API_KEY_FILE": str(file), "IMAGES_API_KEY": KEY}
    assert {"first-key", KEY} <= set(known_keys(environment))
    assert blank_keys("so first-key is read") == "so [key] is read", (
        "a key is blanked although it is in no variable"
    )


def test_an_unusable_key_is_refused_without_showing_it(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text(" \n")
    for environment, message in (
        ({"CHAT_API_KEY_FILE": str(tmp_path / "none")}, "CHAT_API_KEY_FILE=.*cannot be read"),
        ({"CHAT_API_KEY_FILE": str(empty)}, "is empty; write the key into it"),
        ({"CHAT_API_KEY": "none"}, "CHAT_API_KEY: is no key.*unset it for a server without keys"),
        ({"CHAT_API_KEY": "two words of a key"}, "CHAT_API_KEY: is no key"),
        ({"CHAT_API_KEY": "line\nbreak-in-it"}, "CHAT_API_KEY: is no key"),
        ({"CHAT_API_KEY": "schlüssel-lang"}, "CHAT_API_KEY: is no key"),
    ):
        with pytest.raises(InvalidInput, match=message) as caught:
            read_key("CHAT_API_KEY", environment)
        assert "words of" not in str(caught.value)


def test_errors_of_calls_are_one_short_line_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGES_API_KEY", KEY)
    error = Permanent(f"server says:\n  {KEY} " + "x" * 2000, raw={"error": [f"Bearer {KEY}"]})
    assert str(error).startswith(f"server says: {BLANK} xxx")
    assert len(str(error)) == MAX_MESSAGE_LENGTH
    assert error.raw == {"error": [f"Bearer {BLANK}"]}
    assert error.may_cost is False
    assert BadReply("cut").may_cost is True
    assert BadReply("cut", may_cost=False).may_cost is False
