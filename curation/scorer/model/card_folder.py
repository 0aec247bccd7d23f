"""A model on disk: a self-describing folder with a card and files that are named after their own hash.

    <name>.json                the card: format, facts about the model, and each file's name and sha256
    <role>-<digits><suffix>    such as the weights as safetensors, float32

The digits are the first of the file's own SHA-256, and the card is written last. So saving to the same folder again,
as a training run does with its best model, leaves the old model or the new one, even if the process is killed.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from curation.files import file_sha256, partial_folder, rename_folder_durably, sync_to_disk
from curation.records import InvalidInput

MODEL_ROLE, TOKENIZER_ROLE = "model", "tokenizer"
SUFFIXES = {MODEL_ROLE: ".safetensors", TOKENIZER_ROLE: ".json"}
HASH_DIGITS = 16
MAX_CARD_BYTES = 1 << 20
_COUNTER = "num_batches_tracked"  # the only whole numbers among weights: of batch normalisation
_FILE_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class CardFolder:
    """A kind of model folder. noun: what it holds, for messages. format: of the card. card: its file name."""

    noun: str
    format: str
    card: str

    def save(self, folder: Path, card: Mapping[str, Any], model: nn.Module, tokenizer_json: str = "") -> str:
        """Write a model atomically, and return the SHA-256 of its card.

        The folder may be absent, empty, or hold such a model, which is replaced. Equal models give equal bytes.

        Args:
            card: plain values. tokenizer_json: the content of a tokenizer's file; empty if there is none.

        Raises:
            InvalidInput: the folder holds something else, or cannot be written.
        """
        from safetensors import SafetensorError  # noqa: PLC0415

        folder = folder.absolute()
        try:
            if (folder / self.card).is_file():
                sha256 = self._write_into(folder, card, model, tokenizer_json)
                self._remove_stale_files(folder)
                return sha256
            if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
                raise InvalidInput(f"{folder}: exists already and is not a {self.noun}; choose another path")
            return self._write_new(folder, card, model, tokenizer_json)
        except (OSError, SafetensorError) as error:
            raise InvalidInput(
                f"{folder}: cannot be written ({error}); free disk space or check the permissions"
            ) from error

    def read_card(self, folder: Path) -> tuple[bytes, dict[str, Any]]:
        """Return a card's bytes and its values. The card may come from an untrusted source: its size is bounded.

        Raises:
            InvalidInput: there is no card, or it is not one of this format.
        """
        path = folder / self.card
        try:
            with path.open("rb") as file:
                text = file.read(MAX_CARD_BYTES + 1)
            if len(text) > MAX_CARD_BYTES:
                raise InvalidInput(f"{path}: is over {MAX_CARD_BYTES} bytes; save the {self.noun} again")
            raw = json.loads(text)
        except OSError as error:
            raise InvalidInput(f"{folder}: has no {self.card}; give the folder of a {self.noun}") from error
        except InvalidInput:
            raise
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{path}: is not JSON; save the {self.noun} again") from error
        if not isinstance(raw, dict) or raw.get("format") != self.format:
            actual = raw.get("format") if isinstance(raw, dict) else None
            raise InvalidInput(f"{path}: format {actual!r}; this reads {self.format}")
        files = raw.get("files")
        if not isinstance(files, dict) or not files.keys() <= SUFFIXES.keys():
            raise InvalidInput(
                f"{path}: its files are not those of a {self.noun}; save the {self.noun} again"
            )
        return text, raw

    def list_files(self, folder: Path) -> tuple[str, ...]:
        """Return the names of a model's files, its card last: everything that a copy needs.

        Raises:
            InvalidInput: the card cannot be read, or names a file that is not in the folder.
        """
        _, raw = self.read_card(folder)
        return (*(self._file_name(raw, role) for role in raw["files"]), self.card)

    def load_weights(self, folder: Path, raw: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return the float32 weights that a card names.

        Raises:
            InvalidInput: the file is missing, cut off or changed, or holds NaN or infinity.
        """
        return _load_tensors(self._verified_path(folder, raw, MODEL_ROLE), self.noun)

    def load_tokenizer_json(self, folder: Path, raw: Mapping[str, Any]) -> str:
        """Return the content of the tokenizer's file that a card names; see ``load_weights``."""
        return self._verified_path(folder, raw, TOKENIZER_ROLE).read_text("utf-8")

    def _write_new(self, folder: Path, card: Mapping[str, Any], model: nn.Module, tokenizer: str) -> str:
        """Write to a temporary folder and rename it, so that a new model is complete or absent."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with partial_folder(folder) as partial:
            partial.mkdir()
            sha256 = self._write_into(partial, card, model, tokenizer)
            rename_folder_durably(partial, folder)
            return sha256

    def _write_into(self, folder: Path, card: Mapping[str, Any], model: nn.Module, tokenizer: str) -> str:
        from safetensors.torch import save_file  # noqa: PLC0415

        weights = {
            name: tensor.detach().cpu().contiguous() for name, tensor in _float32_weights(model).items()
        }
        files = {MODEL_ROLE: _write_hashed_file(folder, MODEL_ROLE, lambda path: save_file(weights, path))}
        if tokenizer:
            files[TOKENIZER_ROLE] = _write_hashed_file(
                folder, TOKENIZER_ROLE, lambda path: path.write_bytes(tokenizer.encode())
            )
        values = {"format": self.format, **card, "files": files}
        text = (json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
        partial = _partial_path(folder)
        partial.write_bytes(text)
        _sync_and_rename_file(partial, folder / self.card)
        return hashlib.sha256(text).hexdigest()

    def _remove_stale_files(self, folder: Path) -> None:
        """Delete the files of earlier models, and temporary files of killed processes."""
        files = json.loads((folder / self.card).read_bytes())["files"].values()
        current = {self.card, *(entry["file"] for entry in files)}
        for pattern in (*(f"{role}-*{suffix}" for role, suffix in SUFFIXES.items()), ".*.partial"):
            for path in folder.glob(pattern):
                if path.name not in current:
                    with suppress(OSError):
                        path.unlink()

    def _verified_path(self, folder: Path, raw: Mapping[str, Any], role: str) -> Path:
        """Return the path of a file that the card names, after checking its hash."""
        name = self._file_name(raw, role)
        path, sha256 = folder / name, raw["files"][role].get("sha256")
        try:
            actual = file_sha256(path)
        except OSError as error:
            raise InvalidInput(f"{name} is missing; copy the whole folder again") from error
        if actual != sha256:
            raise InvalidInput(
                f"{name} is cut off or was replaced: its sha256 is not the card's; copy it again"
            )
        return path

    def _file_name(self, raw: Mapping[str, Any], role: str) -> str:
        try:
            name = str(raw["files"][role]["file"])
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"{self.card} names no {role} file; save the {self.noun} again") from error
        if not _FILE_NAME_PATTERN.fullmatch(name):
            raise InvalidInput(
                f"{self.card} names {name!r}, which is not in the folder; save the {self.noun} again"
            )
        return name


def _float32_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights in float32, under the model's own names even if its modules are wrapped."""
    return {
        # torch.compile adds this prefix to the names of wrapped modules.
        name.replace("_orig_mod.", ""): tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in model.state_dict().items()
    }


