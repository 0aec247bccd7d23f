"""R2C with its inputs: words with frozen vectors, and objects as vectors or pixels."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from curation.chooser.config import STORED_VECTORS, ChooserConfig
from curation.chooser.model.choice_model import (
    ChoiceModel,
    ChoiceScores,
    InputFacts,
    ProgressCallback,
    Shares,
)
from curation.chooser.model.detector import RegionEncoder
from curation.chooser.model.frames import CENTRED, make_frame
from curation.chooser.model.object_vectors import (
    EncodedVectors,
    ObjectVectors,
    StoredVectors,
    load_image_encoder,
    store_object_vectors,
)
from curation.chooser.model.r2c import R2C, PaddedTexts, R2cBatch, R2cSizes, RegionInputs
from curation.chooser.model.region_networks import (
    CNN_PREFIX,
    IMAGE_MEAN,
    IMAGE_STD,
    build_network,
    load_network,
)
from curation.chooser.model.word_vectors import WordPair, WordVectors, load_word_vectors
from curation.chooser.objects import (
    BACKGROUND,
    ClassVocabulary,
    mentioned_objects,
    model_positions,
    place_words,
)
from curation.chooser.questions import ChoiceQuestion
from curation.chooser.texts import name_objects
from curation.evaluation.choice_items import CHOICES
from curation.records import InvalidInput
from curation.scorer.training.batch_plan import temporary_seed

VECTORS_FOLDER = "objects"
COUNTED = 64  # questions whose texts are tokenized at once when those that are too long are counted


class R2cModel(ChoiceModel[R2cBatch]):
    """R2C. vectors: of objects; None if the module encodes their pixels."""

    module: R2C

    def __init__(
        self,
        module: R2C,
        words: WordVectors,
        vectors: ObjectVectors | None,
        *,
        images: Path,
        visual: str,
        vocabulary: ClassVocabulary,
        network: dict[str, Any] | None = None,
    ) -> None:
        self.module = module
        self._words, self._vectors, self._images = words, vectors, images
        self._visual, self._vocabulary, self._network = visual, vocabulary, network

    def collate(self, questions: Sequence[ChoiceQuestion], shares: Shares | None = None) -> R2cBatch:
        """Return questions as tensors on the CPU."""
        objects = [mentioned_objects(question) for question in questions]
        queries, responses = self._collate_texts(questions, objects)
        classes = [
            self._vocabulary.numbers([BACKGROUND, *(question.objects[index] for index in mentioned)])
            for question, mentioned in zip(questions, objects, strict=True)
        ]
        return R2cBatch(
            queries=queries,
            responses=responses,
            objects=self._collate_objects(questions, objects, shares),
            classes=torch.tensor([number for numbers in classes for number in numbers]),
            counts=tuple(map(len, classes)),
        )

    def forward(self, batch: R2cBatch) -> ChoiceScores:
        """Return the scores of a batch, with their graph."""
        logits, class_logits = self.module(batch)
        return ChoiceScores(logits, class_logits, batch.classes)

    def card(self) -> dict[str, Any]:
        """Return plain values from which the model is built again, given its weights."""
        return {
            "sizes": self.module.sizes.as_json(),
            "words": {"source": self._words.source, "revision": self._words.revision},
            "visual": self._visual,
            "classes": list(self._vocabulary.names),
            "network": self._network,
        }

    def prepare(
        self,
        questions: Sequence[ChoiceQuestion],
        folder: Path,
        *,
        is_writer: bool,
        wait: Callable[[], None],
        report_progress: ProgressCallback,
    ) -> InputFacts:
        """Encode the objects' crops once, if the module takes vectors of an image encoder."""
        if self._vectors is not None and self._visual != STORED_VECTORS:
            target = folder / VECTORS_FOLDER
            if is_writer:
                encoder = load_image_encoder(self._visual)
                store_object_vectors(
                    questions, self._images, encoder, target, report_progress=report_progress
                )
            wait()
            self._vectors = StoredVectors(target)
        chunks = (questions[start : start + COUNTED] for start in range(0, len(questions), COUNTED))
        return InputFacts(CHOICES * len(questions), sum(map(self._count_cut, chunks)))

    def count_objects(self, questions: Sequence[ChoiceQuestion]) -> int:
        """Return the number of objects whose classes are predicted, with the whole images."""
        return sum(1 + len(mentioned_objects(question)) for question in questions)

    def _count_cut(self, questions: Sequence[ChoiceQuestion]) -> int:
        pairs, _ = place_pairs(questions, [mentioned_objects(question) for question in questions])
        return self._words.count_cut(pairs)

    def _collate_texts(
        self, questions: Sequence[ChoiceQuestion], objects: Sequence[Sequence[int]]
    ) -> tuple[PaddedTexts, PaddedTexts]:
        pairs, places = place_pairs(questions, objects)
        vectors = self._words.encode(pairs)
        queries, responses = (
            _pad_texts([pair[side] for pair in vectors], [pair[side] for pair in places]) for side in (0, 1)
        )
        return queries, responses

    def _collate_objects(
        self,
        questions: Sequence[ChoiceQuestion],
        objects: Sequence[Sequence[int]],
        shares: Shares | None,
    ) -> Tensor | RegionInputs:
        pairs = list(zip(questions, objects, strict=True))
        if self._vectors is not None:
            return torch.from_numpy(
                np.concatenate([self._vectors.select(question, mentioned) for question, mentioned in pairs])
            )
        placed = [CENTRED] * len(pairs) if shares is None else [(left, top) for left, top in shares.tolist()]
        frames = [
            make_frame(question, self._images, mentioned, shares=share)
            for (question, mentioned), share in zip(pairs, placed, strict=True)
        ]
        pixels = torch.from_numpy(np.stack([frame.pixels for frame in frames])).permute(0, 3, 1, 2)
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in (IMAGE_MEAN, IMAGE_STD))
        return RegionInputs(
            images=(pixels.float() / 255 - mean) / std,
            boxes=torch.from_numpy(np.concatenate([frame.boxes for frame in frames])),
            masks=torch.from_numpy(np.concatenate([frame.masks for frame in frames])),
        )


