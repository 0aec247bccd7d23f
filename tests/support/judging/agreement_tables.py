"""Random rating tables with missing ratings, ties and labels that nobody gave."""

from collections.abc import Iterator

import numpy as np

from validation.domain.judging.ratings import RatingTable

TABLES = 480  # a good half of them defined, whatever the coefficient


def random_tables(seed: int, tables: int = TABLES, *, complete: bool = False) -> Iterator[RatingTable]:
    """Yield tables that differ in size, crowd, scale, skew and share of missing ratings."""
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        items, raters, labels = (int(rng.integers(low, high)) for low, high in ((1, 16), (2, 7), (2, 6)))
        missing = 0.0 if complete else rng.choice([0.0, 0.2, 0.5, 0.8])
        values = np.sort(rng.choice([-2.5, 0.0, 1.0, 1.5, 4.0, 9.0], size=labels)).tolist()
        likely = rng.dirichlet(np.full(labels, rng.choice([0.3, 1.0, 5.0])))
        majority_label = rng.choice(labels, size=items, p=likely)
        follows = rng.random()
        rows = [
            (
                f"i{item}",
                f"r{rater}",
                int(majority_label[item] if rng.random() < follows else rng.choice(labels, p=likely)),
            )
            for item in range(items)
            for rater in range(raters)
            if rng.random() >= missing
        ]
        order = rng.permutation(len(rows))
        yield RatingTable.from_rows([rows[at] for at in order], range(labels), values)


def as_matrix(table: RatingTable, *, values: bool = False) -> np.ndarray:
    """Return raters × items with codes (or values), NaN where a rating is missing."""
    matrix = np.full((len(table.rater_ids), len(table.item_ids)), np.nan)
    matrix[table.raters, table.items] = table.values[table.labels] if values else table.labels
    return matrix


def has_gaps_and_ties(table: RatingTable) -> bool:
    """Tell whether somebody left out an item, and some two people gave one item the same label."""
    missing = table.size < len(table.item_ids) * len(table.rater_ids)
    given = list(zip(table.items.tolist(), table.labels.tolist(), strict=True))
    return missing and len(set(given)) < len(given)


def of_matrix(rows: list[str], scale: str) -> RatingTable:
    """Return the table of one string per rater, a character per item; a dot is missing."""
    ratings = [
        (item, rater, label)
        for rater, row in enumerate(rows)
        for item, label in enumerate(row)
        if label != "."
    ]
    return RatingTable.from_rows(ratings, scale, range(1, len(scale) + 1))


def of_counts(counts: list[list[int]]) -> RatingTable:
    """Return a table in which each item has these counts of labels; who gave which does not matter."""
    rows = []
    for item, row in enumerate(counts):
        labels = [label for label, count in enumerate(row) for _ in range(count)]
        rows += [(item, rater, label) for rater, label in enumerate(labels)]
    return RatingTable.from_rows(rows, range(len(counts[0])))
