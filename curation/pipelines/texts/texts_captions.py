"""Compare clues and inferences with literal captions of their image. Source: Hessel et al. 2022, app. D, figure 2."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.features.encoder import unit_float32
from curation.pipelines.texts.texts_common import EncodedTexts, SentenceVectorMaker, make_provenance
from curation.records import InvalidInput
from curation.selectors.texts import TextPair, alt_texts, image_ids_by_name, pair_boxes, region_descriptions
from curation.services.texts import AnalysisResult, CaptionOptions, stored_file_path
from curation.texts.captions import (
    BINS,
    MAX_COSINE,
    MIN_COSINE,
    CaptionMeasure,
    caption_similarity,
    describe_spread,
    overlapping_regions,
    similarity_among_captions,
)
from curation.texts.files import read_captions
from hits.hints.caption import caption_span
from hits.models import Project
from hits.services.errors import Refused

MAX_LISTED = 200  # the most caption-like inferences


@dataclass(frozen=True, slots=True)
class CaptionedPair:
    """A pair with the captions for its comparison, at least one."""

    pair: TextPair
    captions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AvailableCaptions:
    """Captions by image: of its regions with their boxes, or of the whole image.

    unmatched: number of image names in the file that the project does not have.
    """

    regions: Mapping[int, Sequence[Mapping[str, Any]]]
    whole: Mapping[int, Sequence[str]]
    unmatched: int = 0

    def select(
        self, pair: TextPair, boxes: Sequence[Mapping[str, int]], options: CaptionOptions
    ) -> list[str]:
        """Return a pair's captions, at most ``options.most``."""
        regions = self.regions.get(pair.image_id, [])
        if not regions:
            return list(self.whole.get(pair.image_id, []))[: options.most]
        if options.against == "image":
            return [str(region["text"]).strip() for region in regions[: options.most]]
        sides = ("left", "top", "width", "height")
        region_boxes = [dict(zip(sides, region["box"], strict=True)) for region in regions]
        near = overlapping_regions(boxes, region_boxes, options.most)
        return [str(regions[index]["text"]).strip() for index in near]


def compare_captions(
    pairs: Sequence[TextPair], options: CaptionOptions, vector_maker: SentenceVectorMaker
) -> AnalysisResult:
    """Compare the pairs of a sample of images with their captions.

    Raises:
        Refused: no image has a caption, or the file matches no image.
    """
    available = _load_captions(vector_maker.project, {pair.image_id for pair in pairs}, options)
    sample = _sample_pairs(pairs, available, options)
    boxes = pair_boxes([pair.pk for pair in sample])
    captioned = [
        CaptionedPair(pair, tuple(captions))
        for pair in sample
        if (captions := available.select(pair, boxes[pair.pk], options))
    ]
    if not captioned:
        raise Refused("captions: no region description overlaps a box; compare with the whole image instead")
    result = _compare_pairs(captioned, CaptionMeasure(options.measure), vector_maker)
    result |= {"without": len(sample) - len(captioned), "unmatched": available.unmatched}
    return AnalysisResult(result, make_provenance(sample, **vector_maker.provenance), len(captioned))


def _load_captions(project: Project, images: set[int], options: CaptionOptions) -> AvailableCaptions:
    if options.source == "file":
        return _read_caption_file(project, options)
    regions = region_descriptions(images) if options.source in ("auto", "regions") else {}
    alts = alt_texts(images - regions.keys()) if options.source in ("auto", "alt") else {}
    return AvailableCaptions(regions, {image: [alt] for image, alt in alts.items()})


def _read_caption_file(project: Project, options: CaptionOptions) -> AvailableCaptions:
    name = options.file_name or "file"
    try:
        captions_by_name = read_captions(stored_file_path(options.file))
    except InvalidInput as error:
        raise Refused(f"{name}: {error}") from error
    known = image_ids_by_name(project)
    whole: dict[int, list[str]] = {}
    for image in (image for image in captions_by_name if image in known):
        whole.setdefault(known[image], []).extend(captions_by_name[image])
    if not whole:
        raise Refused(
            f"{name}: no row names a photo of this project (the first: {next(iter(captions_by_name))[:60]!r}); "
            "give the file of these photos"
        )
    return AvailableCaptions({}, whole, len(captions_by_name.keys() - known.keys()))


def _sample_pairs(
    pairs: Sequence[TextPair], available: AvailableCaptions, options: CaptionOptions
) -> list[TextPair]:
    captioned = available.regions.keys() | available.whole.keys()
    images = sorted({pair.image_id for pair in pairs} & captioned)
    if not images:
        raise Refused(
            "captions: no photo of an approved pair has captions; import region descriptions, or give a file"
        )
    if options.images and options.images < len(images):
        generator = np.random.default_rng(options.seed)
        images = generator.choice(images, size=options.images, replace=False).tolist()
    sampled = set(images)
    return [pair for pair in pairs if pair.image_id in sampled]


def _compare_pairs(
    captioned: Sequence[CaptionedPair], measure: CaptionMeasure, vector_maker: SentenceVectorMaker
) -> dict[str, Any]:
    texts = [text for item in captioned for text in (item.pair.clue, item.pair.inference, *item.captions)]
    ids = [f"{item.pair.instance_id}/{name}" for item in captioned for name in _text_id_suffixes(item)]
    encoded = vector_maker.encode(texts, ids=ids)
    vectors = EncodedTexts(unit_float32(encoded.rows), encoded.row_indices)
    clues, inferences = np.zeros(len(captioned)), np.zeros(len(captioned))
    caption_pairs: dict[tuple[int, ...], list[float]] = {}
    start = 0
    for row, item in enumerate(captioned):
        end = start + 2 + len(item.captions)
        clue, inference, *captions = vectors.row_indices[start:end].tolist()
        rows = vectors.rows[captions]
        clues[row] = caption_similarity(vectors.rows[clue], rows, measure)
        inferences[row] = caption_similarity(vectors.rows[inference], rows, measure)
        caption_pairs.setdefault((item.pair.image_id, *captions), similarity_among_captions(rows, measure))
        start = end
    among = [value for values in caption_pairs.values() for value in values]
    return _summary(captioned, clues, inferences, among)


def _text_id_suffixes(item: CaptionedPair) -> list[str]:
    return ["clue", "inference", *(f"caption {number}" for number, _ in enumerate(item.captions, start=1))]


def _summary(
    captioned: Sequence[CaptionedPair],
    clues: NDArray[np.float64],
    inferences: NDArray[np.float64],
    caption_similarities: Sequence[float],
) -> dict[str, Any]:
    nearest = np.argsort(-inferences, kind="stable")[:MAX_LISTED].tolist()
    like_caption = [caption_span(item.pair.inference) is not None for item in captioned]
    return {
        "images": len({item.pair.image_id for item in captioned}),
        "pairs": len(captioned),
        "axis": [MIN_COSINE, MAX_COSINE, BINS],
        "clues": asdict(describe_spread(clues)),
        "inferences": asdict(describe_spread(inferences)),
        "captions": asdict(describe_spread(caption_similarities)),
        "clue_nearer": int((clues > inferences).sum()),
        "worded_like_caption": sum(like_caption),
        "nearest": [
            {
                "pair": captioned[row].pair.pk,
                "inference": round(float(inferences[row]), 4),
                "clue": round(float(clues[row]), 4),
                "worded": like_caption[row],
            }
            for row in nearest
        ],
    }
