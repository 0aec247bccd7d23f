"""A job that draws one more candidate from an existing one: again, as a variation, or a region of it."""

from dataclasses import replace
from typing import Any

from curation.generation import names
from curation.generation.errors import CallFailed
from curation.generation.images import ImageGenerator, ImageRequest
from curation.generation.pictures import mask_from_boxes
from curation.models import GeneratedImage, ModelRun
from curation.pipelines.triplets.image_drawer import (
    ImageDrawer,
    ImageSlot,
    check_shown,
    load_drawer,
    read_image,
)
from curation.records import Region
from curation.selectors.triplets.model_calls import lost_calls
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.generation import EditOptions
from curation.services.triplets.model_calls import PlannedCall, lose_calls
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress


def edit_image(progress: Progress) -> dict[str, Any]:
    """Run a job: draw one image.

    Raises:
        Refused: the image was taken down, the generator cannot do it, the call failed, or the provider refused its
            content.
    """
    run = ModelRun.objects.select_related("project").get(pk=progress.job.args["run"])
    raw = dict(run.parameters)
    images = GeneratedImage.objects.select_related("scene__project", "image", "prompt_set")
    image = images.get(pk=raw.pop("image"))
    options = EditOptions(**raw)
    lose_calls(run=run)
    check_shown(image)  # the job may have waited
    with refuse_invalid_input():
        drawer = load_drawer(run, progress, price_unknown=options.price_unknown)
        request = _edit_request(image, options, drawer.generator)
        planned = drawer.plan(request, f"edit {run.pk} of image {image.pk}")
        slot = ImageSlot(
            image.scene, image.role, image.prompt_set, image, [dict(box) for box in options.mask]
        )
        stored = GeneratedImage.objects.filter(run=run).first()  # before the process died
        if stored is None:
            stored = _draw(drawer, request, planned, slot)
    lost = [call.subject for call in lost_calls(run)]
    found: dict[str, Any] = {"image": stored.pk, "scene": image.scene.public_id}
    return found | ({"maybe_paid_twice": lost} if lost else {})


def _draw(
    drawer: ImageDrawer, request: ImageRequest, planned: PlannedCall, slot: ImageSlot
) -> GeneratedImage:
    try:
        return drawer.draw(request, planned, slot)
    except CallFailed as error:
        raise Refused(str(error)) from error


def _edit_request(image: GeneratedImage, options: EditOptions, generator: ImageGenerator) -> ImageRequest:
    request = ImageRequest(
        prompt=options.prompt or image.prompt,
        width=image.image.width,
        height=image.image.height,
        negative=image.negative_prompt if names.NEGATIVE in generator.can else "",
        seed=image.seed if names.SEED in generator.can else None,
        steps=image.parameters.get("steps"),
        guidance=image.parameters.get("guidance"),
    )
    if options.way == "again":
        return request
    request = replace(request, reference=read_image(image))
    if options.way == "variation":
        return replace(request, strength=options.strength)
    boxes = [Region(**box) for box in options.mask]
    strength = options.strength if names.IMG2IMG in generator.can else None
    return replace(
        request, mask=mask_from_boxes((image.image.width, image.image.height), boxes), strength=strength
    )
