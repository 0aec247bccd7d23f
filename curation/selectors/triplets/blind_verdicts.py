"""Which readers' verdicts were given blind, from the history of a scene's decisions."""

from collections.abc import Iterable

from curation.models import SceneDecision, SceneVerdict


def informed_decisions(decisions: Iterable[SceneDecision], readers: int) -> set[int]:
    """Return the keys of verdicts whose reader could see another reader's verdict before.

    A reader sees the others' once the own verdict stands beside one of theirs; taking it back does not undo that. Who
    comes after all readers that the project asks for sees theirs at once.

    Args:
        decisions: all of one scene, oldest first.
        readers: that the project asks for; a single one is never blind, and the result is empty.
    """
    if readers <= 1:
        return set()
    informed: set[int] = set()
    have_seen: set[int | None] = set()
    counting: set[int | None] = set()
    for row in decisions:
        others = counting - {row.by_id}
        if row.verdict == SceneVerdict.UNDONE:
            counting = others
            continue
        if row.by_id in have_seen or len(others) >= readers:
            informed.add(row.pk)
        counting = others | {row.by_id}
        if others:
            have_seen |= counting
    return informed
