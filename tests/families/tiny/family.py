"""A small family: likenesses and differences of two photos, and words without any."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from curation.models import DatasetVersion
from curation.versions.family import Family, Part
from curation.versions.plan import Plan, PlannedRow, image_url, worker_hash
from curation.versions.selection import ExclusionReason
from curation.versions.selection_filter import SelectionFilter
from curation.versions.splits import parse_split
from hits.models import Image, Record
from hits.selectors.records import (
    approved_records,
    approved_records_on_taken_down_images,
    image_ids_by_record,
    is_simulated,
    record_author,
)


class TinyFamily(Family):
    """Each record is a row: its fields, and the addresses of its images."""

    name: ClassVar[str] = "tiny"
    title: ClassVar[str] = "Tiny"
    parts: ClassVar[tuple[Part, ...]] = tuple(
        Part(name, (name, f"{name}s"), record_type=name) for name in ("difference", "likeness", "word")
    )

    def plan(self, version: DatasetVersion, plan: Plan, follow: Callable[[int], None]) -> None:
        """Add a row for each record that the selection lets pass."""
        for part in self.parts:
            choices = SelectionFilter(
                version.project, part.name, plan.selection, record_types=self.record_types
            )
            rows = list(approved_records(version.project, part.name))
            images = image_ids_by_record(rows)
            known = Image.objects.in_bulk({pk for keys in images.values() for pk in keys})
            for number, record in enumerate(rows):
                follow(number)
                why = choices.exclusion_reason(record)
                if is_simulated(record) and not version.rehearsal:
                    plan.exclude_row(part.name, record.instance_id, ExclusionReason.SIMULATED)
                elif why is not None:
                    plan.exclude_row(part.name, record.instance_id, *why)
                else:
                    self._add(plan, part.name, record, [known[pk] for pk in images[record.pk]])
            for record in approved_records_on_taken_down_images(version.project, part.name):
                plan.exclude_row(part.name, record.instance_id, ExclusionReason.IMAGE_TAKEN_DOWN)

    def _add(self, plan: Plan, part: str, record: Record, images: Sequence[Image]) -> None:
        for image in images:
            plan.add_image(image)
        row = {"id": record.instance_id, **record.fields, "images": [image_url(image) for image in images]}
        author = record_author(record)
        split = str(parse_split(images[0].split)) if images else ""
        plan.add_row(
            PlannedRow.from_row(
                part, record.instance_id, split, row, [] if author is None else [worker_hash(author)]
            )
        )

    def image_urls(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the row's photos."""
        return tuple(row["images"])


FAMILY = TinyFamily()
