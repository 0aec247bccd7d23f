"""The exact state of a run, in one file that is whole or not at all: weights, moments of AdamW, and where it stands.

Random numbers are not in it: they are functions of the step (``curation.scorer.training.batches``).
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

from curation.files import sync
from curation.records import InvalidInput

FORMAT = "deerstalker-checkpoint/1"
FOLDER, FILE = "checkpoint", "state.safetensors"
_WEIGHT, _MOMENT = "weight/", "moment/"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a file held besides tensors. inputs: hash of the run's inputs. state: plain values of the loop."""

    inputs: str
    state: dict[str, Any]
    tensors: dict[str, Tensor]

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Give a model and its optimizer the state that was saved.

        Raises:
            InvalidInput: it is that of another model.
        """
        weights = {
            name.removeprefix(_WEIGHT): tensor
            for name, tensor in self.tensors.items()
            if name.startswith(_WEIGHT)
        }
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise InvalidInput(
                f"{FOLDER}/{FILE}: is of another model; delete it to train from the start"
            ) from error
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in self.tensors.items():
            if name.startswith(_MOMENT):
                number, key = name.removeprefix(_MOMENT).split("/")
                moments.setdefault(int(number), {})[key] = tensor
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})


def save_checkpoint(
    run: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, inputs: str, state: dict[str, Any]
) -> None:
    """Write a run's checkpoint in place of its last one; it survives a power failure once this returns.

    Raises:
        InvalidInput: it cannot be written.
    """
    folder = run / FOLDER
    partial = folder / f".{uuid.uuid4().hex[:8]}.partial"
    said = {"format": FORMAT, "inputs": inputs, "state": json.dumps(state)}
    try:
        folder.mkdir(exist_ok=True)
        for left in folder.glob(".*.partial"):
            left.unlink()
        save_file(dict(_tensors(model, optimizer)), partial, metadata=said)
        sync(partial)
        partial.replace(folder / FILE)
        sync(folder)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(f"{folder}: cannot be written ({error}); make room or mend it") from error
    finally:
        partial.unlink(missing_ok=True)


def load_checkpoint(run: Path) -> Checkpoint | None:
    """Return a run's checkpoint; ``None`` where there is none yet.

    Raises:
        InvalidInput: it is there and broken.
    """
    path = run / FOLDER / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            said = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        if said["format"] != FORMAT:
            raise ValueError(said["format"])
        state = json.loads(said["state"])
        if not isinstance(state, dict) or not state.keys() >= {"standing", "rates"}:
            raise ValueError(said["state"])
        return Checkpoint(said["inputs"], state, tensors)
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path}: is broken or of another format; delete it to train from the start"
        ) from error


def _tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in model.state_dict().items():
        yield _WEIGHT + name, _copy(tensor)
    for number, moments in optimizer.state_dict()["state"].items():
        for key, tensor in moments.items():
            yield f"{_MOMENT}{number}/{key}", _copy(tensor)


def _copy(tensor: Tensor) -> Tensor:
    """Return a tensor of its own memory on the CPU, as the file format wants it."""
    return tensor.detach().to("cpu", copy=True).contiguous()
