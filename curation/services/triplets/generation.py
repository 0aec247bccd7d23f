"""Request images: for all scenes with approved prompts, or one more candidate made from an existing one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.generation import names
from curation.generation.prices import PriceTable, image_cost, parse_prices
from curation.models import GeneratedImage, ModelRun, RunPurpose
from curation.selectors.jobs import EDIT_IMAGE, GENERATE_IMAGES
from curation.selectors.triplets.prompts import approved_prompts
from curation.selectors.triplets.settings import triplet_settings
from curation.services.options import check_at_least
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.model_calls import RunPlan, cap_in_micro, create_run
from hits.models import Image, Job, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

MAX_CANDIDATES = 24
MIN_SIDE, MAX_SIDE = 64, 4096
SEED_RANGE = 2**31
EDIT_WAYS = ("again", "variation", "region")


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """How images are drawn.

    candidates: for each role. cap_usd: the most that the run may cost. price_unknown: draw although the price table
    has no price; the cap then counts calls alone. width, height: pixels. seed: of the first candidate; candidate k of
    every role gets the same seed, so that the three look alike; ``None`` leaves seeds to the generator. steps,
    guidance: of diffusion models; ``None`` leaves them to the generator. unattended: take the first candidate of the
    premise without waiting for a person's pick. condition: draw hypotheses from the picked premise, if the generator
    can.
    """

    generator: str = names.DRAWING
    candidates: int = 4
    cap_usd: float = 0.0
    cap_calls: int | None = None
    price_unknown: bool = False
    negative: str = ""
    width: int = 1024
    height: int = 1024
    seed: int | None = 0
    steps: int | None = None
    guidance: float | None = None
    unattended: bool = False
    condition: bool = True

    def __post_init__(self) -> None:
        with refuse_invalid_input():
            parsed = names.parse_generator(self.generator)
        if parsed.kind == names.IMPORT:
            raise Refused("generator: import draws nothing; use import_generated FOLDER")
        if not 1 <= self.candidates <= MAX_CANDIDATES:
            raise Refused(f"candidates: {self.candidates}; use 1 to {MAX_CANDIDATES}")
        for name in ("width", "height"):
            if not MIN_SIDE <= getattr(self, name) <= MAX_SIDE:
                raise Refused(f"{name}: {getattr(self, name)} pixels; use {MIN_SIDE} to {MAX_SIDE:,}")
        if self.seed is not None and not 0 <= self.seed < SEED_RANGE:
            raise Refused(f"seed: {self.seed}; use 0 to {SEED_RANGE - 1:,}")
        if self.steps is not None:
            check_at_least("steps", self.steps, 1)
        if self.cap_calls is not None:
            check_at_least("cap_calls", self.cap_calls, 1)


@dataclass(frozen=True, slots=True)
class EditOptions:
    """One more candidate from an existing one.

    way: ``again`` (same prompt and seed), ``variation`` (starts from the image with a strength) or ``region`` (draws
    the boxes of ``mask`` again). prompt: empty for the image's own. generator: empty for the image's own.
    """

    way: str
    prompt: str = ""
    generator: str = ""
    strength: float = 0.5
    mask: Sequence[Mapping[str, int]] = ()
    cap_usd: float = 0.0
    price_unknown: bool = False

    def __post_init__(self) -> None:
        if self.way not in EDIT_WAYS:
            raise Refused(f"way: {self.way!r} is not known; use {', '.join(EDIT_WAYS)}")
        if not 0 < self.strength <= 1:
            raise Refused(f"strength: {self.strength:g}; use a number over 0, up to 1")
        if self.way == "region" and not self.mask:
            raise Refused("region: mark at least one box to redraw")


def project_prices(project: Project) -> PriceTable:
    """Return the project's price table.

    Raises:
        Refused: its text is no price table.
    """
    with refuse_invalid_input():
        return parse_prices(triplet_settings(project).prices)


def generator_licence(project: Project, generator: str, prices: PriceTable) -> str:
    """Return the licence of a generator's images as a person typed it; empty if nobody did."""
    typed = triplet_settings(project).licences.get(generator, "")
    return typed or prices.licence(names.parse_generator(generator))


