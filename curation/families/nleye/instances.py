"""Instances without answers: each triplet in both orders, and each pair of premise and hypothesis, under random ids.

Nothing in an id or a file's name tells which instances belong together, or what an image shows. Equal pictures do
tell it, and pages say so.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from curation.evaluation.nleye_key import AS_LISTED, PRESENTATIONS

ID_LENGTH = 20
ORDERS: Mapping[str, tuple[str, str]] = {
    presentation: ("hypothesis1", "hypothesis2")
    if presentation == AS_LISTED
    else ("hypothesis2", "hypothesis1")
    for presentation in PRESENTATIONS
}
PAIRS = ("hypothesis1", "hypothesis2")


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance: what teams see of it, and what only the server knows.

    ``triplet`` is the id in the version; ``shown`` is a presentation, or the hypothesis of a pair.
    """

    id: str
    triplet: str
    shown: str
    public_row: Mapping[str, str]

    @property
    def held_row(self) -> dict[str, str]:
        """Return what tells the triplet and its order."""
        return {"id": self.id, "triplet": self.triplet, "shown": self.shown}


def image_name(sha256: str, secret: str) -> str:
    """Return the published name of an image: random, the same in all instances."""
    return f"images/{_random_id(secret, 'image', sha256)}.png"


def triplet_instances(rows: Iterable[tuple[str, Mapping[str, Any]]], secret: str) -> list[Instance]:
    """Return two instances of each triplet, one for each order, sorted by their ids.

    Args:
        rows: the id and row of each triplet. secret: who knows it can tell what belongs together.
    """
    found = []
    for key, row in rows:
        images = {name: image_name(sha256, secret) for name, sha256 in row["images"].items()}
        for presentation, (first, second) in ORDERS.items():
            name = _random_id(secret, presentation, key)
            shown = {
                "id": name,
                "premise": images["premise"],
                "image1": images[first],
                "image2": images[second],
            }
            found.append(Instance(name, key, presentation, shown))
    return sorted(found, key=lambda row: row.id)


def pair_instances(rows: Iterable[tuple[str, Mapping[str, Any]]], secret: str) -> list[Instance]:
    """Return two pairs of each triplet, premise with one hypothesis each, sorted by their ids."""
    found = []
    for key, row in rows:
        images = {name: image_name(sha256, secret) for name, sha256 in row["images"].items()}
        for hypothesis in PAIRS:
            name = _random_id(secret, f"pair {hypothesis}", key)
            shown = {"pair_id": name, "premise": images["premise"], "image": images[hypothesis]}
            found.append(Instance(name, key, hypothesis, shown))
    return sorted(found, key=lambda row: row.id)


def _random_id(secret: str, purpose: str, key: str) -> str:
    return hmac.digest(secret.encode(), f"{purpose}:{key}".encode(), hashlib.sha256).hex()[:ID_LENGTH]
