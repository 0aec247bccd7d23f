"""Draw one image for a run: reserve, send, store the picture, settle. What drawing scenes and edits share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db import transaction

from curation.generation.image_factory import get_generator
from curation.generation.images import ImageGenerator, ImageRequest
from curation.models import GeneratedImage, ModelRun, PromptSet, Scene
from curation.pipelines.triplets.calls import (
    CallSettings,
    DrawnImage,
    PlannedCall,
    plan_image_call,
    send_image,
    settle_image,
)
from curation.services.triplets.generation import generator_licence, project_prices, store_model_facts
from curation.services.triplets.images import (
    ImageOrigin,
    Provenance,
    store_generated_image,
    store_image_file,
)
from hits.domain.crashpoints import crash_point
from hits.services.jobs.jobs import Progress

FLAG = "safety checker"


@dataclass(frozen=True, slots=True)
class ImageSlot:
    """Where a drawn image belongs; an edit names its ``parent`` and the boxes of its ``mask``."""

    scene: Scene
    role: str
    prompts: PromptSet | None
    parent: GeneratedImage | None = None
    mask: Sequence[Mapping[str, int]] = ()


@dataclass(frozen=True, slots=True)
class ImageDrawer:
    """A run with its loaded generator."""

    run: ModelRun
    generator: ImageGenerator
    settings: CallSettings

    def plan(self, request: ImageRequest, subject: str) -> PlannedCall:
        """Return the call of a request. Raises InvalidInput if its price is unknown."""
        return plan_image_call(self.generator, request, subject=subject, settings=self.settings)

    def draw(self, request: ImageRequest, planned: PlannedCall, slot: ImageSlot) -> GeneratedImage:
        """Draw one image and store it; see ``send_image`` for errors."""
        drawn = send_image(self.run, self.generator, request, planned, self.settings)
        return self._store(request, drawn, slot)

    def _store(self, request: ImageRequest, drawn: DrawnImage, slot: ImageSlot) -> GeneratedImage:
        """Store an image and settle its call together, so that no call is listed as lost whose image is there."""
        run, reply = self.run, drawn.reply
        parameters = {
            "width": request.width,
            "height": request.height,
            "steps": request.steps,
            "guidance": request.guidance,
            "reference": drawn.call.request.get("reference"),
        }
        image = store_image_file(project=slot.scene.project, data=reply.png, licence=run.licence)
        with transaction.atomic():
            stored = store_generated_image(
                scene=slot.scene,
                role=slot.role,
                image=image,
                provenance=Provenance(
                    generator=run.generator,
                    model=reply.model or run.model,
                    revision=run.revision,
                    licence=run.licence,
                    prompt=request.prompt,
                    revised_prompt=reply.revised_prompt,
                    negative_prompt=request.negative,
                    seed=reply.seed,
                    parent=slot.parent,
                    mask=slot.mask,
                    strength=request.strength,
                    parameters={name: value for name, value in parameters.items() if value is not None},
                    usage=reply.usage,
                    cost_micro=drawn.call.reserved_micro,
                    seconds=reply.seconds,
                    flags=[FLAG] if reply.flagged else [],
                ),
                origin=ImageOrigin(run, drawn.call, prompts=slot.prompts),
            )
            settle_image(drawn)
        crash_point("model.after_result")
        return stored


def load_drawer(run: ModelRun, progress: Progress, *, price_unknown: bool) -> ImageDrawer:
    """Return a run's drawer, and store what its generator resolved to.

    Raises:
        InvalidInput: the generator cannot be loaded.
        Refused: the price table is wrong.
    """
    prices = project_prices(run.project)
    generator = load_generator(run.generator, generator_licence(run.project, run.generator, prices))
    store_model_facts(run=run, model=generator.model, revision=generator.revision, licence=generator.licence)

    def before_wait() -> None:
        progress.advance(progress.job.done, progress.job.total)  # notices a cancellation

    return ImageDrawer(run, generator, CallSettings(prices, price_unknown, before_wait=before_wait))


@lru_cache(maxsize=2)
def load_generator(name: str, licence: str) -> ImageGenerator:
    """Return a loaded generator; a process keeps it for its next scene.

    Raises:
        InvalidInput: it cannot be loaded.
    """
    return get_generator(name, licence=licence)


def read_image(image: GeneratedImage) -> bytes:
    """Return the bytes of an image's file."""
    with image.image.file.open("rb") as file:
        data: bytes = file.read()
    return data
