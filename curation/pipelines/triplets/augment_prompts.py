"""A job that lets a chat model write the prompts of scenes; a person approves them before anything is drawn."""

from collections import Counter
from typing import Any

from curation.generation.errors import CallFailed, ContentRefused
from curation.models import ImageRole, ModelCall, ModelRun, PromptSet, PromptWay, Scene
from curation.models.generated_images import MAX_COMPONENTS
from curation.pipelines.triplets.calls import run_parallel
from curation.pipelines.triplets.chat_runner import ChatRunner, load_runner, read_object, summarize_calls
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.augmentation import AugmentOptions
from curation.services.triplets.model_calls import CapReached, lose_calls
from curation.services.triplets.prompts import MAX_COMPONENT, MAX_ENVIRONMENT, WrittenPrompts, store_prompts
from hits.services.errors import Conflict, Refused
from hits.services.jobs.jobs import Progress

_TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "components": {"type": "array", "items": _TEXT, "maxItems": MAX_COMPONENTS},
        "environment": _TEXT,
        **{role.value: _TEXT for role in ImageRole},
    },
    "required": ["components", "environment", *(role.value for role in ImageRole)],
    "additionalProperties": False,
}
UNREADABLE, REFUSED, CHANGED = "unreadable", "refused", "changed_meanwhile"


def augment_prompts(progress: Progress) -> dict[str, Any]:
    """Run a job: ask for the prompts of each scene that has none since the run began, and store them.

    Raises:
        Refused: the model cannot be loaded, or a call failed for good.
    """
    run = ModelRun.objects.select_related("project").get(pk=progress.job.args["run"])
    options = AugmentOptions(**run.parameters)
    lose_calls(run=run)
    keys = progress.job.args["scenes"]
    since = PromptSet.objects.filter(scene__in=keys, created_at__gte=run.created_at)
    written = set(since.values_list("scene_id", flat=True))
    waiting = list(Scene.objects.filter(pk__in=keys, replaced_by=None).exclude(pk__in=written).order_by("pk"))
    outcomes: Counter[str] = Counter()
    stopped = ""
    with refuse_invalid_input():
        runner = load_runner(run, options, progress)
        try:
            results = run_parallel(
                waiting, lambda scene: _write(runner, options, scene), threads=options.threads
            )
            for done, (scene, outcome) in enumerate(results, start=len(keys) - len(waiting) + 1):
                outcomes[_store(run, options, scene, outcome)] += 1
                progress.advance(done, len(keys))
        except CapReached as error:
            stopped = str(error)
    return {
        "prompts": since.filter(way=PromptWay.AUGMENTED).count(),
        **{name: outcomes[name] for name in (UNREADABLE, REFUSED, CHANGED)},
        **summarize_calls(run, stopped),
    }


def _store(run: ModelRun, options: AugmentOptions, scene: Scene, outcome: WrittenPrompts | str) -> str:
    """Store prompts; return what became of a scene."""
    if isinstance(outcome, str):
        return outcome
    try:
        store_prompts(
            scene=scene, written=outcome, by=run.created_by, based_on=_replaced_prompts(run, options, scene)
        )
    except Conflict:  # a person wrote prompts while the model was asked; these stay
        return CHANGED
    except Refused:  # a text is too long or has control characters, or the scene was dropped meanwhile
        return UNREADABLE
    return PromptWay.AUGMENTED


def _replaced_prompts(run: ModelRun, options: AugmentOptions, scene: Scene) -> int:
    """Return the key of the prompts that a run replaces, 0 for none: never any that are newer than the run."""
    if not options.again:
        return 0
    earlier = scene.prompt_sets.filter(created_at__lt=run.created_at).order_by("-pk")
    return earlier.values_list("pk", flat=True).first() or 0


def _write(runner: ChatRunner, options: AugmentOptions, scene: Scene) -> tuple[Scene, WrittenPrompts | str]:
    newest = scene.prompt_sets.order_by("-pk").values_list("pk", flat=True).first() or 0
    if newest != _replaced_prompts(runner.run, options, scene):
        return scene, CHANGED
    prompt = runner.prompts["augment"]
    earlier = PromptSet.objects.filter(
        scene=scene, way=PromptWay.AUGMENTED, created_at__lt=runner.run.created_at
    )
    try:
        asked = runner.ask(
            (prompt.text(**{role.value: scene.text(role) for role in ImageRole}),),
            system=prompt.system,
            schema=SCHEMA,
            subject=f"prompts of scene {scene.public_id}",
            is_readable=lambda call: _read(call) is not None,
            repeat=earlier.count(),  # so that a scene whose prompts were rejected gets other ones
        )
    except ContentRefused:
        return scene, REFUSED
    except CallFailed as error:
        raise Refused(f"{error}; to go on later, resume the job") from error
    found = None if asked.is_refused else _read(asked.last)
    if found is None:
        return scene, REFUSED if asked.is_refused else UNREADABLE
    return scene, WrittenPrompts(
        way=PromptWay.AUGMENTED,
        texts={role.value: found[role.value] for role in ImageRole},
        components=found["components"],
        environment=found["environment"],
        template=prompt.version,
        template_sha256=prompt.sha256,
        call=asked.last,
    )


def _read(call: ModelCall) -> dict[str, Any] | None:
    """Return the prompts of a reply; ``None`` if one is missing, empty or of another type."""
    found = read_object(call.text)
    if found is None:
        return None
    texts = [found.get(role.value) for role in ImageRole]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return None
    components = found.get("components", [])
    if not isinstance(components, list) or not all(isinstance(text, str) for text in components):
        return None
    environment = found.get("environment", "")
    if not isinstance(environment, str):
        return None
    return {
        **found,
        "components": [text[:MAX_COMPONENT] for text in components[:MAX_COMPONENTS]],
        "environment": environment[:MAX_ENVIRONMENT],
    }
