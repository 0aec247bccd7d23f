"""Planners: which photos of a project a kind can use, and the units for some of them.

If photos are enough, the kind plans its units itself. Units that need more, such as the objects of a photo, come from
an app above: the setting ``UNIT_PLANNERS`` has the planner that the kind declares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from hits.domain.units.planner_options import PlannerOption
from hits.kind import HitKind
from hits.models import Project


class UnitPlanner(Protocol):
    """Plans the units of a kind from photos.

    Attributes:
        options: the numbers that choose the photos; ``values`` of the methods maps their names to given values.
        no_photos_message: what to do if no photo can be used, a sentence for a page.
    """

    @property
    def options(self) -> Sequence[PlannerOption]: ...

    @property
    def no_photos_message(self) -> str: ...

    def image_ids(self, project: Project, values: Mapping[str, Any]) -> set[int] | None:
        """Return the ids of the photos that can be used; ``None`` if all can.

        Raises:
            ImageSelectionError: a value is not possible; its field is the option's name.
        """
        ...

    def units(self, project: Project, photos: Sequence[int]) -> list[dict[str, Any]]:
        """Return the units for photos that can be used, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class PhotoPlanner:
    """Plans the units of a kind that needs nothing but photos."""

    kind: HitKind
    options: Sequence[PlannerOption] = ()
    no_photos_message: str = "Add photos first."

    def image_ids(self, project: Project, values: Mapping[str, Any]) -> set[int] | None:
        """Return ``None``: all photos can be used."""
        return None

    def units(self, project: Project, photos: Sequence[int]) -> list[dict[str, Any]]:
        """Return the kind's units."""
        return self.kind.plan_units(photos)


def planner_of(kind: HitKind) -> UnitPlanner | None:
    """Return the planner of a kind; ``None`` if its units cannot be planned from photos."""
    if kind.unit_planner:
        planner: UnitPlanner = import_string(settings.UNIT_PLANNERS[kind.unit_planner])
        return planner
    return PhotoPlanner(kind) if kind.takes_photos else None


def all_planner_options() -> list[PlannerOption]:
    """Return the options of all planners that the settings name, each name once."""
    planners: list[UnitPlanner] = [import_string(path) for path in settings.UNIT_PLANNERS.values()]
    return list({option.name: option for planner in planners for option in planner.options}.values())
