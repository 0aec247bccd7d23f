"""Communication between the processes that train one model.

``torchrun`` starts them and sets RANK, LOCAL_RANK and WORLD_SIZE. The backend is gloo on CPUs, nccl on GPUs. For a
single process all operations are trivial.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

# Import this before a process group exists. torch's optimizers load the compiler, which imports this module, and its
# functions take the current group as a default argument. The group's threads would then outlive
# destroy_process_group and could abort the process at exit.
import torch.distributed.nn.functional

from curation.records import InvalidInput

PROCESS_GROUP_TIMEOUT = timedelta(hours=12)
"""How long processes wait for the one that prepares pixels."""


@dataclass(frozen=True, slots=True)
class World:
    """This process's rank, and the number of processes."""

    rank: int = 0
    size: int = 1

    @property
    def is_writer(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def own_slice(self, count: int) -> slice:
        """Return this process's rows of ``count``, divided as evenly as possible, by rank."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def gather_rows(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the concatenated (n, d) rows of all processes, (size * n, d), without a graph."""
        if self.size == 1:
            return rows.detach()
        gathered = [torch.empty_like(rows) for _ in range(self.size)]
        dist.all_gather(gathered, rows.detach().contiguous())
        return torch.cat(gathered)

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its sum over the processes; all must have gradients of the same parameters."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if self.size == 1 or not gradients:
            return
        flat = torch.cat([grad.reshape(-1) for grad in gradients])
        dist.all_reduce(flat)
        for grad, summed in zip(gradients, flat.split([grad.numel() for grad in gradients]), strict=True):
            grad.copy_(summed.view_as(grad))

    def broadcast_from_first(self, tensors: Iterable[torch.Tensor]) -> None:
        """Copy the first process's values to all processes."""
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor.detach(), src=0)

    def gather_objects(self, value: Any) -> list[Any]:
        """Return the values of all processes, by rank."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def wait_for_all(self) -> None:
        """Wait until all processes reach this point."""
        self.gather_objects(None)


SINGLE_PROCESS = World()


def _choose_device(name: str) -> torch.device:
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise InvalidInput(f"device: {name!r} is not known; use cpu or cuda, or leave it empty") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device: torch finds no GPU on this machine; use cpu, or leave it empty")
    return device


@contextmanager
def join_process_group(device_name: str) -> Iterator[tuple[World, torch.device]]:
    """Join torchrun's process group; yield the world and this process's device.

    Args:
        device_name: such as ``cpu`` or ``cuda``; empty is the GPU, if there is one.

    Raises:
        InvalidInput: there is no such device.
    """
    size, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_RANK", "0"))
    device = _choose_device(device_name)
    if device.type == "cuda":
        device = device if device.index is not None and size == 1 else torch.device("cuda", local)
        torch.cuda.set_device(device)
    if size == 1:
        yield SINGLE_PROCESS, device
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PROCESS_GROUP_TIMEOUT)
    try:
        yield World(dist.get_rank(), size), device
    finally:
        dist.destroy_process_group()
