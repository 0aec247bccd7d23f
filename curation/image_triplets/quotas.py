"""How many scenes of each category and time are wanted, kept and missing (Ventura et al. 2025 §3, fig. 6 and 14)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from curation.records import InvalidInput
from hits.domain.answers.scene_facets import CATEGORIES, TEMPORAL_CELLS, Category, temporal_cell

ANY = ""  # any category, or any temporal cell
MAX_TARGET = 1_000_000
Targets = Mapping[str, Mapping[str, int]]  # category → temporal cell or ``ANY`` → number of scenes


@dataclass(frozen=True, slots=True)
class QuotaCell:
    """The scenes of one category and time. ``target`` is ``None`` if nobody asked for a number."""

    category: str
    cell: str
    kept: int
    target: int | None = None

    @property
    def missing(self) -> int:
        """How many more are wanted."""
        return max(0, (self.target or 0) - self.kept)


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """One category over the temporal cells; ``total`` is over all of them."""

    category: str
    cells: tuple[QuotaCell, ...]
    total: QuotaCell


@dataclass(frozen=True, slots=True)
class QuotaTable:
    """A row for each category, and one for all categories together."""

    rows: tuple[QuotaRow, ...]
    total: QuotaRow

    @property
    def missing_by_category(self) -> dict[str, int]:
        """The number of scenes that each category still misses; only categories that miss some."""
        return {row.category: row.total.missing for row in self.rows if row.total.missing}


def build_quota_table(kept: Iterable[tuple[str, str, str]], targets: Targets | None = None) -> QuotaTable:
    """Return what is wanted, kept and missing.

    The number wanted of a category is what is asked for at any time, or the sum over its temporal cells if that is
    more. The number wanted at a time is the sum over the categories.

    Args:
        kept: category, direction and duration of each kept scene.
        targets: numbers wanted by category and temporal cell, or by category and ``ANY``.

    Raises:
        InvalidInput: ``targets`` names an unknown category or cell, or a negative number.
    """
    asked = check_targets(targets or {})
    counts = Counter((category, temporal_cell(direction, duration)) for category, direction, duration in kept)
    rows = tuple(_row(category, counts, asked.get(category, {})) for category in CATEGORIES)
    return QuotaTable(rows, _total_row(rows))


def _row(category: str, counts: Mapping[tuple[str, str], int], asked: Mapping[str, int]) -> QuotaRow:
    cells = tuple(
        QuotaCell(category, cell, counts.get((category, cell), 0), asked.get(cell)) for cell in TEMPORAL_CELLS
    )
    by_cell = _sum_targets(cells)
    target = max((number for number in (asked.get(ANY), by_cell) if number is not None), default=None)
    return QuotaRow(category, cells, QuotaCell(category, ANY, sum(cell.kept for cell in cells), target))


def _total_row(rows: Sequence[QuotaRow]) -> QuotaRow:
    columns = zip(*(row.cells for row in rows), strict=True)
    cells = tuple(
        QuotaCell(ANY, cell, sum(one.kept for one in column), _sum_targets(column))
        for cell, column in zip(TEMPORAL_CELLS, columns, strict=True)
    )
    totals = [row.total for row in rows]
    return QuotaRow(
        ANY, cells, QuotaCell(ANY, ANY, sum(total.kept for total in totals), _sum_targets(totals))
    )


def _sum_targets(cells: Sequence[QuotaCell]) -> int | None:
    numbers = [cell.target for cell in cells if cell.target is not None]
    return sum(numbers) if numbers else None


def check_targets(targets: Targets) -> dict[str, dict[str, int]]:
    """Return the numbers wanted, as plain dictionaries.

    Raises:
        InvalidInput: an unknown category or temporal cell, or a number that is not 0 to a million.
    """
    for category, cells in targets.items():
        _check_category(category, "quota")
        for cell, number in cells.items():
            if cell not in {ANY, *TEMPORAL_CELLS}:
                raise InvalidInput(
                    f"quota {category}: {cell!r} is no temporal cell; use {', '.join(TEMPORAL_CELLS)}"
                )
            if type(number) is not int or not 0 <= number <= MAX_TARGET:
                raise InvalidInput(
                    f"quota {category} {cell}: {number!r} is no whole number from 0 to {MAX_TARGET:,}"
                )
    return {category: dict(cells) for category, cells in targets.items()}


def parse_quotas(options: Sequence[str]) -> dict[Category, int]:
    """Return the numbers of ``--quota CATEGORY=N`` options by category, in their order.

    Raises:
        InvalidInput: an option has another form, an unknown category, no number from 1 on, or a category twice.
    """
    found: dict[Category, int] = {}
    for option in options:
        name, separator, digits = (part.strip() for part in option.partition("="))
        if not separator:
            raise InvalidInput(
                f"quota {option!r}: has no number; write CATEGORY=N, for instance {CATEGORIES[0]}=20"
            )
        category = _check_category(name, f"quota {option!r}")
        number = _parse_number(digits)
        if number is None:
            raise InvalidInput(f"quota {option!r}: write a whole number from 1 to {MAX_TARGET:,} after the =")
        if category in found:
            raise InvalidInput(f"quota {option!r}: {category} has a quota already; give one number")
        found[category] = number
    return found


def _parse_number(digits: str) -> int | None:
    is_short = digits.isascii() and digits.isdigit() and len(digits) <= len(str(MAX_TARGET))
    return int(digits) if is_short and 1 <= int(digits) <= MAX_TARGET else None


def _check_category(name: str, where: str) -> Category:
    known = next((category for category in CATEGORIES if category == name.lower()), None)
    if known is None:
        raise InvalidInput(f"{where}: {name!r} is no category; use {', '.join(CATEGORIES)}")
    return known


def spread_quotas(count: int, quotas: Mapping[Category, int]) -> list[str]:
    """Return the category of each of ``count`` units, in order; ``ANY`` where the writer chooses.

    Each category stands at even distances, so that a launch that ends early has all of them in proportion.

    Raises:
        InvalidInput: the quotas are more than ``count``.
    """
    asked = sum(quotas.values())
    if asked > count:
        raise InvalidInput(
            f"quotas: they ask for {asked:,} scenes and the launch has {count:,}; raise the count or lower the quotas"
        )
    numbers: dict[str, int] = dict(quotas) | {ANY: count - asked}
    order = list(numbers)
    # The middle of the k-th of n equal stretches: 0.5/n, 1.5/n, …
    slots = [
        ((2 * index + 1) / (2 * number), order.index(category), category)
        for category, number in numbers.items()
        for index in range(number)
    ]
    return [category for *_, category in sorted(slots, key=lambda slot: slot[:2])]
