"""Verdicts of several people on images, and the targets that a model learns from them.

A verdict is 1 (interesting), 0 (okay) or -1 (boring). Each person counts once per image, with the newest verdict,
wherever it was given. An image's target is the sign of the sum of its verdicts: interesting if more people find it
interesting than boring. A sum of 0 is no clear answer; such images are left out by default.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

VERDICTS = (-1, 0, 1)


class OkayImages(StrEnum):
    """What images without a clear answer count as."""

    LEFT_OUT = "left-out"
    INTERESTING = "interesting"
    BORING = "boring"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One person's verdict on an image; ``person`` identifies the person, and ``source`` the page or task."""

    image: int
    person: str
    verdict: int
    source: str
    at: datetime


def newest_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the newest verdict of each person on each image; of equally old ones, the last."""
    newest: dict[tuple[int, str], Verdict] = {}
    for verdict in verdicts:
        key = (verdict.image, verdict.person)
        if key not in newest or verdict.at >= newest[key].at:
            newest[key] = verdict
    return list(newest.values())


def verdict_sums(verdicts: Iterable[Verdict]) -> dict[int, int]:
    """Return the sum of the people's newest verdicts by image."""
    sums: dict[int, int] = {}
    for verdict in newest_verdicts(verdicts):
        sums[verdict.image] = sums.get(verdict.image, 0) + verdict.verdict
    return sums


def targets(sums: Mapping[int, int], okay: OkayImages = OkayImages.LEFT_OUT) -> dict[int, bool]:
    """Return whether each image is interesting, from its sum of verdicts; images that are left out are missing."""
    unclear = {OkayImages.INTERESTING: True, OkayImages.BORING: False}.get(okay)
    found = {image: total > 0 if total else unclear for image, total in sums.items()}
    return {image: target for image, target in found.items() if target is not None}
