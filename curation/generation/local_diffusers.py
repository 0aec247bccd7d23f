"""Images from diffusion models on this machine, through the ``diffusers`` package, which is optional.

Weights are read as safetensors, never unpickled, and no code of a model's folder is run. Noise is drawn on the
processor, so that a seed means the same on every machine. Each image is one forward pass: in a batch, the same seed
gives other bytes. The safety checker of a pipeline stays on, and its verdict is stored with each image.
"""

import hashlib
import inspect
import secrets
import threading
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from curation.features.weights import SHA_PREFIX, SHORT_DIGITS
from curation.files import file_sha256
from curation.generation import names
from curation.generation.errors import BadReply, ModelUnavailable, Permanent
from curation.generation.images import (
    MAX_SEED,
    UNKNOWN_LICENCE,
    ImageReply,
    ImageRequest,
    check_abilities,
)
from curation.generation.pictures import decode_picture, encode_png
from curation.records import InvalidInput

INSTALL_HINT = (
    "the package diffusers is not installed, which draws images on this machine: run make generation, or "
    "pip install 'diffusers>=0.42,<0.43'"
)
INDEX = "model_index.json"
_TEXT, _IMG2IMG, _INPAINT = (
    "AutoPipelineForText2Image",
    "AutoPipelineForImage2Image",
    "AutoPipelineForInpainting",
)
_WEIGHTS = {".safetensors", ".json", ".txt", ".model"}
_TOKENIZERS = ("tokenizer", "tokenizer_2", "tokenizer_3")
_MAX_LENGTH = 100_000  # tokens; tokenizers without a limit state an astronomic one
_MAX_LOST = 120  # characters of lost words in a message
_MAX_REASON = 200


