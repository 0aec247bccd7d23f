"""Tables of the comparisons page: our evaluations of a version beside the tables of Ventura et al. 2025."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.urls import reverse

from curation.evaluation.nleye_paper import PaperRow, paper_figures
from curation.models import TripletEvaluation, TripletSource
from curation.services.triplets.evaluations import PAIRS, TRIPLET
from curation.views.triplets.evaluation_cells import (
    ALPHA,
    POINTS,
    Cell,
    Column,
    ComparisonTable,
    Row,
    RowGroup,
    count_cell,
    figure_cell,
    gap_side,
    interval_note,
    number_cell,
    paper_cell,
)
from curation.views.triplets.evaluation_names import (
    PAPER_STRATEGIES,
    comparison_key,
    evaluation_label,
    settings_in_words,
    source_key,
    until_text,
    what_it_saw,
)
from hits.charts.scale import decimal_text

OURS = "This project"
MAX_OTHER_VALID = (
    10.0  # percent of explanations of other triplets; a judge that accepts more is not to be trusted
)
_SOURCE_ORDER = [
    TripletSource.MODEL.value,
    TripletSource.FILE.value,
    TripletSource.BASELINE.value,
    TripletSource.PEOPLE.value,
    TripletSource.JUDGE.value,
]
PaperReader = Callable[[PaperRow], Sequence[float | Cell | None]]
MAIN_COLUMNS = (
    Column("Choice", "consistency accuracy: gold in both orders"),
    Column("Scores", "order-faithful accuracy: gold has the higher score"),
    Column("Valid by people", "explanations with at least one vote"),
    Column("Valid by a judge", "explanations that give the reason of a reference"),
)
ORDER_COLUMNS = (
    Column("Consistency", "gold in both orders"),
    Column("Gold first", "gold chosen where it stands first"),
    Column("Gold second", "gold chosen where it stands second"),
    Column("Order gap", "difference of the two, and which of them is higher"),
    Column("First position", "share of the valid answers that name the first image"),
    Column("No position", "answers that name no image: equal, none, refused, not read, not asked"),
)
PAIR_COLUMNS = (
    Column("Right", "gold has the higher score"),
    Column("Equal", "both have the same score"),
    Column("Difference", "mean difference of the scores, in points"),
    Column("When right", "mean difference where gold has the higher score"),
    Column("When wrong", "mean difference elsewhere"),
)
VOTE_COLUMNS = (
    Column("At least one vote", "valid as in the paper"),
    Column("Over half", "of the voters"),
    Column("All", "of the voters"),
    *(Column(f"{votes} of 3", f"{votes} of exactly three voters") for votes in range(4)),
)
JUDGE_COLUMNS = (
    Column("Valid", "the grade says that it gives the reason of a reference"),
    Column("Agreement", "with people, of the explanations that both judged"),
    Column("κ", "Cohen’s kappa of this agreement"),
    Column("Judge alone", "valid by the judge, not by people"),
    Column("People alone", "valid by people, not by the judge"),
    Column("Flips", "explanations whose repeats differ"),
    Column("No grade", "explanations whose grade could not be read"),
)
SIMILARITY_COLUMN = Column(
    "BERTScore", "similarity to the nearest reference, rescaled; a second, weak measure"
)


def comparison_tables(rows: Sequence[TripletEvaluation]) -> list[ComparisonTable]:
    """Return the tables with rows of ours or of the paper. ``rows``: finished evaluations, the newest first."""
    return [
        _main_table(rows),
        _order_table(rows),
        _pair_table(rows),
        _vote_table(rows),
        *_judge_table(rows),
    ]


def newest_rows(
    rows: Sequence[TripletEvaluation], setup: str
) -> dict[tuple[str, str, str, str], TripletEvaluation]:
    """Return the newest evaluation in a setup of each model, strategy and settings: models, files, baselines."""
    found: dict[tuple[str, str, str, str], TripletEvaluation] = {}
    for row in sorted(rows, key=lambda row: _SOURCE_ORDER.index(row.source)):
        if row.setup == setup and row.source != TripletSource.PEOPLE and setup in row.figures:
            found.setdefault(comparison_key(row), row)
    return found


def newest_of(rows: Sequence[TripletEvaluation], source: TripletSource) -> TripletEvaluation | None:
    """Return the newest evaluation of people or of a judge."""
    return next((row for row in rows if row.source == source), None)


def _table(
    name: str, title: str, columns: Sequence[Column], groups: Sequence[RowGroup], note: str = ""
) -> ComparisonTable:
    cells = [cell for group in groups for row in group.rows for _, cell in row.cells]
    notes = " ".join(text for text in (note, interval_note(cells)) if text)
    return ComparisonTable(name, title, columns, [group for group in groups if group.rows], notes)


def _our_row(row: TripletEvaluation, columns: Sequence[Column], cells: Sequence[Cell]) -> Row:
    url = reverse("triplet-evaluation", args=[row.project.slug, row.pk])
    settings = settings_in_words(row)
    return Row(evaluation_label(row), what_it_saw(row), list(zip(columns, cells, strict=True)), url, settings)


def _paper_group(table: str, number: str, columns: Sequence[Column], read: PaperReader) -> RowGroup:
    rows = [
        Row(
            row.model,
            PAPER_STRATEGIES.get(row.strategy, row.strategy),
            [
                (column, value if isinstance(value, Cell) else paper_cell(value))
                for column, value in zip(columns, read(row), strict=True)
            ],
            settings=row.version,
        )
        for row in paper_figures().tables[table]
    ]
    return RowGroup(f"{paper_figures().citation}, {number}", rows, is_paper=True)


def _main_table(rows: Sequence[TripletEvaluation]) -> ComparisonTable:
    setups = {setup: newest_rows(rows, setup) for setup in (TRIPLET, PAIRS)}
    people, judge = newest_of(rows, TripletSource.PEOPLE), newest_of(rows, TripletSource.JUDGE)
    votes = people.figures.get("explanations", {}) if people else {}
    graded = judge.figures.get("models", {}) if judge else {}
    ours = []
    if people is not None:
        ours.append(_our_row(people, MAIN_COLUMNS, _people_cells(people.figures)))
    keys = dict.fromkeys(key for found in setups.values() for key in found)
    for key in sorted(keys, key=lambda key: _SOURCE_ORDER.index(key[0])):
        by_setup = {setup: found[key] for setup, found in setups.items() if key in found}
        row = next(iter(by_setup.values()))
        cells = [
            _headline(by_setup.get(TRIPLET), TRIPLET, "consistency_accuracy"),
            _headline(by_setup.get(PAIRS), PAIRS, "order_faithful_accuracy"),
            _validity_cell(votes.get(source_key(row))),
            _judge_cell(graded.get(source_key(row))),
        ]
        ours.append(_our_row(row, MAIN_COLUMNS, cells))
    paper = _paper_group(
        "main",
        "table 2",
        MAIN_COLUMNS,
        lambda row: [row.figures.get(name) for name in ("triplet", "pairs", "human", "auto")],
    )
    return _table("overview", "Accuracy", MAIN_COLUMNS, [RowGroup(OURS, ours), paper])


def _headline(row: TripletEvaluation | None, setup: str, measure: str) -> Cell:
    if row is None:
        return Cell()
    return figure_cell(row.figures[setup][measure], row.figures[setup]["triplets"])


def _people_cells(figures: Mapping[str, Any]) -> list[Cell]:
    people, ratings = figures["people"], figures.get("ratings", {})
    return [
        figure_cell(people["majority_accuracy"], people["judged"], note="majority"),
        figure_cell(ratings.get("of_means"), ratings.get("triplets"), note="mean ratings"),
        _validity_cell(figures.get("explanations", {}).get("people")),
        Cell(),
    ]


def _validity_cell(figures: Mapping[str, Any] | None) -> Cell:
    return figure_cell(figures["at_least_1"], figures["judged"]) if figures else Cell()


def _judge_cell(figures: Mapping[str, Any] | None) -> Cell:
    return figure_cell(figures["auto_score"], figures["explanations"]) if figures else Cell()


def gap_cell(figures: Mapping[str, Any], count: int | None = None) -> Cell:
    """Return the order gap of figures of choices, with the position in which gold is chosen more often."""
    sides = (figures[f"gold_{side}_accuracy"]["value"] for side in ("first", "second"))
    return figure_cell(figures["order_gap"], count, note=gap_side(*sides))


def order_cells(figures: Mapping[str, Any]) -> list[Cell]:
    """Return the cells of ``ORDER_COLUMNS`` of the figures of choices."""
    n = figures["triplets"]
    names = ("consistency_accuracy", "gold_first_accuracy", "gold_second_accuracy")
    position = figure_cell(
        figures["first_position_share"],
        figures["valid_presentations"],
        note=f"p = {figures['position_p']:.3g}",
    )
    return [
        *(figure_cell(figures[name], n) for name in names),
        gap_cell(figures, n),
        position,
        count_cell(figures["invalid_presentations"]),
    ]


def _order_table(rows: Sequence[TripletEvaluation]) -> ComparisonTable:
    ours = [
        _our_row(row, ORDER_COLUMNS, order_cells(row.figures[TRIPLET]))
        for row in newest_rows(rows, TRIPLET).values()
    ]

    def read(row: PaperRow) -> Sequence[float | Cell | None]:
        consistency, first, second = (
            row.figures[name] for name in ("consistency", "gold_first", "gold_second")
        )
        gap = replace(paper_cell(abs(first - second)), note=gap_side(first, second))
        return [consistency, first, second, gap, None, None]

    note = (
        "A rule that always names the first image has a consistency of 0 and an order gap of 100. p: exact test of "
        "the share of first positions against one half."
    )
    paper = _paper_group("orders", "table 7", ORDER_COLUMNS, read)
    return _table("orders", "Order of the hypotheses", ORDER_COLUMNS, [RowGroup(OURS, ours), paper], note)


def pair_cells(figures: Mapping[str, Any]) -> list[Cell]:
    """Return the cells of ``PAIR_COLUMNS`` of the figures of scores."""
    shares = ("order_faithful_accuracy", "equal_share")
    means = ("mean_difference", "mean_difference_when_right", "mean_difference_when_wrong")
    return [
        *(figure_cell(figures[name], figures["triplets"]) for name in shares),
        *(figure_cell(figures[name], unit=POINTS) for name in means),
    ]


def _pair_table(rows: Sequence[TripletEvaluation]) -> ComparisonTable:
    ours = [
        _our_row(row, PAIR_COLUMNS, pair_cells(row.figures[PAIRS]))
        for row in newest_rows(rows, PAIRS).values()
    ]
    names = ("pairs", "equal", "difference", "right", "wrong")
    paper = _paper_group("scores", "table 8", PAIR_COLUMNS, lambda row: [row.figures[name] for name in names])
    note = "Equal and missing scores are wrong. Differences are in points of the scale, of ten points in the paper."
    return _table("scores", "Scores in pairs", PAIR_COLUMNS, [RowGroup(OURS, ours), paper], note)


def _vote_table(rows: Sequence[TripletEvaluation]) -> ComparisonTable:
    people = newest_of(rows, TripletSource.PEOPLE)
    found = people.figures.get("explanations", {}) if people else {}
    ours = [
        Row(
            "People" if source == "people" else source.partition(", ")[0],
            PAPER_STRATEGIES.get(source.rpartition(", ")[2], source.capitalize()),
            list(zip(VOTE_COLUMNS, _vote_cells(figures), strict=True)),
        )
        for source, figures in found.items()
    ]

    def read(row: PaperRow) -> Sequence[float | None]:
        return [None, None, None, *(row.figures[f"votes_{votes}"] for votes in range(4))]

    note = (
        "Only explanations of right choices are judged, one for each triplet. Shares by votes are of those with "
        "exactly three voters."
    )
    if people is not None:
        note += f" {until_text(people)}"
    paper = _paper_group("votes", "table 9", VOTE_COLUMNS, read)
    return _table(
        "explanations", "Valid explanations, by people", VOTE_COLUMNS, [RowGroup(OURS, ours), paper], note
    )


def _vote_cells(figures: Mapping[str, Any]) -> list[Cell]:
    judged = figures["judged"]
    return [
        *(figure_cell(figures[name], judged) for name in ("at_least_1", "at_least_half", "all")),
        *(number_cell(figures["votes_of_3"][str(votes)]) for votes in range(4)),
    ]


def judge_columns(rows: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Return the columns of judges' figures; BERTScore is one if one of them measured it."""
    return (*JUDGE_COLUMNS, SIMILARITY_COLUMN) if any("bertscore" in row for row in rows) else JUDGE_COLUMNS


