"""Published figures on image triplets, to stand beside our own (Ventura et al. 2025, arXiv:2410.02613)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ORIGIN = "paper"
_NAMES = frozenset({"strategy", "model", "variant", "predictor", "source"})


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row of a published table.

    strategy: what the model saw (``separate``, ``combined``, ``text-only``, ``image-to-text``), or ``people`` or
    ``baseline``; ``related`` is another benchmark, whose ``source`` is named. variant: of the prompt or of the
    images, if a table has several. predictor: the model that reads another one's descriptions. version: of the model,
    where it is given. figures: percent, except numbers of explanations and mean differences in points.
    """

    table: str
    strategy: str
    model: str
    figures: Mapping[str, float]
    variant: str = ""
    predictor: str = ""
    version: str = ""
    source: str = ""

    @property
    def origin(self) -> str:
        """Where the figures come from: never measured here."""
        return ORIGIN


@dataclass(frozen=True, slots=True)
class PaperFigures:
    """All published figures. tables: rows by table. single: figures by name. notes: inconsistencies of the source."""

    citation: str
    arxiv: str
    judge: str
    triplets: int
    tables: Mapping[str, tuple[PaperRow, ...]]
    single: Mapping[str, float]
    notes: tuple[str, ...]


@cache
def paper_figures() -> PaperFigures:
    """Return the published figures."""
    raw = tomllib.loads(Path(__file__).with_name("nleye_paper.toml").read_text("utf-8"))
    versions = raw["versions"]
    tables = {
        table: tuple(
            PaperRow(
                table=table,
                figures={key: value for key, value in row.items() if key not in _NAMES},
                version=versions.get(row["model"], ""),
                **{key: value for key, value in row.items() if key in _NAMES},
            )
            for row in rows
        )
        for table, rows in raw.items()
        if isinstance(rows, list) and table != "notes"
    }
    return PaperFigures(
        citation=raw["citation"],
        arxiv=raw["arxiv"],
        judge=raw["judge"],
        triplets=raw["triplets"],
        tables=tables,
        single=raw["single"],
        notes=tuple(raw["notes"]),
    )


def paper_rows(table: str) -> tuple[PaperRow, ...]:
    """Return the rows of a table, such as ``main`` (table 2) or ``orders`` (table 7)."""
    return paper_figures().tables[table]
