"""The objective of choosers: cross-entropy over the four responses, and over the classes of objects.

The losses are means over the whole batch's questions and objects. Each chunk adds its share of the gradient, so that
without dropout the size of chunks and the number of processes change nothing but the last bits. The gradient's norm
is clipped at the end (Zellers et al. 2019 §E).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from curation.chooser.model.choice_model import ChoiceModel, ChoiceScores
from curation.chooser.questions import ChoiceQuestion
from curation.scorer.training.batch_plan import BatchPlan, RandomStream, temporary_seed
from curation.scorer.training.contrastive import chunk_slices
from curation.scorer.training.distributed import World


@dataclass(frozen=True, slots=True)
class Chunk:
    """Questions of one forward pass, on the CPU. labels: (n,)."""

    batch: Any
    labels: Tensor


@dataclass(frozen=True, slots=True)
class UpdateBatch:
    """This process's chunks of an update. objects: number of objects of the whole batch."""

    chunks: tuple[Chunk, ...]
    objects: int


def make_chunk(model: ChoiceModel[Any], questions: Sequence[ChoiceQuestion], shares: Any = None) -> Chunk:
    """Return labelled questions as a chunk."""
    labels = torch.tensor([question.label for question in questions])
    return Chunk(model.collate(questions, shares), labels)


class ChunkLoader:
    """Makes the batch of each update, one ahead, while the device computes."""

    def __init__(
        self,
        model: ChoiceModel[Any],
        questions: Sequence[ChoiceQuestion],
        plan: BatchPlan,
        *,
        world: World,
        chunk_size: int,
    ) -> None:
        self._model, self._questions, self._plan = model, questions, plan
        self._world, self._chunk_size = world, chunk_size
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="questions")
        self._next: dict[int, Future[UpdateBatch]] = {}

    def __call__(self, update: int) -> UpdateBatch:
        """Return the batch of an update, and start making the next one."""
        future = self._next.pop(update, None) or self._reader.submit(self._read, update)
        batch = future.result()
        self._next = {update + 1: self._reader.submit(self._read, update + 1)}
        return batch

    def close(self) -> None:
        """Wait for the batch that is being made."""
        self._reader.shutdown(cancel_futures=True)

    def _read(self, update: int) -> UpdateBatch:
        plan = self._plan
        shares = plan.generator(RandomStream.PADDING, update).random((plan.size, 2))
        questions = [self._questions[item] for item in plan.items(update).tolist()]
        own = self._world.own_slice(plan.size)
        rows = range(plan.size)[own]
        chunks = [
            make_chunk(self._model, questions[part], shares[part])
            for part in (
                slice(rows.start + chunk.start, rows.start + chunk.stop)
                for chunk in chunk_slices(len(rows), self._chunk_size)
            )
        ]
        return UpdateBatch(tuple(chunks), self._model.count_objects(questions))


class ChoiceObjective:
    """Sets every parameter's gradient for one update. class_loss: the weight of the loss of predicted classes.

    ``last_class_loss`` is the unweighted mean of the last update.
    """

    def __init__(
        self,
        model: ChoiceModel[Any],
        load_batch: Callable[[int], UpdateBatch],
        *,
        batch_size: int,
        class_loss: float,
        clip_norm: float,
        seed: int,
        world: World,
        device: torch.device,
    ) -> None:
        self._model, self._load = model, load_batch
        self._batch_size, self._class_loss, self._clip_norm = batch_size, class_loss, clip_norm
        self._seed, self._world, self._device = seed, world, device
        self._parameters = [p for p in model.module.parameters() if p.requires_grad]
        self.last_class_loss = 0.0

    def __call__(self, update: int) -> float:
        """Backpropagate one batch and return its loss."""
        batch = self._load(update)
        losses = np.zeros(2)
        for number, chunk in enumerate(batch.chunks):
            with temporary_seed((self._seed, update, self._world.rank, number)):
                scores = self._model.forward(chunk.batch.to(self._device))
            choice, classes = self._chunk_losses(scores, chunk.labels.to(self._device), batch.objects)
            (choice + self._class_loss * classes).backward()
            losses += float(choice.detach()), float(classes.detach())
        self._world.sum_gradients(self._parameters)
        if self._clip_norm:
            torch.nn.utils.clip_grad_norm_(self._parameters, self._clip_norm)
        choice_loss, self.last_class_loss = sum(self._world.gather_objects(losses)).tolist()
        return float(choice_loss + self._class_loss * self.last_class_loss)

    def _chunk_losses(self, scores: ChoiceScores, labels: Tensor, objects: int) -> tuple[Tensor, Tensor]:
        """Return a chunk's shares of the whole batch's two losses."""
        choice = F.cross_entropy(scores.logits, labels, reduction="sum") / self._batch_size
        if scores.class_logits is None or scores.classes is None:
            return choice, torch.zeros((), device=choice.device)
        classes = F.cross_entropy(scores.class_logits, scores.classes, reduction="sum") / objects
        return choice, classes
