"""A job that lets a chat model write the prompts of scenes; a person approves them before anything is drawn."""

from typing import Any

from curation.generation.errors import CallFailed, ContentRefused
from curation.models import ImageRole, ModelCall, ModelRun, PromptSet, PromptWay, Scene
from curation.models.generated_images import MAX_COMPONENTS
from curation.pipelines.triplets.calls import run_parallel
from curation.pipelines.triplets.chat_runner import ChatRunner, load_runner, read_object
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.augmentation import AugmentOptions
from curation.services.triplets.model_calls import CapReached, lose_calls
from curation.services.triplets.prompts import MAX_COMPONENT, MAX_ENVIRONMENT, WrittenPrompts, store_prompts
from hits.services.errors import Refused
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
MAX_TOKENS = 1024


def augment_prompts(progress: Progress) -> dict[str, Any]:
    """Run a job: ask for the prompts of each scene that this run has not written yet, and store them.

    Raises:
        Refused: the model cannot be loaded, or a call failed for good.
    """
    run = ModelRun.objects.select_related("project").get(pk=progress.job.args["run"])
    options = AugmentOptions(**run.parameters)
    lose_calls(run=run)
    keys = progress.job.args["scenes"]
    written = set(PromptSet.objects.filter(call__run=run).values_list("scene_id", flat=True))
    waiting = list(Scene.objects.filter(pk__in=keys, replaced_by=None).exclude(pk__in=written).order_by("pk"))
    found = {"prompts": len(written), "unreadable": 0, "refused": 0}
    with refuse_invalid_input():
        runner = load_runner(run, options, progress)
        try:
            results = run_parallel(waiting, lambda scene: _write(runner, scene), threads=options.threads)
            for done, (scene, call, outcome) in enumerate(results, start=len(written) + 1):
                if outcome is not None:
                    store_prompts(scene=scene, written=outcome, by=run.created_by)
                    found["prompts"] += 1
                else:
                    found["refused" if call is None else "unreadable"] += 1
                progress.advance(done, len(keys))
        except CapReached as error:
            return {**found, "stopped": str(error)}
    return found


def _write(runner: ChatRunner, scene: Scene) -> tuple[Scene, ModelCall | None, WrittenPrompts | None]:
    prompt = runner.prompts["augment"]
    try:
        asked = runner.ask(
            (prompt.text(**{role.value: scene.text(role) for role in ImageRole}),),
            system=prompt.system,
            schema=SCHEMA,
            subject=f"prompts of scene {scene.public_id}",
            is_readable=lambda call: _read(call) is not None,
            max_tokens=MAX_TOKENS,
        )
    except ContentRefused:
        return scene, None, None
    except CallFailed as error:
        raise Refused(f"{error}; to go on later, resume the job") from error
    found = _read(asked.last)
    if found is None:
        return scene, asked.last, None
    written = WrittenPrompts(
        way=PromptWay.AUGMENTED,
        texts={role.value: found[role.value] for role in ImageRole},
        components=found["components"],
        environment=found["environment"],
        template=prompt.version,
        template_sha256=prompt.sha256,
        call=asked.last,
    )
    return scene, asked.last, written


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
