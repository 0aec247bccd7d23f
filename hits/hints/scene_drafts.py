"""Read the texts of an unfinished scene for its hints; unreadable parts are left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from hits.domain.answers.scene_rules import SCENE_TEXTS
from hits.hints.card import MAX_TEXT
from hits.hints.scenes import EARLIER_SCENES, SceneDraft


def read_scene_draft(draft: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]] = ()) -> SceneDraft:
    """Return the texts of a draft, and of the worker's earlier answers, newest first."""
    return SceneDraft(_read_texts(draft), [_read_texts(answer) for answer in earlier[:EARLIER_SCENES]])


def _read_texts(raw: Mapping[str, Any]) -> dict[str, str]:
    return {name: raw[name][:MAX_TEXT] if isinstance(raw.get(name), str) else "" for name in SCENE_TEXTS}
