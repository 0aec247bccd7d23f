"""Decide items from several people's labels."""

from enum import StrEnum


class Outcome(StrEnum):
    """What the judgments of one item come to in one dimension."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNDECIDED = "undecided"


class Method(StrEnum):
    """How labels become an outcome."""

    K_OF_N = "k_of_n"
    MAJORITY = "majority"
    WEIGHTED = "weighted"  # by how reliable each worker is (Dawid and Skene 1979)
