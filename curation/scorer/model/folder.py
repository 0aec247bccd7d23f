"""A scorer on disk: a folder that says by itself what it is and how it is to be used.

    scorer.json                   the card: architecture, region mode, text mode, crop, …, and each file's sha256
    model-<digits>.safetensors    the weights, float32
    tokenizer-<digits>.json       CLIP's tokenizer; a model that reads bytes has none

The digits are those of the file's own sha256, and the card is written last. So a folder that is saved to again, as
the best one of a training run is, holds the old scorer or the new one at any moment, also when it is killed.
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

from curation.files import file_sha256, partial_folder, put_folder, sync
from curation.records import InvalidInput
from curation.scorer.model.architecture import Architecture
from curation.scorer.model.card import ScorerCard, TokenizerKind
from curation.scorer.model.tokens import ByteTokenizer, ClipTokenizer, Tokenizer
from curation.scorer.model.towers import DualEncoder, with_weights

FORMAT = "deerstalker-scorer/1"
CARD = "scorer.json"
MODEL, TOKENIZER = "model", "tokenizer"
DIGITS = 16
MOST_CARD_BYTES = 1 << 20
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class LoadedScorer:
    """A scorer in memory. ``sha256`` is that of its card, which has those of its files; empty if never saved."""

    model: DualEncoder
    tokenizer: Tokenizer
    card: ScorerCard
    sha256: str = ""


def save_scorer(folder: Path, loaded: LoadedScorer) -> str:
    """Write a scorer, whole or not at all, and return the sha256 of its card.

    The folder is made, may be empty, or holds a scorer, which is replaced. Equal scorers give equal bytes.

    Raises:
        InvalidInput: the folder holds something else, or cannot be written.
    """
    from safetensors import SafetensorError  # noqa: PLC0415

    folder = folder.absolute()
    try:
        if (folder / CARD).is_file():
            sha256 = _write_into(folder, loaded)
            _tidy(folder)
            return sha256
        if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
            raise InvalidInput(f"{folder}: is there already and holds no scorer; choose another place")
        return _write_new(folder, loaded)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(f"{folder}: cannot be written ({error}); make room or mend it") from error


def load_scorer(folder: Path) -> LoadedScorer:
    """Read a scorer; its model is in evaluation mode, in float32, on the CPU.

    Raises:
        InvalidInput: no scorer, another format, or a file that is missing, cut off or not as it was written.
    """
    text, raw = _read_card(folder)
    try:
        card = ScorerCard.from_json(raw)
        model = with_weights(card.architecture, _tensors(_named_file(folder, raw, MODEL)))
        return LoadedScorer(model, _tokenizer(folder, raw, card), card, hashlib.sha256(text).hexdigest())
    except InvalidInput as error:
        raise InvalidInput(f"{folder}: {error}") from error


def files_of(folder: Path) -> tuple[str, ...]:
    """Return the names of a scorer's files, its card last: all that has to be copied, and all of it in the folder.

    Raises:
        InvalidInput: the card cannot be read, or names a file that is none of a scorer's or lies elsewhere.
    """
    _, raw = _read_card(folder)
    return (*(_file_name(raw, role) for role in raw["files"]), CARD)


def _read_card(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return a card's bytes and its values. Somebody else may have written it, so its size is bounded."""
    try:
        with (folder / CARD).open("rb") as file:
            text = file.read(MOST_CARD_BYTES + 1)
        if len(text) > MOST_CARD_BYTES:
            raise InvalidInput(f"{folder / CARD}: is over {MOST_CARD_BYTES} bytes; save the scorer anew")
        raw = json.loads(text)
    except OSError as error:
        raise InvalidInput(f"{folder}: holds no {CARD}; name the folder of a scorer") from error
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{folder / CARD}: is no JSON; save the scorer anew") from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        found = raw.get("format") if isinstance(raw, dict) else None
        raise InvalidInput(f"{folder / CARD}: format {found!r}; this reads {FORMAT}")
    files = raw.get("files")
    if not isinstance(files, dict) or not files.keys() <= {MODEL, TOKENIZER}:
        raise InvalidInput(f"{folder / CARD}: its files are not a model's; save the scorer anew")
    return text, raw


def check_tokenizer(tokenizer: Tokenizer, architecture: Architecture) -> None:
    """Raise InvalidInput where a tokenizer's tokens are not those that a text tower was trained with."""
    if tokenizer.vocabulary != architecture.vocabulary:
        raise InvalidInput(
            f"tokenizer: has {tokenizer.vocabulary} tokens, the model {architecture.vocabulary}; name the model's own"
        )


