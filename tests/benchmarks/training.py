"""How many images a second training takes: ``python -m tests.benchmarks.training [--json]``.

The structure of the published loop (``_training_reference``: each pair is opened, drawn, cut, scaled and augmented by
itself in each epoch; fp32; one forward pass) against ours (pixels prepared once, augmentation in batches on the
device, texts without padding, mixed precision, gradient caching where wanted). Both train the same model of random
weights on the same pairs, one after the other, in one process. The first updates of each count for nothing.

On a GPU the model is ViT-B/16 and the batch 512; a batch that does not fit is halved for the published loop and cut
into chunks for ours, and the figures say so. There the published loop also runs with products in TF32, which older
versions of torch used for fp32. Without a GPU, a SMALL model and batch stand in: their figures say little about real
ones. Preparing pixels is reported apart, also as its share when paid once for the paper's epochs.

``flops_per_pair`` counts products (2 per multiplication and addition) of both towers: projections, attention in full,
perceptrons, patches; backward is twice forward. What gradient caching embeds a second time is left out, so that the
share of the peak is of useful work. The peak is the best of several large bf16 products in the same run.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from curation.cores import usable_cores
from curation.features.clip import DTYPES, resolve_precision
from curation.features.crops import Crop
from curation.features.encoder import Precision
from curation.features.pixels import Normalisation
from curation.records import Region
from curation.scorer.model.architecture import Architecture, Transformer, VisionTransformer
from curation.scorer.model.card import CLIP_MEAN, CLIP_STD
from curation.scorer.training.batches import BatchEmbedder, BatchLoader, BatchPlan, PairTokens
from curation.scorer.training.compiling import compile_function
from curation.scorer.training.contrastive import ContrastiveObjective
from curation.scorer.training.distributed import SINGLE_PROCESS
from curation.scorer.training.inputs import Pair
from curation.scorer.training.loop import TrainingLoop, TrainingState, Update
from curation.scorer.training.pixels import PreparedPixels, ViewSettings, open_pixels, prepare_pixels
from curation.scorer.training.schedule import WarmupSchedule
from curation.scorer.training.starting_weights import build_random_model
from curation.scorer.training.validate import Validation
from hits.domain.images.region_drawing import RegionMode
from tests.benchmarks._machine import machine
from tests.benchmarks._training_reference import PublishedDataset, forever, update
from tests.benchmarks.features import pictures

WARM_UP, STEPS = 3, 8
MADE_AHEAD = 2  # batches that each worker of a DataLoader has ready
READY_BATCHES = 2  # the published loop's, in memory before a GPU is timed
PAPER_EPOCHS, PAPER_BATCH, SMALL_BATCH = 5, 512, 64
GOALS = {"times_published_on_gpu": 3.0}
LEAST_BATCH = 8
WORDS = (
    "a",
    "man",
    "woman",
    "just",
    "had",
    "dinner",
    "here",
    "works",
    "outside",
    "it",
    "rained",
    "likes",
    "travel",
)


class WordTokenizer:
    """A token a word, as CLIP's encoding makes of most: its own file is not at hand."""

    def __init__(self, architecture: Architecture) -> None:
        self.context_length = architecture.context_length
        self.vocabulary, self.end = architecture.vocabulary, architecture.end

    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        """Return (n, context_length) int64 tokens."""
        found = torch.zeros((len(texts), self.context_length), dtype=torch.int64)
        for row, text in enumerate(texts):
            words = text.split()[: self.context_length - 2]
            tokens = [
                self.end - 1,
                *(1 + zlib.crc32(word.encode()) % (self.end - 2) for word in words),
                self.end,
            ]
            found[row, : len(tokens)] = torch.tensor(tokens)
        return found


def towers(*, small: bool) -> Architecture:
    """Return ViT-B/16's two towers, or small ones of the same kind for processors."""
    vision = (
        Transformer(width=128, layers=3, heads=2, hidden=512) if small else Transformer(768, 12, 12, 3072)
    )
    text = Transformer(width=128, layers=2, heads=2, hidden=512) if small else Transformer(512, 12, 8, 2048)
    patch = 32 if small else 16
    vocabulary = 4096 if small else 49_408
    return Architecture(
        dim=128 if small else 512,
        side=224,
        context_length=77,
        vocabulary=vocabulary,
        end=vocabulary - 1,
        vision=VisionTransformer(patch=patch, layers=vision),
        text=text,
    )


