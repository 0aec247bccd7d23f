"""Why a bucket has no complete matching, in one sentence that names the queries, responses or copies."""

from collections.abc import Sequence

from curation.evaluation.inputs import describe_ids
from curation.matching.copies import Labels, excess_copies
from curation.matching.hall import HallViolator


def check_bucket(ids: Sequence[str], same_text: Labels, rounds: int) -> str:
    """Return why no matching of a bucket with this number of rounds exists, whatever its weights; empty if one can.

    ids: n ids of the triplets. same_text: (n,) equal for copies.
    """
    n = len(ids)
    if n <= rounds:
        return f"a bucket of {n} is too small: {rounds} rounds need at least {rounds + 1} triplets"
    for group in excess_copies(same_text, rounds):
        copies = describe_ids([ids[index] for index in group])
        return (
            f"{len(group)} copies of one text ({copies}) in a bucket of {n}: "
            f"{rounds} rounds need at least {(rounds + 1) * len(group)} triplets"
        )
    return ""


def describe_violator(violator: HallViolator, ids: Sequence[str]) -> str:
    """Return a violator as a sentence. ids: of the triplets, whose queries are rows and responses columns."""
    queries = _name("query", "queries", [ids[row] for row in violator.rows])
    responses = _name("response", "responses", [ids[column] for column in violator.columns])
    if violator.by_rows:
        return f"{queries} may get only {responses}"
    return f"{responses} may go only to {queries}"


def count_violator(violator: HallViolator) -> str:
    """Return a violator as a short phrase with numbers alone."""
    queries, responses = len(violator.rows), len(violator.columns)
    if violator.by_rows:
        return f"{queries} queries may get only {responses} responses"
    return f"{responses} responses may go only to {queries} queries"


def _name(one: str, many: str, ids: Sequence[str]) -> str:
    if not ids:
        return f"no {one}"
    return f"{len(ids)} {one if len(ids) == 1 else many} ({describe_ids(ids)})"
