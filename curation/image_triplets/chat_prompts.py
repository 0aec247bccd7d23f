"""The texts that chat models are asked with, from ``chat_prompts.toml`` or a file of the same form."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from curation.records import InvalidInput
from hits.domain.hashing import canonical_json

DEFAULT_FILE = Path(__file__).with_name("chat_prompts.toml")
VARIANTS = ("answer_first", "explain_first", "steps", "role")
"""Ways of asking for a choice (Ventura et al. 2025, table 14)."""
VERSION, SYSTEM, USER = "version", "system", "user"


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """One entry: its version and its texts by name. sha256: of all of it, for provenance."""

    name: str
    version: str
    texts: Mapping[str, str]
    sha256: str

    @property
    def system(self) -> str:
        """What the model is to do."""
        return self.texts.get(SYSTEM, "").strip()

    def text(self, name: str = USER, **values: str) -> str:
        """Return a text with its ``[names]`` replaced.

        Raises:
            InvalidInput: the entry has no such text.
        """
        if name not in self.texts:
            raise InvalidInput(f"prompt {self.name}: has no text {name}; use {', '.join(self.texts)}")
        text = self.texts[name].strip()
        for key, value in values.items():
            text = text.replace(f"[{key}]", value)
        return text


@dataclass(frozen=True, slots=True)
class ChatPrompts:
    """All entries by name."""

    prompts: Mapping[str, ChatPrompt]

    def __getitem__(self, name: str) -> ChatPrompt:
        """Return an entry by its name."""
        return self.prompts[name]


@cache
def default_prompts() -> ChatPrompts:
    """Return the built-in prompts."""
    return read_prompts(DEFAULT_FILE)


def read_prompts(path: Path) -> ChatPrompts:
    """Return the prompts of a TOML file; entries that it leaves out are the built-in ones.

    Raises:
        InvalidInput: the file cannot be read, or an entry is unknown or no table of texts.
    """
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path.name}: is no readable TOML file ({str(error)[:120]}); copy chat_prompts.toml"
        ) from error
    found = dict(default_prompts().prompts) if path != DEFAULT_FILE else {}
    names = tuple(found) or tuple(raw)
    for name, entry in raw.items():
        if name not in names:
            raise InvalidInput(f"{path.name}: [{name}] is not known; use {', '.join(names)}")
        if not isinstance(entry, dict) or not all(isinstance(text, str) for text in entry.values()):
            raise InvalidInput(f'{path.name}: [{name}] is no table of texts; write name = "text"')
        if not entry.get(VERSION):
            raise InvalidInput(f'{path.name}: [{name}] has no version; write version = "{name}/mine-1"')
        texts = {key: text for key, text in entry.items() if key != VERSION}
        digest = hashlib.sha256(canonical_json(entry)).hexdigest()
        found[name] = ChatPrompt(name, entry[VERSION], texts, digest)
    return ChatPrompts(found)
