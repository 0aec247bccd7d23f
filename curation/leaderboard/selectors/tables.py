"""A leaderboard's figures as a table: which measures, in which order, one row an entry or the best of each team."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.evaluation.measures import MEASURES, P_AT_1, Better, Measure, count_of, figure_of
from curation.leaderboard.models import Leaderboard, LeaderboardEntry
from curation.leaderboard.selectors.boards import KEPT_FIGURES
from validation.domain.reports.plots import decimals


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its bootstrap interval; ``None`` where there is nothing to measure or no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def words(self) -> str:
        """The value as tables write it, or a dash."""
        return "–" if self.value is None else written(self.value)

    @property
    def reach(self) -> str:
        """The interval in words, or nothing."""
        return "" if self.low is None or self.high is None else f"{written(self.low)} to {written(self.high)}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; ``place`` counts from 1 in the order shown, and ``best`` marks the leading figures."""

    entry: LeaderboardEntry
    place: int
    figures: Sequence[Figure]
    best: Sequence[bool]


@dataclass(frozen=True, slots=True)
class Reference:
    """What people, or chance, reach on the same data."""

    name: str
    words: str
    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Table:
    """The whole. ``counts`` say for each measure how many were measured; ``sort`` is the measure that orders it."""

    measures: Sequence[Measure]
    counts: Sequence[int | None]
    rows: Sequence[Row]
    references: Sequence[Reference]
    sort: Measure
    every_entry: bool
    entries: int
    teams: int


NOTHING = Figure(None)
REFERENCES = {"human": "People", "random": "Chance"}


def written(value: float) -> str:
    """Return a figure as tables and plots write it: one decimal, a real minus sign, and never −0.0."""
    return decimals(round(value, 1) + 0.0, 1)


def rounded(value: Any) -> Any:
    """Return figures with one decimal, as tables have them, and without what is kept for the end.

    With all digits, scores made for the purpose would tell from one figure which pairs were ordered right.
    """
    if isinstance(value, Mapping):
        return {name: rounded(one) for name, one in value.items() if name != KEPT_FIGURES}
    return round(value, 1) + 0.0 if isinstance(value, float) else value


def figure(figures: Mapping[str, Any], measure: Measure) -> Figure:
    """Return a measure of an entry's figures as it is shown: with one decimal."""
    found = rounded(figure_of(figures, measure.path))
    return Figure(found.get("value"), found.get("low"), found.get("high"))


def measures_of(board: Leaderboard) -> list[Measure]:
    """Return the measures of the tasks that a leaderboard has; chosen ones, when its options name some."""
    tasks = {name.partition("_")[0] for name in board.tasks}
    left_out = set(board.options.get("without", ()))
    return [one for one in MEASURES.values() if one.task in tasks and one.name not in left_out]


def measure_called(measures: Sequence[Measure], name: str) -> Measure:
    """Return the measure of that name, or the first."""
    return next((one for one in measures if one.name == name), measures[0] if measures else P_AT_1)


def make_table(
    board: Leaderboard,
    entries: Sequence[LeaderboardEntry],
    *,
    sort: str = "",
    every_entry: bool = False,
    kept: bool = False,
) -> Table:
    """Return the table of entries that were scored; places and leading figures are of what is shown, one decimal.

    Args:
        entries: those that may be shown, oldest first; of two that are equal the older one stands above.
        sort: the measure's name; the first one of the leaderboard when it is unknown.
        every_entry: all entries, or for each team the best one by that measure over the photos that are shown: the
            same entries stand in both tables, so that nobody is chosen by the photos that were kept.
        kept: figures over the photos kept for the end.
    """
    measures = measures_of(board)
    by = measure_called(measures, sort)
    chosen = sorted(entries, key=lambda entry: _rank(figure(entry.figures, by), by.better))
    shown = chosen if every_entry else best_of_teams(chosen)
    if kept:
        shown = sorted(shown, key=lambda entry: _rank(figure(figures_in(entry, kept=True), by), by.better))
    leading = [_best(shown, measure, kept=kept) for measure in measures]
    rows = []
    for place, entry in enumerate(shown, start=1):
        found = [figure(figures_in(entry, kept=kept), measure) for measure in measures]
        best = [one.value is not None and one.value == lead for one, lead in zip(found, leading, strict=True)]
        rows.append(Row(entry, place, found, best))
    return Table(
        measures=measures,
        counts=[_count(board, entries, measure, kept=kept) for measure in measures],
        rows=rows,
        references=references_of(board, measures, kept=kept),
        sort=by,
        every_entry=every_entry,
        entries=len(entries),
        teams=len({entry.team_id for entry in entries}),
    )


def figures_in(entry: LeaderboardEntry, *, kept: bool) -> Mapping[str, Any]:
    """Return an entry's figures over what is shown at once, or over the photos kept for the end."""
    found: Mapping[str, Any] = entry.figures.get(KEPT_FIGURES, {}) if kept else entry.figures
    return found


def references_of(board: Leaderboard, measures: Sequence[Measure], *, kept: bool = False) -> list[Reference]:
    """Return what people and chance reach, where the leaderboard's own data tell."""
    facts = board.options.get(KEPT_FIGURES, {}) if kept else board.options
    known: Mapping[str, Mapping[str, Any]] = rounded(facts.get("references", {}))
    found = []
    for name, words in REFERENCES.items():
        figures = [Figure(**known.get(name, {}).get(one.name, {"value": None})) for one in measures]
        if any(one.value is not None for one in figures):
            found.append(Reference(name, words, figures))
    return found


def best_of_teams(ordered: Iterable[LeaderboardEntry]) -> list[LeaderboardEntry]:
    """Return the first entry of each team, in the order given."""
    first: dict[int, LeaderboardEntry] = {}
    for entry in ordered:
        first.setdefault(entry.team_id, entry)
    return list(first.values())


def _rank(found: Figure, better: Better) -> tuple[bool, float]:
    if found.value is None:
        return True, 0.0
    return False, -found.value if better is Better.HIGH else found.value


def _best(entries: Sequence[LeaderboardEntry], measure: Measure, *, kept: bool) -> float | None:
    found = [figure(figures_in(entry, kept=kept), measure).value for entry in entries]
    values = [value for value in found if value is not None]
    if not values:
        return None
    return max(values) if measure.better is Better.HIGH else min(values)


def _count(
    board: Leaderboard, entries: Sequence[LeaderboardEntry], measure: Measure, *, kept: bool
) -> int | None:
    """How many were measured is the same for all entries; before the first one the leaderboard's own count says."""
    for entry in entries:
        found = count_of(figures_in(entry, kept=kept), measure)
        if found is not None:
            return found
    facts = board.options.get(KEPT_FIGURES, {}) if kept else board.options
    known = facts.get("counts", {}).get(measure.name)
    return int(known) if known is not None else None