def _write_new(folder: Path, loaded: LoadedScorer) -> str:
    """Write beside the place and rename, so that a first scorer is there as a whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with partial_folder(folder) as partial:
        partial.mkdir()
        sha256 = _write_into(partial, loaded)
        put_folder(partial, folder)
        return sha256


def _write_into(folder: Path, loaded: LoadedScorer) -> str:
    from safetensors.torch import save_file  # noqa: PLC0415

    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in _weights(loaded.model).items()}
    files = {MODEL: _add(folder, MODEL, ".safetensors", lambda path: save_file(weights, path))}
    if isinstance(loaded.tokenizer, ClipTokenizer):
        text = loaded.tokenizer.tokenizer_json.encode()
        files[TOKENIZER] = _add(folder, TOKENIZER, ".json", lambda path: path.write_bytes(text))
    card = {"format": FORMAT, **loaded.card.as_json(), "files": files}
    text = (json.dumps(card, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    partial = _partial(folder)
    partial.write_bytes(text)
    _settle(partial, folder / CARD)
    return hashlib.sha256(text).hexdigest()


def _weights(model: DualEncoder) -> dict[str, Tensor]:
    """Return the weights in float32, by the names of the model itself, whatever wraps its parts."""
    return {
        # torch.compile puts a word into the names of what it wraps.
        name.replace("_orig_mod.", ""): tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in model.state_dict().items()
    }


def _add(folder: Path, role: str, suffix: str, write: Callable[[Path], object]) -> dict[str, str]:
    """Write a file under the name that its own content gives it, and return what the card says of it."""
    partial = _partial(folder)
    try:
        partial.touch()
        mode = partial.stat().st_mode
        write(partial)
        partial.chmod(mode)  # as the umask says: the library lets nobody but the writer read its files
        sha256 = file_sha256(partial)
        name = f"{role}-{sha256[:DIGITS]}{suffix}"
        _settle(partial, folder / name)
    finally:
        partial.unlink(missing_ok=True)
    return {"file": name, "sha256": sha256}


def _partial(folder: Path) -> Path:
    return folder / f".{uuid.uuid4().hex}.partial"


def _settle(partial: Path, path: Path) -> None:
    """Give a written file its name, once it is on the disk."""
    sync(partial)
    partial.replace(path)
    sync(path.parent)


def _tidy(folder: Path) -> None:
    """Remove the files of scorers that were here before, and what killed processes left."""
    files = json.loads((folder / CARD).read_bytes())["files"].values()
    kept = {CARD, *(entry["file"] for entry in files)}
    for pattern in (f"{MODEL}-*.safetensors", f"{TOKENIZER}-*.json", ".*.partial"):
        for path in folder.glob(pattern):
            if path.name not in kept:
                with suppress(OSError):
                    path.unlink()


def _named_file(folder: Path, raw: Mapping[str, Any], role: str) -> Path:
    """Return the path of a file that the card names, once its bytes are those that were written."""
    name = _file_name(raw, role)
    path, sha256 = folder / name, raw["files"][role].get("sha256")
    try:
        found = file_sha256(path)
    except OSError as error:
        raise InvalidInput(f"{name} is missing; copy the folder anew, as a whole") from error
    if found != sha256:
        raise InvalidInput(f"{name} is cut off or was replaced: its sha256 is not the card's; copy it anew")
    return path


def _file_name(raw: Mapping[str, Any], role: str) -> str:
    try:
        name = str(raw["files"][role]["file"])
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{CARD} names no {role} file; save the scorer anew") from error
    if not _FILE_NAME.fullmatch(name):
        raise InvalidInput(f"{CARD} names {name!r}, which is not within the folder; save the scorer anew")
    return name


def _tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415

    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(f"{path.name} is no safetensors file; copy it anew") from error
    other = [name for name, tensor in weights.items() if tensor.dtype != torch.float32]
    if other:
        raise InvalidInput(f"{path.name}: {other[0]} is not float32; save the scorer anew")
    broken = [name for name, tensor in weights.items() if not bool(torch.isfinite(tensor).all())]
    if broken:
        raise InvalidInput(f"{path.name}: {broken[0]} holds NaN or infinity; take another scorer")
    return weights


def _tokenizer(folder: Path, raw: Mapping[str, Any], card: ScorerCard) -> Tokenizer:
    tokenizer: Tokenizer
    if card.tokenizer is TokenizerKind.BYTES:
        tokenizer = ByteTokenizer(card.context_length)
    else:
        text = _named_file(folder, raw, TOKENIZER).read_text("utf-8")
        tokenizer = ClipTokenizer(text, card.context_length)
    check_tokenizer(tokenizer, card.architecture)
    return tokenizer
