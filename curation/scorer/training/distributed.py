"""Several processes that train one model: who there is, and what they tell one another.

Started by ``torchrun``, which sets RANK, LOCAL_RANK and WORLD_SIZE. Over gloo on processors, nccl on GPUs. A process
alone is a world of one, and nothing here then does anything.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

# Optimizers load the compiler, which loads this; its functions have the group of that moment as a default. Were that
# ours, its threads would outlive destroy_process_group, and may abort a process whose work is done as Python ends.
import torch.distributed.nn.functional

from curation.records import InvalidInput

PATIENCE = timedelta(hours=12)
"""How long processes wait for one that prepares pixels."""


@dataclass(frozen=True, slots=True)
class World:
    """This process's number, and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def writes(self) -> bool:
        """Whether this is the one process that writes files."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """Return this process's rows of ``count``: as even as can be, in the order of the processes."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def gathered(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the (n, d) rows of all processes below one another, (size * n, d), without a graph."""
        if self.size == 1:
            return rows.detach()
        parts = [torch.empty_like(rows) for _ in range(self.size)]
        dist.all_gather(parts, rows.detach().contiguous())
        return torch.cat(parts)

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its sum over the processes; all have gradients of the same parameters."""
        found = [one.grad for one in parameters if one.grad is not None]
        if self.size == 1 or not found:
            return
        together = torch.cat([grad.reshape(-1) for grad in found])
        dist.all_reduce(together)
        for grad, summed in zip(found, together.split([grad.numel() for grad in found]), strict=True):
            grad.copy_(summed.view_as(grad))

    def copy_from_first(self, tensors: Iterable[torch.Tensor]) -> None:
        """Give every process the first one's values."""
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor.detach(), src=0)

    def everyones(self, value: Any) -> list[Any]:
        """Return what each process gave, in the order of the processes."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.everyones(None)


ALONE = World()


def _device(wanted: str) -> torch.device:
    try:
        device = torch.device(wanted or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise InvalidInput(f"device: {wanted!r} is not known; use cpu or cuda, or leave it empty") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device: there is no GPU here that torch can use; use cpu, or leave it empty")
    return device


@contextmanager
def joined(wanted: str) -> Iterator[tuple[World, torch.device]]:
    """Yield the world that torchrun started, and this process's device.

    Args:
        wanted: the device, such as ``cpu`` or ``cuda``; empty takes a GPU where there is one.

    Raises:
        InvalidInput: there is no such device.
    """
    size, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_RANK", "0"))
    device = _device(wanted)
    if device.type == "cuda":
        device = device if device.index is not None and size == 1 else torch.device("cuda", local)
        torch.cuda.set_device(device)
    if size == 1:
        yield ALONE, device
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield World(dist.get_rank(), size), device
    finally:
        dist.destroy_process_group()
