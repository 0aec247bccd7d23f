"""What the scripted workers write about the sample photos, and where they draw (``observations.toml``)."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SampleObservation:
    """One scripted observation; ``box`` in shares of the picture, 0 to 1."""

    clue: str
    inference: str
    box: tuple[float, float, float, float]


OBSERVATIONS: dict[str, list[SampleObservation]] = {
    photo: [SampleObservation(row["clue"], row["inference"], tuple(row["box"])) for row in rows]
    for photo, rows in tomllib.loads(Path(__file__).with_name("observations.toml").read_text("utf-8")).items()
}

_GENERIC_CLUES = [
    "the brightest part of the photo",
    "the thing in the middle",
    "the part at the left edge",
    "the part at the right edge",
    "the ground at the bottom",
]
_GENERIC_INFERENCES = [
    "people were here shortly before and mean to come back",
    "the place is used on every day of the week",
    "the weather changed while this was taken",
    "somebody arranged this for others to see",
    "a long journey ends at this place",
    "the owner is careful with money",
    "a celebration is about to begin",
    "the work of the day is nearly done",
    "nobody expected to be photographed",
    "this has looked the same for many years",
]
_GENERIC_BOXES = [
    (0.3, 0.1, 0.3, 0.3),
    (0.35, 0.35, 0.3, 0.3),
    (0.0, 0.2, 0.3, 0.5),
    (0.7, 0.2, 0.3, 0.5),
    (0.1, 0.7, 0.8, 0.3),
]


def sample_observations(photo: str, number: int, worker_index: int) -> list[SampleObservation]:
    """Return the five observations of one worker about a photo; ``worker_index`` is 0 or 1.

    A photo that is not a sample (``--images``) gets generic sentences with its number, so that no two are equal.
    """
    stem = photo.rsplit(".", 1)[0].replace("motorcycle_right", "motorcycle_left")
    if stem in OBSERVATIONS:
        return OBSERVATIONS[stem][5 * worker_index : 5 * worker_index + 5]
    return [
        SampleObservation(
            f"{_GENERIC_CLUES[n]}, photo {number}",
            f"In photo {number}, {_GENERIC_INFERENCES[(5 * worker_index + n + number) % len(_GENERIC_INFERENCES)]}.",
            _GENERIC_BOXES[n],
        )
        for n in range(5)
    ]
