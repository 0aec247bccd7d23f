"""How a marketplace lists a batch's tasks: title, description, keywords and expected time."""

from dataclasses import dataclass

from hits import registry
from hits.models import Batch

PROVENANCE_KEY = "listing"  # key of a batch's provenance


@dataclass(frozen=True, slots=True)
class TaskListing:
    """The text that workers read before they accept a task."""

    title: str
    description: str
    keywords: str
    expected_seconds: int

    def as_row(self) -> dict[str, str | int]:
        """Return the listing as a batch's provenance stores it."""
        texts = {"title": self.title, "description": self.description, "keywords": self.keywords}
        return texts | {"usual_seconds": self.expected_seconds}


def batch_listing(batch: Batch) -> TaskListing:
    """Return the batch's own listing where its launch set one, else the kind's.

    The batch's name in the description keeps two batches apart in the worker's list.
    """
    kind = registry.get_kind(batch.kind)
    stored = batch.provenance.get(PROVENANCE_KEY, {})
    return TaskListing(
        title=stored.get("title") or kind.title,
        description=stored.get("description") or f"{kind.description} ({batch.name})",
        keywords=stored.get("keywords") or kind.keywords,
        expected_seconds=stored.get("usual_seconds") or kind.expected_seconds,
    )
