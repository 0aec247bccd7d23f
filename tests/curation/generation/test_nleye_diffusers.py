"""The real loading code of diffusion models, on a tiny random pipeline that the test saves."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.generation.errors import LacksAbility, ModelUnavailable, Permanent
from curation.generation.image_factory import get_generator
from curation.generation.images import ImageGenerator, ImageReply, ImageRequest
from curation.generation.pictures import mask_from_boxes
from curation.records import InvalidInput, Region
from tests.support.generation import STEPS, picture_file, pixels, require_diffusers, save_tiny_pipeline

Draw = Callable[..., ImageReply]


@pytest.fixture(scope="module")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_pipeline(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def generator(pipeline_folder: Path) -> ImageGenerator:
    return get_generator(f"diffusers:{pipeline_folder}", licence="MIT")


@pytest.fixture
def draw(generator: ImageGenerator, one_thread: None) -> Draw:
    def call(**changes: Any) -> ImageReply:
        arguments = {"prompt": "a cat", "width": 64, "height": 64, "seed": 1, "steps": STEPS} | changes
        return generator.generate(ImageRequest(**arguments))

    return call


def test_a_seed_gives_the_same_bytes_also_after_loading_again(
    draw: Draw, pipeline_folder: Path, generator: ImageGenerator
) -> None:
    first = draw()
    assert draw().png == first.png
    assert len({first.png, draw(seed=2).png, draw(prompt="a dog").png, draw(negative="blurry").png}) == 4
    again = get_generator(f"diffusers:{pipeline_folder}")
    assert again.generate(ImageRequest("a cat", 64, 64, seed=1, steps=STEPS)).png == first.png
    assert again.revision == generator.revision
    assert again.licence == "unknown"
    assert (first.seed, first.width, first.height, first.flagged) == (1, 64, 64, None)
    assert first.metadata["scheduler"] == "DDIMScheduler"
    assert first.metadata["parameters"]["num_inference_steps"] == STEPS


def test_an_image_is_that_of_the_library_for_this_seed(draw: Draw, pipeline_folder: Path) -> None:
    pipeline = require_diffusers().StableDiffusionPipeline.from_pretrained(
        pipeline_folder, low_cpu_mem_usage=False
    )
    pipeline.set_progress_bar_config(disable=True)
    noise = torch.Generator("cpu").manual_seed(7)
    expected = pipeline(
        "a cat", 64, 64, num_inference_steps=STEPS, guidance_scale=5.0, generator=noise
    ).images[0]
    assert pixels(draw(seed=7, guidance=5.0).png).tobytes() == expected.tobytes()


def test_a_seed_that_was_not_given_is_drawn_and_reported(draw: Draw) -> None:
    reply = draw(seed=None)
    assert reply.seed is not None
    assert draw(seed=reply.seed).png == reply.png
    assert draw(seed=None).seed != reply.seed


def test_name_and_revision_describe_the_weights(
    generator: ImageGenerator, pipeline_folder: Path, tmp_path: Path
) -> None:
    assert generator.name == f"diffusers:{pipeline_folder}"
    assert (generator.model, generator.licence) == ("tiny", "MIT")
    assert generator.revision.startswith("sha256:")
    assert generator.can == {"seed", "negative", "img2img", "inpaint"}
    other = shutil.copytree(pipeline_folder, tmp_path / "tiny")
    weights = other / "unet" / "config.json"
    weights.write_text(weights.read_text().replace("\n", "\n "))
    assert get_generator(f"diffusers:{other}").revision != generator.revision


def test_images_are_made_from_images(draw: Draw) -> None:
    reference = picture_file("JPEG", (80, 96))
    near, far = (draw(reference=reference, strength=strength) for strength in (0.3, 0.9))
    assert near.png == draw(reference=reference, strength=0.3).png
    assert near.png != far.png
    assert (near.width, near.height) == (64, 64)


def test_a_mask_keeps_every_pixel_that_it_does_not_mark(draw: Draw) -> None:
    reference = picture_file()
    mask = mask_from_boxes((64, 64), [Region(40, 0, 24, 64)])
    edited = pixels(draw(reference=reference, mask=mask).png)
    kept, changed = (0, 0, 40, 64), (40, 0, 64, 64)
    assert edited.crop(kept).tobytes() == pixels(reference).crop(kept).tobytes()
    assert edited.crop(changed).tobytes() != pixels(reference).crop(changed).tobytes()


def test_a_prompt_that_the_tokenizer_would_cut_is_refused_with_the_lost_words(draw: Draw) -> None:
    # A vocabulary of single bytes: each letter is a token, and two of 77 are marks.
    text = "a" * 70 + " bcdef" + " lost words"
    with pytest.raises(InvalidInput) as caught:
        draw(prompt=text)
    assert str(caught.value) == (
        "prompt: the model reads 77 tokens, and would lose the words 'lost words'; shorten the text"
    )
    assert draw(prompt="a" * 70 + " bcdef").width == 64
    with pytest.raises(InvalidInput, match=r"^negative prompt: .* would lose the words 'bcdefg'"):
        draw(negative="a" * 70 + " bcdefg")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"width": 70},
            Permanent,
            "the model refuses the request (`height` and `width` have to be divisible by 8",
        ),
        (
            {"reference": picture_file(), "strength": 0.1},
            InvalidInput,
            "strength: 0.1 of 4 steps leaves none",
        ),
        (
            {"reference": picture_file()},
            LacksAbility,
            "does not support a reference image; it supports img2img",
        ),
        ({"n": 3}, InvalidInput, "each call draws one image"),
    ],
)
def test_what_the_model_refuses_is_one_line(
    draw: Draw, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        draw(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


class AlwaysUnsafe:
    """A safety checker and the preparation of its input, which flag every image and blacken it."""

    pixel_values: Any = None

    def __call__(self, images: Any, clip_input: Any = None, return_tensors: str = "") -> Any:
        if return_tensors:
            self.pixel_values = torch.zeros(1)
            return self
        return images * 0, [True] * len(images)

    def to(self, device: str) -> "AlwaysUnsafe":
        return self


def test_the_verdict_of_a_safety_checker_is_kept(
    draw: Draw, generator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = generator._pipelines["AutoPipelineForText2Image"]
    checker = AlwaysUnsafe()
    monkeypatch.setattr(pipeline, "safety_checker", checker)
    monkeypatch.setattr(pipeline, "feature_extractor", checker)
    reply = draw()
    assert reply.flagged is True
    assert len(pixels(reply.png).getcolors() or []) == 1, "the checker blackened it"


def test_threads_take_turns(draw: Draw, generator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizers and this scheduler have a state, so that two images at once would disturb each other."""
    scheduler = require_diffusers().EulerDiscreteScheduler()
    monkeypatch.setattr(generator._pipelines["AutoPipelineForText2Image"], "scheduler", scheduler)
    alone = {seed: draw(seed=seed).png for seed in range(4)}
    with ThreadPoolExecutor(4) as pool:
        together = dict(zip(alone, pool.map(lambda seed: draw(seed=seed).png, alone), strict=True))
    assert together == alone


