"""Compare clues and inferences with literal captions of their image. Source: paper 001 D and figure 2."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.features.encoder import unit_float32
from curation.pipelines.texts.texts_common import Encoded, Sentences, origin
from curation.records import InvalidInput
from curation.selectors.texts import TextPair, alt_texts, boxes_of, described_regions, image_names
from curation.services.texts import CaptionOptions, Found, kept_file
from curation.texts.captions import (
    BINS,
    HIGHEST,
    LOWEST,
    Measure,
    among_themselves,
    likeness,
    nearest_regions,
    spread,
)
from curation.texts.files import read_captions
from hits.hints.caption import caption_span
from hits.models import Project
from hits.services.errors import Refused

LISTED = 200  # the most caption-like inferences


@dataclass(frozen=True, slots=True)
class Captioned:
    """A pair with the captions that it is compared with, at least one."""

    pair: TextPair
    captions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Available:
    """Captions by image: those of its regions with their boxes, or of the whole image."""

    regions: Mapping[int, Sequence[Mapping[str, Any]]]
    whole: Mapping[int, Sequence[str]]
    unmatched: int = 0

    def of(self, pair: TextPair, boxes: Sequence[Mapping[str, int]], options: CaptionOptions) -> list[str]:
        """Return a pair's captions, ``most`` at most."""
        regions = self.regions.get(pair.image_id, [])
        if not regions:
            return list(self.whole.get(pair.image_id, []))[: options.most]
        if options.against == "image":
            return [str(region["text"]).strip() for region in regions[: options.most]]
        near = nearest_regions(boxes, [region["box"] for region in map(_named, regions)], options.most)
        return [str(regions[place]["text"]).strip() for place in near]


def _named(region: Mapping[str, Any]) -> dict[str, Any]:
    left, top, width, height = region["box"]
    return {"box": {"left": left, "top": top, "width": width, "height": height}}


def compare_captions(pairs: Sequence[TextPair], options: CaptionOptions, sentences: Sentences) -> Found:
    """Compare the pairs of a sample of images with their captions.

    Raises:
        Refused: no image has a caption, or a file that fits no image.
    """
    available = _available(sentences.project, {pair.image_id for pair in pairs}, options)
    sample = _sampled(pairs, available, options)
    boxes = boxes_of([pair.pk for pair in sample])
    found = [
        Captioned(pair, tuple(captions))
        for pair in sample
        if (captions := available.of(pair, boxes[pair.pk], options))
    ]
    if not found:
        raise Refused("captions: no region description overlaps a box; compare with the whole image instead")
    result = _compared(found, Measure(options.measure), sentences)
    result |= {"without": len(sample) - len(found), "unmatched": available.unmatched}
    return Found(result, origin(sample, **sentences.provenance), len(found))


def _available(project: Project, images: set[int], options: CaptionOptions) -> Available:
    if options.source == "file":
        return _from_file(project, options)
    regions = described_regions(images) if options.source in ("auto", "regions") else {}
    alts = alt_texts(images - regions.keys()) if options.source in ("auto", "alt") else {}
    return Available(regions, {image: [alt] for image, alt in alts.items()})


def _from_file(project: Project, options: CaptionOptions) -> Available:
    name = options.file_name or "file"
    try:
        given = read_captions(kept_file(options.file))
    except InvalidInput as error:
        raise Refused(f"{name}: {error}") from error
    known = image_names(project)
    whole: dict[int, list[str]] = {}
    for image in (image for image in given if image in known):
        whole.setdefault(known[image], []).extend(given[image])
    if not whole:
        raise Refused(f"{name}: no photo is called {next(iter(given))[:60]!r}, nor as any other row says")
    return Available({}, whole, len(given.keys() - known.keys()))


def _sampled(pairs: Sequence[TextPair], available: Available, options: CaptionOptions) -> list[TextPair]:
    captioned = available.regions.keys() | available.whole.keys()
    images = sorted({pair.image_id for pair in pairs} & captioned)
    if not images:
        raise Refused(
            "captions: no photo of an approved pair has any; import region descriptions, or give a file"
        )
    if options.images and options.images < len(images):
        generator = np.random.default_rng(options.seed)
        images = generator.choice(images, size=options.images, replace=False).tolist()
    taken = set(images)
    return [pair for pair in pairs if pair.image_id in taken]


def _compared(found: Sequence[Captioned], measure: Measure, sentences: Sentences) -> dict[str, Any]:
    texts = [text for item in found for text in (item.pair.clue, item.pair.inference, *item.captions)]
    ids = [f"{item.pair.instance_id}/{name}" for item in found for name in _names(item)]
    encoded = sentences.of(texts, ids=ids)
    vectors = Encoded(unit_float32(encoded.rows), encoded.places)
    clues, inferences = np.zeros(len(found)), np.zeros(len(found))
    among: dict[tuple[int, ...], list[float]] = {}
    start = 0
    for row, item in enumerate(found):
        end = start + 2 + len(item.captions)
        clue, inference, *captions = vectors.places[start:end].tolist()
        rows = vectors.rows[captions]
        clues[row] = likeness(vectors.rows[clue], rows, measure)
        inferences[row] = likeness(vectors.rows[inference], rows, measure)
        among.setdefault((item.pair.image_id, *captions), among_themselves(rows, measure))
        start = end
    return _summary(found, clues, inferences, [value for values in among.values() for value in values])


def _names(item: Captioned) -> list[str]:
    return ["clue", "inference", *(f"caption {place}" for place, _ in enumerate(item.captions, start=1))]


def _summary(
    found: Sequence[Captioned],
    clues: NDArray[np.float64],
    inferences: NDArray[np.float64],
    among: Sequence[float],
) -> dict[str, Any]:
    nearest = np.argsort(-inferences, kind="stable")[:LISTED].tolist()
    worded = [caption_span(item.pair.inference) is not None for item in found]
    return {
        "images": len({item.pair.image_id for item in found}),
        "pairs": len(found),
        "axis": [LOWEST, HIGHEST, BINS],
        "clues": asdict(spread(clues)),
        "inferences": asdict(spread(inferences)),
        "captions": asdict(spread(among)),
        "clue_nearer": int((clues > inferences).sum()),
        "worded_like_caption": sum(worded),
        "nearest": [
            {
                "pair": found[row].pair.pk,
                "inference": round(float(inferences[row]), 4),
                "clue": round(float(clues[row]), 4),
                "worded": worded[row],
            }
            for row in nearest
        ],
    }
