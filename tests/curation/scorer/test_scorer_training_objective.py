"""The loss, gradient caching, schedules and the loop, on small models."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from curation.records import InvalidInput
from curation.scorer.training.contrastive import ContrastiveObjective, symmetric_loss
from curation.scorer.training.loop import TrainingLoop, TrainingState, Update
from curation.scorer.training.schedule import PlateauSchedule, WarmupSchedule

PAIRS, FROM_IMAGES, FROM_TEXTS, DIM = 10, 7, 5, 4


class Towers(nn.Module):
    """Two small networks of float64, with optional dropout."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.images = nn.Sequential(
            nn.Linear(FROM_IMAGES, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, DIM)
        )
        self.texts = nn.Sequential(
            nn.Linear(FROM_TEXTS, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, DIM)
        )
        self.logit_scale = nn.Parameter(torch.tensor(1.3))
        self.double()

    def scale(self) -> Tensor:
        return self.logit_scale.exp()

    def embed(self, batch: "Rows", rows: slice) -> tuple[Tensor, Tensor]:
        images, texts = self.images(batch.images[rows]), self.texts(batch.texts[rows])
        return nn.functional.normalize(images, dim=-1), nn.functional.normalize(texts, dim=-1)


@dataclass
class Rows:
    images: Tensor
    texts: Tensor

    def __len__(self) -> int:
        return len(self.images)


def rows(update: int) -> Rows:
    generator = torch.Generator().manual_seed(update)
    return Rows(
        torch.randn(PAIRS, FROM_IMAGES, generator=generator, dtype=torch.float64),
        torch.randn(PAIRS, FROM_TEXTS, generator=generator, dtype=torch.float64),
    )


def objective(model: Towers, chunk_size: int) -> ContrastiveObjective[Rows]:
    return ContrastiveObjective(model, model.embed, model.scale, rows, chunk_size=chunk_size)


def gradients(model: nn.Module) -> list[Tensor]:
    found = [one.grad.clone() for one in model.parameters() if one.grad is not None]
    assert len(found) == len(list(model.parameters()))
    return found


