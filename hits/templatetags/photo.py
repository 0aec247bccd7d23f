"""A photo with its boxes as one SVG: ``{% photo image groups %}``.

``image`` is a ``hits.domain.images.image_facts.ImageFacts``; ``groups`` is a list of
``{"index": 1, "boxes": [{"left", "top", "width", "height"}], "label": "…"}`` in image pixels.
``js/boxes/stage.js`` keeps the number tabs at one size through ``--k`` (photo pixels per CSS pixel).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import template

from hits.domain.images.geometry import box_labels
from hits.domain.images.image_facts import ImageFacts

register = template.Library()

COLOUR_COUNT = 5
SHOWN_WIDTH = 660  # CSS pixels: the approximate width of a photo on the review page
TAB_SIZE = 24  # CSS pixels: the height of a number tab


@dataclass(frozen=True, slots=True)
class NumberedBox:
    """A box for the template. ``tab_top`` is in image pixels; the other positions are CSS pixels from that edge."""

    colour: int
    index: int
    box: Mapping[str, int]
    label: str
    name: str
    tab_top: int
    tab_path: str
    label_x: int
    label_y: int


@register.inclusion_tag("hits/images/_photo.html")
def photo(image: ImageFacts, groups: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Draw ``image`` with the boxes of ``groups``, smaller boxes on top."""
    numbered_boxes = [
        _numbered_box(image, group, box, label)
        for group in groups
        for box, label in zip(group["boxes"], box_labels(len(group["boxes"]), group["index"]), strict=True)
    ]
    # Drawn from large to small, so that a box inside another one receives the pointer.
    numbered_boxes.sort(key=lambda row: -row.box["width"] * row.box["height"])
    return {"image": image, "numbered_boxes": numbered_boxes}


def _numbered_box(
    image: ImageFacts, group: Mapping[str, Any], box: Mapping[str, int], label: str
) -> NumberedBox:
    pixel_ratio = max(image.width, 1) / SHOWN_WIDTH
    width = 22 if len(label) == 1 else 14 + 9 * len(label)
    is_small = box["width"] < (width + 18) * pixel_ratio or box["height"] < 2 * TAB_SIZE * pixel_ratio
    x = -2 if box["left"] + width * pixel_ratio <= image.width else -width
    tab_top, y = _number_tab_top(box, pixel_ratio, is_small=is_small)
    index = int(group["index"])
    name = (
        f"{group.get('label') or 'Observation'} {label}: "
        f"{box['left']}, {box['top']}, {box['width']} by {box['height']} pixels"
    )
    return NumberedBox(
        colour=(index - 1) % COLOUR_COUNT + 1,
        index=index,
        box=box,
        label=label,
        name=name,
        tab_top=tab_top,
        tab_path=f"M{x} {y}h{width}v22h-{width}z",
        label_x=x + width // 2,
        label_y=y + 16,
    )


def _number_tab_top(box: Mapping[str, int], pixel_ratio: float, *, is_small: bool) -> tuple[int, int]:
    """Return a box edge and the tab's y from it: at the upper edge, above a small box, or below it at the border."""
    top = box["top"]
    if is_small:
        return (top, -TAB_SIZE) if top >= (TAB_SIZE + 2) * pixel_ratio else (top + box["height"], 2)
    return top, -12 if top >= 13 * pixel_ratio else -2
