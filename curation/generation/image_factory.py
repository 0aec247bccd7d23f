"""Create image generators by the names that commands and runs use."""

import os
from collections.abc import Mapping

from curation.generation import names
from curation.generation.images import ImageGenerator
from curation.records import InvalidInput


def get_generator(
    name: str = "", *, licence: str = "", environment: Mapping[str, str] = os.environ
) -> ImageGenerator:
    """Return the generator called ``name``: ``drawing`` (default), ``openai:MODEL``, or ``diffusers:SOURCE``.

    Args:
        licence: of the images that it makes, as typed; empty means "unknown". Test drawings have their own.

    Raises:
        InvalidInput: an unknown name, a missing package, weights, an address or a key; or ``import``, which draws
            nothing.
    """
    parsed = names.parse_generator(name)
    if parsed.kind == names.DRAWING:
        from curation.generation.drawing import DrawingGenerator  # noqa: PLC0415 - on demand

        return DrawingGenerator()
    if parsed.kind == names.OPENAI:
        from curation.generation.openai_images import OpenAiImages  # noqa: PLC0415 - optional package, on demand

        return OpenAiImages(parsed.source, licence=licence, environment=environment)
    if parsed.kind == names.DIFFUSERS:
        from curation.generation.local_diffusers import DiffusersGenerator  # noqa: PLC0415 - torch, on demand

        return DiffusersGenerator(parsed.source, revision=parsed.revision, licence=licence)
    raise InvalidInput(
        "generator: import draws nothing; import a folder or a zip of images with import_generated"
    )
