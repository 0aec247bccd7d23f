"""A read-only text with object tags: ``{% tagged_text segments objects %}``.

``segments`` are those of ``hits.domain.tagged_text``. ``objects`` are the objects of the image in order, as a unit
has them (mappings with ``name``), or their names alone. A tag becomes a chip with the markup that the mention editor
writes, too (``static/js/mentions/chip.js``), so ``static/css/mentions.css`` styles both. ``data-objects`` has the
tagged objects, counted from 0; ``static/js/mentions/objects.js`` highlights their boxes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template

from hits.domain.tagged_text import Segments

register = template.Library()

COLOUR_COUNT = 5  # colours repeat after five objects, numbers never do


@dataclass(frozen=True, slots=True)
class MentionedObject:
    """One object of a tag: its class, its number from 1, its colour, and what stands before it in its group."""

    name: str
    number: int
    colour: int
    joint: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of the text: plain ``text``, or a tag with its objects and their indices as ``data-objects``."""

    text: str = ""
    indices: str = ""
    objects: tuple[MentionedObject, ...] = ()


@register.inclusion_tag("hits/task/_tagged_text.html")
def tagged_text(segments: Segments, objects: Sequence[Mapping[str, Any] | str]) -> dict[str, list[TextPiece]]:
    """Show a text with a chip for each tag."""
    return {"pieces": [_piece(segment, objects) for segment in segments]}


def _piece(segment: str | Mapping[str, Any], objects: Sequence[Mapping[str, Any] | str]) -> TextPiece:
    if isinstance(segment, str):
        return TextPiece(text=segment)
    indices = segment["objects"]
    mentioned = (
        MentionedObject(
            _name(objects[index]), index + 1, index % COLOUR_COUNT + 1, _joint(position, len(indices))
        )
        for position, index in enumerate(indices)
    )
    return TextPiece(indices=" ".join(map(str, indices)), objects=tuple(mentioned))


def _name(found: Mapping[str, Any] | str) -> str:
    return found if isinstance(found, str) else str(found["name"])


def _joint(position: int, count: int) -> str:
    if position == 0:
        return ""
    return " and " if position == count - 1 else ", "
