"""Choosers that see no image: a transformer reads query and response together, or responses alone.

Tags are names: gender-neutral ones for people, classes for other objects. One logit for each response; the loss is
the cross-entropy over the four (Zellers et al. 2019 §6.1, "BERT" and "BERT (response only)").
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from curation.chooser.config import ChooserConfig, ModelKind
from curation.chooser.model.choice_model import (
    ChoiceModel,
    ChoiceScores,
    InputFacts,
    ProgressCallback,
    Shares,
)
from curation.chooser.model.pair_tokens import (
    MAX_TOKENS,
    FastPairTokenizer,
    HashedWordTokenizer,
    PairTokenizer,
    TextPair,
    TokenBatch,
)
from curation.chooser.model.transformer_folders import find_folder
from curation.chooser.questions import ChoiceQuestion
from curation.chooser.texts import named_pair
from curation.evaluation.choice_items import CHOICES
from curation.features.clip import DTYPES
from curation.features.encoder import Precision
from curation.features.transformer_folders import load_fast_tokenizer, load_model
from curation.records import InvalidInput
from curation.scorer.config import TINY
from curation.scorer.training.batch_plan import temporary_seed

TINY_SIZES: Mapping[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": MAX_TOKENS,
}


class CrossEncoderModel(ChoiceModel[TokenBatch]):
    """A sequence classifier of the ``transformers`` library with one logit."""

    module: Any

    def __init__(
        self, module: Any, tokenizer: PairTokenizer, *, padding: int, uses_query: bool, precision: Precision
    ) -> None:
        self.module = module
        self.tokenizer_json = tokenizer.tokenizer_json
        self._tokenizer, self._padding, self._uses_query = tokenizer, padding, uses_query
        self._dtype = DTYPES[precision]
        self._has_segments = getattr(module.config, "type_vocab_size", 0) > 1

    def collate(self, questions: Sequence[ChoiceQuestion], shares: Shares | None = None) -> TokenBatch:
        """Return questions as tensors on the CPU."""
        return self._tokenizer([text for question in questions for text in self._texts(question)])

    def forward(self, batch: TokenBatch) -> ChoiceScores:
        """Return the scores of a batch, with their graph."""
        inputs = {"input_ids": batch.tokens, "attention_mask": batch.is_real}
        if self._has_segments:
            inputs["token_type_ids"] = batch.segments
        is_mixed = self._dtype is not torch.float32
        with torch.autocast(batch.tokens.device.type, dtype=self._dtype, enabled=is_mixed):
            logits = self.module(**inputs).logits
        return ChoiceScores(logits.float().view(-1, CHOICES))

    def card(self) -> dict[str, Any]:
        """Return plain values from which the model is built again, given its weights."""
        config = self.module.config.to_dict()
        config.pop("_name_or_path", None)  # a path of this machine
        return {"network": config, "padding": self._padding, "uses_query": self._uses_query}

    def prepare(
        self,
        questions: Sequence[ChoiceQuestion],
        folder: Path,
        *,
        is_writer: bool,
        wait: Callable[[], None],
        report_progress: ProgressCallback,
    ) -> InputFacts:
        """Count the texts; nothing is computed in advance."""
        counts = [self._tokenizer.count_cut(self._texts(question)) for question in questions]
        return InputFacts(CHOICES * len(questions), sum(counts))

    def _texts(self, question: ChoiceQuestion) -> list[str | TextPair]:
        pairs = [named_pair(question, response) for response in question.responses]
        return [(query, response) if self._uses_query else response for query, response in pairs]


def start_cross_encoder(config: ChooserConfig, precision: Precision) -> CrossEncoderModel:
    """Return a cross-encoder before its training: ``tiny``, ``gt-minilm`` or ``hf:<folder>``.

    The last layer has random weights, which depend on ``config.seed`` alone.

    Raises:
        EncoderUnavailable: the weights are not available.
        InvalidInput: the name is not known.
    """
    with temporary_seed((config.seed,)):
        module, tokenizer, padding = _load_start(config.start)
    return CrossEncoderModel(
        module,
        tokenizer,
        padding=padding,
        uses_query=config.kind is ModelKind.TEXT_ONLY,
        precision=precision,
    )


def rebuild_cross_encoder(
    card: Mapping[str, Any], tokenizer_json: str, precision: Precision
) -> CrossEncoderModel:
    """Return the model of a card, whose weights are loaded afterwards.

    Raises:
        InvalidInput: the card is damaged.
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification  # noqa: PLC0415 - takes seconds

    try:
        values = dict(card["network"])
        network = AutoConfig.for_model(values.pop("model_type"), **values)
        module = AutoModelForSequenceClassification.from_config(network)
        padding, uses_query = int(card["padding"]), bool(card["uses_query"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"network: {error} does not describe a cross-encoder; save the chooser again"
        ) from error
    tokenizer: PairTokenizer = (
        FastPairTokenizer(tokenizer_json, padding) if tokenizer_json else HashedWordTokenizer()
    )
    return CrossEncoderModel(module, tokenizer, padding=padding, uses_query=uses_query, precision=precision)


def _load_start(start: str) -> tuple[Any, PairTokenizer, int]:
    if start == TINY:
        return _build_tiny()
    folder = find_folder(start, "model")
    module = load_model(
        folder, "AutoModelForSequenceClassification", num_labels=1, ignore_mismatched_sizes=True
    )
    tokenizer = load_fast_tokenizer(folder)
    padding = tokenizer.pad_token_id or 0
    return module.float(), FastPairTokenizer(tokenizer.backend_tokenizer.to_str(), padding), padding


def _build_tiny() -> tuple[Any, PairTokenizer, int]:
    from transformers import BertConfig, BertForSequenceClassification  # noqa: PLC0415 - takes seconds

    tokenizer = HashedWordTokenizer()
    settings = {"vocab_size": tokenizer.vocabulary, "num_labels": 1, "pad_token_id": tokenizer.padding}
    config = BertConfig.from_dict({**TINY_SIZES, **settings})
    return BertForSequenceClassification(config), tokenizer, tokenizer.padding
