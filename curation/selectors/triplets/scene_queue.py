"""The filter queue of scenes as one reader may see it: blind readers see nothing of the others before they decide."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from curation.image_triplets.quotas import QuotaTable, build_quota_table
from curation.image_triplets.word_diff import TextPart, mark_difference
from curation.models import Scene, TripletSettings
from curation.selectors.triplets.scenes import (
    ReaderVerdict,
    SceneOutcome,
    SceneState,
    SceneTally,
    is_own_scene,
    nearest_twins,
    scene_outcomes,
    scene_tallies,
    scenes,
)
from curation.selectors.triplets.settings import triplet_settings
from hits.domain.answers.scene_facets import temporal_cell
from hits.models import Project
from hits.selectors.eligibility.accounts import find_own_worker

NEAR_TWIN = 0.8  # cosine from which two scenes are worth comparing; a guess, as no paper gives one


class QueueState(StrEnum):
    """What a scene is to one reader."""

    WAITING = "waiting"
    """This reader's verdict is missing."""

    OTHERS = "others"
    """Somebody else's verdict is missing."""

    DISAGREED = "disagreed"
    KEPT = "kept"
    TO_REVISE = "to_revise"
    DROPPED = "dropped"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which scenes are listed; empty values list all. ``text`` is searched in the three texts and the number."""

    state: QueueState | None = None
    category: str = ""
    cell: str = ""
    has_twin: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Twin:
    """The most similar other scene, and the cosine of their texts."""

    scene: Scene
    cosine: float

    @property
    def is_near(self) -> bool:
        """Whether the two are worth comparing."""
        return self.cosine >= NEAR_TWIN


@dataclass(frozen=True, slots=True)
class QueuedScene:
    """A scene as one reader may see it.

    ``others`` and ``tally`` are empty while ``is_blind``. ``plausible`` and ``implausible`` are the hypotheses in
    parts, of which those that differ are marked. ``seen`` is what a decision on this page is checked against.
    """

    scene: Scene
    state: QueueState
    is_blind: bool
    may_decide: bool
    seen: int
    own: ReaderVerdict | None
    others: tuple[ReaderVerdict, ...]
    tally: SceneTally | None
    twin: Twin | None
    plausible: Sequence[TextPart]
    implausible: Sequence[TextPart]

    @property
    def cell(self) -> str:
        """The temporal cell."""
        return temporal_cell(self.scene.direction, self.scene.duration)


class SceneQueue:
    """A project's scenes for one reader, read by a fixed number of queries."""

    def __init__(self, project: Project, reader: int | None) -> None:
        self.project, self.reader = project, reader
        self._worker = find_own_worker(reader)
        self.settings: TripletSettings = triplet_settings(project)
        self.scenes: list[Scene] = list(scenes(project).select_related("author"))
        self.outcomes: Mapping[int, SceneOutcome] = scene_outcomes(project, self.settings)
        self._by_id = {scene.public_id: scene for scene in self.scenes}
        self._twins = nearest_twins(project)

    def state_of(self, scene: Scene) -> QueueState:
        """Return what a scene is to the reader."""
        outcome = self.outcomes[scene.pk]
        if outcome.state is not SceneState.OPEN:
            return QueueState(outcome.state.value)
        is_done = outcome.verdict_of(self.reader) is not None or self._is_own(scene)
        return QueueState.OTHERS if is_done else QueueState.WAITING

    def _is_own(self, scene: Scene) -> bool:
        return is_own_scene(scene, self.reader, self._worker)

    def count_states(self) -> Counter[QueueState]:
        """Return the number of scenes in each state."""
        return Counter(map(self.state_of, self.scenes))

    @property
    def has_twins(self) -> bool:
        """Whether a search for twins has ended."""
        return bool(self._twins)

    def in_state(self, state: QueueState) -> list[Scene]:
        """Return the scenes in a state, oldest first."""
        return [scene for scene in self.scenes if self.state_of(scene) is state]

    def find(self, selection: QueueFilter) -> list[Scene]:
        """Return the scenes that a filter lists: oldest first; those with twins by their likeness to these."""
        found = [scene for scene in self.scenes if self._matches(scene, selection)]
        if selection.has_twin:
            found.sort(key=lambda scene: -self._twins[scene.public_id][1])
        return found

    def _matches(self, scene: Scene, selection: QueueFilter) -> bool:
        twin = self.twin_of(scene)
        return (
            (selection.state is None or self.state_of(scene) is selection.state)
            and selection.category in {"", scene.category}
            and selection.cell in {"", temporal_cell(scene.direction, scene.duration)}
            and (not selection.has_twin or (twin is not None and twin.is_near))
            and (not selection.text or _contains(scene, selection.text))
        )

    def twin_of(self, scene: Scene) -> Twin | None:
        """Return the most similar other scene; none if it was not searched for, or a revision replaced it."""
        key, cosine = self._twins.get(scene.public_id, ("", 0.0))
        other = self._by_id.get(key)
        return Twin(other, cosine) if other is not None else None

    def show(self, rows: Iterable[Scene]) -> list[QueuedScene]:
        """Return scenes as the reader may see them."""
        rows = list(rows)
        tallies = scene_tallies(self.project, [row.public_id for row in rows]) if rows else {}
        return [self._show(row, tallies.get(row.public_id)) for row in rows]

    def _show(self, scene: Scene, tally: SceneTally | None) -> QueuedScene:
        outcome, readers = self.outcomes[scene.pk], self.settings.readers
        is_blind = outcome.is_blind_for(self.reader, readers)
        plausible, implausible = mark_difference(scene.plausible_text, scene.implausible_text)
        return QueuedScene(
            scene=scene,
            state=self.state_of(scene),
            is_blind=is_blind,
            may_decide=outcome.state is not SceneState.REPLACED and not self._is_own(scene),
            seen=outcome.seen_by(self.reader, readers),
            own=outcome.verdict_of(self.reader),
            others=()
            if is_blind
            else tuple(row for row in outcome.verdicts if row.reader != self.reader or self.reader is None),
            tally=None if is_blind else tally,
            twin=self.twin_of(scene),
            plausible=plausible,
            implausible=implausible,
        )

    def quotas(self) -> QuotaTable:
        """Return what is asked for, kept and missing, by category and temporal cell."""
        kept = ((row.category, row.direction, row.duration) for row in self.in_state(QueueState.KEPT))
        return build_quota_table(kept, self.settings.targets)


def _contains(scene: Scene, text: str) -> bool:
    words = text.casefold().strip()
    if words.removeprefix("#") == str(scene.pk):
        return True
    return any(words in value.casefold() for value in (scene.premise, scene.hypothesis_a, scene.hypothesis_b))
