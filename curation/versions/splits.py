"""Which split a row belongs to: its image's, so that no image is ever in two.

The corpus keeps the community's splits of its sources (paper 000 §3 and A.2). ``split_idx`` numbers the test
chunks of the leaderboard; no version has such chunks yet, so it is null.
"""

from enum import StrEnum


class Split(StrEnum):
    """A split as file names spell it; ``NONE`` is an image whose manifest names none."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"
    NONE = ""


_SPELLINGS = {"validation": Split.VAL, "valid": Split.VAL, "dev": Split.VAL, "training": Split.TRAIN}


class UnknownSplit(ValueError):
    """A split that is none of train, val, test."""


def parse_split(text: str) -> Split:
    """Return the split that an image's manifest names.

    Raises:
        UnknownSplit: the word is none that we know; the message lists those.
    """
    normalised = text.strip().lower()
    if normalised in _SPELLINGS:
        return _SPELLINGS[normalised]
    try:
        return Split(normalised)
    except ValueError as error:
        raise UnknownSplit(f"split {text!r}: use train, val or test, or leave it empty") from error
