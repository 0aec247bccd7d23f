"""Made-up values for a JSON schema, computed from hashes of a request."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from curation.generation.chat import ChatImage, ChatRequest, request_sha256
from curation.records import InvalidInput

_MAX_DEPTH = 20
_LABELLED_PATTERN = re.compile(r"^\s*[-*]?\s*([A-Za-z][\w ]{0,40}?)\s*:\s+(\S.*)$")
_FIRST, _SECOND = "1", "2"
_POSITIONS = 2
_FOLLOWS_ITS_TASTE = 2 / 3  # of the choices between two positions
# Keywords that would need another value than the one that is made up here.
_UNSUPPORTED = ("pattern", "multipleOf", "uniqueItems", "allOf", "not", "if", "patternProperties", "contains")
_DESCRIPTIONS = (
    "A person stands beside a table with a few things on it.",
    "Two people are talking in a room with a large window.",
    "A street with a parked car and a tree.",
    "A child holds something small in both hands.",
    "A table with a cup and an open book.",
    "An empty room with a chair and a lamp.",
)
_COMPONENTS = (
    "a red umbrella",
    "a wooden chair",
    "a blue cup",
    "a small dog",
    "an open window",
    "a paper bag",
)
_SETTINGS = (
    "in a bright kitchen in the morning",
    "on a quiet street in the afternoon",
    "in a small office with one window",
    "in a park under tall trees",
    "in a living room with a wooden floor",
    "in front of a row of shops",
)


class CannedValues:
    """Values that depend on the request alone, and are valid for its schema."""

    def __init__(self, request: ChatRequest, sentences: Sequence[str]) -> None:
        self._request = request
        self._sentences = sentences
        self._hash = request_sha256(request)
        self._labelled = _labelled_texts(request)

    def value(self, schema: Mapping[str, Any]) -> Any:
        """Return a value that is valid for a JSON schema.

        Raises:
            InvalidInput: the schema refers to itself without end, or to a definition that it does not have.
        """
        return self._value(schema, schema, "reply", 0)

    def sentence(self, path: str) -> str:
        """Return one of the sentences."""
        return self._sentences[self._number(path, len(self._sentences))]

    def _value(self, schema: Mapping[str, Any], root: Mapping[str, Any], path: str, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise InvalidInput(f"schema: {path} refers to itself without end; give a schema with an end")
        schema = _resolve(schema, root)
        unsupported = [name for name in _UNSUPPORTED if name in schema]
        if unsupported:
            raise InvalidInput(
                f"schema: {path} has {unsupported[0]}, for which canned makes up no value; leave it out"
            )
        for name in ("anyOf", "oneOf"):
            if schema.get(name):
                choices = schema[name]
                return self._value(choices[self._number(path, len(choices))], root, path, depth + 1)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._choice(path, list(schema["enum"]))
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = kind[self._number(path, len(kind))]
        if kind == "object":
            properties = schema.get("properties", {})
            return {name: self._value(properties[name], root, name, depth + 1) for name in properties}
        if kind == "array":
            return self._array(schema, root, path, depth)
        return self._plain(kind, schema, path)

    def _plain(self, kind: str, schema: Mapping[str, Any], path: str) -> Any:
        if kind == "integer":
            low = int(schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1))
            high = int(schema.get("maximum", schema.get("exclusiveMaximum", low + 10) - 1))
            if (low, high) == (1, _POSITIONS):
                return self._choice(path, [1, 2])
            return low + self._number(path, max(1, high - low + 1))
        if kind == "number":
            least, most = float(schema.get("minimum", 0)), float(schema.get("maximum", 1))
            return least + (most - least) * self._number(path, 101) / 100
        if kind == "boolean":
            return bool(self._number(path, 2))
        if kind == "null":
            return None
        return self._text(schema, path)

    def _array(self, schema: Mapping[str, Any], root: Mapping[str, Any], path: str, depth: int) -> list[Any]:
        least = int(schema.get("minItems", 0))
        most = int(schema.get("maxItems", max(least, 2)))
        count = least + self._number(f"{path} count", most - least + 1)
        items = schema.get("items", {"type": "string"})
        return [self._value(items, root, f"{path} {number}", depth + 1) for number in range(count)]

    def _text(self, schema: Mapping[str, Any], path: str) -> str:
        """Return a text that the request gives under the property's name, with a setting; else a sentence."""
        text = self._wording(_plain_label(path))
        least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
        if len(text) < least:
            text = (text + " ") * (least // (len(text) + 1) + 1)
        return text if most is None else text[: int(most)]

    def _wording(self, name: str) -> str:
        setting = _SETTINGS[int(self._shared_hash("setting"), 16) % len(_SETTINGS)]
        if name in self._labelled:
            return f"{self._labelled[name].rstrip(' .')}, {setting}"
        if name in {"environment", "setting"}:
            return setting
        if name.startswith("component"):
            return _COMPONENTS[self._number(name, len(_COMPONENTS))]
        if name in {"description", "caption"}:
            return _DESCRIPTIONS[self._number(name, len(_DESCRIPTIONS))]
        return self.sentence(name)

    def _choice(self, path: str, options: list[Any]) -> Any:
        """Return one of the options. Between positions, it follows a taste for content in two thirds of the requests.

        The taste belongs to the images, not to their order, so that made-up figures look like those of a model that
        is partly consistent. Other options of the list are chosen by chance in one of ten requests.
        """
        texts = [str(option) for option in options]
        if not {_FIRST, _SECOND} <= set(texts):
            return options[self._number(path, len(options))]
        others = [option for option in options if str(option) not in {_FIRST, _SECOND}]
        if others and self._number(f"{path} other", 10) == 0:
            return others[self._number(f"{path} which", len(others))]
        is_taste = self._number(f"{path} taste", 300) < 300 * _FOLLOWS_ITS_TASTE
        preferred = self._preferred_position()
        given = preferred if is_taste else _SECOND if preferred == _FIRST else _FIRST
        return options[texts.index(given)]

    def _preferred_position(self) -> str:
        """Return the position of the image whose hash, together with all images', is smaller."""
        images: list[ChatImage] = list(self._request.images)
        if len(images) < _POSITIONS:
            return _FIRST if self._number("position", 2) == 0 else _SECOND
        first, second = (self._shared_hash(image.sha256) for image in images[-_POSITIONS:])
        return _FIRST if first <= second else _SECOND

    def _shared_hash(self, text: str) -> str:
        """Return a hash that does not depend on the order of images."""
        parts = sorted(image.sha256 for image in self._request.images)
        if not parts:
            parts = sorted(self._labelled.values())
        return hashlib.sha256("\n".join([text, *parts]).encode("utf-8", "surrogatepass")).hexdigest()

    def _number(self, path: str, count: int) -> int:
        """Return a number from 0 to ``count`` - 1."""
        return int(hashlib.sha256(f"{self._hash}\n{path}".encode()).hexdigest(), 16) % count


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    seen = 0
    while "$ref" in schema:
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping) or (seen := seen + 1) > _MAX_DEPTH:
            raise InvalidInput(f"schema: {schema['$ref']!r} is not defined in it; add the definition")
        schema = target
    return schema


def _plain_label(text: str) -> str:
    return " ".join(text.lower().replace("_", " ").split())


def _labelled_texts(request: ChatRequest) -> dict[str, str]:
    """Return the texts of lines such as "Premise: …" by their labels in small letters."""
    found: dict[str, str] = {}
    for message in request.messages:
        for line in message.text.splitlines():
            match = _LABELLED_PATTERN.match(line)
            if match:
                found.setdefault(_plain_label(match[1]), match[2].strip())
    return found
