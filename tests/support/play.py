"""A kind's sample unit, launched in a project of its own, whatever kind it is."""

from typing import Any

from hits.domain.states import Purpose
from hits.kind import HitKind
from hits.models import Batch, Image, Project, TaskTemplate
from hits.mturk.boto import marketplace
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from validation.registry import spec_of

WORKERS = ("wilma", "walter")


class Play:
    """One kind in a project of its own: its sample unit, launched and worked on by two workers."""

    def __init__(self, kind: HitKind, project: Project, photos: list[Image]) -> None:
        self.kind, self.project = kind, project
        sample = kind.sample()
        assert sample is not None, f"{kind.name}: sample.json is missing; write a unit and an answer there"
        self.sample = self._filled(sample, photos)
        self.unit = kind.parse_unit(self.sample["unit"])

    def _filled(self, value: Any, photos: list[Image]) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(one, photos) for key, one in value.items()}
        if isinstance(value, list):
            return [self._filled(one, photos) for one in value]
        if isinstance(value, str) and value.startswith("photo:"):
            return photos[int(value.removeprefix("photo:")) - 1].pk
        if value == "template:1":
            return TaskTemplate.objects.get(project=self.project).pk
        return value

    def launched(self) -> Batch:
        """Launch the sample for two workers and publish it."""
        batch, _ = launch_batch(
            project=self.project,
            kind_name=self.kind.name,
            name="Play",
            units=[PlannedUnit(self.key(self.unit), self.sample["unit"])],
            by=None,
            terms=LaunchTerms(redundancy=len(WORKERS)),
        )
        publish.publish_batch(batch=batch, marketplace=marketplace())
        batch.refresh_from_db()
        return batch

    def key(self, unit: dict[str, Any]) -> str:
        """Return a unit's key, as its kind's rounds name it."""
        if self.kind.purpose is Purpose.JUDGING:
            return spec_of(self.kind.name).key(unit)
        return self.kind.unit_key(unit)
