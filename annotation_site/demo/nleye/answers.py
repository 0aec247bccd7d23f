"""Answers of the scripted workers to the tasks of NL-Eye, derived from the page's config."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from annotation_site.demo.nleye.scenes import SCENES
from hits.domain.answers.scene_facets import CATEGORIES

Config = dict[str, Any]
AnswerFunction = Callable[[Config], dict[str, Any]]
RIGHT_SHARE = 0.85  # of a scripted worker's choices that are the writer's
_REASONS = (
    "The context usually leads to this image.",
    "What happens in this image explains the context.",
    "Both happen for the same reason.",
    "People commonly do this in such a situation.",
)


def scene_answer_function(quota: int) -> AnswerFunction:
    """Return a function that writes the demo's scenes, each once.

    A task with a category gets a scene of it, as ``quota`` tasks of each category do; the others get what is left.
    """
    waiting = list(SCENES)
    target = dict.fromkeys(CATEGORIES, quota)

    def answer(config: Config) -> dict[str, Any]:
        category = config["unit"]["category"]
        if category:
            target[category] -= 1
        else:
            left = Counter(row.category for row in waiting)
            category = max(CATEGORIES, key=lambda name: left[name] - target[name])
        scene = next(row for row in waiting if row.category == category)
        waiting.remove(scene)
        return {
            "premise": scene.premise,
            "plausible": scene.plausible,
            "implausible": scene.implausible,
            "category": scene.category,
            "direction": scene.direction,
            "duration": scene.duration,
            "domain": scene.domain,
            "culture": "",
            "why": scene.why,
        }

    return answer


def scene_review_answer_function(name: str) -> AnswerFunction:
    """Return a function that reviews scenes: it mostly agrees with the writer."""
    plausible = {scene.plausible for scene in SCENES}

    def answer(config: Config) -> dict[str, Any]:
        unit = config["unit"]
        texts = {row["id"]: row["text"] for row in unit["hypotheses"]}
        right = next(key for key, text in texts.items() if text in plausible)
        other = next(key for key in texts if key != right)
        draw = random_share(f"{name} {unit['premise']}")
        return {
            "plausible": right if draw < RIGHT_SHARE else other,
            "needs_premise": "yes" if draw < 0.9 else "no",  # noqa: PLR2004 - a share
            "drawable": "yes" if draw > 0.05 else "no",  # noqa: PLR2004 - a share
            "seen": "no",
            "like": "",
        }

    return answer


def explanation_answer_function() -> AnswerFunction:
    """Return a function that explains triplets and names their facets as their writer did."""
    by_premise = {scene.premise: scene for scene in SCENES}

    def answer(config: Config) -> dict[str, Any]:
        texts = {row["role"]: row["text"] for row in config["unit"]["texts"]}
        scene = by_premise[texts["premise"]]
        return {
            "explanation": scene.why,
            "category": scene.category,
            "direction": scene.direction,
            "duration": scene.duration,
            "alignment": {"premise": "yes", "h1": "yes", "h2": "yes"},
            "note": "",
        }

    return answer


def plausibility_answer_function(name: str, gold: Mapping[str, str]) -> AnswerFunction:
    """Return a function that judges triplets: ``gold`` is the more plausible label by the premise's file name."""

    def answer(config: Config) -> dict[str, Any]:
        premise = config["unit"]["premise"]["image"]["url"].rpartition("/")[2]
        right = gold[premise]
        draw = random_share(f"{name} {premise}")
        choice = right if draw < RIGHT_SHARE else {"h1": "h2", "h2": "h1"}[right]
        other = "h2" if choice == "h1" else "h1"
        reason = _REASONS[int(draw * 1000) % len(_REASONS)]
        return {
            "choice": choice,
            "why": f"{reason} ({name} looked twice.)" if draw < 0.5 else reason,  # noqa: PLR2004 - half
            "certainty": "certain" if draw < 0.6 else "somewhat",  # noqa: PLR2004 - a share
            "ratings": {choice: 5 if draw < 0.5 else 4, other: 1 if draw < 0.7 else 2},  # noqa: PLR2004
        }

    return answer


def selection_answer_function(name: str) -> AnswerFunction:
    """Return a function that ticks most explanations as valid."""

    def answer(config: Config) -> dict[str, Any]:
        ids = [row["id"] for row in config["unit"]["explanations"]]
        valid = [key for key in ids if random_share(f"{name} {key}") < RIGHT_SHARE]
        return {"valid": valid, "none": not valid}

    return answer


def random_share(text: str) -> float:
    """Return a share from 0 to 1 that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32
