"""Tables of a leaderboard's figures: all entries, or the best one of each team."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.evaluation.measures import (
    CHOICE_MEASURES,
    MEASURES,
    P_AT_1,
    TRIPLET_MEASURES,
    Direction,
    Measure,
    get_count,
    get_figure,
)
from curation.leaderboard.models import Leaderboard, LeaderboardEntry
from curation.leaderboard.selectors.boards import PRIVATE_FIGURES, board_texts
from hits.charts.scale import decimal_text


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its bootstrap interval; ``None`` if there is no value or interval."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """The formatted value, or a dash."""
        return "–" if self.value is None else format_figure(self.value)

    @property
    def interval(self) -> str:
        """The formatted interval, or an empty string."""
        return (
            ""
            if self.low is None or self.high is None
            else f"{format_figure(self.low)} to {format_figure(self.high)}"
        )


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the table. ``rank`` counts from 1; ``is_best`` marks each figure that is the best of its measure."""

    entry: LeaderboardEntry
    rank: int
    figures: Sequence[Figure]
    is_best: Sequence[bool]


@dataclass(frozen=True, slots=True)
class ReferenceFigures:
    """The figures of people or of random scores on the leaderboard's data; ``note`` describes them."""

    name: str
    label: str
    figures: Sequence[Figure]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``sample_sizes`` has a number for each measure; the rows are ordered by the measure ``sort_by``."""

    measures: Sequence[Measure]
    sample_sizes: Sequence[int | None]
    rows: Sequence[TableRow]
    references: Sequence[ReferenceFigures]
    sort_by: Measure
    every_entry: bool
    entry_count: int
    team_count: int


REFERENCE_LABELS = {"human": "People", "random": "Chance"}


def format_figure(value: float) -> str:
    """Format a figure for tables and plots: one decimal, a proper minus sign, and never −0.0."""
    return decimal_text(round(value, 1) + 0.0, 1)


def round_public_figures(value: Any) -> Any:
    """Return an entry's figures with one decimal, as in tables, and without those for the private photos.

    With all digits, a figure could reveal which pairs were ordered correctly, if scores were chosen for that purpose.
    The p of a test on the entry's own choices reveals nothing; it has two significant digits.
    """
    if isinstance(value, Mapping):
        return {
            name: float(f"{item:.2g}") if name == "position_p" and item else round_public_figures(item)
            for name, item in value.items()
            if name != PRIVATE_FIGURES
        }
    return round(value, 1) + 0.0 if isinstance(value, float) else value


def get_measure_figure(figures: Mapping[str, Any], measure: Measure) -> Figure:
    """Return an entry's figure of a measure, rounded to one decimal as shown."""
    found = round_public_figures(get_figure(figures, measure.figure_path))
    return Figure(found.get("value"), found.get("low"), found.get("high"))


def board_measures(board: Leaderboard) -> list[Measure]:
    """Return the measures of a leaderboard's tasks, without those that its data cannot measure."""
    tasks = {name.partition("_")[0] for name in board.tasks}
    left_out = set(board.options.get("without", ()))
    known = (*MEASURES.values(), *CHOICE_MEASURES.values(), *TRIPLET_MEASURES.values())
    return [item for item in known if item.task in tasks and item.name not in left_out]


def get_measure_or_first(measures: Sequence[Measure], name: str) -> Measure:
    """Return the measure with this name, or the first."""
    return next((item for item in measures if item.name == name), measures[0] if measures else P_AT_1)


