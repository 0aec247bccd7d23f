"""A trained text classifier as a toxicity scorer: from a local folder, or a hub id."""

from collections.abc import Mapping, Sequence

from curation.features.encoder import EncoderUnavailable
from curation.features.weights import (
    SHA_PREFIX,
    folder_sha256,
    hub_commit,
    package_version_or_empty,
    resolve_model_folder,
)
from curation.texts.toxicity import TextFinding

MAX_TOKENS = 128  # tokens of a text; a clue or an inference has about seven words
BATCH_SIZE = 64
TOXIC_LABELS = ("toxic", "toxicity", "label_1")


class ToxicityClassifier:
    """A transformers sequence classifier with a toxic label. It does not report words.

    Exclusive labels use softmax; multiple labels, or a single one, use sigmoid, as the model's configuration says.

    Args:
        source: a folder with config.json, model.safetensors and tokenizer, or a hub id. label: the toxic label; empty
            is the one named toxic, toxicity or LABEL_1.

    Raises:
        EncoderUnavailable: it cannot be loaded, or no label matches; the message lists the labels.
    """

    def __init__(self, source: str, label: str = "") -> None:
        from safetensors import SafetensorError
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        folder = resolve_model_folder(source, EncoderUnavailable)
        is_local = folder is not None
        try:
            commit = "" if is_local else hub_commit(source)
            revision = commit or "main"
            self._tokenizer = AutoTokenizer.from_pretrained(
                source, local_files_only=is_local, revision=revision
            )
            self._model = AutoModelForSequenceClassification.from_pretrained(
                source, local_files_only=is_local, use_safetensors=True, revision=revision
            )
        except (OSError, ValueError, SafetensorError) as error:
            reason = str(error).strip().splitlines()[0]
            raise EncoderUnavailable(
                f"scorer hf:{source}: {reason} (weights are read from safetensors only, never from pickles)"
            ) from error
        self._model.eval()
        self._column = _find_label_column(self._model.config.id2label, label, source)
        kind = self._model.config.problem_type
        self._is_single_label = self._model.config.num_labels > 1 and kind != "multi_label_classification"
        self.name = f"hf:{folder.name if folder else source}"
        weights = SHA_PREFIX + folder_sha256(folder) if folder else commit
        self.revision = f"{weights}, transformers {package_version_or_empty('transformers')}"

    def score(self, texts: Sequence[str]) -> list[TextFinding]:
        """Return the probability of the toxic label for each text."""
        found: list[TextFinding] = []
        for start in range(0, len(texts), BATCH_SIZE):
            batch = list(texts[start : start + BATCH_SIZE])
            found += [TextFinding(value) for value in self._probabilities(batch)]
        return found

    def _probabilities(self, texts: list[str]) -> list[float]:
        import torch

        inputs = self._tokenizer(
            texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            logits = self._model(**inputs).logits  # (n, labels)
        chances = logits.softmax(dim=-1) if self._is_single_label else logits.sigmoid()
        return [float(chance) for chance in chances[:, self._column]]


def _find_label_column(names: Mapping[int, str], label: str, source: str) -> int:
    candidates = (label.casefold(),) if label else TOXIC_LABELS
    known = {name.casefold(): int(column) for column, name in names.items()}
    if not label and len(known) == 1:
        return next(iter(known.values()))
    for name in candidates:
        if name in known:
            return known[name]
    problem = f"none of its labels is named {label}" if label else "its toxic label is unknown"
    raise EncoderUnavailable(f"scorer hf:{source}: {problem}; give one of {', '.join(names.values())}")
