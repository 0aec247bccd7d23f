"""Baselines on image triplets: chance, a pixel, likeness of images and of sentences, and inference between texts."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.evaluation.nleye_baselines import (
    first_predictions,
    nearer_hypotheses,
    random_predictions,
    random_scores,
)
from curation.evaluation.nleye_key import PRESENTATIONS, ChoiceCode, PairScores, TripletPredictions
from curation.evaluation.nleye_pictures import brighter_hypotheses
from curation.features.encoder import EncoderUnavailable
from curation.features.sentence_pairs import SentencePairClassifier
from curation.models import TripletEvaluation, TripletPrediction
from curation.pipelines.encoders import get_image_encoder
from curation.pipelines.questions.vectors import load_sentence_encoder
from curation.pipelines.triplets.questions import HYPOTHESES, PREMISE
from curation.selectors.triplets.evaluations import EvaluatedTriplet
from curation.services.triplets.evaluations import BASELINE_PREFIX, NLI_PREFIX, PAIRS, EvaluationOptions
from hits.services.errors import Refused

Read = Callable[[str], bytes]
NAMES = (PREMISE, *HYPOTHESES)
_BATCH_SIZE = 32


def baseline_answers(
    evaluation: TripletEvaluation,
    triplets: Sequence[EvaluatedTriplet],
    options: EvaluationOptions,
    read: Read,
) -> Iterator[TripletPrediction]:
    """Yield the answers of a baseline: choices in both orders, or scores.

    Raises:
        Refused: the baseline has no scores, or a model is not available.
    """
    name = options.model.removeprefix(BASELINE_PREFIX)
    if options.setup == PAIRS:
        scores = _scores(name, triplets, options, read)
        yield from _score_rows(evaluation, triplets, scores)
        return
    yield from _choice_rows(evaluation, triplets, _choices(name, triplets, options, read))


def _choices(
    name: str, triplets: Sequence[EvaluatedTriplet], options: EvaluationOptions, read: Read
) -> TripletPredictions:
    n = len(triplets)
    if name == "random":
        return random_predictions(n, _generator(triplets))
    if name == "always-first":
        return first_predictions(n)
    if name == "dumb-pixel":
        pixels = [[_first_pixel(read(row.row["images"][side])) for row in triplets] for side in HYPOTHESES]
        return TripletPredictions.from_hypotheses(brighter_hypotheses(*(np.array(side) for side in pixels)))
    likeness = _likeness(name, triplets, options, read)
    return TripletPredictions.from_hypotheses(nearer_hypotheses(likeness, farther=name == "farther"))


def _scores(
    name: str, triplets: Sequence[EvaluatedTriplet], options: EvaluationOptions, read: Read
) -> PairScores:
    if name == "random":
        return random_scores(len(triplets), _generator(triplets))
    if name in {"always-first", "dumb-pixel"}:
        raise Refused(f"setup: the baseline {name} has no scores; use the setup triplet")
    values = _likeness(name, triplets, options, read)
    return PairScores(-values if name == "farther" else values)


def _likeness(
    name: str, triplets: Sequence[EvaluatedTriplet], options: EvaluationOptions, read: Read
) -> NDArray[np.float64]:
    """Return (n, 2): how alike each hypothesis is to the premise, or how well it follows from it."""
    if name.startswith(NLI_PREFIX):
        return _entailment(Path(name.removeprefix(NLI_PREFIX)), triplets)
    if name == "sentences":
        encoder = load_sentence_encoder()
        vectors = [
            _unit(encoder.encode_texts([str(row.row[f"{side}_description"]) for row in triplets]))
            for side in NAMES
        ]
    else:
        vectors = [image_vectors(triplets, side, options.encoder, read) for side in NAMES]
    premise, *hypotheses = vectors
    return np.column_stack([(premise * side).sum(axis=1) for side in hypotheses]).astype(np.float64)


def image_vectors(
    triplets: Sequence[EvaluatedTriplet], side: str, encoder_name: str, read: Read
) -> NDArray[np.float64]:
    """Return (n, d) unit vectors of one image of each triplet.

    Raises:
        Refused: the encoder is not available.
    """
    encoder = get_image_encoder(encoder_name)
    found = []
    for start in range(0, len(triplets), _BATCH_SIZE):
        pictures = [
            Pillow.open(io.BytesIO(read(row.row["images"][side]))).convert("RGB")
            for row in triplets[start : start + _BATCH_SIZE]
        ]
        found.append(encoder.encode_images(pictures))
    return _unit(np.concatenate(found))


def check_baseline(model: str) -> None:
    """Check that the folder of ``baseline:nli:FOLDER`` is there, before an evaluation is stored.

    Raises:
        Refused: it is not.
    """
    folder = Path(model.removeprefix(BASELINE_PREFIX + NLI_PREFIX))
    if model.startswith(BASELINE_PREFIX + NLI_PREFIX) and not (folder / "config.json").is_file():
        raise Refused(f"model: {folder} has no config.json; name a folder with a model of inference")


def _entailment(folder: Path, triplets: Sequence[EvaluatedTriplet]) -> NDArray[np.float64]:
    """Return (n, 2) probabilities that the premise's text entails each hypothesis' text."""
    try:
        model = SentencePairClassifier(folder, "model nli")
        label = model.label_index("entailment", "entail")
    except EncoderUnavailable as error:
        raise Refused(str(error)) from error
    pairs = [
        (str(row.row[f"{PREMISE}_description"]), str(row.row[f"{side}_description"]))
        for row in triplets
        for side in HYPOTHESES
    ]
    return np.asarray(model.probabilities(pairs, label), dtype=np.float64).reshape(-1, len(HYPOTHESES))


def _first_pixel(data: bytes) -> tuple[int, int, int]:
    with Pillow.open(io.BytesIO(data)) as picture:
        red, green, blue = picture.convert("RGB").getpixel((0, 0))  # type: ignore[misc]
    return int(red), int(green), int(blue)


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    found = vectors.astype(np.float64)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.finfo(np.float64).tiny)


def _generator(triplets: Sequence[EvaluatedTriplet]) -> np.random.Generator:
    """Return a generator that depends on the triplets, so that the baseline repeats."""
    digest = hashlib.sha256("\n".join(row.id for row in triplets).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def _choice_rows(
    evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet], predictions: TripletPredictions
) -> Iterator[TripletPrediction]:
    for row, codes in zip(triplets, predictions.codes.tolist(), strict=True):
        for presentation, value in zip(PRESENTATIONS, codes, strict=True):
            code = ChoiceCode(value)
            yield TripletPrediction(
                evaluation=evaluation,
                instance_id=row.id,
                presentation=presentation,
                choice=code.choice,
                reason=code.reason,
            )


def _score_rows(
    evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet], scores: PairScores
) -> Iterator[TripletPrediction]:
    for row, values in zip(triplets, scores.values.tolist(), strict=True):
        for hypothesis, score in zip(("h1", "h2"), values, strict=True):
            yield TripletPrediction(
                evaluation=evaluation, instance_id=row.id, presentation=hypothesis, score=score
            )