def _write_hashed_file(folder: Path, role: str, write: Callable[[Path], object]) -> dict[str, str]:
    """Write a file that is named after its own hash, and return its entry for the card."""
    partial = _partial_path(folder)
    try:
        partial.touch()
        mode = partial.stat().st_mode
        write(partial)
        partial.chmod(
            mode
        )  # the umask's permissions: the library makes its files readable for the owner only
        sha256 = file_sha256(partial)
        name = f"{role}-{sha256[:HASH_DIGITS]}{SUFFIXES[role]}"
        _sync_and_rename_file(partial, folder / name)
    finally:
        partial.unlink(missing_ok=True)
    return {"file": name, "sha256": sha256}


def _partial_path(folder: Path) -> Path:
    return folder / f".{uuid.uuid4().hex}.partial"


def _sync_and_rename_file(partial: Path, path: Path) -> None:
    """Sync a written file to disk, then give it its name."""
    sync_to_disk(partial)
    partial.replace(path)
    sync_to_disk(path.parent)


def _load_tensors(path: Path, noun: str) -> dict[str, Tensor]:
    from safetensors import SafetensorError  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415

    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(f"{path.name} is not a safetensors file; copy it again") from error
    wrong_type = [
        name
        for name, tensor in weights.items()
        if tensor.dtype != (torch.int64 if name.endswith(_COUNTER) else torch.float32)
    ]
    if wrong_type:
        raise InvalidInput(f"{path.name}: {wrong_type[0]} is not float32; save the {noun} again")
    broken = [name for name, tensor in weights.items() if not bool(torch.isfinite(tensor).all())]
    if broken:
        raise InvalidInput(f"{path.name}: {broken[0]} holds NaN or infinity; use another {noun}")
    return weights
