"""How fast pictures become vectors: ``python -m tests.benchmarks.features [--json]``.

A CLIP with a vision tower of ViT-B/32's size and random weights (nothing is downloaded) encodes JPEG files: those of
the folder that ``DEERSTALKER_DATA`` names, or generated ones. Three ways take turns in one process, and the medians
are compared:

- ``plain``: one loop in torch fp32: decode, preprocess with transformers' own processor, forward;
- ``pipeline``: ours, from the files to the vectors, as ``make_features`` runs it, in the precision of this machine;
- ``tower``: our forward alone, on pixels that are in memory already, in as many threads.

Wall time says what one waits for; CPU time is to be trusted where other programs run on the same cores. The plain
loop's CPU time includes its threads' waiting for one another.
"""

import argparse
import io
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from hits.management.memory import peak_mib
from tests.benchmarks._machine import machine

ROUNDS = 3
GENERATED = 104
GOALS = {"times_plain": 2.0, "min_cosine": 0.9999, "share_of_tower": 0.88}
Vectors = NDArray[np.float32]


def pictures() -> tuple[str, list[bytes]]:
    """Return where the JPEG files come from, and their bytes."""
    folder = Path(os.environ.get("DEERSTALKER_DATA") or "/nowhere") / "photos" / "images"
    files = sorted(folder.glob("*.jpg"))
    if files:
        return f"{len(files)} photographs of DEERSTALKER_DATA", [file.read_bytes() for file in files]
    generator = np.random.default_rng(0)
    return f"{GENERATED} GENERATED pictures: DEERSTALKER_DATA is not set", [
        generated(generator) for _ in range(GENERATED)
    ]


def generated(generator: np.random.Generator) -> bytes:
    """Return a JPEG of 640 x 480 pixels with detail of several sizes."""
    ground = np.zeros((480, 640, 3))
    for cells in (4, 16, 64):
        noise = generator.integers(0, 256, (cells * 3 // 4, cells, 3), dtype=np.uint8)
        scaled = Pillow.fromarray(noise).resize((640, 480), Pillow.Resampling.BICUBIC)
        ground += np.asarray(scaled) / 3
    file = io.BytesIO()
    Pillow.fromarray(ground.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=90)
    return file.getvalue()


def save_model(folder: Path) -> None:
    """Save a CLIP with ViT-B/32's vision tower, a small text tower and random weights."""
    import torch
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizerFast
    from transformers.models.clip import CLIPImageProcessorPil

    torch.manual_seed(0)
    vocabulary = {"a</w>": 0, "<|startoftext|>": 1, "<|endoftext|>": 2}
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    text = small | {"vocab_size": 3, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    vision = {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "image_size": 224,
        "patch_size": 32,
    }
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=512)
    CLIPModel(config).save_pretrained(folder)
    CLIPImageProcessorPil().save_pretrained(folder)
    CLIPTokenizerFast(vocab=vocabulary, merges=[]).save_pretrained(folder)


def plain_loop(folder: Path, batch: int) -> Callable[[Sequence[bytes]], Vectors]:
    """Return what one would write first: decode, preprocess, forward in fp32; two squares a picture, averaged."""
    import torch
    from transformers import CLIPModel
    from transformers.models.clip import CLIPImageProcessorPil

    from curation.features.encoder import unit_float32
    from tests.support.pictures import end_squares

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = CLIPModel.from_pretrained(folder).eval().to(device)
    processor = CLIPImageProcessorPil.from_pretrained(folder)

    def encode(files: Sequence[bytes]) -> Vectors:
        rows = []
        for start in range(0, len(files), batch):
            opened = [Pillow.open(io.BytesIO(file)).convert("RGB") for file in files[start : start + batch]]
            squares = [square for picture in opened for square in end_squares(picture)]
            pixels = processor(images=squares, return_tensors="pt")["pixel_values"].to(device)
            with torch.inference_mode():
                found = model.get_image_features(pixel_values=pixels).pooler_output
            rows.append(found.float().cpu().numpy().reshape(-1, 2, found.shape[1]).mean(axis=1))
        return unit_float32(np.concatenate(rows))

    return encode


def in_batches(items: Sequence[Any], size: int) -> list[Any]:
    """Cut a list into batches."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def collected(work: Callable[[Any], Vectors], batches: Sequence[Any]) -> Vectors:
    """Run batches as the pipeline does: one thread a core, one batch a thread."""
    from curation.cores import usable_cores
    from curation.features.parallel import map_in_threads

    with closing(map_in_threads(work, batches, threads=usable_cores())) as rows:
        return np.concatenate(list(rows))


def timed(run: Callable[[], Vectors]) -> dict[str, float]:
    """Return wall and CPU seconds of one run."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def opened(file: bytes) -> Pillow.Image:
    """Decode a JPEG with Pillow, as the pipeline does."""
    with Pillow.open(io.BytesIO(file)) as picture:
        picture.load()
        return picture if picture.mode == "RGB" else picture.convert("RGB")


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Return all figures."""
    import torch

    from curation.cores import usable_cores
    from curation.features.clip import ClipEncoder
    from curation.features.factory import get_encoder
    from curation.features.region_image_encoder import BATCH_SIZE

    source, files = pictures()
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        encoder = get_encoder(f"{name}:{folder}")
        assert isinstance(encoder, ClipEncoder)
        plain = plain_loop(Path(folder), BATCH_SIZE)
    batches = in_batches(files, BATCH_SIZE)
    in_memory = [encoder.pixels([opened(file) for file in few]) for few in batches]
    ways: dict[str, Callable[[], Vectors]] = {
        "plain": lambda: plain(files),
        "pipeline": lambda: collected(lambda few: encoder.encode_images([opened(f) for f in few]), batches),
        "tower": lambda: collected(encoder.encode_pixels, in_memory),
    }
    reference, ours = ways["plain"](), ways["pipeline"]()  # these also warm everything up
    ways["tower"]()
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            runs[way].append(timed(run))
    return {
        "pictures": source,
        "encoder": name,
        "revision": encoder.revision,
        "preprocessing": encoder.preprocessing,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": usable_cores(),
        "torch": torch.__version__,
        "rounds": rounds,
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        **compared(runs, len(files)),
        "min_cosine": round(float((reference * ours).sum(axis=1).min()), 6),
        "goals": GOALS,
        "peak_mib": round(peak_mib()),
    }


def compared(runs: dict[str, list[dict[str, float]]], count: int) -> dict[str, Any]:
    """Return medians, rates and the two ratios, by wall and by CPU time."""
    median = {
        way: {clock: statistics.median(run[clock] for run in found) for clock in ("wall", "cpu")}
        for way, found in runs.items()
    }
    seconds = {way: {clock: round(value, 3) for clock, value in row.items()} for way, row in median.items()}
    return {
        "seconds": seconds,
        "pictures_per_second": {way: round(count / row["wall"], 2) for way, row in median.items()},
        "times_plain": _ratio(median["plain"], median["pipeline"]),
        "share_of_tower": _ratio(median["tower"], median["pipeline"]),
    }


def _ratio(of: dict[str, float], to: dict[str, float]) -> dict[str, float]:
    return {clock: round(of[clock] / to[clock], 3) for clock in ("wall", "cpu")}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", choices=["clip", "clip-openvino"], default="clip")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args()
    figures = {"benchmark": "features", "machine": machine(), **measure(options.encoder, options.rounds)}
    sys.stdout.write(json.dumps(figures, allow_nan=False, indent=None if options.json else 1) + "\n")


if __name__ == "__main__":
    main()
