"""What a run of an image generator would draw, and the most that it may cost."""

from dataclasses import dataclass

from curation.generation import names
from curation.generation.prices import PriceTable, image_cost
from curation.models import GeneratedImage, PromptSet, Scene
from curation.selectors.triplets.image_queue import HYPOTHESES, PREMISE, image_queue, missing_images
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.generation import (
    GenerationOptions,
    check_expected_abilities,
    project_prices,
)
from hits.models import Project


@dataclass(frozen=True, slots=True)
class ImageEstimate:
    """The images that a run would draw. Micro-dollars; ``None`` if the price table has no price.

    premises, hypotheses: images of each. waiting: hypotheses that wait for the pick of their premise. price: the most
    that one image costs. total: of all images, without the cap.
    """

    scenes: int
    premises: int
    hypotheses: int
    waiting: int
    price: int | None
    total: int | None

    @property
    def images(self) -> int:
        """The images that can be drawn now, and after the picks that they wait for."""
        return self.premises + self.hypotheses


def estimate_images(*, project: Project, options: GenerationOptions) -> ImageEstimate:
    """Return what a run would draw now.

    Raises:
        Refused: the price is unknown and the options do not accept that, or the generator takes no negative prompt.
    """
    check_expected_abilities(options)
    missing = missing_images(project, options.candidates)
    picked = _scenes_with_picked_premise(missing)
    prices = project_prices(project)
    costs: list[int | None] = []
    counts = {PREMISE: 0, "waiting": 0, "hypotheses": 0}
    for prompts, roles in missing:
        counts[PREMISE] += roles[PREMISE]
        hypotheses = sum(roles[role] for role in HYPOTHESES)
        counts["hypotheses"] += hypotheses
        if prompts.scene_id not in picked and not options.unattended:
            counts["waiting"] += hypotheses
        for role, count in roles.items():
            costs += [_cost(prices, options, prompts, role)] * count
    known = [cost for cost in costs if cost is not None]
    is_known = len(known) == len(costs)
    return ImageEstimate(
        scenes=len(missing),
        premises=counts[PREMISE],
        hypotheses=counts["hypotheses"],
        waiting=counts["waiting"],
        price=max(known, default=0) if is_known else None,
        total=sum(known) if is_known else None,
    )


def _cost(prices: PriceTable, options: GenerationOptions, prompts: PromptSet, role: str) -> int | None:
    generator = names.parse_generator(options.generator)
    able = names.expected_abilities(generator)
    takes_reference = able is None or names.REFERENCE in able
    with refuse_invalid_input():
        return image_cost(
            prices,
            generator,
            prompt=f"{prompts.prompt(role)}\n{options.negative}",
            width=options.width,
            height=options.height,
            reference_images=int(role != PREMISE and options.condition and takes_reference),
            price_unknown=options.price_unknown,
        )


def _scenes_with_picked_premise(missing: list[tuple[PromptSet, dict[str, int]]]) -> set[int]:
    scenes = list(Scene.objects.filter(pk__in=[prompts.scene_id for prompts, _ in missing]))
    return {row.scene.pk for row in image_queue(scenes) if PREMISE in row.picks}


def edit_price(image: GeneratedImage, way: str, generator: str = "") -> int | None:
    """Return the most that one more candidate from an image costs, in micro-dollars; ``None`` if it is unknown.

    Raises:
        Refused: nothing can draw under this name, such as that of a folder whose images were imported.
    """
    references = {"again": 0, "variation": 1, "region": 2}[way]
    with refuse_invalid_input():
        return image_cost(
            project_prices(image.scene.project),
            names.parse_generator(generator or image.generator),
            prompt=f"{image.prompt}\n{image.negative_prompt}",
            width=image.image.width,
            height=image.image.height,
            reference_images=references,
            price_unknown=True,
        )
