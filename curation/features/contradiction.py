"""A cross-encoder for natural-language inference from a local folder: can two sentences both hold?"""

from collections.abc import Sequence
from pathlib import Path

from curation.features.encoder import EncoderUnavailable

LONGEST = 128  # tokens of a pair; two inferences of usual length have about 40


class ContradictionEncoder:
    """A transformers sequence classifier, one of whose labels is called "contradiction". Nothing is downloaded."""

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
        self._place = _label(self._model.config.id2label, folder)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return how likely each pair contradicts itself, 0 to 1: the mean over both orders of the pair."""
        if not pairs:
            return []
        import torch  # noqa: PLC0415

        both = [*pairs, *((b, a) for a, b in pairs)]
        first, second = [a for a, _ in both], [b for _, b in both]
        inputs = self._tokenizer(
            first, second, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
        )
        with torch.inference_mode():
            shares = self._model(**inputs).logits.softmax(dim=-1)[:, self._place]  # (2n,)
        return [float(mean) for mean in shares.reshape(2, len(pairs)).mean(dim=0)]


def _label(names: dict[int, str], folder: Path) -> int:
    for place, name in names.items():
        if name.casefold().startswith("contradict"):
            return int(place)
    raise EncoderUnavailable(
        f"HINTS_NLI_MODEL={str(folder)!r}: none of its labels is called contradiction ({', '.join(names.values())})"
    )
