"""Answers as a careful worker would send them."""

from typing import Any

WORDS = ["door", "lamp", "cup", "coat", "road", "boat", "chair", "bread", "tree", "letter"]


def observation(index: int, *, boxes: int = 1, salt: str = "") -> dict[str, Any]:
    """Return one complete observation with distinct text; boxes fit a 64 × 48 picture."""
    word = WORDS[(index + len(salt)) % len(WORDS)]
    return {
        "index": index,
        "clue": f"the {word} at the left {salt}".strip(),
        "inference": f"Somebody left the {word} there {index} hours ago {salt}".strip(),
        "confidence": 1 + index % 3,
        "boxes": [{"left": 2 + 5 * n, "top": 3 + index, "width": 10, "height": 12} for n in range(boxes)],
    }


def observations(count: int = 3, *, salt: str = "") -> dict[str, Any]:
    """Return a valid answer with ``count`` observations."""
    return {"observations": [observation(index, salt=salt) for index in range(1, count + 1)]}
