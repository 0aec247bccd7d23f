"""The leaderboard's measures: their keys in ``curation.evaluation.figures``, their counts, and their labels.

Source: Hessel et al. 2022, section 5 and table 3, doi:10.1007/978-3-031-20059-5_32.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import StatisticsError, correlation
from types import MappingProxyType
from typing import Any

MIN_MODELS = 4  # of a correlation: three points are too often nearly on a line


class Direction(StrEnum):
    """Whether high or low values are better."""

    HIGH = "high"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: a mean rank (lower is better, 1 is best) or a percentage.

    name: in commands and addresses. task, key: its keys in the figures. count_key: the key of its sample size n in
    the task's figures. count_label: what n counts. group, label: headings of the column group and the column. short:
    the heading in Hessel et al. 2022, table 3.
    """

    name: str
    task: str
    key: str
    group: str
    label: str
    short: str
    better: Direction
    count_key: str
    count_label: str

    @property
    def figure_path(self) -> tuple[str, str]:
        """Its keys in the figures."""
        return self.task, self.key

    @property
    def title(self) -> str:
        """Its name outside of tables."""
        return f"{self.group}, {self.label}"

    @property
    def is_rank(self) -> bool:
        """Whether it is a mean rank."""
        return self.better is Direction.LOW

    @property
    def unit(self) -> str:
        """Its unit in tables and files."""
        return "rank" if self.is_rank else "%"

    @property
    def axis(self) -> str:
        """Its axis label in plots."""
        return "mean rank, 1 is best" if self.is_rank else "%"


CHOICES = ("choices", "Multiple choice")
_TRIPLET = ("triplet", "Triplets")
_PAIRS = ("pairs", "Pairs")
_RETRIEVAL = ("retrieval", "Retrieval")
_LOCALIZATION = ("localization", "Localization")
_COMPARISON = ("comparison", "Comparison")


def _make_measure(
    name: str,
    task: tuple[str, str],
    label: str,
    short: str,
    *,
    key: str = "",
    better: Direction = Direction.HIGH,
) -> Measure:
    count_key, count_label = {
        "retrieval": ("instances", "instances"),
        "localization": (name.replace("accuracy", "images"), "images"),
        "comparison": ("images", "images"),
        "choices": ("questions", "questions"),
        "triplet": ("triplets", "triplets"),
        "pairs": ("triplets", "triplets"),
    }[task[0]]
    return Measure(name, task[0], key or name, task[1], label, short, better, count_key, count_label)


P_AT_1 = _make_measure("p_at_1", _RETRIEVAL, "P@1", "P@1")
COMPARISON = _make_measure("comparison", _COMPARISON, "human agreement", "Comparison", key="model")
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.name: measure
        for measure in (
            P_AT_1,
            _make_measure("im2txt", _RETRIEVAL, "image → text", "im→txt", better=Direction.LOW),
            _make_measure("txt2im", _RETRIEVAL, "text → image", "txt→im", better=Direction.LOW),
            _make_measure("gt_accuracy", _LOCALIZATION, "true boxes", "GT box"),
            _make_measure("auto_accuracy", _LOCALIZATION, "proposed boxes", "Auto box"),
            COMPARISON,
        )
    }
)
"""By name, in the order of tables."""

CHOICE_MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.name: measure
        for measure in (
            _make_measure("q_ar", CHOICES, "Q→AR", "Q→AR"),
            _make_measure("q_a", CHOICES, "Q→A", "Q→A"),
            _make_measure("qa_r", CHOICES, "QA→R", "QA→R"),
        )
    }
)
"""Of multiple-choice questions; the first ranks a leaderboard (Zellers et al. 2019, doi:10.1109/CVPR.2019.00688)."""

TRIPLET_MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.name: measure
        for measure in (
            _make_measure("consistency_accuracy", _TRIPLET, "consistency accuracy", "Consistency"),
            _make_measure("gold_first_accuracy", _TRIPLET, "gold first", "Gold first"),
            _make_measure("gold_second_accuracy", _TRIPLET, "gold second", "Gold second"),
            _make_measure("order_faithful_accuracy", _PAIRS, "order-faithful accuracy", "Order-faithful"),
        )
    }
)
"""Of image triplets; the first ranks a leaderboard (Ventura et al. 2025, arXiv:2410.02613, §4.2)."""


def get_figure(figures: Mapping[str, Any], path: tuple[str, str]) -> Mapping[str, float | None]:
    """Return a figure with its interval, ``{"value", "low", "high"}``; empty if the task was not measured."""
    figure = figures.get(path[0], {}).get(path[1])
    return figure if isinstance(figure, Mapping) else {}


def get_count(figures: Mapping[str, Any], measure: Measure) -> int | None:
    """Return the n of a measure, if it was measured."""
    found = figures.get(measure.task, {}).get(measure.count_key)
    return int(found) if found is not None else None


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Pearson's r of two measures over models; None for fewer than four models or a constant measure."""
    if len(first) < MIN_MODELS:
        return None
    try:
        return correlation(first, second)
    except StatisticsError:
        return None
