"""What changed between two sealed versions: ids of rows, by comparing hashes."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """Ids of rows that a later version added, removed or changed; each list is sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    before: int
    after: int

    def counts(self) -> dict[str, int]:
        """Return how many rows were added, removed and changed, and how many there are before and after."""
        return {
            "added": len(self.added),
            "removed": len(self.removed),
            "changed": len(self.changed),
            "before": self.before,
            "after": self.after,
        }


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> Difference:
    """Compare the row hashes of two versions, each ``{instance id: sha256}``."""
    return Difference(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(key for key in before.keys() & after.keys() if before[key] != after[key])),
        before=len(before),
        after=len(after),
    )
