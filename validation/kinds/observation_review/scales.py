"""The scales on which a pair is judged.

Source: Hessel et al. 2022, supplement A.3 and figure 5, doi:10.1007/978-3-031-20059-5_32.
"""

from enum import StrEnum


class BoxFit(StrEnum):
    """How well the boxes cover what the clue names."""

    APPROPRIATE = "appropriate"
    MOSTLY = "mostly"
    ENTIRELY_OFF = "entirely_off"


class Reasonableness(StrEnum):
    """Whether the pair makes sense given the image; not whether it is true."""

    HIGHLY = "highly"
    RELATIVELY = "relatively"
    UNREASONABLE = "un"


class Interest(StrEnum):
    """How interesting the pair is."""

    VERY = "very"
    INTERESTING = "interesting"
    CAPTION_LIKE = "caption_like"
    NOT_AT_ALL = "not_at_all"


class Dimension(StrEnum):
    """The judged dimensions of a pair; the values are the answer's fields."""

    REASONABLE = "reasonable"
    BOXES = "boxes"
    INTERESTING = "interesting"


SCALES: dict[Dimension, tuple[StrEnum, ...]] = {
    Dimension.REASONABLE: tuple(Reasonableness),
    Dimension.BOXES: tuple(BoxFit),
    Dimension.INTERESTING: tuple(Interest),
}

# Hessel et al. 2022 report one share per dimension, but not which labels are positive; this is our choice.
POSITIVE: dict[Dimension, frozenset[StrEnum]] = {
    Dimension.REASONABLE: frozenset({Reasonableness.HIGHLY, Reasonableness.RELATIVELY}),
    Dimension.BOXES: frozenset({BoxFit.APPROPRIATE, BoxFit.MOSTLY}),
    Dimension.INTERESTING: frozenset({Interest.VERY, Interest.INTERESTING}),
}

LABEL_TEXTS: dict[Dimension, dict[str, str]] = {
    Dimension.REASONABLE: {
        Reasonableness.HIGHLY: "highly reasonable",
        Reasonableness.RELATIVELY: "relatively reasonable",
        Reasonableness.UNREASONABLE: "unreasonable",
    },
    Dimension.BOXES: {
        BoxFit.APPROPRIATE: "appropriate",
        BoxFit.MOSTLY: "mostly appropriate",
        BoxFit.ENTIRELY_OFF: "entirely off",
    },
    Dimension.INTERESTING: {
        Interest.VERY: "very interesting",
        Interest.INTERESTING: "interesting",
        Interest.CAPTION_LIKE: "caption-like",
        Interest.NOT_AT_ALL: "not at all interesting",
    },
}
