"""BERTScore of retrieved inferences, with a language model from a folder; nothing is downloaded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.evaluation.answer_keys import RETRIEVAL, sort_file_names, task_of_file
from curation.evaluation.bertscore import (
    ROBERTA_BASELINE,
    ROBERTA_LAYER,
    TokenVectors,
    greedy_f1,
    rescale_to_baseline,
)
from curation.evaluation.inputs import restore_key_order
from curation.evaluation.intervals import mean_of_means
from curation.evaluation.retrieval import parse_retrieval_key
from curation.families.sherlock.evaluation_plan import SplitEvaluationSets
from curation.records import InvalidInput

BATCH_SIZE = 32
PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class BertScoreOptions:
    """The model, its layer, and the score of unrelated texts; the defaults are RoBERTa-Large's."""

    folder: str
    layer: int = ROBERTA_LAYER
    baseline: float = ROBERTA_BASELINE


class TokenEncoder:
    """Encodes a text's tokens by a layer of a masked language model."""

    def __init__(self, options: BertScoreOptions) -> None:
        """Load the model. Raises InvalidInput if the model is incomplete or the layer does not exist."""
        from transformers import AutoModel, AutoTokenizer

        folder = Path(options.folder)
        if not (folder / "config.json").is_file():
            raise InvalidInput(f"bertscore: {folder} has no model; give a folder with saved weights")
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        except (OSError, ValueError, KeyError) as error:
            line = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidInput(
                f"bertscore: {folder} cannot be loaded ({line}); save the model again"
            ) from error
        layers = self._model.config.num_hidden_layers
        if not 0 <= options.layer <= layers:
            raise InvalidInput(
                f"bertscore: layer {options.layer} is not between 0 and {layers} of this model"
            )
        self._model.eval()
        self._layer = options.layer
        # RoBERTa encodes a word at the start of a text differently from one after a space.
        self._space = " " if "roberta" in type(self._tokenizer).__name__.lower() else ""

    def encode(self, texts: Sequence[str]) -> Iterator[TokenVectors]:
        """Yield the token vectors of each text."""
        for start in range(0, len(texts), BATCH_SIZE):
            batch_texts = [self._space + text.strip() for text in texts[start : start + BATCH_SIZE]]
            batch = self._tokenizer(batch_texts, padding=True, truncation=True, return_tensors="pt")
            with torch.inference_mode():
                hidden = self._model(**batch, output_hidden_states=True).hidden_states[self._layer]
            rows = torch.nn.functional.normalize(hidden.float(), dim=-1).numpy()
            for row, ids, mask in zip(rows, batch["input_ids"], batch["attention_mask"], strict=True):
                is_token = mask.numpy().astype(bool)
                yield TokenVectors(row[is_token], self._is_counted(ids.numpy()[is_token]))

    def _is_counted(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        tokenizer = self._tokenizer
        special_ids = [tokenizer.cls_token_id, tokenizer.sep_token_id]
        return ~np.isin(ids, [token for token in special_ids if token is not None])


def retrieval_bertscore(
    sets: SplitEvaluationSets,
    scores: Mapping[str, NDArray[np.floating]],
    options: BertScoreOptions,
    *,
    rng: np.random.Generator,
) -> dict[str, float | None]:
    """Return BERTScore of each image's best-scored inference with its true one, in percent, with an interval.

    scores: by file, in the order of the sorted test ids. The mean over chunks, like other retrieval figures.

    Raises:
        InvalidInput: the model is not available.
    """
    texts = {pair.instance_id: pair.inference for chunk in sets.chunks for pair in chunk}
    names = [name for name in sort_file_names(scores) if task_of_file(name) == RETRIEVAL]
    found = {name: _best_inferences(sets, name, scores[name]) for name in names}
    distinct = sorted({texts[key] for pairs in found.values() for pair in pairs for key in pair})
    tokens = dict(zip(distinct, TokenEncoder(options).encode(distinct), strict=True))
    groups = [
        np.array(
            [
                PERCENT
                * rescale_to_baseline(greedy_f1(tokens[texts[best]], tokens[texts[own]]), options.baseline)
                for own, best in pairs
            ]
        )
        for pairs in found.values()
    ]
    return mean_of_means(groups, rng=rng).as_json()


def _best_inferences(
    sets: SplitEvaluationSets, name: str, scores: NDArray[np.floating]
) -> list[tuple[str, str]]:
    """Return for each instance its id and the id of its best-scored inference, the first on a tie."""
    key = parse_retrieval_key(sets.raw_key(name))
    matrix = np.empty((len(key.ids), len(key.ids)))
    matrix[key.rows, key.columns] = restore_key_order(scores, key.test_ids)
    return [(key.ids[row], key.ids[best]) for row, best in enumerate(matrix.argmax(axis=1).tolist())]


def parse_options(stored: Mapping[str, Any]) -> BertScoreOptions | None:
    """Return the BERTScore options of an evaluation's row, if it has any."""
    return BertScoreOptions(**stored["bertscore"]) if stored.get("bertscore") else None
