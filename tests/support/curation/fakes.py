"""Encoders small enough to reason about: colours of a picture, letters of a text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.pipelines.encoders import MarkedImage


class Colours:
    """A picture's pixels, shrunk."""

    name = "colours"
    revision = "1"

    def __init__(self) -> None:
        self.pictures = 0

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.floating]:
        self.pictures += len(pictures)
        return np.stack([np.asarray(p.resize((8, 8)), dtype=np.float32).ravel() - 127 for p in pictures])


class Letters:
    """Texts by their letters; a region counts its boxes' area in the same space."""

    name = "letters"
    revision = "1"
    sentence_name = "letter pairs"
    sentence_revision = "1"
    sentence_preprocessing: ClassVar = {"letters": 32}

    def encode_regions(self, items: Sequence[MarkedImage]) -> NDArray[np.floating]:
        return np.stack([self._seeded(sum(b["left"] + b["top"] for b in boxes)) for _, boxes in items])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        return np.stack([self._count(text, 26) for text in texts])

    def encode_sentences(self, texts: Sequence[str]) -> NDArray[np.floating]:
        return np.stack([self._count(text[::-1] + text, 32) for text in texts])

    def _seeded(self, seed: int) -> NDArray[np.floating]:
        return np.random.default_rng(seed).random(26) + 0.01

    def _count(self, text: str, size: int) -> NDArray[np.floating]:
        vector = np.full(size, 0.01)
        for place, letter in enumerate(text.lower()):
            vector[(ord(letter) * 7 + place % 3) % size] += 1
        return vector


def save_tiny_clip(folder: Path, *, seed: int = 0, side: int = 32) -> str:
    """Save a CLIP of random weights; it carries no meaning, only shapes. Returns the folder."""
    import torch
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizerFast
    from transformers.models.clip import CLIPImageProcessorPil
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = {token: n for n, token in enumerate([*letters, *[f"{c}</w>" for c in letters]])}
    vocabulary |= {"<|startoftext|>": len(vocabulary), "<|endoftext|>": len(vocabulary) + 1}
    CLIPTokenizerFast(vocab=vocabulary, merges=[]).save_pretrained(folder)
    end = vocabulary["<|endoftext|>"]
    text = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    vision = text | {"image_size": side, "patch_size": 8}
    text |= {"vocab_size": len(vocabulary), "eos_token_id": end, "bos_token_id": end - 1, "pad_token_id": end}
    torch.manual_seed(seed)
    CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=24)).save_pretrained(folder)
    square = {"height": side, "width": side}
    CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size=square).save_pretrained(folder)
    return str(folder)


def save_tiny_bert(folder: Path) -> Path:
    """Save a masked language model of random weights that knows letters alone."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir()
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{one}" for one in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(vocab=str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    BertModel(BertConfig(vocab_size=len(words), **sizes)).save_pretrained(folder)
    return folder