def place_pairs(
    questions: Sequence[ChoiceQuestion], objects: Sequence[Sequence[int]]
) -> tuple[list[WordPair], list[tuple[list[int], list[int]]]]:
    """Return the words of the query and of each response, and the positions of the objects that they look at.

    Args:
        objects: the mentioned objects of each question.
    """
    pairs: list[WordPair] = []
    places: list[tuple[list[int], list[int]]] = []
    for question, mentioned in zip(questions, objects, strict=True):
        positions = model_positions(mentioned)
        for response in question.responses:
            names = dict(enumerate(name_objects(question.objects, (question.query, response))))
            query_words, query_places = place_words(question.query, names, positions)
            response_words, response_places = place_words(response, names, positions)
            pairs.append((query_words, response_words))
            places.append((query_places, response_places))
    return pairs, places


def _pad_texts(vectors: Sequence[Tensor], places: Sequence[Sequence[int]]) -> PaddedTexts:
    return PaddedTexts(
        vectors=pad_sequence(list(vectors), batch_first=True),
        places=pad_sequence([torch.tensor(row) for row in places], batch_first=True),
        lengths=torch.tensor([len(row) for row in places]),
    )


def start_r2c(config: ChooserConfig, images: Path, features: Path, device: torch.device) -> R2cModel:
    """Return an untrained R2C; its trainable weights depend on ``config.seed`` alone.

    Args:
        images: the image folder, with the published metadata. features: the folder of stored vectors of objects,
            used if ``config.visual`` says so.

    Raises:
        InvalidInput: weights or stored vectors are missing.
    """
    words = load_word_vectors(config.text, device=device)
    vocabulary = ClassVocabulary()
    vectors: ObjectVectors | None = None
    network = None
    if config.visual.startswith(CNN_PREFIX):
        network = load_network(config.visual)
    else:
        vectors = _open_vectors(config.visual, images, features)
    with temporary_seed((config.seed,)):
        regions = None if network is None else RegionEncoder(network)
        visual = regions.size if regions is not None else _size_of(vectors)
        module = R2C(_sizes(config, words.size, visual, len(vocabulary)), regions)
    return R2cModel(
        module,
        words,
        vectors,
        images=images,
        visual=CNN_PREFIX if network is not None else config.visual,
        vocabulary=vocabulary,
        network=None if network is None else network.config.to_dict(),
    )


def rebuild_r2c(
    card: Mapping[str, Any], images: Path, features: Path, text: str, device: torch.device
) -> R2cModel:
    """Return an R2C of a card, whose weights are loaded afterwards.

    Args:
        text: the frozen vectors of words, as in the settings.

    Raises:
        InvalidInput: the words' vectors are others than the card's, or the card is damaged.
    """
    words = load_word_vectors(text, device=device)
    if words.revision != card["words"]["revision"] or words.size != card["sizes"]["words"]:
        raise InvalidInput(
            f"text: {text!r} has other weights than {card['words']['source']}, with which the model was trained; "
            "give the same"
        )
    network = None if card["network"] is None else build_network(card["network"])
    regions = None if network is None else RegionEncoder(network)
    vectors = None if regions is not None else _open_vectors(card["visual"], images, features)
    return R2cModel(
        R2C(R2cSizes(**card["sizes"]), regions),
        words,
        vectors,
        images=images,
        visual=card["visual"],
        vocabulary=ClassVocabulary(tuple(card["classes"])),
        network=card["network"],
    )


def _open_vectors(visual: str, images: Path, features: Path) -> ObjectVectors:
    return (
        StoredVectors(features)
        if visual == STORED_VECTORS
        else EncodedVectors(load_image_encoder(visual), images)
    )


def _size_of(vectors: ObjectVectors | None) -> int:
    assert vectors is not None
    return vectors.size


def _sizes(config: ChooserConfig, words: int, visual: int, classes: int) -> R2cSizes:
    return R2cSizes(
        words=words,
        visual=visual,
        classes=classes,
        class_size=config.class_size,
        objects=config.object_size,
        hidden=config.hidden_size,
        pool=config.pool_size,
        dropout=config.dropout,
        object_dropout=config.object_dropout,
        use_query=config.use_query,
        use_reasoning=config.use_reasoning,
        use_vision=config.use_vision,
    )
