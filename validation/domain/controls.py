"""Units that are mixed into a round to be compared with something known."""

from enum import StrEnum


class ControlRole(StrEnum):
    """Why a unit is in a round although nothing is to be learned about its item."""

    GOLD = "gold"  # people of the project agreed on its answer
    ATTENTION = "attention"  # whoever looks cannot get it wrong
    REPEAT = "repeat"  # the same item once more: do a worker's two answers agree?
