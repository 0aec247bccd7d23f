"""A small family: likenesses and differences of two photos, and words without any."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from curation.models import DatasetVersion
from curation.versions.choices import Choices
from curation.versions.family import Family, Part
from curation.versions.plan import Plan, PlannedRow, image_url, worker_hash
from curation.versions.selection import Reason
from curation.versions.splits import split_of
from hits.models import Image, Record
from hits.selectors.records import accepted, author_of, confirmed_on_withdrawn_images, images_of, is_simulated


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
            choices = Choices(version.project, part.name, plan.selection, record_types=self.record_types)
            rows = list(accepted(version.project, part.name))
            images = images_of(rows)
            known = Image.objects.in_bulk({pk for keys in images.values() for pk in keys})
            for number, record in enumerate(rows):
                follow(number)
                why = choices.why_not(record)
                if is_simulated(record) and not version.rehearsal:
                    plan.leave_out(part.name, record.instance_id, Reason.SIMULATED)
                elif why is not None:
                    plan.leave_out(part.name, record.instance_id, *why)
                else:
                    self._add(plan, part.name, record, [known[pk] for pk in images[record.pk]])
            for record in confirmed_on_withdrawn_images(version.project, part.name):
                plan.leave_out(part.name, record.instance_id, Reason.IMAGE_TAKEN_DOWN)

    def _add(self, plan: Plan, part: str, record: Record, images: Sequence[Image]) -> None:
        for image in images:
            plan.add_image(image)
        row = {"id": record.instance_id, **record.fields, "images": [image_url(image) for image in images]}
        author = author_of(record)
        split = str(split_of(images[0].split)) if images else ""
        plan.add_row(
            PlannedRow.of(
                part, record.instance_id, split, row, [] if author is None else [worker_hash(author)]
            )
        )

    def image_urls(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the row's photos."""
        return tuple(row["images"])


FAMILY = TinyFamily()
