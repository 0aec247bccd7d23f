"""Read scenes, readers' verdicts on them, and what other workers said of them (Ventura et al. 2025 §3)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db.models import QuerySet

from curation.models import ImageTriplet, Scene, SceneDecision, SceneTwins, SceneVerdict, TripletSettings
from curation.selectors.triplets.settings import triplet_settings
from hits.domain.answers.scene_facets import temporal_cell
from hits.models import Project, Record
from hits.selectors.records import approved_records
from validation.domain.judging.spec import JudgingSpec, Material
from validation.registry import spec_for_material
from validation.selectors.ratings import read_judgments

SCENE = "scene"
"""The type of records that scenes are made from."""


class SceneState(StrEnum):
    """What the readers' newest verdicts make of a scene."""

    OPEN = "open"
    """Fewer readers than the project asks for have a verdict."""

    KEPT = "kept"
    DROPPED = "dropped"
    TO_REVISE = "to_revise"
    DISAGREED = "disagreed"
    REPLACED = "replaced"
    """A revision took its place."""


STATE_OF_VERDICT: Mapping[str, SceneState] = {
    SceneVerdict.KEEP: SceneState.KEPT,
    SceneVerdict.DROP: SceneState.DROPPED,
    SceneVerdict.REVISE: SceneState.TO_REVISE,
}


@dataclass(frozen=True, slots=True)
class ReaderVerdict:
    """A reader's newest verdict on a scene; ``twin`` is the primary key of the scene that it repeats."""

    decision: int
    reader: int | None
    verdict: str
    reasons: tuple[str, ...]
    twin: int | None
    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SceneOutcome:
    """The state of a scene and the verdicts behind it.

    ``newest`` is its newest decision, 0 without one; ``newest_by`` that of each reader, taken back or not.
    """

    state: SceneState
    verdicts: tuple[ReaderVerdict, ...] = ()
    newest: int = 0
    newest_by: Mapping[int | None, int] = field(default_factory=dict)

    def verdict_of(self, reader: int | None) -> ReaderVerdict | None:
        """Return a reader's own verdict, if there is one."""
        return next((row for row in self.verdicts if row.reader == reader), None)

    def is_blind_for(self, reader: int | None, readers: int) -> bool:
        """Whether a reader must not see what others think: several are asked, and this one's verdict is missing."""
        return readers > 1 and len(self.verdicts) < readers and self.verdict_of(reader) is None

    def seen_by(self, reader: int | None, readers: int) -> int:
        """Return the newest decision that a reader's page shows: the reader's own while others' are hidden."""
        return self.newest_by.get(reader, 0) if self.is_blind_for(reader, readers) else self.newest

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons that any reader gave, each once."""
        return tuple(dict.fromkeys(reason for row in self.verdicts for reason in row.reasons))


@dataclass(frozen=True, slots=True)
class SceneTally:
    """What the workers who reviewed a scene answered: counts of "yes", and of each plausible hypothesis.

    ``agree`` counts those who found the hypothesis more plausible that the author did.
    """

    reviews: int = 0
    agree: int = 0
    cannot_tell: int = 0
    needs_premise: int = 0
    drawable: int = 0
    seen: int = 0
    remarks: tuple[str, ...] = ()


def review_spec() -> JudgingSpec:
    """Return the spec of the kind that reviews scenes."""
    return spec_for_material(Material.SCENES)


def waiting_scene_records(project: Project) -> "QuerySet[Record]":
    """Return approved records of scenes that are not stored as scenes yet; outside rehearsals, people's alone."""
    rows = approved_records(project, SCENE).filter(scene=None)
    return rows if project.is_rehearsal else rows.exclude(submission__simulated=True)


def scenes(project: Project) -> "QuerySet[Scene]":
    """Return a project's scenes that no revision replaced, oldest first; those of imported triplets are left out."""
    imported = ImageTriplet.objects.filter(project=project, imported_row__isnull=False).values("scene")
    return Scene.objects.filter(project=project, replaced_by=None).exclude(pk__in=imported).order_by("pk")


def scene_outcomes(project: Project, settings: TripletSettings | None = None) -> dict[int, SceneOutcome]:
    """Return the outcome of every scene by its key; two queries."""
    readers = (settings or triplet_settings(project)).readers
    newest: dict[int, dict[int | None, SceneDecision]] = defaultdict(dict)
    for row in SceneDecision.objects.filter(scene__project=project).order_by("pk"):
        newest[row.scene_id][row.by_id] = row
    rows = Scene.objects.filter(project=project).values_list("pk", "replaced_by")
    return {
        pk: _outcome(newest.get(pk, {}).values(), readers, is_replaced=replaced is not None)
        for pk, replaced in rows
    }


