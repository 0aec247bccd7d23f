"""Optional packages, a tiny diffusion pipeline and test pictures for tests of image generators and chat models."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

SIDE = 64
STEPS = 4


def require_openai() -> Any:
    """Return the openai package, or skip loudly."""
    return pytest.importorskip(
        "openai", reason="openai is not installed (make generation): tests of model servers are SKIPPED"
    )


def require_diffusers() -> Any:
    """Return the diffusers package, or skip loudly."""
    return pytest.importorskip(
        "diffusers",
        reason="diffusers is not installed (make generation): tests of diffusion models are SKIPPED",
    )


def picture_file(kind: str = "PNG", size: tuple[int, int] = (SIDE, SIDE), *, seed: int = 0) -> bytes:
    """Return an image file with a gradient that depends on the seed."""
    y, x = np.mgrid[: size[1], : size[0]]
    colours = np.stack([x * 3 + seed * 40, y * 3, x + y + seed], axis=-1) % 256
    picture = Pillow.fromarray(colours.astype(np.uint8))
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def pixels(png: bytes) -> Pillow.Image:
    """Return the RGB pixels of an image file."""
    return Pillow.open(io.BytesIO(png)).convert("RGB")


def save_tiny_pipeline(folder: Path) -> Path:
    """Save a random text-to-image pipeline of a few megabytes, which draws 64 × 64 pixels in under a second."""
    diffusers = require_diffusers()
    import torch
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.manual_seed(0)
    text = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=514,
            hidden_size=32,
            intermediate_size=37,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=77,
            bos_token_id=512,
            eos_token_id=513,
            pad_token_id=513,
        )
    )
    unet = diffusers.UNet2DConditionModel(
        sample_size=SIDE // 2,
        in_channels=4,
        out_channels=4,
        block_out_channels=(32, 64),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        norm_num_groups=8,
        attention_head_dim=8,
    )
    encoder = diffusers.AutoencoderKL(
        block_out_channels=(32, 64),
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
        latent_channels=4,
        norm_num_groups=8,
        sample_size=SIDE,
    )
    pipeline = diffusers.StableDiffusionPipeline(
        vae=encoder,
        text_encoder=text,
        tokenizer=tiny_tokenizer(),
        unet=unet,
        scheduler=diffusers.DDIMScheduler(
            beta_schedule="scaled_linear", clip_sample=False, set_alpha_to_one=False, steps_offset=1
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(folder, safe_serialization=True)
    return folder


def tiny_tokenizer() -> Any:
    """Return CLIP's tokenizer with a vocabulary of bytes."""
    from transformers import CLIPTokenizer

    return CLIPTokenizer(vocab=_byte_vocabulary(), merges=[], model_max_length=77)


def _byte_vocabulary() -> dict[str, int]:
    """Return CLIP's vocabulary without merges: each byte alone and at the end of a word, and two marks."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = list(bytes_to_unicode().values())
    names = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    return {name: number for number, name in enumerate(names)}
