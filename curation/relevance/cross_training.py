"""Fine-tune a cross-encoder on the triplets of other folds (Zellers et al. 2019 §C).

A quarter of the pairs is true, and the others are random. Each step draws its random numbers from its own number, so
a stopped run that resumes gives the same weights, bit for bit, on the same machine.
"""

import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from curation.features.encoder import EncoderUnavailable
from curation.features.sentence_pairs import MAX_TOKENS
from curation.features.transformer_folders import load_model, load_tokenizer
from curation.files import atomic_file
from curation.records import InvalidInput
from curation.relevance.cross import LABELS, RELEVANT
from curation.relevance.interfaces import Indices, ModelUnavailable
from curation.relevance.vectors import draw_training_pairs
from hits.domain.files.atomic_files import PARTIAL_SUFFIX, rename_folder_durably

CHECKPOINT_FILE, FIGURES_FILE = "checkpoint.pt", "fine_tuning.json"
STEPS_PER_CHECKPOINT = 200
STEPS_PER_LOSS = 50


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Settings, with those of Zellers et al. 2019 §C as defaults.

    ``examples``: the most triplets that are used, drawn by the seed; ``None`` is all of the other folds.
    """

    learning_rate: float = 2e-5
    batch_size: int = 32
    epochs: int = 3
    examples: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("batch size", self.batch_size), ("epochs", self.epochs)):
            if value < 1:
                raise InvalidInput(f"{name}: {value} is too few; use at least 1")
        if not 0 < self.learning_rate < 1:
            raise InvalidInput(f"learning rate: {self.learning_rate:g} is not between 0 and 1; use 2e-5")
        if self.examples is not None and self.examples < 1:
            raise InvalidInput(f"examples: {self.examples} is too few; use at least 1")


def fine_tune(
    base: Path,
    out: Path,
    queries: Sequence[str],
    responses: Sequence[str],
    settings: FineTuning,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Write a fine-tuned model into the folder ``out``; a folder that exists is finished and is left as it is.

    Args:
        base: folder of the model to start from.
        queries, responses: n texts each of the other folds; equal indices belong together.
        report: gets the number of finished steps and of all steps, and may raise to stop.

    Raises:
        ModelUnavailable: the base model cannot be loaded.
        InvalidInput: there are too few texts.
        OSError: the folder cannot be written.
    """
    if out.is_dir():
        return
    working = out.with_name(out.name + PARTIAL_SUFFIX)
    working.mkdir(parents=True, exist_ok=True)
    run = _Run(base, working, settings)
    batches = _Batches(queries, responses, settings)
    report(run.step, len(batches))
    for step in range(run.step, len(batches)):
        run.train(*batches.texts_and_labels(step))
        if run.step % STEPS_PER_CHECKPOINT == 0:
            run.save_checkpoint()
        report(run.step, len(batches))
    run.save_model(out)


class _Batches:
    """The pairs of each step; every epoch draws its order and its random responses again."""

    def __init__(self, queries: Sequence[str], responses: Sequence[str], settings: FineTuning) -> None:
        chosen = list(range(len(queries)))
        if settings.examples is not None and settings.examples < len(queries):
            drawn = np.random.default_rng(settings.seed).permutation(len(queries))
            chosen = drawn[: settings.examples].tolist()
        self._queries = [queries[index] for index in chosen]
        self._responses = [responses[index] for index in chosen]
        self._settings = settings
        pairs = len(self._draw_epoch(0)[0])
        self._per_epoch = -(-pairs // settings.batch_size)
        self._epoch, self._pairs = 0, self._draw_epoch(0)

    def __len__(self) -> int:
        return self._per_epoch * self._settings.epochs

    def texts_and_labels(self, step: int) -> tuple[list[str], list[str], list[int]]:
        epoch, number = divmod(step, self._per_epoch)
        if epoch != self._epoch:
            self._epoch, self._pairs = epoch, self._draw_epoch(epoch)
        start = number * self._settings.batch_size
        rows, columns, targets = (part[start : start + self._settings.batch_size] for part in self._pairs)
        labels = [LABELS.index(RELEVANT) if target else 0 for target in targets]
        return [self._queries[row] for row in rows], [self._responses[c] for c in columns], labels

    def _draw_epoch(self, epoch: int) -> tuple[Indices, Indices, Any]:
        seed = self._settings.seed
        rows, columns, targets = draw_training_pairs(len(self._queries), seed + epoch)
        order = np.random.default_rng([seed, epoch]).permutation(len(rows))
        return rows[order], columns[order], targets[order]


class _Run:
    """Model, optimizer and number of finished steps, restored from a checkpoint if there is one."""

    def __init__(self, base: Path, folder: Path, settings: FineTuning) -> None:
        self._folder, self._settings = folder, settings
        self.step = 0
        self._losses: list[float] = []
        torch.manual_seed(settings.seed)  # the classifying layer is new
        try:
            self._tokenizer = load_tokenizer(base)
            self._model = load_model(
                base,
                "AutoModelForSequenceClassification",
                id2label=dict(enumerate(LABELS)),
                label2id={name: index for index, name in enumerate(LABELS)},
                ignore_mismatched_sizes=True,
            )
        except EncoderUnavailable as error:
            raise ModelUnavailable(f"relevance: {error}") from error
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=settings.learning_rate)
        self._restore()

    def _restore(self) -> None:
        path = self._folder / CHECKPOINT_FILE
        if not path.is_file():
            return
        stored = torch.load(path, weights_only=True)
        if stored["settings"] != asdict(self._settings):
            return
        self._model.load_state_dict(stored["model"])
        self._optimizer.load_state_dict(stored["optimizer"])
        self.step, self._losses = stored["step"], stored["losses"]

    def train(self, queries: list[str], responses: list[str], labels: list[int]) -> None:
        torch.manual_seed(self._settings.seed * 1_000_003 + self.step + 1)  # dropout
        self._model.train()
        inputs = self._tokenizer(
            queries, responses, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        loss = self._model(**inputs, labels=torch.tensor(labels)).loss
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        if self.step % STEPS_PER_LOSS == 0:
            self._losses.append(round(float(loss.detach()), 6))
        self.step += 1

    def save_checkpoint(self) -> None:
        buffer = io.BytesIO()
        state = {
            "settings": asdict(self._settings),
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "step": self.step,
            "losses": self._losses,
        }
        torch.save(state, buffer)
        with atomic_file(self._folder / CHECKPOINT_FILE) as file:
            file.write(buffer.getbuffer())

    def save_model(self, out: Path) -> None:
        """Write the model's folder under another name first, so that ``out`` is never half-written."""
        finished = self._folder / "finished"
        shutil.rmtree(finished, ignore_errors=True)
        self._model.save_pretrained(finished)
        self._tokenizer.save_pretrained(finished)
        figures = asdict(self._settings) | {"steps": self.step, "losses": self._losses}
        (finished / FIGURES_FILE).write_text(json.dumps(figures) + "\n", encoding="utf-8")
        rename_folder_durably(finished, out)
        shutil.rmtree(self._folder)
