"""Images of a triplet in units and on task pages: a premise and two hypotheses (Ventura et al. 2025 §2.2).

The hypotheses are ``h1`` and ``h2`` wherever something is stored. Neither name says which of them is more plausible.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal

from pydantic import model_validator

from hits.domain.images.image_facts import ImageFacts
from hits.domain.schema import Schema

Hypothesis = Literal["h1", "h2"]
PREMISE = "premise"
HYPOTHESES: tuple[Hypothesis, Hypothesis] = ("h1", "h2")
ROLES = (PREMISE, *HYPOTHESES)
ROLE_NAMES: Mapping[str, str] = {PREMISE: "Context", "h1": "Image 1", "h2": "Image 2"}


class TripletImages(Schema):
    """The ids of a triplet's images."""

    premise: int
    h1: int
    h2: int

    @model_validator(mode="after")
    def _check_distinct(self) -> "TripletImages":
        if len({self.premise, self.h1, self.h2}) < len(ROLES):
            raise ValueError("an image occurs twice: use one for each role")
        return self


def hypothesis_order(arm: int | None, seed: str) -> list[Hypothesis]:
    """Return the hypotheses in the order of an arm: 0 as listed, 1 swapped.

    Attempts without an arm have an order of their own, drawn from ``seed``.
    """
    swapped = Random(seed).randrange(2) if arm is None else arm % 2  # noqa: S311 - an order, no secret
    return list(reversed(HYPOTHESES)) if swapped else list(HYPOTHESES)


def mirrored_order(ids: Sequence[Any], arm: int | None, name: str, seed: str) -> list[Any]:
    """Return ids in an order drawn from ``name``, or in its reverse for arm 1.

    So two people see each of them at mirrored places. Attempts without an arm draw from ``seed``.
    """
    order = list(ids)
    Random(seed if arm is None else name).shuffle(order)  # noqa: S311 - an order, no secret
    return order[::-1] if arm else order


def image_for_page(image: ImageFacts) -> dict[str, Any]:
    """Return what a page needs to show an image, and nothing that could tell how it was made.

    Ids, file names, alternative texts and credits are left out; pages name an image by its place.
    """
    return {"url": image.url, "width": image.width, "height": image.height}


def triplet_for_page(
    roles: Mapping[str, int], images: Mapping[int, ImageFacts], *, right: str = ""
) -> dict[str, Any]:
    """Return the premise, and the hypotheses as listed; ``is_right`` marks the ``right`` one."""
    return {
        "premise": {"image": image_for_page(images[roles[PREMISE]])},
        "slots": [
            {"id": role, "image": image_for_page(images[roles[role]]), "is_right": role == right}
            for role in HYPOTHESES
        ],
    }
