"""The names of image generators and chat models in options and provenance; checking them loads no model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from curation.features.encoder import is_hub_id
from curation.records import InvalidInput

OPENAI, DIFFUSERS, DRAWING, IMPORT, CANNED = "openai", "diffusers", "drawing", "import", "canned"
MAX_NAME_LENGTH = 200  # the database holds no longer one
SEED, NEGATIVE, REFERENCE, INPAINT, IMG2IMG = "seed", "negative", "reference", "inpaint", "img2img"
ABILITIES: Mapping[str, str] = {
    SEED: "a given seed",
    NEGATIVE: "a negative prompt",
    REFERENCE: "a reference image",
    INPAINT: "editing a region",
    IMG2IMG: "starting from an image with a strength",
}
"""What a generator may be able to do besides drawing a prompt, and its words in messages."""

# OpenAI's own models, behind whatever gateway: they take neither a seed nor a negative prompt nor a strength.
_OPENAI_MODEL_PATTERN = re.compile(r"(.*/)?(dall-e|gpt-image|chatgpt-image)")
_REVISION_PATTERN = re.compile(r"[\w.][\w./-]*")
_GENERATOR_HINT = (
    "use drawing (test drawings), openai:MODEL, diffusers:OWNER/NAME@REVISION, or diffusers:FOLDER "
    "(an absolute path, or one that starts with ./)"
)
_CHAT_HINT = "use canned (made-up replies), canned:FILE.jsonl (recorded replies), or openai:MODEL"


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed name.

    kind: the part before the colon. source: a model's name, a hub id, a folder or a file; empty for kinds without
    one. revision: of a hub id; empty means the current one. text: the name as it was given.
    """

    text: str
    kind: str
    source: str = ""
    revision: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, so that calls cost nothing."""
        return self.kind != OPENAI


def parse_generator(name: str) -> ModelName:
    """Return a parsed name of an image generator; an empty name means test drawings.

    Raises:
        InvalidInput: there is no such generator.
    """
    kind, source = _split(name or DRAWING)
    if kind in {DRAWING, IMPORT} and not source and ":" not in name:
        return ModelName(kind, kind)
    _check_text("generator", name, source, _GENERATOR_HINT)
    if kind == OPENAI:
        return ModelName(name, OPENAI, source)
    if kind == DIFFUSERS:
        return _parse_diffusers(name, source)
    raise InvalidInput(f"generator: {name!r} is not known; {_GENERATOR_HINT}")


def parse_chat_model(name: str) -> ModelName:
    """Return a parsed name of a chat model; an empty name means made-up replies.

    Raises:
        InvalidInput: there is no such model.
    """
    kind, source = _split(name or CANNED)
    if kind == CANNED and not source and ":" not in name:
        return ModelName(CANNED, CANNED)
    _check_text("chat model", name, source, _CHAT_HINT)
    if kind == OPENAI:
        return ModelName(name, OPENAI, source)
    if kind == CANNED and source.endswith(".jsonl"):
        return ModelName(name, CANNED, source)
    raise InvalidInput(f"chat model: {name!r} is not known; {_CHAT_HINT}")


def is_openai_image_model(model: str) -> bool:
    """Return whether a model is one of OpenAI's own image models, by its name."""
    return _OPENAI_MODEL_PATTERN.match(model) is not None


def expected_abilities(name: ModelName) -> frozenset[str] | None:
    """Return what a generator can do as far as its name tells, for pages; ``None`` if only loading it tells.

    The adapter decides: a pipeline's abilities are read from its weights, an endpoint's from its settings.
    """
    if name.kind == DRAWING:
        return frozenset(ABILITIES)
    if name.kind == IMPORT:
        return frozenset()
    if name.kind == OPENAI:
        return frozenset({REFERENCE, INPAINT}) if is_openai_image_model(name.source) else frozenset(ABILITIES)
    return None


def _split(name: str) -> tuple[str, str]:
    kind, _, source = name.partition(":")
    return kind, source


def _check_text(label: str, name: str, source: str, hint: str) -> None:
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(
            f"{label}: {name[:40] + '…'!r} has {len(name)} characters; use at most {MAX_NAME_LENGTH}"
        )
    if not source or source != source.strip() or not source.isprintable():
        raise InvalidInput(f"{label}: {name!r} is not known; {hint}")


def _parse_diffusers(name: str, source: str) -> ModelName:
    if source.startswith(("/", ".")):
        return ModelName(name, DIFFUSERS, source)
    hub_id, at, revision = source.partition("@")
    if is_hub_id(hub_id) and bool(at) == bool(_REVISION_PATTERN.fullmatch(revision)):
        return ModelName(name, DIFFUSERS, hub_id, revision)
    raise InvalidInput(
        f"generator: {source!r} is neither a hub id with a revision, such as owner/name@main, nor a folder; give a "
        f"folder as an absolute path or as ./{source}"
    )
