"""CLIP that chooses: it sees mentioned objects in coloured boxes, and reads "the person in the blue box".

The score of a response is the cosine of the image with query and response, times the learned scale. The loss is the
cross-entropy over the four responses. Towers and input formats are the scorer's (``curation.scorer``). Before any
training this is zero-shot CLIP.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from curation.chooser.config import ChooserConfig
from curation.chooser.model.choice_model import (
    ChoiceModel,
    ChoiceScores,
    InputFacts,
    ProgressCallback,
    Shares,
)
from curation.chooser.model.object_vectors import open_picture
from curation.chooser.objects import mentioned_objects
from curation.chooser.questions import ChoiceQuestion, add_detections
from curation.chooser.texts import colour_objects, coloured_text
from curation.evaluation.choice_items import CHOICES
from curation.features.clip import DTYPES
from curation.features.encoder import Precision
from curation.features.pixels import cut_views
from curation.records import InvalidInput, Region
from curation.scorer.model.card import ScorerCard
from curation.scorer.model.folder import LoadedScorer, tokenizer_text
from curation.scorer.model.tokens import trim_padding
from curation.scorer.model.towers import DualEncoder
from curation.scorer.training.augment import normalise, scale_to_unit
from curation.scorer.training.pixels import (
    Drawing,
    PreparedPixels,
    ViewSettings,
    open_pixels,
    prepare_pixels,
)
from curation.scorer.training.starting_weights import load_starting_model

PIXELS_FOLDER, ALL_QUESTIONS = "pixels", "all"
_MAX_EDGE = 1 << 20  # pixels


@dataclass(frozen=True, slots=True)
class ClipBatch:
    """n questions. pixels: (n, views, 3, side, side) bytes. tokens: (4 n, length), four texts for each question."""

    pixels: Tensor
    tokens: Tensor

    def to(self, device: torch.device) -> "ClipBatch":
        """Return the same questions on a device."""
        return ClipBatch(self.pixels.to(device), self.tokens.to(device))


@dataclass(frozen=True, slots=True)
class _MarkedQuestion:
    """A question's image with the boxes of its objects, in the order of their colours."""

    id: str
    image: str
    boxes: tuple[Region, ...]


