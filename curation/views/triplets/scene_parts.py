"""What the pages about scenes show of a scene and of the queue, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth import get_user_model
from django.http import QueryDict
from django.urls import reverse

from curation.image_triplets.quotas import QuotaCell, QuotaRow
from curation.selectors.triplets.prompts import prompt_states
from curation.selectors.triplets.scene_queue import QueuedScene, QueueState, SceneQueue
from curation.selectors.triplets.scenes import ReaderVerdict, review_spec, waiting_scene_records
from curation.services.triplets.round_launch import launched_keys
from curation.views.triplets.labels import (
    CATEGORY_LABELS,
    CELL_INITIALS,
    CELL_LABELS,
    QUEUE_BADGES,
    QUEUE_LABELS,
    REASON_LABELS,
    VERDICT_LABELS,
    domain_label,
)
from curation.views.triplets.scene_forms import ALL, SceneFilterForm
from curation.views.triplets.steps import Step, count_words


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """A reader's verdict in words."""

    verdict: ReaderVerdict
    label: str
    reasons: str
    reader: str


@dataclass(frozen=True)
class SceneRow:
    """A scene of the queue in words."""

    scene: QueuedScene
    names: dict[int, str]

    @cached_property
    def number(self) -> str:
        """The number by which people name the scene."""
        return str(self.scene.scene.pk)

    @cached_property
    def state_label(self) -> str:
        """The state."""
        return QUEUE_LABELS[self.scene.state]

    @property
    def badge(self) -> tuple[str, str]:
        """The modifier and the icon of the state's badge."""
        return QUEUE_BADGES[self.scene.state]

    @property
    def facets(self) -> list[str]:
        """Category, temporal cell, domain and culture."""
        row = self.scene.scene
        names = (
            CATEGORY_LABELS.get(row.category, row.category),
            CELL_LABELS.get(self.scene.cell, self.scene.cell),
        )
        return [name for name in (*names, domain_label(row.domain), row.culture) if name]

    @property
    def own(self) -> ShownVerdict | None:
        """The reader's own verdict."""
        return self._show(self.scene.own) if self.scene.own else None

    @property
    def others(self) -> list[ShownVerdict]:
        """The verdicts of other readers."""
        return [self._show(verdict) for verdict in self.scene.others]

    def _show(self, verdict: ReaderVerdict) -> ShownVerdict:
        reasons = ", ".join(REASON_LABELS[name].lower() for name in verdict.reasons)
        reader = self.names.get(verdict.reader or 0, "a command")
        return ShownVerdict(verdict, VERDICT_LABELS[verdict.verdict], reasons, reader)


def show_rows(rows: Sequence[QueuedScene]) -> list[SceneRow]:
    """Return scenes in words; one query for the names of the readers."""
    readers = {verdict.reader for row in rows for verdict in (*row.others, *([row.own] if row.own else []))}
    people = get_user_model().objects.filter(pk__in=[reader for reader in readers if reader is not None])
    names = {person.pk: person.get_username() for person in people}
    return [SceneRow(row, names) for row in rows]


@dataclass(frozen=True, slots=True)
class StateLink:
    """A list of scenes: all, or those of one state."""

    label: str
    count: int
    query: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """A category of the quota table, and its cells with their labels."""

    label: str
    cells: Sequence[tuple[str, QuotaCell]]
    total: QuotaCell


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands above the queue."""

    steps: Sequence[Step]
    states: Sequence[StateLink]
    quotas: Sequence[QuotaLine]
    cells: Sequence[tuple[str, str]]
    kept: int
    target: int | None
    missing: str
    scenes: int
    has_twins: bool


def summarize_queue(queue: SceneQueue, form: SceneFilterForm, query: QueryDict) -> Summary:
    """Return the next steps, the states with their numbers, and the quotas."""
    counts = queue.count_states()
    table = queue.quotas()
    shown = [state for state in QueueState if counts[state] or state in {QueueState.WAITING, QueueState.KEPT}]
    links = [_state_link(state, counts[state], form.chosen_state, query) for state in shown]
    missing = table.missing_by_category
    return Summary(
        steps=next_steps(queue),
        states=[*links, _state_link(None, len(queue.scenes), form.chosen_state, query)],
        quotas=[_quota_line(row) for row in (*table.rows, table.total)],
        cells=[(CELL_LABELS[cell], CELL_INITIALS[cell]) for cell in CELL_LABELS],
        kept=table.total.total.kept,
        target=table.total.total.target,
        missing=", ".join(f"{count:,} {name}" for name, count in missing.items()),
        scenes=len(queue.scenes),
        has_twins=queue.has_twins,
    )


def _state_link(
    state: QueueState | None, count: int, chosen: QueueState | None, query: QueryDict
) -> StateLink:
    address = query.copy()
    address["state"] = state.value if state else ALL
    address.pop("page", None)
    return StateLink(QUEUE_LABELS[state] if state else "All", count, address.urlencode(), state is chosen)


def _quota_line(row: QuotaRow) -> QuotaLine:
    label = CATEGORY_LABELS.get(row.category, "All")
    return QuotaLine(label, list(zip(CELL_LABELS.values(), row.cells, strict=True)), row.total)


def next_steps(queue: SceneQueue) -> list[Step]:
    """Return what waits: answers to take in, scenes to review, to decide, to settle and to revise, and prompts."""
    project, counts = queue.project, queue.count_states()
    slug = project.slug
    steps = []
    arrived = waiting_scene_records(project).count()
    if arrived:
        text = f"{count_words(arrived, 'approved scene')} will be listed in a few minutes"
        steps.append(Step(text, "List now", reverse("scenes-take-in", args=[slug]), is_post=True))
    asked = launched_keys(project, review_spec().name)
    open_states = (QueueState.WAITING, QueueState.OTHERS)
    unreviewed = sum(
        queue.state_of(scene) in open_states and scene.public_id not in asked for scene in queue.scenes
    )
    if unreviewed:
        text = f"{count_words(unreviewed, 'open scene')} {_verb(unreviewed, 'was', 'were')} not sent to reviewers"
        steps.append(Step(text, "Ask workers", reverse("scene-review-launch", args=[slug])))
    for state, text in (
        (QueueState.DISAGREED, "{} to settle: the readers disagree"),
        (QueueState.TO_REVISE, "{} to revise"),
    ):
        if counts[state]:
            address = f"{reverse('scenes', args=[slug])}?state={state.value}"
            steps.append(Step(text.format(count_words(counts[state], "scene")), "Show", address))
    kept = queue.in_state(QueueState.KEPT)
    states = prompt_states(kept)
    unprompted = sum(state.prompts is None for state in states.values())
    if unprompted:
        text = f"{count_words(unprompted, 'kept scene')} {_verb(unprompted, 'waits', 'wait')} for prompts"
        steps.append(Step(text, "Write prompts", reverse("scene-prompts", args=[slug])))
    return steps


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