def written_out(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
    """The loss word by word: minus the log-probability of the true partner, both ways."""
    logits = scale * images @ texts.T
    losses = [
        -(logits[n, n] - torch.logsumexp(one, 0))
        for n in range(len(logits))
        for one in (logits[n], logits[:, n])
    ]
    return torch.stack(losses).sum() / (2 * len(logits))


def test_the_loss_is_the_mean_of_both_directions() -> None:
    model = Towers()
    images, texts = model.embed(rows(0), slice(None))
    found, expected = (loss(images, texts, model.scale()).detach() for loss in (symmetric_loss, written_out))
    assert float(found) == pytest.approx(float(expected), abs=1e-14)


@pytest.mark.parametrize("chunk_size", [0, 1, 3, 4, 5, 9, 10, 64])
def test_gradient_caching_equals_plain_loss_and_gradients(chunk_size: int) -> None:
    plain, cached = Towers(), Towers()
    loss = written_out(*plain.embed(rows(0), slice(None)), plain.scale())
    loss.backward()
    assert objective(cached, chunk_size)(0) == pytest.approx(loss.item(), abs=1e-12)
    for found, expected in zip(gradients(cached), gradients(plain), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_dropout_is_equal_in_both_passes_of_a_chunk() -> None:
    cached, plain = Towers(dropout=0.5), Towers(dropout=0.5)
    loss = objective(cached, 3)(7)
    again = objective(plain, 3)
    parts = [
        again._embed_chunk(rows(7), slice(start, min(start + 3, PAIRS)), 7) for start in range(0, PAIRS, 3)
    ]
    images, texts = (torch.cat(side) for side in zip(*parts, strict=True))
    expected = written_out(images, texts, plain.scale())
    expected.backward()
    assert loss == pytest.approx(expected.item(), abs=1e-12)
    for found, one in zip(gradients(cached), gradients(plain), strict=True):
        torch.testing.assert_close(found, one, atol=1e-12, rtol=0)
    assert objective(Towers(dropout=0.5), 3)(8) != objective(Towers(), 3)(8), "dropout does something"


def test_embedding_keeps_the_global_generator() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    objective(model := Towers(dropout=0.5), 3)(0)
    torch.manual_seed(5)
    objective(model, 3)(0)
    assert torch.equal(torch.rand(3), expected)


def test_only_one_chunk_is_embedded_with_a_graph_at_a_time() -> None:
    model, seen = Towers(), []

    def embed(batch: Rows, part: slice) -> tuple[Tensor, Tensor]:
        seen.append((part.start, part.stop, torch.is_grad_enabled()))
        return model.embed(batch, part)

    ContrastiveObjective(model, embed, model.scale, rows, chunk_size=4)(0)
    starts = [(0, 4), (4, 8), (8, 10)]
    assert seen == [(*part, False) for part in starts] + [(*part, True) for part in starts]
    seen.clear()
    ContrastiveObjective(model, embed, model.scale, rows, chunk_size=0)(0)
    assert seen == [(0, PAIRS, True)], "all at once is embedded once"


def test_warmup_equals_the_published_schedule() -> None:
    """Compared with torch's own scheduler, stepped as the published code steps it."""
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    published = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 4 if step < 4 else 1.0)
    ours, expected = WarmupSchedule(0.5, 4), []
    for update in range(7):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if update < 4:
            published.step()
    assert [ours.rate_at(update) for update in range(7)] == pytest.approx(expected)
    assert ours.rate_at(0) == 0
    assert WarmupSchedule(0.5, 0).rate_at(0) == 0.5


def test_plateau_schedule_equals_torch() -> None:
    losses = [3.0, 2.0, 2.0, 1.9999, 1.0, 1.5, 0.9, None, 0.95]
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    torchs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    ours = WarmupSchedule(0.5, 2, reduce_on_plateau=True)
    for loss in losses:
        ours.record_validation(Found(loss, ()), update=10)
        if loss is not None:
            torchs.step(loss)
        assert ours.rate_at(10) == pytest.approx(optimizer.param_groups[0]["lr"])
    assert ours.rate_at(10) < 0.5
    in_warm_up = WarmupSchedule(0.5, 20, reduce_on_plateau=True)
    for loss in losses:
        in_warm_up.record_validation(Found(loss, ()), update=10)
    assert in_warm_up.rate_at(20) == 0.5, "the next step of the warm-up overwrites a cut"
    assert WarmupSchedule(0.5, 0).rate_at(5) == 0.5


def test_accuracy_plateau_schedule_equals_torch_and_resumes() -> None:
    for seed in range(20):
        qualities = np.random.default_rng(seed).choice([0.0, 0.25, 0.5, 0.50001, 0.6, 0.7], 30).tolist()
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=2e-4)
        torchs = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode="max", factor=0.5, patience=1, cooldown=2
        )
        ours = PlateauSchedule(2e-4)
        for quality in qualities:
            torchs.step(quality)
            resumed = PlateauSchedule(2e-4)
            resumed.restore(json.loads(json.dumps(ours.as_json())))
            ours = resumed
            ours.record_validation(Found(None, (quality,)), update=10)
            assert ours.rate_at(10) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
        assert ours.cuts


@dataclass
class Found:
    loss: float | None
    quality: tuple[float, ...]


