"""Draw which hypothesis of a scene is h1, so that h1 is the more plausible one in half of each category.

The draw depends on a secret and on ids, never on texts: nothing in a triplet says which hypothesis is right.
"""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hits.domain.answers.scene_facets import Hypothesis

Gold = Literal[1, 2]


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """How many triplets of a category have the more plausible hypothesis as h1 (``first``) and as h2 (``second``)."""

    first: int = 0
    second: int = 0


@dataclass(frozen=True, slots=True)
class SceneToOrder:
    """A scene by its id, with its category and its more plausible hypothesis."""

    id: str
    category: str
    plausible: Hypothesis


@dataclass(frozen=True, slots=True)
class DrawnOrder:
    """The hypothesis that becomes h1, and the number of the more plausible one."""

    first_hypothesis: Hypothesis
    gold: Gold


def draw_orders(
    scenes: Sequence[SceneToOrder], existing: Mapping[str, GoldCounts], *, secret: bytes
) -> dict[str, DrawnOrder]:
    """Return the order of each scene by its id.

    In each category, both counts then differ by at most one, or by as little as the new scenes allow. Equal
    arguments give equal orders, whatever the order of ``scenes``.

    Args:
        scenes: with distinct ids.
        existing: the counts of each category's present triplets; a missing category has none.
        secret: of the project; who does not know it cannot foresee an order.
    """
    by_category: dict[str, list[SceneToOrder]] = defaultdict(list)
    for scene in scenes:
        by_category[scene.category].append(scene)
    orders: dict[str, DrawnOrder] = {}
    for category, group in by_category.items():
        drawn = sorted(group, key=lambda scene: _draw(secret, "order", scene.id))
        number = _number_with_gold_first(existing.get(category, GoldCounts()), drawn, secret)
        for index, scene in enumerate(drawn):
            orders[scene.id] = _order_of(scene, 1 if index < number else 2)
    return orders


def _number_with_gold_first(counts: GoldCounts, drawn: Sequence[SceneToOrder], secret: bytes) -> int:
    """Return how many of the drawn scenes get gold 1; an odd total is decided by the secret."""
    total = counts.first + counts.second + len(drawn)
    extra = total % 2 and _draw(secret, "odd", drawn[0].id)[0] % 2
    target = total // 2 + extra - counts.first
    return min(max(target, 0), len(drawn))


def _order_of(scene: SceneToOrder, gold: Gold) -> DrawnOrder:
    other: Hypothesis = "b" if scene.plausible == "a" else "a"
    return DrawnOrder(scene.plausible if gold == 1 else other, gold)


def _draw(secret: bytes, purpose: str, scene_id: str) -> bytes:
    return hmac.digest(secret, f"{purpose}:{scene_id}".encode(), hashlib.sha256)
