"""A scorer on disk: a self-describing folder (``card_folder``).

scorer.json                   the card: architecture, region mode, text mode, crop, …, and each file's sha256
model-<digits>.safetensors    the weights, float32
tokenizer-<digits>.json       CLIP's tokenizer; absent for a model that reads bytes
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.records import InvalidInput
from curation.scorer.model.architecture import Architecture
from curation.scorer.model.card import ScorerCard, TokenizerKind
from curation.scorer.model.card_folder import CardFolder
from curation.scorer.model.tokens import ByteTokenizer, ClipTokenizer, Tokenizer
from curation.scorer.model.towers import DualEncoder, build_model

FORMAT = "deerstalker-scorer/1"
CARD = "scorer.json"
_FOLDER = CardFolder("scorer", FORMAT, CARD)


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
    return _FOLDER.save(folder, loaded.card.as_json(), loaded.model, tokenizer_text(loaded.tokenizer))


def load_scorer(folder: Path) -> LoadedScorer:
    """Read a scorer; its model is in evaluation mode, in float32, on the CPU.

    Raises:
        InvalidInput: not a scorer, another format, or a file that is missing, cut off or changed.
    """
    text, raw = _FOLDER.read_card(folder)
    try:
        card = ScorerCard.from_json(raw)
        model = build_model(card.architecture, _FOLDER.load_weights(folder, raw))
        return LoadedScorer(
            model, load_tokenizer(_FOLDER, folder, raw, card), card, hashlib.sha256(text).hexdigest()
        )
    except InvalidInput as error:
        raise InvalidInput(f"{folder}: {error}") from error


def list_scorer_files(folder: Path) -> tuple[str, ...]:
    """Return the names of a scorer's files, its card last: everything that a copy needs.

    Raises:
        InvalidInput: the card cannot be read, or names a file that does not belong to a scorer or is not in the
            folder.
    """
    return _FOLDER.list_files(folder)


def check_tokenizer(tokenizer: Tokenizer, architecture: Architecture) -> None:
    """Raise InvalidInput if a tokenizer and a text tower have different vocabularies."""
    if tokenizer.vocabulary != architecture.vocabulary:
        raise InvalidInput(
            f"tokenizer: has {tokenizer.vocabulary} tokens, the model {architecture.vocabulary}; "
            "use the model's own tokenizer"
        )


def tokenizer_text(tokenizer: Tokenizer) -> str:
    """Return the content of a tokenizer's file; empty for bytes."""
    return tokenizer.tokenizer_json if isinstance(tokenizer, ClipTokenizer) else ""


def load_tokenizer(files: CardFolder, folder: Path, raw: Mapping[str, Any], card: ScorerCard) -> Tokenizer:
    """Return the tokenizer that the values ``raw`` of a folder's card name.

    Raises:
        InvalidInput: its file is missing or changed, or belongs to another model.
    """
    tokenizer: Tokenizer
    if card.tokenizer is TokenizerKind.BYTES:
        tokenizer = ByteTokenizer(card.context_length)
    else:
        tokenizer = ClipTokenizer(files.load_tokenizer_json(folder, raw), card.context_length)
    check_tokenizer(tokenizer, card.architecture)
    return tokenizer
