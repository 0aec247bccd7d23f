"""A scorer on disk: a self-describing folder.

    scorer.json                   the card: architecture, region mode, text mode, crop, …, and each file's sha256
    model-<digits>.safetensors    the weights, float32
    tokenizer-<digits>.json       CLIP's tokenizer; absent for a model that reads bytes

The digits are the first of the file's own SHA-256, and the card is written last. So saving to the same folder again,
as a training run does with its best model, leaves the old scorer or the new one, even if the process is killed.
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
from torch import Tensor

from curation.files import file_sha256, partial_folder, rename_folder_durably, sync_to_disk
from curation.records import InvalidInput
from curation.scorer.model.architecture import Architecture
from curation.scorer.model.card import ScorerCard, TokenizerKind
from curation.scorer.model.tokens import ByteTokenizer, ClipTokenizer, Tokenizer
from curation.scorer.model.towers import DualEncoder, build_model

FORMAT = "deerstalker-scorer/1"
CARD = "scorer.json"
MODEL_ROLE, TOKENIZER_ROLE = "model", "tokenizer"
HASH_DIGITS = 16
MAX_CARD_BYTES = 1 << 20
_FILE_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class LoadedScorer:
    """A scorer in memory. ``sha256`` is that of its card, which lists those of its files; empty if never saved."""

    model: DualEncoder
    tokenizer: Tokenizer
    card: ScorerCard
    sha256: str = ""


def save_scorer(folder: Path, loaded: LoadedScorer) -> str:
    """Write a scorer atomically, and return the SHA-256 of its card.

    The folder may be absent, empty, or hold a scorer, which is replaced. Equal scorers give equal bytes.

    Raises:
        InvalidInput: the folder holds something else, or cannot be written.
    """
    from safetensors import SafetensorError  # noqa: PLC0415

    folder = folder.absolute()
    try:
        if (folder / CARD).is_file():
            sha256 = _write_into(folder, loaded)
            _remove_stale_files(folder)
            return sha256
        if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
            raise InvalidInput(f"{folder}: exists already and is not a scorer; choose another path")
        return _write_new(folder, loaded)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(
            f"{folder}: cannot be written ({error}); free disk space or check the permissions"
        ) from error


def load_scorer(folder: Path) -> LoadedScorer:
    """Read a scorer; its model is in evaluation mode, in float32, on the CPU.

    Raises:
        InvalidInput: not a scorer, another format, or a file that is missing, cut off or changed.
    """
    text, raw = _read_card(folder)
    try:
        card = ScorerCard.from_json(raw)
        model = build_model(card.architecture, _load_tensors(_verified_file_path(folder, raw, MODEL_ROLE)))
        return LoadedScorer(model, _load_tokenizer(folder, raw, card), card, hashlib.sha256(text).hexdigest())
    except InvalidInput as error:
        raise InvalidInput(f"{folder}: {error}") from error


def list_scorer_files(folder: Path) -> tuple[str, ...]:
    """Return the names of a scorer's files, its card last: everything that a copy needs.

    Raises:
        InvalidInput: the card cannot be read, or names a file that does not belong to a scorer or is not in the
            folder.
    """
    _, raw = _read_card(folder)
    return (*(_file_name(raw, role) for role in raw["files"]), CARD)


def _read_card(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return a card's bytes and its values. The card may come from an untrusted source: its size is bounded."""
    try:
        with (folder / CARD).open("rb") as file:
            text = file.read(MAX_CARD_BYTES + 1)
        if len(text) > MAX_CARD_BYTES:
            raise InvalidInput(f"{folder / CARD}: is over {MAX_CARD_BYTES} bytes; save the scorer again")
        raw = json.loads(text)
    except OSError as error:
        raise InvalidInput(f"{folder}: has no {CARD}; give the folder of a scorer") from error
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{folder / CARD}: is not JSON; save the scorer again") from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        actual = raw.get("format") if isinstance(raw, dict) else None
        raise InvalidInput(f"{folder / CARD}: format {actual!r}; this reads {FORMAT}")
    files = raw.get("files")
    if not isinstance(files, dict) or not files.keys() <= {MODEL_ROLE, TOKENIZER_ROLE}:
        raise InvalidInput(f"{folder / CARD}: its files are not those of a scorer; save the scorer again")
    return text, raw


