"""The prompts of kept scenes for the page on which a person approves them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Count, Q, QuerySet

from curation.image_triplets.word_diff import (
    MarkedWord,
    TextPart,
    changed_content_words,
    lost_content_words,
    mark_rewriting,
)
from curation.models import CallState, ModelCall, ModelRun, PromptVerdict, RunPurpose, Scene
from curation.selectors.triplets.model_calls import with_shown_state, worked_on_jobs
from curation.selectors.triplets.prompts import PromptState, prompt_states
from curation.selectors.triplets.scenes import kept_scenes
from hits.models import Project

RUNS_SHOWN = 10


class PromptQueueState(StrEnum):
    """What a kept scene's prompts wait for."""

    MISSING = "missing"
    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A text of a scene and its prompt, as parts of both; ``lost`` and ``changed`` are content words of the text."""

    role: str
    text: str
    prompt: str
    parts: Sequence[TextPart]
    lost: Sequence[MarkedWord]
    changed: Sequence[MarkedWord]


@dataclass(frozen=True, slots=True)
class QueuedPrompts:
    """A kept scene with its newest prompts, in the order premise, more plausible, less plausible.

    ``model`` is the chat model that wrote them, empty for the other ways.
    """

    scene: Scene
    state: PromptQueueState
    prompts: PromptState
    shown: Sequence[ShownPrompt]
    model: str = ""


class PromptQueue:
    """The kept scenes of a project and their newest prompts, read by a fixed number of queries."""

    def __init__(self, project: Project) -> None:
        self.scenes: list[Scene] = kept_scenes(project)
        self.prompts: Mapping[int, PromptState] = prompt_states(self.scenes)

    def state_of(self, scene: Scene) -> PromptQueueState:
        """Return what the prompts of a scene wait for."""
        found = self.prompts[scene.pk]
        if found.prompts is None:
            return PromptQueueState.MISSING
        if found.verdict == PromptVerdict.REJECTED:
            return PromptQueueState.REJECTED
        return PromptQueueState.APPROVED if found.is_approved else PromptQueueState.WAITING

    def count_states(self) -> Counter[PromptQueueState]:
        """Return the number of scenes in each state."""
        return Counter(map(self.state_of, self.scenes))

    def find(self, state: PromptQueueState | None, text: str = "") -> list[Scene]:
        """Return the scenes in a state, or all; ``text`` is a number, or words of a text or a prompt."""
        words = text.casefold().strip()
        return [
            scene
            for scene in self.scenes
            if (state is None or self.state_of(scene) is state)
            and (not words or self._contains(scene, words))
        ]

    def _contains(self, scene: Scene, words: str) -> bool:
        if words == str(scene.pk):
            return True
        prompts = self.prompts[scene.pk].prompts
        texts = [scene.premise, scene.hypothesis_a, scene.hypothesis_b]
        texts += [prompts.premise, prompts.a, prompts.b] if prompts else []
        return any(words in value.casefold() for value in texts)

    def show(self, rows: Iterable[Scene]) -> list[QueuedPrompts]:
        """Return scenes with what their prompts changed; one query for the models that wrote them."""
        rows = list(rows)
        found = [state.prompts for row in rows if (state := self.prompts[row.pk]).prompts]
        calls = [prompts.call_id for prompts in found if prompts.call_id]
        models = {
            pk: model or generator
            for pk, model, generator in ModelCall.objects.filter(pk__in=calls).values_list(
                "pk", "model", "run__generator"
            )
        }
        return [self._show(row, models) for row in rows]

    def _show(self, scene: Scene, models: Mapping[int, str]) -> QueuedPrompts:
        state = self.prompts[scene.pk]
        prompts = state.prompts
        roles = ("premise", scene.plausible, "b" if scene.plausible == "a" else "a")
        shown = [_compare(role, scene.text(role), prompts.prompt(role)) for role in roles] if prompts else []
        model = models.get(prompts.call_id or 0, "") if prompts else ""
        return QueuedPrompts(scene, self.state_of(scene), state, shown, model)


def _compare(role: str, text: str, prompt: str) -> ShownPrompt:
    return ShownPrompt(
        role=role,
        text=text,
        prompt=prompt,
        parts=mark_rewriting(text, prompt),
        lost=lost_content_words(text, prompt),
        changed=changed_content_words(text, prompt),
    )


def prompt_runs(project: Project) -> "QuerySet[ModelRun]":
    """Return the newest runs that wrote prompts, with the number of their calls that may have been paid twice."""
    rows = ModelRun.objects.filter(project=project, purpose=RunPurpose.PROMPTS)
    in_flight = Q(calls__state=CallState.SENT) & Q(job__in=worked_on_jobs())
    unanswered = Q(calls__state__in=(CallState.LOST, CallState.SENT))
    lost = Count("calls", filter=unanswered & ~in_flight)
    return rows.select_related("job", "created_by").annotate(lost=lost).order_by("-pk")[:RUNS_SHOWN]


def lost_prompt_calls(project: Project) -> "QuerySet[ModelCall]":
    """Return the calls that were in flight when their process died: they may have been paid, and are sent again."""
    calls = with_shown_state(ModelCall.objects.filter(project=project, run__purpose=RunPurpose.PROMPTS))
    rows = calls.filter(shown_state=CallState.LOST)
    return rows.select_related("run").defer("request", "reply", "text").order_by("-pk")[:50]
