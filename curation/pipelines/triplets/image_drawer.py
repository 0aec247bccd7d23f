"""Draw one image for a run: reserve, send, store the picture, settle. What drawing scenes and edits share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db import transaction

from curation.generation.errors import BadReply
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
from curation.services.triplets.model_calls import BAD_REPLY_FINISH, Failure, fail_call
from hits.domain.crashpoints import crash_point
from hits.domain.storable import storable_json, storable_text
from hits.models import Image
from hits.services.errors import BadFile, Refused, StorageFull
from hits.services.jobs.jobs import Progress

_MAX_MODEL = 200  # characters
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
        image = self._store_file(drawn, slot.scene)
        with transaction.atomic():
            stored = store_generated_image(
                scene=slot.scene,
                role=slot.role,
                image=image,
                provenance=Provenance(
                    generator=run.generator,
                    model=storable_text(reply.model or run.model)[:_MAX_MODEL],
                    revision=run.revision,
                    licence=run.licence,
                    prompt=request.prompt,
                    revised_prompt=storable_text(reply.revised_prompt),
                    negative_prompt=request.negative,
                    seed=reply.seed,
                    parent=slot.parent,
                    mask=slot.mask,
                    strength=request.strength,
                    parameters={name: value for name, value in parameters.items() if value is not None},
                    usage=storable_json(reply.usage),
                    cost_micro=drawn.call.reserved_micro,
                    seconds=reply.seconds,
                    flags=[FLAG] if reply.flagged else [],
                ),
                origin=ImageOrigin(run, drawn.call, prompts=slot.prompts),
            )
            settle_image(drawn)
        crash_point("model.after_result")
        return stored

    def _store_file(self, drawn: DrawnImage, scene: Scene) -> Image:
        """Store the file of a paid image. Whatever prevents it ends the call, so that no resume takes it for lost.

        Raises:
            BadReply: the file is larger than this installation stores.
            StorageFull: the disk is full.
        """
        try:
            return store_image_file(project=scene.project, data=drawn.reply.png, licence=self.run.licence)
        except (BadFile, StorageFull) as error:
            raw = dict(drawn.reply.metadata)
            finish = BAD_REPLY_FINISH if isinstance(error, BadFile) else ""
            fail_call(call=drawn.call, failure=Failure(str(error), True, finish, raw, drawn.tries))
            if isinstance(error, StorageFull):
                raise
            raise BadReply(f"{self.run.generator}: {error}", raw=raw) from error


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
    """Return the bytes of an image's file.

    Raises:
        Refused: the image was taken down, also at this moment; nobody may use it any more.
    """
    check_shown(image)
    with image.image.file.open("rb") as file:
        data: bytes = file.read()
    return data


def check_shown(image: GeneratedImage) -> None:
    """Raise Refused if an image was taken down, also a moment ago."""
    if not Image.objects.filter(pk=image.image_id, taken_down_at=None).exists():
        raise Refused(f"candidate {image.number}: the image was taken down; draw from another one")
