"""Read the prompts of scenes: the newest ones, whether a person approved them, and what they changed."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from curation.image_triplets.word_diff import Hunk, MarkedWord, compare_texts, lost_content_words
from curation.image_triplets.word_diff import changed_content_words as changed_words
from curation.models import ImageRole, PromptDecision, PromptSet, PromptVerdict, Scene
from curation.selectors.triplets.scenes import SceneState, kept_scenes, scene_outcome
from curation.selectors.triplets.settings import triplet_settings
from hits.domain.files.csv_download import escape_formula
from hits.models import Project


@dataclass(frozen=True, slots=True)
class PromptState:
    """The newest prompts of a scene and a person's newest verdict on them; ``seen`` is that verdict's key, or 0."""

    prompts: PromptSet | None
    verdict: str = ""
    seen: int = 0

    @property
    def is_approved(self) -> bool:
        """Whether images can be generated from them."""
        return self.verdict == PromptVerdict.APPROVED


@dataclass(frozen=True, slots=True)
class RoleDifference:
    """A scene's text and its prompt, as a word diff; content words that the prompt lost or changed are marked."""

    role: str
    text: str
    prompt: str
    hunks: tuple[Hunk, ...]
    lost: tuple[MarkedWord, ...]
    changed: tuple[MarkedWord, ...]


def prompt_states(scenes: Iterable[Scene]) -> dict[int, PromptState]:
    """Return the newest prompts of each scene by its key; two queries."""
    by_key = {scene.pk: scene for scene in scenes}
    keys = list(by_key)
    newest = {row.scene_id: row for row in PromptSet.objects.filter(scene__in=keys).order_by("pk")}
    for row in newest.values():
        row.scene = by_key[row.scene_id]  # so that nobody fetches it again
    verdicts = {
        row.prompt_set_id: row
        for row in PromptDecision.objects.filter(prompt_set__in=[row.pk for row in newest.values()]).order_by(
            "pk"
        )
    }
    found = {}
    for key in keys:
        prompts = newest.get(key)
        verdict = verdicts.get(prompts.pk) if prompts else None
        found[key] = PromptState(prompts, verdict.verdict if verdict else "", verdict.pk if verdict else 0)
    return found


def approved_prompts(project: Project) -> dict[int, PromptSet]:
    """Return the approved prompts of kept scenes by the scene's key: the newest set of each, if it is approved."""
    states = prompt_states(kept_scenes(project))
    return {key: state.prompts for key, state in states.items() if state.prompts and state.is_approved}


def is_drawable(prompts: PromptSet) -> bool:
    """Return whether images may be drawn from these prompts now: the newest of a kept scene, and approved."""
    scene = prompts.scene
    state = prompt_states([scene])[scene.pk]
    if state.prompts != prompts or not state.is_approved:
        return False
    return scene_outcome(scene, triplet_settings(scene.project).readers).state is SceneState.KEPT


def differences(prompts: PromptSet) -> list[RoleDifference]:
    """Return what the prompts changed in each text of their scene."""
    found = []
    for role in ImageRole:
        text, prompt = prompts.scene.text(role), prompts.prompt(role)
        found.append(
            RoleDifference(
                role=role.value,
                text=text,
                prompt=prompt,
                hunks=tuple(compare_texts(text, prompt)),
                lost=tuple(lost_content_words(text, prompt)),
                changed=tuple(changed_words(text, prompt)),
            )
        )
    return found


def prompt_table(project: Project) -> str:
    """Return the approved prompts as CSV: scene, image as ``import_generated`` names it, and prompt.

    Prompts that a spreadsheet would run as formulas are marked; ``import_generated`` removes the mark.
    """
    names = {"premise": "premise", "a": "hypothesis1", "b": "hypothesis2"}
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(["scene_id", "image", "prompt"])
    for prompts in approved_prompts(project).values():
        for role, name in names.items():
            writer.writerow([prompts.scene.public_id, name, escape_formula(prompts.prompt(role))])
    return buffer.getvalue()
