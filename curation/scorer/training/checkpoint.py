"""The exact state of a run in one atomically written file: weights, AdamW's moments and the training state.

It contains no random state: random numbers are functions of the step (``curation.scorer.training.batches``).
"""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from curation.files import sync_to_disk
from curation.records import InvalidInput

FORMAT = "deerstalker-checkpoint/1"
FOLDER, FILE = "checkpoint", "state.safetensors"
_WEIGHT_PREFIX, _MOMENT_PREFIX = "weight/", "moment/"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The content of a checkpoint file. inputs_hash: of the run's inputs. state: plain values of the loop."""

    inputs_hash: str
    state: dict[str, Any]
    tensors: dict[str, Tensor]

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Give a model and its optimizer the state that was saved.

        Raises:
            InvalidInput: the checkpoint belongs to another model.
        """
        weights = {
            name.removeprefix(_WEIGHT_PREFIX): tensor
            for name, tensor in self.tensors.items()
            if name.startswith(_WEIGHT_PREFIX)
        }
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise InvalidInput(
                f"{FOLDER}/{FILE}: belongs to another model; delete it to train from the start"
            ) from error
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in self.tensors.items():
            if name.startswith(_MOMENT_PREFIX):
                number, key = name.removeprefix(_MOMENT_PREFIX).split("/")
                moments.setdefault(int(number), {})[key] = tensor
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})


def save_checkpoint(
    run: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, inputs_hash: str, state: dict[str, Any]
) -> None:
    """Replace a run's checkpoint; the new one survives a power failure once this returns.

    Raises:
        InvalidInput: it cannot be written.
    """
    folder = run / FOLDER
    partial = folder / f".{uuid.uuid4().hex[:8]}.partial"
    metadata = {"format": FORMAT, "inputs": inputs_hash, "state": json.dumps(state)}
    try:
        folder.mkdir(exist_ok=True)
        for leftover in folder.glob(".*.partial"):
            leftover.unlink()
        save_file(dict(_named_tensors(model, optimizer)), partial, metadata=metadata)
        sync_to_disk(partial)
        partial.replace(folder / FILE)
        sync_to_disk(folder)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(
            f"{folder}: cannot be written ({error}); free disk space or check the permissions"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def load_checkpoint(run: Path) -> Checkpoint | None:
    """Return a run's checkpoint; ``None`` if there is none yet.

    Raises:
        InvalidInput: the checkpoint is broken.
    """
    path = run / FOLDER / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        if metadata["format"] != FORMAT:
            raise ValueError(metadata["format"])
        state = json.loads(metadata["state"])
        if not isinstance(state, dict) or not state.keys() >= {"standing", "rates"}:
            raise ValueError(metadata["state"])
        return Checkpoint(metadata["inputs"], state, tensors)
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path}: is broken or has another format; delete it to train from the start"
        ) from error


def _named_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in model.state_dict().items():
        yield _WEIGHT_PREFIX + name, _copy_to_cpu(tensor)
    for number, moments in optimizer.state_dict()["state"].items():
        for key, tensor in moments.items():
            yield f"{_MOMENT_PREFIX}{number}/{key}", _copy_to_cpu(tensor)


def _copy_to_cpu(tensor: Tensor) -> Tensor:
    """Return a contiguous copy on the CPU, as the file format requires."""
    return tensor.detach().to("cpu", copy=True).contiguous()
