"""Facets of a scene: how its hypotheses follow from its premise, and its subject (Ventura et al. 2025 §2.2, A.2).

A scene is a premise and two hypotheses, one of which is more plausible. It is written as texts and drawn as images.
"""

from collections.abc import Mapping
from typing import Literal

MAX_WORDS = 40  # of a text, beyond which a hint asks for fewer
MAX_CHARACTERS = 400  # of a text
MAX_REASON_CHARACTERS = 600  # of the author's reason

Category = Literal["physical", "functional", "logical", "emotional", "social", "cultural"]
Direction = Literal["forward", "backward", "parallel"]
Duration = Literal["", "short", "long"]
Hypothesis = Literal["a", "b"]

CATEGORY_TEXTS: Mapping[Category, str] = {
    "physical": "matter, shape, heat, light and shadow",
    "functional": "what tools and things are for",
    "logical": "everyday events and what usually follows from them",
    "emotional": "feelings, their causes and what people do about them",
    "social": "roles, manners and relations between people",
    "cultural": "customs, places and traits of one culture",
}
DIRECTION_TEXTS: Mapping[Direction, str] = {
    "forward": "the premise causes the hypothesis: it comes first",
    "backward": "the hypothesis causes the premise: it came before",
    "parallel": "both happen at the same time",
}
DURATION_TEXTS: Mapping[Literal["short", "long"], str] = {
    "short": "seconds, minutes or a few hours lie between them",
    "long": "days, months or years lie between them",
}
CATEGORIES: tuple[Category, ...] = tuple(CATEGORY_TEXTS)
DIRECTIONS: tuple[Direction, ...] = tuple(DIRECTION_TEXTS)
DURATIONS: tuple[Literal["short", "long"], ...] = tuple(DURATION_TEXTS)
PARALLEL = "parallel"
TEMPORAL_CELLS = ("forward-short", "forward-long", "backward-short", "backward-long", PARALLEL)
DOMAINS = (
    "administration",
    "business and work",
    "daily life and hospitality",
    "education",
    "healthcare",
    "religion",
    "science and technology",
    "sports and arts",
    "transportation",
    "other",
)


def temporal_cell(direction: str, duration: str) -> str:
    """Return the direction with its duration, such as ``forward-short``; parallel scenes have no duration.

    Published rows give parallel scenes a duration, too; it is left out here (Ventura et al. 2025, fig. 6 and 14).
    """
    return PARALLEL if direction == PARALLEL else f"{direction}-{duration}"


def check_temporal(direction: str, duration: str) -> str:
    """Return what is wrong with a direction and a duration together; empty if they fit."""
    if direction == PARALLEL and duration:
        return "leave it out: a parallel scene has no duration"
    if direction != PARALLEL and not duration:
        return f"use {' or '.join(DURATIONS)}: only a parallel scene has no duration"
    return ""
