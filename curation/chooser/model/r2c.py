"""R2C, Recognition to Cognition Networks: ground, contextualise, reason (Zellers et al. 2019 §5 and §E).

Grounding: each word's vector and the vector of the object it looks at go through one bidirectional LSTM, the same for
queries and responses. Contextualisation: each word of a response attends to the query and to the objects. Reasoning:
a bidirectional LSTM over both and the response. The maxima over time of its states, of the response and of the
attended query give the logit of the response.

Two readings where sources are silent: "no query" takes the attended query out of reasoning and pooling; "no vision"
takes the objects out of grounding alone, as the text of §6.2 says.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from curation.chooser.model.attention import BilinearAttention, maximum_over_time
from curation.chooser.model.detector import ObjectHead, RegionEncoder
from curation.chooser.model.recurrent import BidirectionalLSTM, SharedDropout
from curation.evaluation.choice_items import CHOICES

REASONING_LAYERS = 2


@dataclass(frozen=True, slots=True)
class R2cSizes:
    """The sizes of an R2C.

    words, visual: of a word's and an object's vector. classes: number of classes. class_size: of a class's
    embedding. objects: of a projected object. hidden: of each direction of an LSTM. pool: of the last layer.
    dropout: of LSTM inputs and the last layers; object_dropout: of objects' vectors. use_query, use_reasoning,
    use_vision: false in an ablation.
    """

    words: int
    visual: int
    classes: int
    class_size: int
    objects: int
    hidden: int
    pool: int
    dropout: float = 0.3
    object_dropout: float = 0.1
    use_query: bool = True
    use_reasoning: bool = True
    use_vision: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return plain values, the arguments of this class."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PaddedTexts:
    """Texts of different lengths. vectors: (n, length, words). places: (n, length) positions of objects.

    lengths: (n,) int64, on the CPU.
    """

    vectors: Tensor
    places: Tensor
    lengths: Tensor

    def to(self, device: torch.device) -> "PaddedTexts":
        """Return the same texts on a device."""
        return PaddedTexts(self.vectors.to(device), self.places.to(device), self.lengths)

    @property
    def is_real(self) -> Tensor:
        """(n, length), false for padding."""
        steps = torch.arange(self.vectors.shape[1], device=self.vectors.device)
        return steps < self.lengths.to(self.vectors.device)[:, None]


@dataclass(frozen=True, slots=True)
class RegionInputs:
    """The objects of images as pixels; see ``RegionEncoder.forward``."""

    images: Tensor
    boxes: Tensor
    masks: Tensor

    def to(self, device: torch.device) -> "RegionInputs":
        """Return the same images on a device."""
        return RegionInputs(self.images.to(device), self.boxes.to(device), self.masks.to(device))


@dataclass(frozen=True, slots=True)
class R2cBatch:
    """n questions. queries, responses: 4 n texts, the four of a question together.

    objects: the (m, visual) vectors of all objects, or their pixels; counts: objects of each question, m together,
    the whole image first. classes: (m,).
    """

    queries: PaddedTexts
    responses: PaddedTexts
    objects: Tensor | RegionInputs
    classes: Tensor
    counts: tuple[int, ...]

    def to(self, device: torch.device) -> "R2cBatch":
        """Return the same questions on a device."""
        return R2cBatch(
            self.queries.to(device),
            self.responses.to(device),
            self.objects.to(device),
            self.classes.to(device),
            self.counts,
        )


class R2C(nn.Module):
    """Scores the four responses of each question. ``regions`` encodes pixels; None takes vectors of objects."""

    def __init__(self, sizes: R2cSizes, regions: RegionEncoder | None = None) -> None:
        super().__init__()
        self.sizes = sizes
        self.regions = regions
        text, context = 2 * sizes.hidden, sizes.objects
        self.object_head = ObjectHead(
            sizes.visual, sizes.classes, sizes.class_size, sizes.objects, sizes.object_dropout
        )
        self.input_dropout = SharedDropout(sizes.dropout)
        self.ground = BidirectionalLSTM(
            sizes.words + (sizes.objects if sizes.use_vision else 0), sizes.hidden
        )
        self.attend_query = BilinearAttention(text, text) if sizes.use_query else None
        self.attend_objects = BilinearAttention(text, sizes.objects)
        query = text if sizes.use_query else 0
        self.reason = (
            BidirectionalLSTM(text + context + query, sizes.hidden, layers=REASONING_LAYERS)
            if sizes.use_reasoning
            else None
        )
        reasoning = self.reason.width if self.reason is not None else 0
        self.decide = _make_last_layers(reasoning + text + query, sizes.pool, sizes.dropout)

    def forward(self, batch: R2cBatch) -> tuple[Tensor, Tensor]:
        """Return the (n, 4) logits of the responses and the (m, classes) logits of the objects' classes."""
        vectors = batch.objects
        if self.regions is not None:
            assert isinstance(vectors, RegionInputs)
            vectors = self.regions(vectors.images, vectors.boxes, vectors.masks, list(batch.counts))
        objects, class_logits = self.object_head(vectors, batch.classes)
        padded = nn.utils.rnn.pad_sequence(list(objects.split(batch.counts)), batch_first=True)
        counts = torch.tensor(batch.counts, device=padded.device)
        is_object = torch.arange(padded.shape[1], device=padded.device) < counts[:, None]
        return self._score(
            batch, padded.repeat_interleave(CHOICES, 0), is_object.repeat_interleave(CHOICES, 0)
        ), class_logits

    def _score(self, batch: R2cBatch, objects: Tensor, is_object: Tensor) -> Tensor:
        """Return the (n, 4) logits, given each response's (4 n, k, objects) objects."""
        responses = self._ground(batch.responses, objects)
        attended = [self.attend_objects(responses, objects, is_object)]
        if self.attend_query is not None:
            queries = self._ground(batch.queries, objects)
            attended.append(self.attend_query(responses, queries, batch.queries.is_real))
        pooled = [responses, *attended[1:]]
        if self.reason is not None:
            inputs = self.input_dropout(torch.cat([responses, *attended], dim=-1))
            pooled.insert(0, self.reason(inputs, batch.responses.lengths))
        maxima = maximum_over_time(torch.cat(pooled, dim=-1), batch.responses.is_real)
        logits: Tensor = self.decide(maxima).view(-1, CHOICES)
        return logits

    def _ground(self, texts: PaddedTexts, objects: Tensor) -> Tensor:
        """Return the (4 n, length, 2 hidden) states of texts grounded in their objects."""
        inputs = texts.vectors
        if self.sizes.use_vision:
            index = texts.places[..., None].expand(-1, -1, objects.shape[-1])
            inputs = torch.cat([inputs, objects.gather(1, index)], dim=-1)
        states: Tensor = self.ground(self.input_dropout(inputs), texts.lengths)
        return states


def _make_last_layers(inputs: int, pool: int, dropout: float) -> nn.Sequential:
    layers = nn.Sequential(
        nn.Dropout(dropout), nn.Linear(inputs, pool), nn.ReLU(), nn.Dropout(dropout), nn.Linear(pool, 1)
    )
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return layers