def scene_outcome(scene: Scene, readers: int) -> SceneOutcome:
    """Return the outcome of one scene."""
    newest = {row.by_id: row for row in SceneDecision.objects.filter(scene=scene).order_by("pk")}
    replaced = Scene.objects.filter(replaces=scene).exists()
    return _outcome(newest.values(), readers, is_replaced=replaced)


def _outcome(rows: Iterable[SceneDecision], readers: int, *, is_replaced: bool) -> SceneOutcome:
    rows = list(rows)
    newest_by = {row.by_id: row.pk for row in rows}
    newest = max(newest_by.values(), default=0)
    counting = tuple(
        ReaderVerdict(row.pk, row.by_id, row.verdict, tuple(row.reasons), row.twin_id, row.note, row.at)
        for row in sorted(rows, key=lambda row: row.pk)
        if row.verdict != SceneVerdict.UNDONE
    )
    if is_replaced:
        return SceneOutcome(SceneState.REPLACED, counting, newest, newest_by)
    return SceneOutcome(_state([row.verdict for row in counting], readers), counting, newest, newest_by)


def _state(verdicts: Sequence[str], readers: int) -> SceneState:
    """Return the state: the verdict of all readers, or of most of three and more."""
    if len(verdicts) < readers:
        return SceneState.OPEN
    (verdict, count), *others = Counter(verdicts).most_common()
    is_majority = not others or (len(verdicts) > readers and count > len(verdicts) / 2)
    return STATE_OF_VERDICT[verdict] if is_majority else SceneState.DISAGREED


def first_scene_ids(project: Project) -> dict[int, str]:
    """Return the public id of the first scene of each scene's chain of revisions, by the scene's key; one query.

    Units of all kinds carry it, so that whoever saw an older text gets nothing of its revision.
    """
    rows = Scene.objects.filter(project=project).order_by("pk").values_list("pk", "public_id", "replaces")
    found: dict[int, str] = {}
    for pk, public_id, replaces in rows:  # a revision is younger than what it replaces
        found[pk] = found.get(replaces, public_id) if replaces is not None else public_id
    return found


def is_own_scene(scene: Scene, reader: int | None, worker: int | None) -> bool:
    """Whether a person wrote this scene or revision, and so does not decide about it.

    ``worker`` is the key of the reader's own worker. Who imports a file writes nothing.
    """
    if worker is not None and scene.author_id == worker:
        return True
    return scene.created_by_id is not None and scene.created_by_id == reader and scene.imported_row_id is None


def kept_scenes(project: Project) -> list[Scene]:
    """Return the scenes that the readers keep, oldest first."""
    outcomes = scene_outcomes(project)
    return [scene for scene in scenes(project) if outcomes[scene.pk].state is SceneState.KEPT]


def scene_tallies(project: Project, items: Collection[str] | None = None) -> dict[str, SceneTally]:
    """Return what reviewers answered, by the scene's public id; ``items`` limits it to some scenes."""
    rows = Scene.objects.filter(project=project)
    rows = rows if items is None else rows.filter(public_id__in=list(items))
    plausible = dict(rows.values_list("public_id", "plausible"))
    answers = defaultdict(list)
    for row in read_judgments(project=project, kind=review_spec().name, items=items):
        answers[row.item].append(row.answer)
    return {
        item: SceneTally(
            reviews=len(given),
            agree=sum(answer["plausible"] == plausible.get(item) for answer in given),
            cannot_tell=sum(answer["plausible"] == "cannot_tell" for answer in given),
            needs_premise=sum(answer["needs_premise"] == "yes" for answer in given),
            drawable=sum(answer["drawable"] == "yes" for answer in given),
            seen=sum(answer["seen"] == "yes" for answer in given),
            remarks=tuple(answer["like"] for answer in given if answer.get("like")),
        )
        for item, given in answers.items()
    }


def nearest_twins(project: Project) -> dict[str, tuple[str, float]]:
    """Return the most similar other scene of each scene and their cosine, by public ids, as last computed."""
    row = (
        SceneTwins.objects.filter(project=project).exclude(twins={}).first()
    )  # a running search has none yet
    return {key: (other, cosine) for key, (other, cosine) in row.twins.items()} if row else {}


def facet_counts(rows: Iterable[Scene]) -> Counter[tuple[str, str]]:
    """Return the number of scenes in each category and temporal cell."""
    return Counter((row.category, temporal_cell(row.direction, row.duration)) for row in rows)


def find_scene(project: Project, name: str) -> Scene | None:
    """Return a scene of the project by its public id."""
    return Scene.objects.filter(project=project, public_id=name).first()
