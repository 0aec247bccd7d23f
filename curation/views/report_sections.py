"""Sections of a report page as plain data; ``curation/report/section.html`` draws each of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from hits.charts.chart import Chart
from hits.domain.images.image_facts import ImageFacts


@dataclass(frozen=True, slots=True)
class Figure:
    """A number at the top of a section, with its title and a note."""

    title: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell. ``kind`` is a CSS class; ``span`` is the number of columns that it spans."""

    text: str = ""
    note: str = ""
    kind: str = ""
    chart: Chart | None = None
    span: int = 1
    is_heading: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; ``numeric_columns`` are their indices. A table with a ``title`` is collapsed."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric_columns: Sequence[int] = ()
    caption: str = ""
    kind: str = "table stacked"
    title: str = ""

    @property
    def labelled_rows(self) -> list[list[tuple[str, bool, Cell]]]:
        """Each cell with its heading and whether it is numeric; phones show rows as labelled blocks."""
        return [
            [(self.headings[at], at in self.numeric_columns, cell) for at, cell in enumerate(row)]
            for row in self.rows
        ]


@dataclass(frozen=True, slots=True)
class Group:
    """A group of related texts: heading, badge and warning (CSS class, text), the texts, and notes."""

    heading: str
    badge: tuple[str, str] = ("", "")
    warning: tuple[str, str] = ("", "")
    texts: Sequence[str] = ()
    notes: Sequence[str] = ()
    image: ImageFacts | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One card of a report. Everything but the title may be absent."""

    title: str
    note: str = ""
    anchor: str = ""
    figures: Sequence[Figure] = ()
    before: str = ""
    chart: Chart | None = None
    chart_ends: Sequence[str] = ()
    tables: Sequence[Table] = ()
    facts: Sequence[tuple[str, str]] = ()
    groups: Sequence[Group] = ()
    legend: Sequence[tuple[str, str]] = ()
    after: str = ""
    empty: tuple[str, str] = ("", "")
    has_pages: bool = False


def text_cells(*values: str) -> list[Cell]:
    """Return cells of plain values."""
    return [Cell(value) for value in values]