def request_images(
    *,
    project: Project,
    options: GenerationOptions,
    by: AbstractBaseUser | None,
    queue: bool = True,
) -> Job:
    """Start a run that draws the missing candidates of all scenes with approved prompts; return its job.

    Raises:
        Refused: no scene has approved prompts, the generator takes no negative prompt, the price is unknown, or the
            cap is below one call.
        Conflict: images of this project are being drawn already.
    """
    if not approved_prompts(project):
        raise Refused(
            "prompts: none is approved yet; write and approve some first (augment_prompts, or Triplets → Prompts)"
        )
    check_expected_abilities(options)
    cap = _check_cap(project, options.generator, options)
    with transaction.atomic():
        run = create_run(
            project=project,
            plan=RunPlan(
                RunPurpose.IMAGES, options.generator, cap, options.cap_calls, parameters=asdict(options)
            ),
            by=by,
        )
        run.job = jobs.enqueue(
            task=GENERATE_IMAGES,
            title=f"Draw images with {options.generator}",
            project=project,
            by=by,
            exclusive_key=f"images:{project.pk}",
            resumable=True,
            queue=queue,
            run=run.pk,
        )
        run.save(update_fields=["job"])
        audit.record(project=project, actor=by, action="images.generate", subject=run.pk, cap_micro=cap)
    return run.job


def check_expected_abilities(options: GenerationOptions) -> None:
    """Raise Refused if the generator's name tells that it cannot do what is asked; its adapter checks again."""
    able = names.expected_abilities(names.parse_generator(options.generator))
    if options.negative and able is not None and names.NEGATIVE not in able:
        raise Refused(
            f"negative: {options.generator} does not support {names.ABILITIES[names.NEGATIVE]}; leave it empty"
        )


def request_edit(
    *, image: GeneratedImage, options: EditOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Start a run that draws one more candidate from an image; return its job.

    Raises:
        Refused: the image was taken down, or came from an import and no generator was named, the price is unknown,
            or the cap is below one call.
        Conflict: one more image is being drawn from it already, such as after a double click.
    """
    if Image.objects.exclude(taken_down_at=None).filter(pk=image.image_id).exists():
        raise Refused("image: was taken down; draw from another one")
    generator = options.generator or image.generator
    with refuse_invalid_input():
        parsed = names.parse_generator(generator)
    if parsed.kind == names.IMPORT:
        raise Refused("generator: the image was imported, so name the generator that shall draw")
    able = names.expected_abilities(parsed)
    needed = {"again": names.SEED, "variation": names.IMG2IMG, "region": names.INPAINT}[options.way]
    if able is not None and needed not in able and (options.way != "again" or image.seed is not None):
        raise Refused(f"{generator}: does not support {names.ABILITIES[needed]}; use another generator")
    size = image.image
    cap = _check_cap(
        image.scene.project,
        generator,
        GenerationOptions(
            generator,
            cap_usd=options.cap_usd,
            price_unknown=options.price_unknown,
            width=size.width,
            height=size.height,
        ),
        references=0 if options.way == "again" else 1 + bool(options.mask),
    )
    with transaction.atomic():
        run = create_run(
            project=image.scene.project,
            plan=RunPlan(RunPurpose.IMAGES, generator, cap, parameters=asdict(options) | {"image": image.pk}),
            by=by,
        )
        run.job = jobs.enqueue(
            task=EDIT_IMAGE,
            title=f"Draw one image with {generator}",
            project=image.scene.project,
            by=by,
            exclusive_key=f"edit:{image.pk}",
            resumable=True,
            queue=queue,
            run=run.pk,
        )
        run.save(update_fields=["job"])
    return run.job


def _check_cap(project: Project, generator: str, options: GenerationOptions, references: int = 0) -> int:
    """Return the cap in micro-dollars. Raises Refused if the price is unknown, or the cap is below one call."""
    cap = cap_in_micro(options.cap_usd)
    with refuse_invalid_input():
        price = image_cost(
            project_prices(project),
            names.parse_generator(generator),
            prompt=options.negative,
            width=options.width,
            height=options.height,
            reference_images=references,
            price_unknown=options.price_unknown,
        )
    if price is not None and price > cap:
        raise Refused(
            f"cap: one image of {generator} costs ${price / 1_000_000:.4f}, and the cap is ${options.cap_usd:g}; "
            "raise it (--cap-usd)"
        )
    return cap


def store_model_facts(*, run: ModelRun, model: str, revision: str, licence: str) -> None:
    """Store what a run's generator resolved to; called before its first call."""
    changes = {"model": model[:200], "revision": revision[:120], "licence": licence[:120]}
    ModelRun.objects.filter(pk=run.pk).update(**changes)
    for name, value in changes.items():
        setattr(run, name, value)