class ClipChoiceModel(ChoiceModel[ClipBatch]):
    """A CLIP or a scorer that chooses. images: the image folder, with the published metadata."""

    module: DualEncoder

    def __init__(self, loaded: LoadedScorer, images: Path, precision: Precision) -> None:
        self._loaded, self._images = loaded, images
        self.module = loaded.model
        self.tokenizer_json = tokenizer_text(loaded.tokenizer)
        self._view = ViewSettings(Drawing.COLOURED_OUTLINES, loaded.card.crop, loaded.card.norm)
        self._dtype = DTYPES[precision]
        self._prepared: PreparedPixels | None = None
        self._rows: dict[str, int] = {}

    def collate(self, questions: Sequence[ChoiceQuestion], shares: Shares | None = None) -> ClipBatch:
        """Return questions as tensors on the CPU."""
        texts = [text for question in questions for text in response_texts(question)]
        tokens = trim_padding(self._loaded.tokenizer(texts), self._loaded.tokenizer.end)
        return ClipBatch(self._pixels(questions), tokens)

    def forward(self, batch: ClipBatch) -> ChoiceScores:
        """Return the scores of a batch, with their graph."""
        model, norm = self.module, self._loaded.card.norm
        mean, std = (torch.tensor(values, device=batch.pixels.device) for values in (norm.mean, norm.std))
        with torch.no_grad():
            pixels = normalise(scale_to_unit(batch.pixels), mean, std)
        is_mixed = self._dtype is not torch.float32
        with torch.autocast(batch.pixels.device.type, dtype=self._dtype, enabled=is_mixed):
            images, texts = model.encode_images(pixels).float(), model.encode_texts(batch.tokens).float()
        cosines = torch.einsum("nd,ncd->nc", images, texts.unflatten(0, (-1, CHOICES)))
        return ChoiceScores(model.scale() * cosines)

    def card(self) -> dict[str, Any]:
        """Return plain values from which the model is built again, given its weights."""
        return {"clip": self._loaded.card.as_json()}

    def prepare(
        self,
        questions: Sequence[ChoiceQuestion],
        folder: Path,
        *,
        is_writer: bool,
        wait: Callable[[], None],
        report_progress: ProgressCallback,
    ) -> InputFacts:
        """Draw, crop and scale every image once."""
        marked = [self._mark(question) for question in questions]
        target = folder / PIXELS_FOLDER
        if is_writer:
            prepare_pixels(
                marked,
                self._images,
                self._view,
                target,
                split=ALL_QUESTIONS,
                noun="question",
                report_progress=report_progress,
            )
        wait()
        self._prepared = open_pixels(marked, self._view, target, split=ALL_QUESTIONS)
        self._rows = {question.annot_id: row for row, question in enumerate(questions)}
        cut = sum(self._loaded.tokenizer.count_cut(response_texts(question)) for question in questions)
        return InputFacts(CHOICES * len(questions), cut)

    def _pixels(self, questions: Sequence[ChoiceQuestion]) -> Tensor:
        """Return the (n, views, 3, side, side) bytes of questions: prepared ones, or drawn now."""
        if self._prepared is None:
            return torch.stack([self._draw(question) for question in questions])
        rows = np.array([self._rows[question.annot_id] for question in questions], dtype=np.int64)
        pixels = torch.empty((len(rows), *self._prepared.shape), dtype=torch.uint8)
        self._prepared.read(rows, None, pixels.numpy())
        return pixels

    def _draw(self, question: ChoiceQuestion) -> Tensor:
        marked = self._mark(question)
        picture = open_picture(self._images / question.image, question.annot_id)
        return cut_views(self._view.draw(picture, marked.boxes), self._view.crop, self._view.norm)

    def _mark(self, question: ChoiceQuestion) -> _MarkedQuestion:
        objects = mentioned_objects(question)
        boxes = add_detections(question, self._images).boxes if objects else ()
        return _MarkedQuestion(
            question.annot_id, question.image, tuple(whole_pixels(boxes[index]) for index in objects)
        )


def whole_pixels(box: Sequence[float]) -> Region:
    """Return a box with edges in whole pixels, at least one pixel wide and high."""
    left, top, right, bottom = (min(max(int(edge), 0), _MAX_EDGE) for edge in box)
    return Region(left, top, max(right - left, 1), max(bottom - top, 1))


def response_texts(question: ChoiceQuestion) -> list[str]:
    """Return query and response for each of the four responses, as CLIP reads them."""
    colours = colour_objects(mentioned_objects(question))
    return [coloured_text(question, response, colours) for response in question.responses]


def start_clip_choice(config: ChooserConfig, images: Path, precision: Precision) -> ClipChoiceModel:
    """Return CLIP before its training: ``clip:<hub id or folder>``, ``scorer:<folder>`` or ``tiny``.

    Raises:
        InvalidInput: the weights are not available.
    """
    loaded = load_starting_model(config.start, crop=config.crop, seed=config.seed)
    return ClipChoiceModel(loaded, images, precision)


def rebuild_clip_choice(
    card: Mapping[str, Any], images: Path, precision: Precision, load: Callable[[ScorerCard], LoadedScorer]
) -> ClipChoiceModel:
    """Return the model of a card. load: returns towers and tokenizer of a scorer's card, with saved weights.

    Raises:
        InvalidInput: the card is damaged.
    """
    try:
        scorer_card = ScorerCard.from_json(card["clip"])
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"clip: {error} is missing; save the chooser again") from error
    return ClipChoiceModel(replace(load(scorer_card), card=scorer_card), images, precision)
