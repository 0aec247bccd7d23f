"""Shapes of a task about plausibility: what its page shows, and what it asks."""

from collections.abc import Mapping
from typing import Any

from hits.domain.images.image_triplets import HYPOTHESES, PREMISE, ROLES
from validation.domain.judging.triplet_shapes import Shape

CHOICE, WHY, CERTAINTY, RATINGS = "choice", "why", "certainty", "ratings"
ASKED: Mapping[str, tuple[str, ...]] = {
    Shape.TRIPLET: (CHOICE, WHY, CERTAINTY, RATINGS),
    Shape.PAIR: (RATINGS,),
    Shape.HYPOTHESES_ONLY: (CHOICE, CERTAINTY),
    Shape.TEXTS: (CHOICE, WHY, CERTAINTY, RATINGS),
}
_BOTH = frozenset({frozenset(ROLES)})
_SHOWN_ROLES: Mapping[str, frozenset[frozenset[str]]] = {
    Shape.TRIPLET: _BOTH,
    Shape.PAIR: frozenset(frozenset({PREMISE, role}) for role in HYPOTHESES),
    Shape.HYPOTHESES_ONLY: frozenset({frozenset(HYPOTHESES)}),
    Shape.TEXTS: _BOTH,
}
_ROLES_TEXT: Mapping[str, str] = {
    Shape.TRIPLET: "premise, h1 and h2",
    Shape.PAIR: "premise and one of h1 and h2",
    Shape.HYPOTHESES_ONLY: "h1 and h2, and no premise",
}


def find_image_problem(show: str, images: Mapping[str, int | None]) -> str:
    """Return what is wrong with the images of a shape; empty if nothing is."""
    given = [image for image in images.values() if image is not None]
    if show == Shape.TEXTS:
        return "leave them out: the shape texts has no images" if given else ""
    if frozenset(role for role, image in images.items() if image is not None) not in _SHOWN_ROLES[show]:
        return f"the shape {show} shows {_ROLES_TEXT[show]}: give exactly these"
    return "an image occurs twice: use one for each role" if len(set(given)) < len(given) else ""


def find_text_problem(show: str, texts: Mapping[str, str | None]) -> str:
    """Return what is wrong with the texts of a shape; empty if nothing is."""
    given = [text for text in texts.values() if text is not None]
    if show != Shape.TEXTS:
        return f"leave them out: the shape {show} shows no texts" if given else ""
    is_complete = len(given) == len(ROLES) and all(text.strip() for text in given)
    return "" if is_complete else "the shape texts shows premise, h1 and h2: give a text for each"


def rated_hypotheses(unit: Mapping[str, Any]) -> list[str]:
    """Return the hypotheses that a unit asks to rate, as listed."""
    if RATINGS not in ASKED[unit["show"]]:
        return []
    if unit["show"] == Shape.TEXTS:
        return list(HYPOTHESES)
    return [role for role in HYPOTHESES if unit["images"].get(role) is not None]
