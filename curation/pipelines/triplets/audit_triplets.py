"""A job that audits a project's triplets for shortcuts: ways to find gold without the premise, or without looking."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.image_figures import ImageFigures, StyleScale
from curation.evaluation.nleye_audit_features import (
    Production,
    negation_counts,
    pixel_features,
    production_features,
    word_counts,
)
from curation.evaluation.nleye_audits import (
    COMPONENTS,
    Audit,
    audit_agreement,
    audit_classifier,
    audit_direction,
    audit_hypotheses_only,
    audit_label_balance,
    audit_likeness,
    audit_mixed,
    audit_style,
)
from curation.evaluation.nleye_key import TripletKey
from curation.models import GeneratedImage, TripletAudit
from curation.pipelines.encoders import get_image_encoder
from curation.pipelines.questions.vectors import load_sentence_encoder
from curation.selectors.triplets.answers import PersonAnswer, people_answers
from curation.selectors.triplets.audits import declared_countries, model_answers_without_premise
from curation.selectors.triplets.image_figures import read_figures
from curation.selectors.triplets.triplets import TripletFacts, TripletState, triplet_facts
from curation.services.image_files import measure_file, open_image
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.audits import AuditOptions, store_audit
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress
from validation.domain.judging.triplet_shapes import Shape

HYPOTHESES = ("h1", "h2")
LABELS = ("h1", "h2", "equal")
_STEPS = 5


@dataclass(frozen=True, slots=True)
class _Triplets:
    """The audited triplets with their key; arrays are in its order."""

    facts: tuple[TripletFacts, ...]
    key: TripletKey

    def pairs(self) -> list[tuple[GeneratedImage, GeneratedImage]]:
        """Return both hypotheses of each triplet."""
        return [(row.triplet.h1, row.triplet.h2) for row in self.facts]

    def texts(self) -> list[tuple[str, str]]:
        """Return the texts of both hypotheses of each triplet."""
        found = []
        for row in self.facts:
            scene, first = row.triplet.scene, row.triplet.first
            found.append((scene.text(first), scene.text("b" if first == "a" else "a")))
        return found


def audit_triplets(progress: Progress) -> dict[str, Any]:
    """Run a job: compute every audit of the triplets that are not dropped, and store them.

    Raises:
        Refused: there are no triplets, or an encoder is not available.
    """
    audit = TripletAudit.objects.select_related("project").get(pk=progress.job.args["audit"])
    options = AuditOptions(**progress.job.args["options"])
    triplets = _read_triplets(audit)
    progress.advance(0, _STEPS)
    with refuse_invalid_input():
        audits = [*_premise_audits(audit, triplets)]
        progress.advance(1, _STEPS)
        figures = _image_figures(triplets)
        audits += _picture_audits(triplets, figures, options)
        progress.advance(2, _STEPS)
        vectors = _image_vectors(triplets, options.encoder)
        audits += _vector_audits(triplets, vectors, options)
        progress.advance(3, _STEPS)
        audits += _text_audits(triplets, options)
        progress.advance(4, _STEPS)
        audits += audit_label_balance(triplets.key)
        audits += _mixed_audits(triplets)
        audits += _agreement_audits(audit, triplets)
    store_audit(
        audit=audit,
        figures={"triplets": len(triplets.key), "audits": [row.as_json() for row in audits]},
        provenance={"encoder": options.encoder or "built-in", "swaps": options.swaps},
    )
    return {
        "audit": audit.pk,
        "triplets": len(triplets.key),
        "flagged": [row.name for row in audits if row.flagged],
    }


def _read_triplets(audit: TripletAudit) -> _Triplets:
    facts = tuple(row for row in triplet_facts(audit.project) if row.state is not TripletState.DROPPED)
    if not facts:
        raise Refused("triplets: there are none to audit; build triplets first")
    key = TripletKey.from_rows(
        (row.triplet.public_id, row.triplet.gold, row.facets.category, row.facets.domain, row.facets.cell)
        for row in facts
    )
    return _Triplets(facts, key)


def _premise_audits(audit: TripletAudit, triplets: _Triplets) -> list[Audit]:
    """Return how often people and models are right without the premise."""
    golds = dict(zip(triplets.key.ids, triplets.key.golds.tolist(), strict=True))
    answers = people_answers(audit.project, [Shape.HYPOTHESES_ONLY])
    given = [
        (key, answer.choice == f"h{golds[key]}")
        for key, rows in answers.items()
        if key in golds
        for answer in rows
    ]
    found = []
    if given:
        found.append(
            audit_hypotheses_only("people_without_premise", [k for k, _ in given], [r for _, r in given])
        )
    for label, rows in model_answers_without_premise(audit.project).items():
        own = [(key, choice == f"h{golds[key]}") for key, choice in rows if key in golds]
        if own:
            name = f"model_without_premise: {label}"
            found.append(audit_hypotheses_only(name, [k for k, _ in own], [r for _, r in own]))
    return found


def _image_figures(triplets: _Triplets) -> dict[int, ImageFigures]:
    """Return the pixel figures of each image by its key."""
    found: dict[int, ImageFigures] = {}
    for row in triplets.facts:
        for image in (row.triplet.premise, row.triplet.a, row.triplet.b):
            if image.pk not in found:
                found[image.pk] = read_figures(image) or measure_file(image.image)
    return found


def _picture_audits(
    triplets: _Triplets, figures: Mapping[int, ImageFigures], options: AuditOptions
) -> list[Audit]:
    key = triplets.key
    pixels = pixel_features([(figures[a.pk], figures[b.pk]) for a, b in triplets.pairs()])
    production = production_features([(_production(a), _production(b)) for a, b in triplets.pairs()])
    distances = _style_distances(triplets, figures)
    return [
        audit_classifier("single_hypothesis: pixels", key, pixels, swaps=options.swaps),
        audit_classifier("single_hypothesis: production", key, production, swaps=options.swaps),
        audit_style(key, distances),
    ]


def _production(image: GeneratedImage) -> Production:
    edits, parent = 0, image.parent
    while parent is not None:
        edits, parent = edits + 1, parent.parent
    return Production(image.generator, image.number, edits, image.image.bytes)


def _style_distances(triplets: _Triplets, figures: Mapping[int, ImageFigures]) -> NDArray[np.float64]:
    """Return (n, 2): how far each hypothesis is from the premise in style, on the scale of the audited images."""
    scale = StyleScale.of(figures.values())
    found = [
        [
            scale.distance(figures[row.triplet.premise.pk], figures[image.pk])
            for image in (row.triplet.h1, row.triplet.h2)
        ]
        for row in triplets.facts
    ]
    return np.array(found, dtype=np.float64).reshape(-1, len(HYPOTHESES))


def _image_vectors(triplets: _Triplets, encoder_name: str) -> NDArray[np.float64]:
    """Return (n, 3, d) unit vectors of premise, h1 and h2."""
    encoder = get_image_encoder(encoder_name)
    found = []
    for row in triplets.facts:
        pictures = [
            open_image(image.image) for image in (row.triplet.premise, row.triplet.h1, row.triplet.h2)
        ]
        vectors = np.asarray(encoder.encode_images(pictures), dtype=np.float64)
        found.append(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
    return np.array(found)


def _vector_audits(triplets: _Triplets, vectors: NDArray[np.float64], options: AuditOptions) -> list[Audit]:
    likeness = np.einsum("nd,nkd->nk", vectors[:, 0], vectors[:, 1:])
    return [
        audit_classifier(
            "single_hypothesis: image features",
            triplets.key,
            vectors[:, 1:],
            components=COMPONENTS,
            swaps=options.swaps,
        ),
        audit_likeness(triplets.key, likeness),
    ]


def _text_audits(triplets: _Triplets, options: AuditOptions) -> list[Audit]:
    texts, key = triplets.texts(), triplets.key
    encoder = load_sentence_encoder()
    vectors = np.stack(
        [np.asarray(encoder.encode_texts([pair[side] for pair in texts])) for side in (0, 1)], axis=1
    )
    return [
        audit_direction("text: length", key, word_counts(texts), what="has the longer text"),
        audit_direction("text: negations", key, negation_counts(texts), what="has more negations"),
        audit_classifier(
            "single_hypothesis: texts", key, vectors, components=COMPONENTS, swaps=options.swaps
        ),
    ]


def _mixed_audits(triplets: _Triplets) -> list[Audit]:
    def values(read: Any) -> list[list[str]]:
        return [
            [str(read(image)) for image in (row.triplet.premise, row.triplet.h1, row.triplet.h2)]
            for row in triplets.facts
        ]

    key = triplets.key
    return [
        audit_mixed("mixed: generators", key, values(lambda image: image.generator), what="generators"),
        audit_mixed(
            "mixed: sizes", key, values(lambda image: (image.image.width, image.image.height)), what="sizes"
        ),
        audit_mixed("mixed: seeds", key, values(lambda image: image.seed is None), what="seed policies"),
    ]


def _agreement_audits(audit: TripletAudit, triplets: _Triplets) -> list[Audit]:
    """Return agreement by category and by the country that people declared."""
    answers = people_answers(audit.project)
    categories: dict[str, list[tuple[str, Sequence[PersonAnswer]]]] = defaultdict(list)
    for row in triplets.facts:
        given = answers.get(row.triplet.public_id, ())
        if given:
            categories[row.facets.category].append((row.triplet.public_id, given))
    if not categories:
        return []
    countries = declared_countries(audit.project)
    by_country: dict[str, dict[str, list[PersonAnswer]]] = defaultdict(lambda: defaultdict(list))
    for rows in categories.values():
        for key, choices in rows:
            for answer in choices:
                country = countries.get(answer.worker or 0, "")
                if country:
                    by_country[country][key].append(answer)
    found = audit_agreement(
        {label: _counts(rows) for label, rows in sorted(categories.items())}, name="agreement"
    )
    if len(by_country) > 1:
        found += audit_agreement(
            {label: _counts(list(rows.items())) for label, rows in sorted(by_country.items())},
            name="agreement by country",
        )[1:]
    return found


def _counts(
    rows: Sequence[tuple[str, Sequence[PersonAnswer]]],
) -> tuple[list[str], NDArray[np.int64]]:
    counts = [[sum(answer.choice == label for answer in given) for label in LABELS] for _, given in rows]
    return [key for key, _ in rows], np.array(counts, dtype=np.int64).reshape(-1, len(LABELS))