def make_table(
    board: Leaderboard,
    entries: Sequence[LeaderboardEntry],
    *,
    sort: str = "",
    every_entry: bool = False,
    private: bool = False,
) -> Table:
    """Return the table of scored entries. Ranks and best figures are determined from the rounded figures.

    Args:
        entries: the entries to show, oldest first; in a tie, the older entry ranks higher.
        sort: the measure's name; if it is unknown, the leaderboard's first measure.
        every_entry: whether to show all entries, or only each team's best entry by that measure on the public photos.
            The table for the private photos has the same entries, so that none is selected by private figures.
        private: whether to show the figures for the private photos.
    """
    measures = board_measures(board)
    sort_measure = get_measure_or_first(measures, sort)
    chosen = _sort_entries(entries, sort_measure, private=False)
    shown = chosen if every_entry else first_entry_per_team(chosen)
    if private:
        shown = _sort_entries(shown, sort_measure, private=True)
    leading = [_best_value(shown, measure, private=private) for measure in measures]
    rows = []
    for rank, entry in enumerate(shown, start=1):
        found = [get_measure_figure(entry_figures(entry, private=private), measure) for measure in measures]
        best = [
            shown_figure.value is not None and shown_figure.value == lead
            for shown_figure, lead in zip(found, leading, strict=True)
        ]
        rows.append(TableRow(entry, rank, found, best))
    return Table(
        measures=measures,
        sample_sizes=[_sample_size(board, entries, measure, private=private) for measure in measures],
        rows=rows,
        references=board_reference_figures(board, measures, private=private),
        sort_by=sort_measure,
        every_entry=every_entry,
        entry_count=len(entries),
        team_count=len({entry.team_id for entry in entries}),
    )


def entry_figures(entry: LeaderboardEntry, *, private: bool) -> Mapping[str, Any]:
    """Return an entry's figures for the public or the private photos."""
    found: Mapping[str, Any] = entry.figures.get(PRIVATE_FIGURES, {}) if private else entry.figures
    return found


def board_reference_figures(
    board: Leaderboard, measures: Sequence[Measure], *, private: bool = False
) -> list[ReferenceFigures]:
    """Return the figures of people and of random scores, if they were computed when the leaderboard was built."""
    facts = board.options.get(PRIVATE_FIGURES, {}) if private else board.options
    known: Mapping[str, Mapping[str, Any]] = round_public_figures(facts.get("references", {}))
    notes = board_texts(board).references
    found = []
    for name, label in REFERENCE_LABELS.items():
        figures = [Figure(**known.get(name, {}).get(item.name, {"value": None})) for item in measures]
        if any(item.value is not None for item in figures):
            found.append(ReferenceFigures(name, label, figures, notes.get(name, "")))
    return found


def first_entry_per_team(ordered_entries: Iterable[LeaderboardEntry]) -> list[LeaderboardEntry]:
    """Return the first entry of each team, in the given order."""
    first: dict[int, LeaderboardEntry] = {}
    for entry in ordered_entries:
        first.setdefault(entry.team_id, entry)
    return list(first.values())


def _sort_entries(
    entries: Iterable[LeaderboardEntry], measure: Measure, *, private: bool
) -> list[LeaderboardEntry]:
    """Return the entries by a measure, the best first; entries without it are last. The sort is stable."""

    def key(entry: LeaderboardEntry) -> tuple[bool, float]:
        value = get_measure_figure(entry_figures(entry, private=private), measure).value
        if value is None:
            return True, 0.0
        return False, -value if measure.better is Direction.HIGH else value

    return sorted(entries, key=key)


def _best_value(entries: Sequence[LeaderboardEntry], measure: Measure, *, private: bool) -> float | None:
    found = [get_measure_figure(entry_figures(entry, private=private), measure).value for entry in entries]
    values = [value for value in found if value is not None]
    if not values:
        return None
    return max(values) if measure.better is Direction.HIGH else min(values)


def _sample_size(
    board: Leaderboard, entries: Sequence[LeaderboardEntry], measure: Measure, *, private: bool
) -> int | None:
    """Return the sample size of a measure: from an entry's figures, or else from the leaderboard's options."""
    for entry in entries:
        found = get_count(entry_figures(entry, private=private), measure)
        if found is not None:
            return found
    facts = board.options.get(PRIVATE_FIGURES, {}) if private else board.options
    known = facts.get("counts", {}).get(measure.name)
    return int(known) if known is not None else None
