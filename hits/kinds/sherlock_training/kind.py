"""Learn to write observations: a task whose answer gets a trainer's feedback (Hessel et al. 2022 §A.1)."""

from collections.abc import Mapping
from typing import ClassVar

from hits.domain.states import Purpose
from hits.observing.kind import ObservingKind


class SherlockTraining(ObservingKind):
    """Three observations about one photo, as in the collecting task. They are never part of a dataset."""

    name: ClassVar[str] = "sherlock_training"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Training: write observations about one photo"
    description: ClassVar[str] = (
        "Learn the task on one photo: find three clues, box them, and say what they tell you. You get feedback."
    )
    keywords: ClassVar[str] = "photo, image, clue, reasoning, writing, boxes, training"
    paper: ClassVar[str] = "Hessel et al. 2022 §A.1"
    purpose: ClassVar[Purpose] = Purpose.TRAINING
    reward_cents: ClassVar[int] = 190
    required: ClassVar[int] = 3
    maximum: ClassVar[int] = 3
    redundancy: ClassVar[int] = 9
    expected_seconds: ClassVar[int] = 450
    duration_seconds: ClassVar[int] = 45 * 60
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "the pan · “Somebody is cooking.”",
            "good": "the pan *boiling over on the lit stove*, and the receiver *off its hook* · “A telephone call "
            "took the cook away from the stove in a hurry.” · likely",
            "why": "everybody can see that somebody is cooking. Two things together, each in a box of its own, tell "
            "what happened just before.",
            "picture": "sherlock_training/example.svg",
            "alt": "A drawing of a kitchen: a pan boils over on a lit stove, in a box with the label 1a; the "
            "receiver of the wall telephone hangs by its cord, in a box with the label 1b.",
        },
    )


KIND = SherlockTraining()
