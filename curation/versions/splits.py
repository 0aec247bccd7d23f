"""The split of a row is that of its image, so no image is in two splits.

The corpus keeps the established splits of its sources (Hessel et al., ECCV 2022, section 3 and appendix A.2).
``split_idx`` numbers the test chunks of the leaderboard; no version has such chunks yet, so it is null.
"""

from enum import StrEnum


class Split(StrEnum):
    """A split, as spelled in file names; ``NONE`` is for images without one."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"
    NONE = ""


_SPELLINGS = {"validation": Split.VAL, "valid": Split.VAL, "dev": Split.VAL, "training": Split.TRAIN}


class UnknownSplit(ValueError):
    """A split other than train, val and test."""


def parse_split(text: str) -> Split:
    """Return the split named in an image's manifest.

    Raises:
        UnknownSplit: the split is unknown; the message lists the known ones.
    """
    normalised = text.strip().lower()
    if normalised in _SPELLINGS:
        return _SPELLINGS[normalised]
    try:
        return Split(normalised)
    except ValueError as error:
        raise UnknownSplit(f"split {text!r}: use train, val or test, or leave it empty") from error