class DiffusersGenerator:
    """A text-to-image pipeline from a folder or the hub, and its variants for editing, which share its weights.

    source: a folder's path or a hub id. revision: of a hub id; empty means the current one. device: by default a GPU
    if there is one.
    """

    def __init__(self, source: str, *, revision: str = "", licence: str = "", device: str = "") -> None:
        diffusers, torch = _load_packages()
        folder, self.revision = _find_folder(diffusers, source, revision)
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        # A tokenizer keeps the options of its last call, and a scheduler counts the steps of one image.
        self._lock = threading.Lock()
        self._pipelines = _load_pipelines(diffusers, torch, folder, source, self._device)
        self.name = f"{names.DIFFUSERS}:{source}" + (f"@{revision}" if revision else "")
        self.model = source if _is_hub(source) else folder.name
        self.licence = licence or UNKNOWN_LICENCE
        self.can = self._abilities()

    def generate(self, request: ImageRequest) -> ImageReply:
        """Draw one image; see ``ImageGenerator``. Without a seed, one is drawn and reported."""
        check_abilities(self, request)
        with self._lock:
            return self._draw(request)

    def _draw(self, request: ImageRequest) -> ImageReply:
        self._check_length("prompt", request.prompt)
        self._check_length("negative prompt", request.negative)
        started = time.monotonic()
        seed = secrets.randbelow(MAX_SEED + 1) if request.seed is None else request.seed
        task, arguments = self._arguments(request)
        output = self._run(task, arguments | {"generator": self._torch.Generator("cpu").manual_seed(seed)})
        pictures = getattr(output, "images", None)
        if not pictures or not isinstance(pictures[0], Pillow.Image):
            raise BadReply(f"{self.name}: the pipeline gave no image", may_cost=False)
        picture = _keep_unmasked(pictures[0].convert("RGB"), arguments)
        flags = getattr(output, "nsfw_content_detected", None)
        png = encode_png(picture)
        return ImageReply(
            png=png.data,
            width=png.width,
            height=png.height,
            seed=seed,
            model=self.model,
            metadata=self._metadata(task, arguments),
            flagged=bool(flags[0]) if flags else None,
            seconds=time.monotonic() - started,
        )

    def _abilities(self) -> frozenset[str]:
        can = {names.SEED}
        if "negative_prompt" in _parameters(self._pipelines[_TEXT]):
            can.add(names.NEGATIVE)
        can |= {ability for task, ability in _VARIANTS.items() if task in self._pipelines}
        return frozenset(can)

    def _arguments(self, request: ImageRequest) -> tuple[str, dict[str, Any]]:
        task = _TEXT if request.reference is None else _IMG2IMG if request.mask is None else _INPAINT
        size = (request.width, request.height)
        arguments: dict[str, Any] = {
            "prompt": request.prompt,
            "negative_prompt": request.negative or None,
            "num_inference_steps": request.steps,
            "guidance_scale": request.guidance,
            "strength": request.strength,
            "num_images_per_prompt": 1,
        }
        if request.reference is not None:
            image = decode_picture(request.reference, "reference image")
            arguments["image"] = (
                image.resize(size, Pillow.Resampling.LANCZOS) if image.size != size else image
            )
        if request.mask is not None:
            mask = decode_picture(request.mask, "mask").convert("L")
            arguments["mask_image"] = (
                mask.resize(size, Pillow.Resampling.NEAREST) if mask.size != size else mask
            )
        known = _parameters(self._pipelines[task])
        self._check_strength(task, request)
        if {"width", "height"} <= known:
            arguments |= {"width": request.width, "height": request.height}
        given = {name: value for name, value in arguments.items() if value is not None}
        unknown = sorted(set(given) - known)
        if unknown:
            raise InvalidInput(f"{self.name}: its pipeline does not take {unknown[0]}; leave it out")
        return task, given

    def _check_strength(self, task: str, request: ImageRequest) -> None:
        """Refuse a strength that leaves no step: a pipeline draws only that share of the steps."""
        parameter = inspect.signature(self._pipelines[task].__call__).parameters.get("num_inference_steps")
        steps = request.steps or (parameter.default if parameter is not None else None)
        if request.strength is not None and isinstance(steps, int) and int(steps * request.strength) < 1:
            raise InvalidInput(
                f"strength: {request.strength:g} of {steps} steps leaves none; use a larger strength or more steps"
            )

    def _run(self, task: str, arguments: Mapping[str, Any]) -> Any:
        """Return the pipeline's output. What the model refuses, such as a size, is one clear line."""
        try:
            with self._torch.inference_mode():
                return self._pipelines[task](**arguments)
        except self._torch.OutOfMemoryError as error:
            raise Permanent(
                f"{self.name}: the GPU's memory is too small for this size; draw a smaller image"
            ) from error
        except (ValueError, RuntimeError, TypeError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:_MAX_REASON]
            raise Permanent(f"{self.name}: the model refuses the request ({reason}); change it") from error

    def _check_length(self, label: str, text: str) -> None:
        """Refuse a text of which every tokenizer would cut off the end.

        Pipelines with several tokenizers, such as CLIP and T5, read the end with the longest one.
        """
        found = [
            (tokenizer, limit)
            for name in _TOKENIZERS
            if (tokenizer := getattr(self._pipelines[_TEXT], name, None)) is not None
            and (limit := self._limit(tokenizer)) is not None
        ]
        losses = [_lost_words(tokenizer, limit, text) for tokenizer, limit in found]
        if losses and all(losses):
            lost = min(losses, key=len)
            limit = max(limit for _, limit in found)
            shown = lost if len(lost) <= _MAX_LOST else lost[:_MAX_LOST] + "…"
            raise InvalidInput(
                f"{label}: the model reads {limit} tokens, and would lose the words {shown!r}; shorten the text"
            )

    def _limit(self, tokenizer: Any) -> int | None:
        """Return the tokens that the pipeline gives a tokenizer, or ``None`` without a limit."""
        limit = int(tokenizer.model_max_length)
        parameter = inspect.signature(self._pipelines[_TEXT].__call__).parameters.get("max_sequence_length")
        if (
            parameter is not None
            and isinstance(parameter.default, int)
            and "CLIP" not in type(tokenizer).__name__
        ):
            limit = min(limit, parameter.default)
        return limit if limit < _MAX_LENGTH else None

    def _metadata(self, task: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        pipeline = self._pipelines[task]
        scheduler = getattr(pipeline, "scheduler", None)
        simple = {name: value for name, value in arguments.items() if isinstance(value, int | float)}
        return {
            "pipeline": type(pipeline).__name__,
            "scheduler": type(scheduler).__name__,
            "device": self._device,
            "parameters": simple,
        }


_VARIANTS = {_IMG2IMG: names.IMG2IMG, _INPAINT: names.INPAINT}


def _load_packages() -> tuple[Any, Any]:
    try:
        import diffusers  # noqa: PLC0415 - optional, takes seconds
        import torch  # noqa: PLC0415 - takes seconds
    except ImportError as error:
        raise ModelUnavailable(INSTALL_HINT) from error
    diffusers.utils.logging.disable_progress_bar()
    return diffusers, torch


def _is_hub(source: str) -> bool:
    return not source.startswith(("/", "."))


def _find_folder(diffusers: Any, source: str, revision: str) -> tuple[Path, str]:
    """Return the folder of a pipeline, and its revision: a commit, or a hash of all its files."""
    if not _is_hub(source):
        folder = Path(source).absolute()
        if not (folder / INDEX).is_file():
            raise ModelUnavailable(
                f"{source}: has no {INDEX}; give the folder of a diffusers pipeline with its weights"
            )
        return folder, SHA_PREFIX + _tree_sha256(folder)[:SHORT_DIGITS]
    try:
        path = diffusers.DiffusionPipeline.download(source, revision=revision or None, use_safetensors=True)
    except (OSError, ValueError) as error:
        at = f" at {revision}" if revision else ""
        raise ModelUnavailable(
            f"{source}{at}: is not on this machine and cannot be downloaded; check the name, or give a folder"
        ) from error
    return Path(path), Path(path).name  # …/snapshots/<commit>


def _tree_sha256(folder: Path) -> str:
    """Return one SHA-256 over weights, configurations and vocabularies below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _WEIGHTS:
            digest.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return digest.hexdigest()


def _load_pipelines(diffusers: Any, torch: Any, folder: Path, source: str, device: str) -> dict[str, Any]:
    """Return the pipelines by task: the one for texts, and those variants that the model has."""
    from safetensors import SafetensorError  # noqa: PLC0415 - on demand

    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    try:
        pipeline = getattr(diffusers, _TEXT).from_pretrained(
            str(folder), use_safetensors=True, local_files_only=True, dtype=dtype, **_memory_options()
        )
    except (
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        AttributeError,
        ImportError,
        SafetensorError,
    ) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:_MAX_REASON]
        raise ModelUnavailable(
            f"{source}: is no usable text-to-image pipeline ({reason}); give a folder with {INDEX} and safetensors "
            "weights of all its parts"
        ) from error
    pipeline.to(device)
    pipelines = {_TEXT: pipeline}
    for task in _VARIANTS:
        try:
            pipelines[task] = getattr(diffusers, task).from_pipe(pipeline)
        except (ValueError, TypeError):  # this architecture has no such variant
            continue
    for found in pipelines.values():
        found.set_progress_bar_config(disable=True)
    return pipelines


def _memory_options() -> dict[str, bool]:
    """Return the options of loading without the package accelerate, about which diffusers warns otherwise."""
    return {} if find_spec("accelerate") else {"low_cpu_mem_usage": False}


def _parameters(pipeline: Any) -> set[str]:
    return set(inspect.signature(pipeline.__call__).parameters)


def _lost_words(tokenizer: Any, limit: int, text: str) -> str:
    """Return the end of a text that a tokenizer cuts off; empty if it reads everything."""
    encoded = tokenizer(text, truncation=False, verbose=False)
    ids = list(encoded["input_ids"])
    if len(ids) <= limit:
        return ""
    ends = 1 if ids and ids[-1] == tokenizer.eos_token_id else 0
    first_lost = limit - ends
    if getattr(tokenizer, "is_fast", False):
        start = encoded.token_to_chars(first_lost)
        if start is not None:
            word = text.rfind(" ", 0, start.start) + 1  # a word that is cut is lost, too
            return text[word:].strip()
    return str(tokenizer.decode(ids[first_lost:], skip_special_tokens=True)).strip() or "…"


def _keep_unmasked(picture: Pillow.Image, arguments: Mapping[str, Any]) -> Pillow.Image:
    """Put back what a mask keeps: the model changes those pixels a little when it encodes and decodes them."""
    mask, image = arguments.get("mask_image"), arguments.get("image")
    if mask is None or image is None or picture.size != image.size:
        return picture
    return Pillow.composite(picture, image, mask)
