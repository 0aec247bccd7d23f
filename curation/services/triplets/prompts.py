"""Store prompts of scenes, and a person's verdict on them. Nothing is drawn from prompts that nobody approved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import ImageRole, ModelCall, PromptDecision, PromptSet, PromptVerdict, PromptWay, Scene
from curation.models.generated_images import MAX_COMPONENTS
from curation.selectors.triplets.prompts import PromptState, prompt_states
from curation.selectors.triplets.scenes import SceneState, scene_outcome
from curation.selectors.triplets.settings import triplet_settings
from hits.domain.answers.text import TextError, clean_line
from hits.services import audit
from hits.services.errors import Conflict, Refused

MAX_PROMPT, MAX_COMPONENT, MAX_ENVIRONMENT = 4000, 200, 400


@dataclass(frozen=True, slots=True)
class WrittenPrompts:
    """The prompts of a scene by role, and how they were made.

    ``components`` are up to two people or things that all three images show alike, ``environment`` their place.
    ``template`` and its hash, and ``call``, say how a model wrote them.
    """

    way: PromptWay
    texts: Mapping[str, str]
    components: Sequence[str] = ()
    environment: str = ""
    template: str = ""
    template_sha256: str = ""
    call: ModelCall | None = field(default=None, compare=False)


def plain_prompts(scene: Scene) -> WrittenPrompts:
    """Return the scene's own texts as prompts."""
    return WrittenPrompts(PromptWay.PLAIN, {role.value: scene.text(role) for role in ImageRole})


@transaction.atomic
def store_prompts(
    *,
    scene: Scene,
    written: WrittenPrompts,
    by: AbstractBaseUser | None,
    based_on: int | None = None,
) -> PromptSet:
    """Store prompts of a kept scene; they replace older ones and need a verdict of their own.

    ``based_on``: the key of the prompts that the page of their writer showed, 0 for none.

    Raises:
        Refused: the scene is not kept, or a text is empty or too long.
        Conflict: newer prompts were stored after the page was opened.
    """
    cleaned = _clean(written)
    Scene.objects.select_for_update().get(pk=scene.pk)
    readers = triplet_settings(scene.project).readers
    if scene_outcome(scene, readers).state is not SceneState.KEPT:
        raise Refused("scene: only scenes that the readers keep get prompts; decide about it first")
    newest = scene.prompt_sets.order_by("-pk").values_list("pk", flat=True).first() or 0
    if based_on is not None and based_on != newest:
        raise Conflict("prompts: somebody stored others after you opened the page; reload the page")
    return PromptSet.objects.create(
        scene=scene,
        way=written.way.value,
        components=cleaned.components,
        environment=cleaned.environment,
        template=written.template,
        template_sha256=written.template_sha256,
        call=written.call,
        created_by_id=by.pk if by else None,
        **cleaned.texts,
    )


@transaction.atomic
def decide_prompts(
    *, prompts: PromptSet, verdict: PromptVerdict, by: AbstractBaseUser | None, seen: int | None = None
) -> PromptState:
    """Approve or reject prompts, and return their state. ``seen``: the newest verdict that the page showed.

    Raises:
        Conflict: newer prompts replaced them, or somebody decided after the page was opened.
    """
    Scene.objects.select_for_update().get(pk=prompts.scene_id)
    state = prompt_states([prompts.scene])[prompts.scene_id]
    if state.prompts != prompts:
        raise Conflict("prompts: newer ones replaced them; reload the page")
    if seen is not None and seen != state.seen:
        raise Conflict("prompts: somebody decided about them after you opened the page; reload the page")
    row = PromptDecision.objects.create(
        prompt_set=prompts, verdict=verdict.value, by_id=by.pk if by else None
    )
    audit.record(
        project=prompts.scene.project,
        actor=by,
        action="prompts.decide",
        subject=prompts.pk,
        verdict=verdict.value,
    )
    return PromptState(prompts, row.verdict, row.pk)


@dataclass(frozen=True, slots=True)
class _CleanPrompts:
    texts: dict[str, str]
    components: list[str]
    environment: str


def _clean(written: WrittenPrompts) -> _CleanPrompts:
    if len(written.components) > MAX_COMPONENTS:
        raise Refused(f"components: {len(written.components)} are too many; use at most {MAX_COMPONENTS}")
    texts = {role.value: _line(role.value, written.texts.get(role, ""), MAX_PROMPT) for role in ImageRole}
    for name, text in texts.items():
        if not text:
            raise Refused(f"prompt of {name}: is empty; write what the image shall show")
    components = [_line("component", text, MAX_COMPONENT) for text in written.components]
    return _CleanPrompts(
        texts,
        [text for text in components if text],
        _line("environment", written.environment, MAX_ENVIRONMENT),
    )


def _line(name: str, text: str, maximum: int) -> str:
    try:
        return clean_line(text, maximum=maximum)
    except TextError as error:
        raise Refused(f"{name}: {error}") from error