def test_a_folder_without_weights_is_one_line(pipeline_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ModelUnavailable, match=r"has no model_index.json; give the folder of a diffusers pipeline"
    ):
        get_generator(f"diffusers:{tmp_path}")
    broken = shutil.copytree(pipeline_folder, tmp_path / "broken")
    next((broken / "unet").glob("*.safetensors")).unlink()
    with pytest.raises(ModelUnavailable, match=r"is no usable text-to-image pipeline \(") as caught:
        get_generator(f"diffusers:{broken}")
    assert "\n" not in str(caught.value)
    cut = shutil.copytree(pipeline_folder, tmp_path / "cut")
    weights = next((cut / "vae").glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelUnavailable, match="is no usable text-to-image pipeline"):
        get_generator(f"diffusers:{cut}")


def test_code_in_a_models_folder_is_not_run(pipeline_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(pipeline_folder, tmp_path / "own_code")
    index = json.loads((folder / "model_index.json").read_text())
    index["unet"] = ["own_model", "OwnModel"]
    (folder / "model_index.json").write_text(json.dumps(index))
    (folder / "unet" / "own_model.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\nclass OwnModel: pass\n"
    )
    with pytest.raises(ModelUnavailable, match="is no usable text-to-image pipeline"):
        get_generator(f"diffusers:{folder}")
    assert not (tmp_path / "ran").exists()


def test_a_model_that_is_not_on_this_machine_is_one_line(
    monkeypatch: pytest.MonkeyPatch, generator: ImageGenerator
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        ModelUnavailable, match=r"^owner/none at v1: is not on this machine and cannot be downloaded"
    ):
        get_generator("diffusers:owner/none@v1")