def build_loop(
    qualities: list[tuple[float, ...]], losses: Callable[[int], float] = lambda _: 1.0, **settings: Any
) -> Any:
    """Return a loop with a constant model, and the calls it made."""
    calls: dict[str, list[Any]] = {
        "save_best": [],
        "save_state": [],
        "record_update": [],
        "record_validation": [],
        "report_progress": [],
    }
    parameter = nn.Parameter(torch.zeros(1))

    def update(number: int) -> float:
        parameter.grad = torch.ones(1)
        return losses(number)

    loop = TrainingLoop(
        objective=update,
        optimizer=torch.optim.SGD([parameter], lr=1.0),
        rates=WarmupSchedule(0.5, 2),
        validate=lambda step: Found(1.0, qualities[step // settings["validate_every"] - 1]),
        save_best=lambda: calls["save_best"].append(float(parameter.detach())),
        save_state=lambda state: calls["save_state"].append((state.step, state.best)),
        record_update=lambda row: calls["record_update"].append(row),
        record_validation=lambda step, outcome, kept: calls["record_validation"].append((step, kept)),
        report_progress=settings.pop(
            "report_progress", lambda *counts: calls["report_progress"].append(counts)
        ),
        **settings,
    )
    return loop, calls


def test_loop_validates_and_saves_best_and_state() -> None:
    loop, calls = build_loop([(1.0, -3.0), (1.0, -2.0), (0.5, 0.0), (1.0, -2.0)], steps=7, validate_every=2)
    qualities = [(1.0, -3.0), (1.0, -2.0), (1.0, -2.0), (1.0, -2.0)]
    end = loop.run(TrainingState())
    assert calls["record_validation"] == [(2, True), (4, True), (6, False), (7, False)]
    assert calls["save_state"] == list(zip((2, 4, 6, 7), qualities, strict=True))
    assert calls["report_progress"] == [(step, 7) for step in range(1, 8)]
    assert [row.rate for row in calls["record_update"]] == [0, 0.25, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert calls["save_best"] == pytest.approx([-0.25, -1.25])
    assert (end.step, end.best_step, end.stale) == (7, 4, 2)


def test_loop_stops_at_patience_and_stays_stopped() -> None:
    loop, calls = build_loop([(2.0,), (1.0,), (1.0,), (3.0,)], steps=8, validate_every=2, patience=2)
    end = loop.run(TrainingState())
    assert end.step == 6
    loop.run(end)
    assert len(calls["record_update"]) == 6


def test_loop_without_quality_saves_the_last() -> None:
    loop, calls = build_loop([(), ()], steps=4, validate_every=2, patience=1)
    assert loop.run(TrainingState()).best_step == 4
    assert len(calls["save_best"]) == 2


def test_nan_loss_stops_before_the_weights_change() -> None:
    loop, calls = build_loop(
        [(1.0,)] * 3, lambda n: float("nan") if n == 4 else 1.0, steps=6, validate_every=2
    )
    with pytest.raises(InvalidInput, match="loss: is nan at step 5"):
        loop.run(TrainingState())
    assert calls["save_state"][-1][0] == 4
    assert len(calls["record_update"]) == 4


def test_state_is_saved_before_an_interrupt_is_raised() -> None:
    def report_progress(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    loop, calls = build_loop([(1.0,)] * 3, steps=6, validate_every=2, report_progress=report_progress)
    with pytest.raises(KeyboardInterrupt):
        loop.run(TrainingState())
    assert [step for step, _ in calls["save_state"]] == [2, 3]


def test_update_times_exclude_validation() -> None:
    times = iter([0.0, 1.0, 2.0, 50.0, 52.0, 53.0, 99.0])
    loop, calls = build_loop([(1.0,)] * 2, steps=4, validate_every=2, clock=lambda: next(times))
    loop.run(TrainingState())
    assert [row.seconds for row in calls["record_update"]] == [1.0, 1.0, 2.0, 1.0]
    assert isinstance(calls["record_update"][0], Update)


def test_benchmark_flops_equal_torch_count() -> None:
    """Against torch's own count of one forward pass, in which attention is counted in full too."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from curation.scorer.training.starting_weights import build_random_model
    from tests.benchmarks.training import flops_per_pair, towers

    shape = towers(small=True)
    model = build_random_model(shape, 0)
    plainly = sdpa_kernel(SDPBackend.MATH)  # it has no formula for a processor's fused attention
    with FlopCounterMode(display=False) as counter, torch.no_grad(), plainly:
        model.encode_images(torch.zeros(1, 2, 3, shape.side, shape.side))
        model.encode_texts(torch.full((1, 24), shape.end))
    assert flops_per_pair(shape, [24]) == pytest.approx(3 * counter.get_total_flops(), rel=1e-3)


def test_missing_compiler_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.exc import InvalidCxxCompiler

    from curation.scorer.training.compiling import compile_function

    def raising(error: Exception) -> Callable[..., Tensor]:
        def run(*_: Any) -> Tensor:
            raise error

        monkeypatch.setattr("torch.compile", lambda _: run)
        return compile_function(torch.sin)

    with pytest.raises(
        InvalidInput, match=r"compile: not possible on this machine \(No working C\+\+ compiler"
    ) as caught:
        raising(InvalidCxxCompiler())(torch.zeros(1))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="the tower's own"):
        raising(ValueError("the tower's own"))(torch.zeros(1))