def make_pairs(folder: Path, count: int) -> tuple[str, list[Pair]]:
    """Write the pictures and return where they come from, and pairs with boxes and texts of the usual length."""
    source, files = pictures()
    for number, content in enumerate(files):
        (folder / f"{number}.jpg").write_bytes(content)
    generator = np.random.default_rng(0)
    pairs = []
    for number in range(count):
        left, top, width, height = generator.integers((0, 0, 40, 40), (200, 150, 200, 200)).tolist()
        text = " ".join(generator.choice(WORDS, generator.integers(6, 18)))
        name = f"{number % len(files)}.jpg"
        pairs.append(Pair(str(number), name, (Region(left, top, width, height),), text, text))
    return source, pairs


def layer_flops(layers: Transformer, tokens: float) -> float:
    """Return forward operations of a stack for one sequence: four projections, attention, and the perceptron."""
    projections = 4 * layers.width**2 + 2 * layers.width * layers.hidden
    return layers.layers * (2 * tokens * projections + 4 * tokens**2 * layers.width)


def flops_per_pair(shape: Architecture, lengths: Sequence[int]) -> float:
    """Return operations of both towers for one pair, forward and backward; lengths: of texts as they are run."""
    assert isinstance(shape.vision, VisionTransformer)
    patches, width = (shape.side // shape.vision.patch) ** 2, shape.vision.layers.width
    view = layer_flops(shape.vision.layers, patches + 1) + 2 * width * shape.dim
    view += 2 * patches * 3 * shape.vision.patch**2 * width
    text = statistics.fmean(layer_flops(shape.text, length) for length in lengths)
    text += 2 * shape.text.width * shape.dim
    return 3 * (2 * view + text)


def matmul_peak(device: torch.device) -> float:
    """Return operations a second of the best large bf16 product, on random data."""
    best = 0.0
    for size in (4096, 8192, 12288, 16384) if device.type == "cuda" else (1024, 2048):
        left, right = (torch.randn(size, size, device=device).bfloat16() for _ in range(2))
        for _ in range(3):
            left @ right
        _wait(device)
        start = time.perf_counter()
        for _ in range(10):
            left @ right
        _wait(device)
        best = max(best, 10 * 2 * size**3 / (time.perf_counter() - start))
    return best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@contextmanager
def tf32_products() -> Iterator[None]:
    """Let products of float32 matrices run in TF32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def fitting(measure: Callable[[int], float], size: int) -> tuple[int, float]:
    """Return the largest of size, size / 2, … that fits into memory, and its rate."""
    while True:
        gc.collect()  # models of earlier measurements may be parts of cycles
        torch.cuda.empty_cache()
        try:
            return size, measure(size)
        except torch.OutOfMemoryError:
            if size <= LEAST_BATCH:
                raise
            size //= 2


class TrainingBenchmark:
    """The same pairs and the same model for both sides."""

    def __init__(self, folder: Path, device: torch.device, batch: int, steps: int) -> None:
        self.device, self.batch, self.steps = device, batch, steps
        self.shape = towers(small=device.type != "cuda")
        self.norm = Normalisation(self.shape.side, CLIP_MEAN, CLIP_STD)
        self.tokenizer = WordTokenizer(self.shape)
        self.images = folder / "images"
        self.images.mkdir()
        self.source, self.pairs = make_pairs(self.images, 4 * batch)
        self.folder = folder

    def model(self) -> Any:
        """Return a fresh model on the device, in training mode."""
        return build_random_model(self.shape, 0).to(self.device).train()

    def published(self, batch: int) -> float:
        """Return pairs a second of the published structure, loading included.

        What its workers made before is used up first. A GPU would take too long for that, so there updates on ready
        batches are timed: see ``measure_published``.
        """
        model = self.model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
        on_gpu = self.device.type == "cuda"
        batches = cycle(self._ready_batches(batch)) if on_gpu else self._published_batches(batch)
        warm_up = WARM_UP if on_gpu else MADE_AHEAD * usable_cores() + WARM_UP
        return self._rate(
            lambda: update(model, optimizer, next(batches), self.device), batch, warm_up, self.steps
        )

    def loading(self) -> float:
        """Return pairs a second that the published loop's workers make, with nothing else to do."""
        batches, workers = self._published_batches(LEAST_BATCH), usable_cores()
        ahead = MADE_AHEAD * workers
        return self._rate(lambda: next(batches), LEAST_BATCH, ahead + WARM_UP, 4 * ahead)

    def _published_batches(self, batch: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        dataset = PublishedDataset(self.pairs, self.images, self.norm, self.tokenizer)
        return forever(dataset, batch, usable_cores())

    def _ready_batches(self, batch: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return whole batches, put together from the small ones of all workers."""
        small = self._published_batches(LEAST_BATCH)
        parts = [list(islice(small, -(-batch // LEAST_BATCH))) for _ in range(READY_BATCHES)]
        return [
            (
                torch.cat([pixels for pixels, _ in few])[:batch],
                torch.cat([tokens for _, tokens in few])[:batch],
            )
            for few in parts
        ]

    def _rate(self, work: Callable[[], object], pairs: int, warm_up: int, steps: int) -> float:
        """Return pairs a second of ``steps`` turns after ``warm_up`` ones."""
        for _ in range(warm_up):
            work()
        _wait(self.device)
        start = time.perf_counter()
        for _ in range(steps):
            work()
        _wait(self.device)
        return pairs * steps / (time.perf_counter() - start)

    def prepared(self) -> tuple[float, PreparedPixels]:
        """Return the seconds that preparing took, and the pixels."""
        look = ViewSettings(RegionMode.HIGHLIGHT, Crop.TWO_SQUARES, self.norm)
        start = time.perf_counter()
        prepare_pixels(self.pairs, self.images, look, self.folder / "pixels", split="train")
        seconds = time.perf_counter() - start
        return seconds, open_pixels(self.pairs, look, self.folder / "pixels", split="train")

    def tokens(self) -> PairTokens:
        """Return the texts as tokens."""
        found = self.tokenizer([pair.inference for pair in self.pairs]).int()
        return PairTokens((found,), self.tokenizer.end)

    def ours(
        self, pixels: PreparedPixels, chunk: int, precision: Precision, *, compile_towers: bool
    ) -> float:
        """Return pairs a second of our loop."""
        model = self.model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=self.device.type == "cuda")
        plan = BatchPlan(len(self.pairs), self.batch, seed=0)
        images, texts = model.encode_images, model.encode_texts
        if compile_towers:
            images, texts = compile_function(images), compile_function(texts)
        embed = BatchEmbedder(images, texts, self.norm, device=self.device, dtype=DTYPES[precision])
        marks: list[float] = []

        def mark(row: Update) -> None:
            if row.step in {WARM_UP, WARM_UP + self.steps}:  # a GPU still computes when an update returns
                _wait(self.device)
                marks.append(time.perf_counter())

        batches = BatchLoader(
            pixels, self.tokens(), plan, world=SINGLE_PROCESS, device=self.device, grayscale=0.1
        )
        with closing(batches):
            TrainingLoop(
                objective=ContrastiveObjective(model, embed, model.scale, batches, chunk_size=chunk),
                optimizer=optimizer,
                rates=WarmupSchedule(1e-5, 500),
                validate=lambda _: Validation(),
                save_best=lambda: None,
                save_state=lambda _: None,
                record_update=mark,
                record_validation=lambda *_: None,
                report_progress=lambda *_: None,
                steps=WARM_UP + self.steps,
                validate_every=WARM_UP + self.steps,
            ).run(TrainingState())
        return self.batch * self.steps / (marks[1] - marks[0])

    def text_lengths(self) -> list[int]:
        """Return how long the texts of each update are run."""
        tokens, plan = self.tokens(), BatchPlan(len(self.pairs), self.batch, seed=0)
        return [tokens.select(plan.items(number)).shape[1] for number in range(WARM_UP, WARM_UP + self.steps)]


def measure_published(benchmark: TrainingBenchmark, loading: float) -> tuple[int, dict[str, float]]:
    """Return the batch that fits and the rates of the published structure; loading: of its workers alone.

    On a GPU a rate is the lower one of updates on ready batches and of loading, as in a run that lasts.
    """
    batch, rate = fitting(benchmark.published, benchmark.batch)
    if benchmark.device.type != "cuda":
        return batch, {"published": rate, "published_loading_alone": loading}
    with tf32_products():
        _, rate_tf32 = fitting(benchmark.published, batch)
    return batch, {
        "published": min(rate, loading),
        "published_tf32": min(rate_tf32, loading),
        "published_loading_alone": loading,
    }


def measure(benchmark: TrainingBenchmark, *, compile_towers: bool) -> dict[str, Any]:
    """Return all figures."""
    device = benchmark.device
    precision, loading = resolve_precision(Precision.AUTO, device), benchmark.loading()
    seconds, pixels = benchmark.prepared()
    cached = max(LEAST_BATCH, benchmark.batch // 4)
    published_batch, rates = measure_published(benchmark, loading)
    chunk, plain = fitting(
        lambda size: benchmark.ours(pixels, size, precision, compile_towers=compile_towers), benchmark.batch
    )
    chunk_fp32, in_fp32 = fitting(
        lambda size: benchmark.ours(pixels, size, Precision.FP32, compile_towers=compile_towers), chunk
    )
    published = rates["published"]
    rates |= {
        "ours": plain,
        f"ours_cached_in_chunks_of_{cached}": benchmark.ours(
            pixels, cached, precision, compile_towers=compile_towers
        ),
        "ours_fp32": in_fp32,
    }
    per_image = seconds / len(benchmark.pairs)
    flops = flops_per_pair(benchmark.shape, benchmark.text_lengths())
    peak = matmul_peak(device)
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "model": "ViT-B/16, random weights" if device.type == "cuda" else "SMALL model, random weights",
        "pictures": benchmark.source,
        "pairs": len(benchmark.pairs),
        "batch": benchmark.batch,
        "published_batch": published_batch,
        "chunk": chunk,
        "chunk_fp32": chunk_fp32,
        "precision": precision.value,
        "compiled": compile_towers,
        "cores": usable_cores(),
        "torch": torch.__version__,
        "updates": benchmark.steps,
        "images_per_second": {name: round(rate, 2) for name, rate in rates.items()},
        "times_published": {name: round(rate / published, 2) for name, rate in rates.items()},
        "preparing": {
            "seconds": round(seconds, 2),
            "images_per_second": round(1 / per_image, 1),
            "times_published_with_it": round(1 / (1 / plain + per_image / PAPER_EPOCHS) / published, 2),
            "epochs": PAPER_EPOCHS,
        },
        "flops_per_pair": round(flops),
        "tflops": {"ours": round(plain * flops / 1e12, 3), "bf16_peak": round(peak / 1e12, 3)},
        "share_of_bf16_peak": round(plain * flops / peak, 4),
        "goals": GOALS,
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--batch", type=int, default=0, help="pairs of an update; 512 on a GPU, 64 elsewhere")
    parser.add_argument("--steps", type=int, default=STEPS, help="updates that are timed")
    parser.add_argument("--device", default="", help="such as cpu; empty takes a GPU where there is one")
    parser.add_argument("--compile", action="store_true", help="compile the towers")
    options = parser.parse_args()
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    batch = options.batch or (PAPER_BATCH if device.type == "cuda" else SMALL_BATCH)
    with tempfile.TemporaryDirectory() as folder:
        benchmark = TrainingBenchmark(Path(folder), device, batch, options.steps)
        figures = {
            "benchmark": "training",
            "machine": machine(),
            **measure(benchmark, compile_towers=options.compile),
        }
    sys.stdout.write(json.dumps(figures, allow_nan=False, indent=None if options.json else 1) + "\n")


if __name__ == "__main__":
    main()
