"""Cross-encoders of random weights: real loading code, a model without meaning."""

from collections.abc import Sequence
from pathlib import Path

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def save_tiny_pair_model(folder: Path, labels: Sequence[str], words: Sequence[str] = ()) -> Path:
    """Save a tiny BERT for pairs of sentences, and its tokenizer; it knows letters and ``words``."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True)
    vocabulary = [*SPECIAL_TOKENS, *"abcdefghijklmnopqrstuvwxyz", *words]
    BertTokenizerFast(vocab={token: n for n, token in enumerate(vocabulary)}).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        num_labels=len(labels), initializer_range=0.3,  # with the usual 0.02, all pairs look alike
        id2label=dict(enumerate(labels)), label2id={name: n for n, name in enumerate(labels)},
    )  # fmt: skip
    torch.manual_seed(0)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder
