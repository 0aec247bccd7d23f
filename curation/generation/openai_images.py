"""Images from OpenAI-compatible servers: one image a call, as base64 or from the server's own origin."""

import base64
import binascii
import io
import os
import time
from collections.abc import Mapping
from typing import Any

from PIL import Image as Pillow

from curation.generation import names
from curation.generation.endpoint import IMAGES, origin_of, read_endpoint
from curation.generation.errors import AskDifferently, BadReply, ModelUnavailable, Permanent
from curation.generation.images import (
    MAX_IMAGE_BYTES,
    UNKNOWN_LICENCE,
    ImageReply,
    ImageRequest,
    check_abilities,
)
from curation.generation.keys import blank_keys
from curation.generation.openai_client import call, create_client, download, refused_parameter
from curation.generation.pictures import Png, decode_picture, to_png
from curation.records import InvalidInput
from hits.domain.answers.text import parse_digits

ABILITIES_VARIABLE = "IMAGES_API_CAN"
_MAX_REPLY_BYTES = MAX_IMAGE_BYTES * 4 // 3 + 1024**2  # of JSON with an image in base64
_PIXELS = ("b64_json", "url")


class OpenAiImages:
    """An image model of an OpenAI-compatible server (``IMAGES_API_URL``, ``IMAGES_API_KEY``).

    OpenAI's own models take no seed, no negative prompt and no strength. Other servers may, in the request's extra
    fields ``seed``, ``negative_prompt``, ``num_inference_steps``, ``guidance_scale`` and ``strength``; what such a
    server really does with them, it rarely says. ``IMAGES_API_CAN`` names the abilities for certain, such as
    ``seed,negative``. Only then, or if the reply states it, is a seed that was sent reported as used.
    """

    def __init__(
        self,
        model: str,
        *,
        licence: str = "",
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._endpoint = read_endpoint(IMAGES, environment)
        self._client = create_client(self._endpoint, max_reply_bytes=_MAX_REPLY_BYTES)
        stated = _stated_abilities(environment)
        self.name = f"{names.OPENAI}:{model}"
        self.model = model
        self.revision = ""  # a server states none; the reply's model name is stored with each image
        self.licence = licence or UNKNOWN_LICENCE
        expected = names.expected_abilities(names.ModelName(self.name, names.OPENAI, model)) or frozenset()
        self.can = expected if stated is None else stated
        self._is_seed_certain = stated is not None and names.SEED in stated
        # OpenAI's present models always send base64, and refuse the parameter.
        self._asks_for_base64 = not names.is_openai_image_model(model) or "dall-e" in model

    def generate(self, request: ImageRequest) -> ImageReply:
        """Draw one image; see ``ImageGenerator``."""
        check_abilities(self, request)
        started = time.monotonic()
        parameters = self._parameters(request)
        try:
            found = call(self._endpoint, lambda: self._send(request, parameters))
        except Permanent as failure:
            different = self._ask_differently(failure, parameters)
            if different is None:
                raise
            raise different from None
        return self._read_reply(found, request, time.monotonic() - started)

    def _parameters(self, request: ImageRequest) -> dict[str, Any]:
        extra = {
            "seed": request.seed,
            "negative_prompt": request.negative or None,
            "num_inference_steps": request.steps,
            "guidance_scale": request.guidance,
            "strength": request.strength,
        }
        parameters: dict[str, Any] = {
            "model": self.model,
            "prompt": request.prompt,
            "n": 1,
            "size": f"{request.width}x{request.height}",
            "extra_body": {name: value for name, value in extra.items() if value is not None},
        }
        if self._asks_for_base64:
            parameters["response_format"] = "b64_json"
        return parameters

    def _send(self, request: ImageRequest, parameters: dict[str, Any]) -> Any:
        images = self._client.images.with_raw_response
        if request.reference is None:
            return images.generate(**parameters)
        files: dict[str, Any] = {
            "image": ("image.png", to_png(request.reference, "reference image").data, "image/png")
        }
        if request.mask is not None:
            files["mask"] = ("mask.png", _transparent_where_white(request.mask), "image/png")
        return images.edit(**files, **parameters)

    def _ask_differently(self, failure: Permanent, sent: Mapping[str, Any]) -> AskDifferently | None:
        named, message = refused_parameter(failure)
        if "response_format" in sent and "response_format" in (named or message):
            self._asks_for_base64 = False
            return AskDifferently(
                f"{self.name}: does not know response_format", retry_after=0.0, raw=failure.raw
            )
        return None

    def _read_reply(self, found: dict[str, Any], request: ImageRequest, seconds: float) -> ImageReply:
        data = found.get("data")
        items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
        metadata = blank_keys(_without_pixels(found, items))
        if not items or not any(items[0].get(name) for name in _PIXELS):
            raise BadReply(f"{self._endpoint.label}: the reply has no image", raw=metadata)
        png = self._read_image(items[0], metadata)
        usage = found.get("usage")
        return ImageReply(
            png=png.data,
            width=png.width,
            height=png.height,
            seed=self._used_seed(found, items[0], request),
            model=str(blank_keys(str(found.get("model") or self.model))),
            revised_prompt=str(blank_keys(str(items[0].get("revised_prompt") or ""))),
            usage=blank_keys(usage) if isinstance(usage, dict) else {},
            metadata=metadata,
            seconds=seconds,
        )

    def _read_image(self, item: Mapping[str, Any], metadata: Any) -> Png:
        if item.get("b64_json"):
            data = self._decode_base64(str(item["b64_json"]), metadata)
        elif str(item["url"]).startswith("data:"):
            data = self._decode_base64(str(item["url"]).partition(",")[2], metadata)
        else:
            data = self._fetch(str(item["url"]), metadata)
        if len(data) > MAX_IMAGE_BYTES:
            megabytes = MAX_IMAGE_BYTES // 1024**2
            raise BadReply(f"{self._endpoint.label}: the image is larger than {megabytes} MB", raw=metadata)
        try:
            return to_png(data, f"{self._endpoint.label}: the image")
        except InvalidInput as error:
            raise BadReply(str(error), raw=metadata) from error

    def _decode_base64(self, text: str, metadata: Any) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
        raise BadReply(f"{self._endpoint.label}: the image is no base64", raw=metadata)

    def _fetch(self, url: str, metadata: Any) -> bytes:
        try:
            is_own = origin_of(url) == self._endpoint.origin
        except ValueError:
            is_own = False
        if not is_own:
            raise BadReply(
                f"{self._endpoint.label}: the image's address is of another origin, and was not fetched",
                raw=metadata,
            )
        return download(self._endpoint, url, max_bytes=MAX_IMAGE_BYTES)

    def _used_seed(
        self, found: Mapping[str, Any], item: Mapping[str, Any], request: ImageRequest
    ) -> int | None:
        for source in (item, found):
            seed = source.get("seed")
            if isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0:
                return seed
            if isinstance(seed, str) and seed.isdecimal():  # also a number of more than 64 bits
                return parse_digits(seed)
        return request.seed if self._is_seed_certain else None


def _stated_abilities(environment: Mapping[str, str]) -> frozenset[str] | None:
    text = environment.get(ABILITIES_VARIABLE, "").strip()
    if not text:
        return None
    stated = frozenset(part.strip() for part in text.split(",") if part.strip())
    unknown = sorted(stated - set(names.ABILITIES))
    if unknown:
        raise ModelUnavailable(
            f"{ABILITIES_VARIABLE}: {unknown[0]!r} is not known; use {', '.join(names.ABILITIES)}"
        )
    return stated


def _transparent_where_white(mask: bytes) -> bytes:
    """Return a mask as the protocol wants it: transparent where the image is redrawn."""
    alpha = decode_picture(mask, "mask").convert("L").point(lambda value: 255 - value)
    picture = Pillow.new("RGBA", alpha.size, "black")
    picture.putalpha(alpha)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _without_pixels(found: Mapping[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a reply without its images; addresses stay, apart from those that hold the image themselves."""

    def keep(name: str, value: Any) -> bool:
        return name != "b64_json" and not (name == "url" and str(value).startswith("data:"))

    kept = [{name: value for name, value in item.items() if keep(name, value)} for item in items]
    return {**found, "data": kept}
