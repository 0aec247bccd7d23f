"""Whether two sentences contradict each other, by a cross-encoder for natural-language inference."""

from collections.abc import Sequence
from pathlib import Path

from curation.features.encoder import EncoderUnavailable

MAX_TOKENS = 128  # tokens of a pair; two typical inferences have about 40


class ContradictionClassifier:
    """A transformers sequence classifier from a local folder, with a label "contradiction". Nothing is downloaded."""

    def __init__(self, folder: Path) -> None:
        from safetensors import SafetensorError  # noqa: PLC0415 - with the model's libraries, on demand
        from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: PLC0415
        from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

        disable_progress_bar()
        if not (folder / "config.json").is_file():
            raise EncoderUnavailable(
                f"HINTS_NLI_MODEL={str(folder)!r}: use a folder with config.json, weights and tokenizer"
            )
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model = AutoModelForSequenceClassification.from_pretrained(
                folder, local_files_only=True, use_safetensors=True
            )
        except (OSError, ValueError, SafetensorError) as error:
            reason = str(error).strip().splitlines()[0]
            raise EncoderUnavailable(f"HINTS_NLI_MODEL={str(folder)!r}: {reason}") from error
        self._model.eval()
        self._label_index = _find_contradiction_label(self._model.config.id2label, folder)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return each pair's probability of contradiction, 0 to 1: the mean over both orders of the pair."""
        if not pairs:
            return []
        import torch  # noqa: PLC0415

        both = [*pairs, *((b, a) for a, b in pairs)]
        first, second = [a for a, _ in both], [b for _, b in both]
        inputs = self._tokenizer(
            first, second, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            means = self._model(**inputs).logits.softmax(dim=-1)[:, self._label_index]  # (2n,)
        return [float(mean) for mean in means.reshape(2, len(pairs)).mean(dim=0)]


def _find_contradiction_label(names: dict[int, str], folder: Path) -> int:
    for index, name in names.items():
        if name.casefold().startswith("contradict"):
            return int(index)
    raise EncoderUnavailable(
        f"HINTS_NLI_MODEL={str(folder)!r}: none of its labels is called contradiction ({', '.join(names.values())})"
    )
