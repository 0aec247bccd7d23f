"""Read generated images: the candidates of each scene, people's picks, and what a safety checker flagged."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from curation.models import (
    GeneratedImage,
    ImagePick,
    ImageRole,
    ModelCall,
    ModelRun,
    RunPurpose,
    SafetyRelease,
    Scene,
)
from hits.models import Project

ROLES = tuple(role.value for role in ImageRole)


@dataclass(frozen=True, slots=True)
class SceneImages:
    """The candidates of a scene by role, and the picked one of each role.

    ``newest`` are the newest picks by role, also those that take a pick back or whose image is taken down or hidden.
    ``seen`` is the newest pick of the scene, or 0. ``hidden`` are the keys of flagged images that nobody released.
    """

    candidates: Mapping[str, Sequence[GeneratedImage]] = field(default_factory=dict)
    picks: Mapping[str, GeneratedImage] = field(default_factory=dict)
    newest: Mapping[str, ImagePick] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    seen: int = 0
    hidden: frozenset[int] = frozenset()

    @property
    def is_complete(self) -> bool:
        """Whether all three roles have a picked image."""
        return all(role in self.picks for role in ROLES)

    def shown(self, role: str) -> list[GeneratedImage]:
        """Return the candidates of a role that people may see."""
        return [row for row in self.candidates.get(role, ()) if row.pk not in self.hidden]


def scene_images(scenes: Iterable[Scene]) -> dict[int, SceneImages]:
    """Return candidates and picks of scenes by the scene's key; three queries.

    Images taken down are left out. A hidden image is a candidate, but no pick.
    """
    keys = [scene.pk for scene in scenes]
    candidates: dict[int, dict[str, list[GeneratedImage]]] = defaultdict(lambda: defaultdict(list))
    rows = GeneratedImage.objects.filter(scene__in=keys, image__taken_down_at=None)
    by_key = {}
    for row in rows.select_related("image", "run").order_by("number"):
        candidates[row.scene_id][row.role].append(row)
        by_key[row.pk] = row
    newest: dict[int, dict[str, ImagePick]] = defaultdict(dict)
    for pick in ImagePick.objects.filter(scene__in=keys).order_by("pk"):
        newest[pick.scene_id][pick.role] = pick
    hidden = hidden_images(by_key.values())
    found = {}
    for key in keys:
        picks = newest.get(key, {})
        current = {
            role: by_key[pick.image_id]
            for role, pick in picks.items()
            if pick.image_id in by_key and pick.image_id not in hidden
        }
        found[key] = SceneImages(
            candidates={role: tuple(given) for role, given in candidates.get(key, {}).items()},
            picks=current,
            newest=dict(picks),
            origins={role: picks[role].origin for role in current},
            seen=max((pick.pk for pick in picks.values()), default=0),
            hidden=frozenset(row.pk for given in candidates.get(key, {}).values() for row in given) & hidden,
        )
    return found


def hidden_in_project(project: Project) -> "QuerySet[Any, Any]":
    """Return the keys of a project's flagged images that nobody released, as a subquery."""
    newest = SafetyRelease.objects.filter(image=OuterRef("pk")).order_by("-pk").values("is_safe")[:1]
    flagged = GeneratedImage.objects.filter(scene__project=project).exclude(flags=[])
    shown = Coalesce(Subquery(newest), False)
    return flagged.alias(shown=shown).filter(shown=False).order_by().values("pk")


def hidden_images(images: Iterable[GeneratedImage]) -> frozenset[int]:
    """Return the keys of flagged images that no person released."""
    flagged = [row.pk for row in images if row.flags]
    released: dict[int, bool] = {}
    for row in SafetyRelease.objects.filter(image__in=flagged).order_by("pk"):
        released[row.image_id] = row.is_safe
    return frozenset(key for key in flagged if not released.get(key, False))


def image_runs(project: Project) -> "QuerySet[ModelRun]":
    """Return the project's runs of image generators, newest first, with the number of images of each."""
    rows = ModelRun.objects.filter(project=project, purpose=RunPurpose.IMAGES)
    # Groups lose the model's order.
    return rows.select_related("job").annotate(image_count=Count("images")).order_by("-pk")


def spent_micro(run: ModelRun) -> int:
    """Return the micro-dollars that a run's calls cost; calls that were lost count at their full price."""
    return ModelCall.objects.filter(run=run).aggregate(total=Sum("cost_micro"))["total"] or 0