def judge_cells(figures: Mapping[str, Any], columns: Sequence[Column]) -> list[tuple[Column, Cell]]:
    """Return a judge's figures under ``columns``, which are those of ``judge_columns``."""
    cells = [
        figure_cell(figures["auto_score"], figures["explanations"]),
        number_cell(figures["agreement"], figures["compared"]),
        number_cell(figures["cohen_kappa"], unit=ALPHA),
        count_cell(figures["judge_valid_people_not"]),
        count_cell(figures["people_valid_judge_not"]),
        count_cell(figures["flips"]),
        count_cell(figures["missing"]),
    ]
    if SIMILARITY_COLUMN in columns:
        cells.append(figure_cell(figures.get("bertscore")))
    return list(zip(columns, cells, strict=True))


def judge_warning(figures: Mapping[str, Any]) -> str:
    """Return what is wrong with a judge that accepts explanations of other triplets; empty if it does not."""
    check = figures["checks"].get("other_triplet", {}).get("score", {})
    share = check.get("value")
    if share is None or share <= MAX_OTHER_VALID:
        return ""
    return (
        f"The judge graded {decimal_text(share, 1)} % of the explanations of other triplets as valid, which should "
        "be about 0. Its other figures are too high."
    )


def _judge_table(rows: Sequence[TripletEvaluation]) -> list[ComparisonTable]:
    """Return the table of the newest run of each judge, if there is one: all candidates, then by model."""
    by_judge: dict[str, list[TripletEvaluation]] = defaultdict(list)
    for row in rows:
        if row.source == TripletSource.JUDGE and "judge" in row.figures:
            by_judge[row.label].append(row)
    columns = judge_columns(row.figures["judge"] for row, *_ in by_judge.values())
    groups = []
    for label, (row, *_) in by_judge.items():
        total = [cell for _, cell in judge_cells(row.figures["judge"], columns)]
        ours = [_our_row(row, columns, total)]
        for source, figures in row.figures["models"].items():
            name, _, strategy = source.rpartition(", ")
            cells = judge_cells(figures, columns)
            ours.append(Row(name or source, PAPER_STRATEGIES.get(strategy, strategy), cells))
        groups.append(RowGroup(f"Judge {label}", ours))
    warnings = [
        f"{row.label}: {text}"
        for row, *_ in by_judge.values()
        if (text := judge_warning(row.figures["judge"]))
    ]
    note = " ".join(
        [
            *warnings,
            "The paper’s judge was GPT-4o of 2024-08-06; its scores are the last column of the first table.",
        ]
    )
    return [_table("judge", "Valid explanations, by a judge", columns, groups, note)] if groups else []
