"""Write observations about one photo (Hessel et al. 2022 §3.1, §A.2)."""

from collections.abc import Mapping
from typing import ClassVar

from hits.domain.states import Purpose
from hits.observing.kind import ObservingKind


class SherlockObservation(ObservingKind):
    """Collects observation pairs: clue, boxes, inference, confidence."""

    name: ClassVar[str] = "sherlock_observation"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Write observations about one photo"
    description: ClassVar[str] = (
        "Find three clues in a photo, box them, and say what they tell you. Two more earn a bonus."
    )
    keywords: ClassVar[str] = "photo, image, clue, reasoning, writing, boxes"
    paper: ClassVar[str] = "Hessel et al. 2022 §3.1, §A.2"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 110
    bonus_cents: ClassVar[int] = 15
    required: ClassVar[int] = 3
    maximum: ClassVar[int] = 5
    max_bonus_items: ClassVar[int] = 2
    expected_seconds: ClassVar[int] = 300
    duration_seconds: ClassVar[int] = 30 * 60
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "the book · “There is a book on the bed.”",
            "good": "the book *at the edge of the unmade bed* · "
            "“Someone broke off reading and means to be back soon.” · likely",
            "why": "anybody can see the book. The burning lamp and the thrown-back blanket tell what happened just "
            "before the picture, which nobody can see.",
            "picture": "sherlock_observation/example.svg",
            "alt": "A drawing of a bedroom at night: the blanket of an unmade bed is thrown back, a book lies at its "
            "edge in a box with the number 1, and the lamp beside it still burns.",
        },
    )


KIND = SherlockObservation()
