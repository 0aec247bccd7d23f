"""Speed of drawing here: ``python -m tests.benchmarks.image_generation --json [--folder F | --twin sdxl]``.

Draws images one at a time with the adapter of ``generate_images``, as a run does. ``--folder`` is a diffusers
pipeline with weights. Without one, a twin with random weights is built and saved first: ``sdxl`` has the sizes of
Stable Diffusion XL's published configuration (Podell et al. 2023), ``tiny`` is the pipeline of the tests. Random
weights draw noise, but they take the same time. The first image is drawn once before, and not counted.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from curation.generation.images import ImageRequest
from curation.generation.local_diffusers import DiffusersGenerator
from tests.benchmarks._machine import machine
from tests.support.generation import SIDE, STEPS, save_tiny_pipeline, tiny_tokenizer

SDXL, TINY = "sdxl", "tiny"
PROMPT = "A broken lamp lies on the floor of a living room, and a child holds a ball."


def save_sdxl_twin(folder: Path) -> None:
    """Save a pipeline of Stable Diffusion XL's sizes with random weights, in bfloat16: about 7 GB."""
    import diffusers
    import torch
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    device = "cuda" if torch.cuda.is_available() else "cpu"
    marks = {"bos_token_id": 512, "eos_token_id": 513, "pad_token_id": 513}
    small = CLIPTextConfig(
        hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, **marks
    )
    large = CLIPTextConfig(
        hidden_size=1280,
        intermediate_size=5120,
        num_hidden_layers=32,
        num_attention_heads=20,
        projection_dim=1280,
        hidden_act="gelu",
        **marks,
    )
    with torch.device(device):
        texts = CLIPTextModel(small), CLIPTextModelWithProjection(large)
        unet = diffusers.UNet2DConditionModel(
            sample_size=128,
            block_out_channels=(320, 640, 1280),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            layers_per_block=2,
            transformer_layers_per_block=(1, 2, 10),
            attention_head_dim=(5, 10, 20),
            cross_attention_dim=2048,
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=256,
            projection_class_embeddings_input_dim=2816,
        )
        encoder = diffusers.AutoencoderKL(
            block_out_channels=(128, 256, 512, 512),
            down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4,
            layers_per_block=2,
            sample_size=1024,
            scaling_factor=0.13025,
        )
    pipeline = diffusers.StableDiffusionXLPipeline(
        vae=encoder,
        text_encoder=texts[0],
        text_encoder_2=texts[1],
        tokenizer=tiny_tokenizer(),
        tokenizer_2=tiny_tokenizer(),
        unet=unet,
        scheduler=diffusers.EulerDiscreteScheduler(
            beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012, steps_offset=1
        ),
    )
    pipeline.to(dtype=torch.bfloat16)
    pipeline.save_pretrained(folder, safe_serialization=True)


def measure(generator: DiffusersGenerator, images: int, *, side: int, steps: int) -> dict[str, Any]:
    """Draw images, and return images a second and the seconds of each."""
    import torch

    def draw(seed: int) -> float:
        started = time.perf_counter()
        generator.generate(ImageRequest(prompt=PROMPT, width=side, height=side, seed=seed, steps=steps))
        return time.perf_counter() - started

    first = draw(0)
    is_gpu = torch.cuda.is_available()
    if is_gpu:
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    seconds = [draw(seed) for seed in range(1, images + 1)]
    return {
        "images": images,
        "side": side,
        "steps": steps,
        "images_per_second": round(images / (time.perf_counter() - started), 4),
        "median_seconds": round(sorted(seconds)[images // 2], 3),
        "first_image_seconds": round(first, 3),
        "peak_gpu_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if is_gpu else None,
        "device": torch.cuda.get_device_name() if is_gpu else "cpu",
        "torch": torch.__version__,
    }


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="a diffusers pipeline with weights")
    parser.add_argument("--twin", choices=(SDXL, TINY), default=SDXL)
    parser.add_argument("--images", type=int, default=12)
    parser.add_argument("--side", type=int, help="pixels; default: 1024, and 64 for the tiny twin")
    parser.add_argument("--steps", type=int, help="default: 30, and 4 for the tiny twin")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    is_tiny = options.folder is None and options.twin == TINY
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary) / options.twin
        if options.folder is None:
            (save_tiny_pipeline if is_tiny else save_sdxl_twin)(folder)
        started = time.perf_counter()
        generator = DiffusersGenerator(str(folder))
        loaded = time.perf_counter() - started
        found = measure(
            generator,
            options.images,
            side=options.side or (SIDE if is_tiny else 1024),
            steps=options.steps or (STEPS if is_tiny else 30),
        )
    facts = {
        "model": str(options.folder.name if options.folder else f"{options.twin}, random weights"),
        "load_seconds": round(loaded, 1),
        **found,
        "machine": machine(),
    }
    line = "{images_per_second:.2f} images a second ({side} px, {steps} steps, {device})".format_map(facts)
    print(json.dumps(facts) if options.json else line)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
