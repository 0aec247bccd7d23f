"""Keys of providers: read from the environment, and blanked in whatever is stored, logged or raised.

A server may repeat a key in an error, and the library puts that into its message and body. So every reply, error and
log line passes through ``blank_keys``. Keys are in no row, no file and no job's arguments.
"""

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from curation.records import InvalidInput

CHAT_KEY, IMAGES_KEY = "CHAT_API_KEY", "IMAGES_API_KEY"
KEY_VARIABLES = (CHAT_KEY, IMAGES_KEY)
BLANK = "[key]"
MIN_KEY_LENGTH = 6  # a shorter one, such as "none", occurs in ordinary replies, so that it cannot be blanked
_keys_of_this_process: set[str] = set()
_PERCENT_CODE_PATTERN = re.compile(r"%[0-9A-F]{2}")  # its digits may be large or small
_MIN_HIDDEN_LENGTH = 12  # shorter keys are not searched for inside of other base64 texts
# The look-behind makes the search linear in a long run of letters, such as an image in base64.
_MASKED_PATTERN = re.compile(r"(?<![\w.~+/-])([\w.~+/-]{3,200}?)(?:\*{3,}|\.{3,}|…)[\w.~+/=-]{0,8}")


def read_key(variable: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the key in a variable, else that in the file that ``<variable>_FILE`` names; empty if neither is set.

    Raises:
        InvalidInput: the file cannot be read or is empty, or the key could not be sent or blanked.
    """
    key = environment.get(variable, "").strip()
    if not key and (path := environment.get(f"{variable}_FILE", "").strip()):
        key = _read_key_file(f"{variable}_FILE", Path(path))
    if key and (len(key) < MIN_KEY_LENGTH or not key.isascii() or not key.isprintable() or " " in key):
        raise InvalidInput(
            f"{variable}: is no key; give at least {MIN_KEY_LENGTH} ASCII characters without spaces, as the provider "
            "shows them, or unset it for a server without keys"
        )
    if key:
        _keys_of_this_process.add(key)
    return key


def known_keys(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the keys of all providers that can be read now, and those that this process read before."""
    found = sorted(_keys_of_this_process)
    for variable in KEY_VARIABLES:
        try:
            found.append(read_key(variable, environment))
        except InvalidInput:
            continue
    return tuple(dict.fromkeys(key for key in found if key))


def blank_keys(content: Any, keys: Iterable[str] | None = None) -> Any:
    """Return a text, or the texts of a JSON value with its names, in which no key is left.

    A key is found as it is, percent-encoded, in base64 (also as a part of a longer text, such as ``user:key``), with
    JSON's escapes, and shortened with asterisks. Other values are returned unchanged.

    Args:
        content: not nested deeply, such as what ``storable_json`` returns.
        keys: those to blank; by default those of ``known_keys``.
    """
    pattern, texts = _compile(tuple(sorted(set(known_keys() if keys is None else keys))))
    return content if pattern is None else _blank(content, pattern, texts)


def _blank(content: Any, pattern: re.Pattern[str], keys: tuple[str, ...]) -> Any:
    if isinstance(content, str):
        return _MASKED_PATTERN.sub(lambda match: _blank_masked(match, keys), pattern.sub(BLANK, content))
    if isinstance(content, Mapping):
        return {_blank(name, pattern, keys): _blank(value, pattern, keys) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_blank(value, pattern, keys) for value in content]
    return content


def _blank_masked(match: re.Match[str], keys: tuple[str, ...]) -> str:
    """Blank a key that the server shortened: its first characters, then asterisks."""
    return BLANK if any(key.startswith(match[1]) for key in keys) else match[0]


@lru_cache(maxsize=16)
def _compile(keys: tuple[str, ...]) -> tuple[re.Pattern[str] | None, tuple[str, ...]]:
    forms = {form for key in keys for form in _forms(key)}
    if not forms:
        return None, ()
    longest_first = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))), keys


def _forms(key: str) -> set[str]:
    escaped = json.dumps(key)[1:-1]
    forms = {key, quote(key, safe=""), quote(key), quote_plus(key), escaped, html.escape(key)}
    forms |= {text.replace("/", r"\/") for text in (key, escaped)}
    forms |= {_PERCENT_CODE_PATTERN.sub(lambda code: code[0].lower(), text) for text in forms}
    forms |= _base64_forms(key.encode())
    return {form for form in forms if form}


def _base64_forms(key: bytes) -> set[str]:
    """Return the key in base64, and what base64 makes of it behind one or two other bytes."""
    forms = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        forms.add(encode(key).decode())
        forms.add(encode(key).decode().rstrip("="))
        if len(key) < _MIN_HIDDEN_LENGTH:
            continue
        for before in range(3):
            text = encode(bytes(before) + key).decode().rstrip("=")
            # Characters at both ends also hold bits of the neighbours.
            start = -(-before * 8 // 6)
            end = (before + len(key)) * 8 // 6
            forms.add(text[start:end])
    return forms


def _read_key_file(variable: str, path: Path) -> str:
    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no text"
        raise InvalidInput(
            f"{variable}={str(path)!r} cannot be read ({reason}); give a file with the key"
        ) from None
    if not key:
        raise InvalidInput(f"{variable}={str(path)!r} is empty; write the key into it")
    return key
