"""Differences between two sealed versions, found by comparing the hashes of rows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

Key = tuple[str, str]  # name of the part, instance id


@dataclass(frozen=True, slots=True)
class Difference:
    """Keys of rows that a later version added, removed or changed; each list is sorted.

    ``parts`` has the numbers of rows of each part before and after.
    """

    added: tuple[Key, ...]
    removed: tuple[Key, ...]
    changed: tuple[Key, ...]
    before: int
    after: int
    parts: Mapping[str, tuple[int, int]]

    def counts(self) -> dict[str, int]:
        """Return the numbers of rows added, removed, changed, before and after."""
        return {
            "added": len(self.added),
            "removed": len(self.removed),
            "changed": len(self.changed),
            "before": self.before,
            "after": self.after,
        }


def compare_rows(before: Mapping[Key, str], after: Mapping[Key, str]) -> Difference:
    """Compare the row hashes of two versions, each ``{(part, instance id): sha256}``."""
    counts_before, counts_after = Counter(part for part, _ in before), Counter(part for part, _ in after)
    return Difference(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(key for key in before.keys() & after.keys() if before[key] != after[key])),
        before=len(before),
        after=len(after),
        parts={
            part: (counts_before[part], counts_after[part]) for part in sorted(counts_before | counts_after)
        },
    )
