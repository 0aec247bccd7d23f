"""Image requests and replies, and the interface of image generators."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from curation.generation import names
from curation.generation.errors import LacksAbility
from curation.generation.pictures import decode_picture
from curation.records import InvalidInput

MAX_IMAGE_BYTES = 20 * 1024 * 1024  # of a generated image, as received
MAX_SEED = 2**32 - 1  # what every generator takes
MIN_SIDE, MAX_SIDE = 64, 4096  # pixels
MAX_PROMPT_LENGTH = 8_000  # characters
MAX_STEPS = 1_000
UNKNOWN_LICENCE = "unknown"


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """One image to draw.

    width, height: pixels. seed: ``None`` leaves it to the generator. reference: an image file to start from or to
    follow. mask: an image file of the same size; white is redrawn, black is kept. strength: how far the result may
    leave the reference, 0 to 1; ``None`` leaves it to the generator. steps, guidance: of diffusion models; ``None``
    leaves them to the generator.
    """

    prompt: str
    width: int = 1024
    height: int = 1024
    negative: str = ""
    seed: int | None = None
    n: int = 1
    reference: bytes | None = None
    mask: bytes | None = None
    strength: float | None = None
    steps: int | None = None
    guidance: float | None = None


@dataclass(frozen=True, slots=True)
class ImageReply:
    """One drawn image.

    png: re-encoded, without metadata. width, height: of the image; they may differ from those asked for. seed: the
    one really used; ``None`` if the generator tells none. model: as the reply names it. usage, metadata: as received,
    without keys and pixels. flagged: a safety checker's verdict; ``None`` without one. seconds: wall time.
    """

    png: bytes
    width: int
    height: int
    seed: int | None
    model: str
    revised_prompt: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    flagged: bool | None = None
    seconds: float = 0.0


class ImageGenerator(Protocol):
    """Draws images from prompts.

    ``name`` is the one in options. ``model`` and ``revision`` name the weights; ``licence`` is that of the output, as
    typed, or "unknown". ``can`` has names of ``curation.generation.names.ABILITIES``.
    """

    name: str
    model: str
    revision: str
    licence: str
    can: frozenset[str]

    def generate(self, request: ImageRequest) -> ImageReply:
        """Draw one image. Call ``check_abilities`` before, and before anything is reserved or paid.

        Raises:
            Transient, Permanent, ContentRefused, BadReply: see ``curation.generation.errors``.
        """
        ...


def needed_abilities(request: ImageRequest) -> frozenset[str]:
    """Return the abilities that a request needs."""
    needs = set()
    if request.seed is not None:
        needs.add(names.SEED)
    if request.negative:
        needs.add(names.NEGATIVE)
    if request.mask is not None:
        needs.add(names.INPAINT)
    elif request.strength is not None:
        needs.add(names.IMG2IMG)
    elif request.reference is not None:
        needs.add(names.REFERENCE)
    return frozenset(needs)


def check_abilities(generator: ImageGenerator, request: ImageRequest) -> None:
    """Refuse a request that the generator cannot fulfil, before it costs anything.

    Raises:
        LacksAbility: it asks for something that the generator cannot do; the message names both.
        InvalidInput: the request itself is wrong.
    """
    check_request(request)
    missing = sorted(needed_abilities(request) - generator.can)
    if missing:
        lacked = " and ".join(names.ABILITIES[name] for name in missing)
        able = ", ".join(sorted(generator.can)) or "nothing besides the prompt"
        raise LacksAbility(
            f"{generator.name}: does not support {lacked}; it supports {able}. Leave it out, or use another generator"
        )


def check_request(request: ImageRequest) -> None:
    """Check a request by itself.

    Raises:
        InvalidInput: a value is missing or outside of its limits; the message names the field.
    """
    if not request.prompt.strip():
        raise InvalidInput("prompt: is empty; write what the image shall show")
    if len(request.prompt) > MAX_PROMPT_LENGTH or len(request.negative) > MAX_PROMPT_LENGTH:
        raise InvalidInput(f"prompt: is longer than {MAX_PROMPT_LENGTH:,} characters; shorten it")
    for label, side in (("width", request.width), ("height", request.height)):
        if not MIN_SIDE <= side <= MAX_SIDE:
            raise InvalidInput(f"{label}: {side} pixels; use {MIN_SIDE} to {MAX_SIDE:,}")
    if request.n != 1:
        raise InvalidInput(f"n: {request.n} images; each call draws one image, so call it {request.n} times")
    if request.seed is not None and not 0 <= request.seed <= MAX_SEED:
        raise InvalidInput(f"seed: {request.seed}; use a whole number from 0 to {MAX_SEED}")
    _check_numbers(request)
    _check_images(request)


def _check_numbers(request: ImageRequest) -> None:
    if request.steps is not None and not 1 <= request.steps <= MAX_STEPS:
        raise InvalidInput(f"steps: {request.steps}; use 1 to {MAX_STEPS:,}")
    if request.guidance is not None and not (math.isfinite(request.guidance) and request.guidance >= 0):
        raise InvalidInput(f"guidance: {request.guidance}; use a number from 0 on")
    if request.strength is not None and not 0 < request.strength <= 1:  # NaN is refused too
        raise InvalidInput(f"strength: {request.strength}; use a number over 0, up to 1")


def _check_images(request: ImageRequest) -> None:
    if request.reference is None:
        if request.mask is not None or request.strength is not None:
            field_name = "mask" if request.mask is not None else "strength"
            raise InvalidInput(f"{field_name}: needs a reference image; name the image to start from")
        return
    reference = decode_picture(request.reference, "reference image")
    if request.mask is None:
        return
    mask = decode_picture(request.mask, "mask")
    if mask.size != reference.size:
        raise InvalidInput(
            f"mask: {mask.width} × {mask.height} pixels, but the reference image has "
            f"{reference.width} × {reference.height}; draw the mask on that image"
        )
    if mask.convert("L").getextrema()[1] == 0:
        raise InvalidInput("mask: is black all over; mark the region to redraw in white")