def check_tokenizer(tokenizer: Tokenizer, architecture: Architecture) -> None:
    """Raise InvalidInput if a tokenizer and a text tower have different vocabularies."""
    if tokenizer.vocabulary != architecture.vocabulary:
        raise InvalidInput(
            f"tokenizer: has {tokenizer.vocabulary} tokens, the model {architecture.vocabulary}; "
            "use the model's own tokenizer"
        )


def _write_new(folder: Path, loaded: LoadedScorer) -> str:
    """Write to a temporary folder and rename it, so that a new scorer is complete or absent."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with partial_folder(folder) as partial:
        partial.mkdir()
        sha256 = _write_into(partial, loaded)
        rename_folder_durably(partial, folder)
        return sha256


def _write_into(folder: Path, loaded: LoadedScorer) -> str:
    from safetensors.torch import save_file  # noqa: PLC0415

    tensors = _float32_weights(loaded.model).items()
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors}
    model = _write_hashed_file(folder, MODEL_ROLE, ".safetensors", lambda path: save_file(weights, path))
    files = {MODEL_ROLE: model}
    if isinstance(loaded.tokenizer, ClipTokenizer):
        text = loaded.tokenizer.tokenizer_json.encode()
        files[TOKENIZER_ROLE] = _write_hashed_file(
            folder, TOKENIZER_ROLE, ".json", lambda path: path.write_bytes(text)
        )
    card = {"format": FORMAT, **loaded.card.as_json(), "files": files}
    text = (json.dumps(card, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    partial = _partial_path(folder)
    partial.write_bytes(text)
    _sync_and_rename_file(partial, folder / CARD)
    return hashlib.sha256(text).hexdigest()


def _float32_weights(model: DualEncoder) -> dict[str, Tensor]:
    """Return the weights in float32, under the model's own names even if its modules are wrapped."""
    return {
        # torch.compile adds this prefix to the names of wrapped modules.
        name.replace("_orig_mod.", ""): tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in model.state_dict().items()
    }


def _write_hashed_file(
    folder: Path, role: str, suffix: str, write: Callable[[Path], object]
) -> dict[str, str]:
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
        name = f"{role}-{sha256[:HASH_DIGITS]}{suffix}"
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


def _remove_stale_files(folder: Path) -> None:
    """Delete the files of earlier scorers, and temporary files of killed processes."""
    files = json.loads((folder / CARD).read_bytes())["files"].values()
    current = {CARD, *(entry["file"] for entry in files)}
    for pattern in (f"{MODEL_ROLE}-*.safetensors", f"{TOKENIZER_ROLE}-*.json", ".*.partial"):
        for path in folder.glob(pattern):
            if path.name not in current:
                with suppress(OSError):
                    path.unlink()


def _verified_file_path(folder: Path, raw: Mapping[str, Any], role: str) -> Path:
    """Return the path of a file that the card names, after checking its hash."""
    name = _file_name(raw, role)
    path, sha256 = folder / name, raw["files"][role].get("sha256")
    try:
        actual = file_sha256(path)
    except OSError as error:
        raise InvalidInput(f"{name} is missing; copy the whole folder again") from error
    if actual != sha256:
        raise InvalidInput(f"{name} is cut off or was replaced: its sha256 is not the card's; copy it again")
    return path


def _file_name(raw: Mapping[str, Any], role: str) -> str:
    try:
        name = str(raw["files"][role]["file"])
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{CARD} names no {role} file; save the scorer again") from error
    if not _FILE_NAME_PATTERN.fullmatch(name):
        raise InvalidInput(f"{CARD} names {name!r}, which is not in the folder; save the scorer again")
    return name


def _load_tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415

    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(f"{path.name} is not a safetensors file; copy it again") from error
    wrong_type = [name for name, tensor in weights.items() if tensor.dtype != torch.float32]
    if wrong_type:
        raise InvalidInput(f"{path.name}: {wrong_type[0]} is not float32; save the scorer again")
    broken = [name for name, tensor in weights.items() if not bool(torch.isfinite(tensor).all())]
    if broken:
        raise InvalidInput(f"{path.name}: {broken[0]} holds NaN or infinity; use another scorer")
    return weights


def _load_tokenizer(folder: Path, raw: Mapping[str, Any], card: ScorerCard) -> Tokenizer:
    tokenizer: Tokenizer
    if card.tokenizer is TokenizerKind.BYTES:
        tokenizer = ByteTokenizer(card.context_length)
    else:
        text = _verified_file_path(folder, raw, TOKENIZER_ROLE).read_text("utf-8")
        tokenizer = ClipTokenizer(text, card.context_length)
    check_tokenizer(tokenizer, card.architecture)
    return tokenizer
