"""Whether a model's errors on the comparison task can be foretold, and the worst of them (paper 001 §5.3).

Equal scores, options and models give equal results.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from threadpoolctl import threadpool_limits

from curation.evaluation.comparison import parse_comparison_key
from curation.evaluation.errors import (
    CHANCE_AUC,
    FOLDS,
    PAPER_AUCS,
    PERMUTATIONS,
    Groups,
    Mistake,
    area_by_chance,
    outcomes,
    split_at_median,
    worst_mistakes,
)
from curation.models import ErrorAnalysis, Evaluation
from curation.pipelines.encoders import ImageVectors, image_vectors
from curation.pipelines.evaluation.error_models import REGULARISATION, area_foretold, rotate
from curation.pipelines.evaluation.evaluation_scores import comparison_scores
from curation.pipelines.texts.texts_common import SentenceTexts, sentence_encoder
from curation.pipelines.vectors import BATCH, open_image
from curation.records import InvalidInput
from curation.selectors.error_analyses import Compared, compared_rows
from curation.services.error_analysis import ErrorOptions, keep_error_analysis
from hits.services.errors import NotStarted, Refused
from hits.services.jobs.jobs import Progress
from validation.domain.reports.leaderboard import answer_key

PREDICTORS = ("image", "text", "agreement")
Vectors = NDArray[np.floating]


def analyse_errors(
    progress: Progress,
    *,
    images: ImageVectors | None = None,
    sentences: SentenceTexts | None = None,
) -> dict[str, Any]:
    """Do a whole job: analyse the errors of its evaluation, and return what the job's page shows.

    Args:
        images: encoder of photos that is at hand; else the one that the options name. sentences: all-MiniLM-L6-v2
            when absent.

    Raises:
        NotStarted: no scores, or too few images on which people agree.
        Refused: a photo's file or a model that cannot be had.
    """
    analysis = ErrorAnalysis.objects.select_related("evaluation__version", "evaluation__project").get(
        pk=progress.job.args["analysis"]
    )
    options = ErrorOptions(**analysis.options)
    try:
        found = _found(analysis.evaluation, options)
        encoder = images or image_vectors(options.encoder)
        texts = sentences or sentence_encoder()
        features = _features(found, encoder, texts, progress)
        with threadpool_limits(
            1, user_api="blas"
        ):  # thousands of small models: threads would wait for one another
            figures = _figures(found.groups, features, options.seed, progress)
    except InvalidInput as error:
        raise Refused(str(error)) from error
    keep_error_analysis(
        analysis=analysis,
        figures=figures,
        galleries=found.galleries(options.shown),
        provenance=_provenance(analysis.evaluation, encoder, texts),
    )
    areas = {name: round(area["value"], 1) for name, area in figures["predictors"].items()}
    return {"analysis": analysis.pk, "images": figures["kept"], "asked": figures["asked"], **areas}


def _found(evaluation: Evaluation, options: ErrorOptions) -> "_Errors":
    """The groups of images; too few of them are refused before any vector is made."""
    try:
        return _Errors.of(evaluation, options)
    except (InvalidInput, Refused) as error:
        raise NotStarted(str(error)) from error


class _Errors:
    """An evaluation's comparison scores, and the images on which people agree in two groups."""

    def __init__(
        self, scores: Mapping[str, float], rows: Mapping[str, Compared], options: ErrorOptions
    ) -> None:
        raw = answer_key([one.row for one in rows.values()])
        self.rows, self.scores = rows, scores
        self.names: dict[str, str] = {name: pair["candidate"] for name, pair in raw["test_id_map"].items()}
        self.key = parse_comparison_key(raw)
        self.groups = split_at_median(outcomes(scores, self.key), least_agreement=options.agreement)

    @classmethod
    def of(cls, evaluation: Evaluation, options: ErrorOptions) -> "_Errors":
        """Read an evaluation's scores; what it did not score, and photos that were taken down since, are left out."""
        scores = comparison_scores(evaluation)
        rows = compared_rows(evaluation.version, evaluation.split or None)  # no split is the whole version
        scored = {
            pk: one
            for pk, one in rows.items()
            if one.image is not None and set(answer_key([one.row])["test_id_map"]) <= scores.keys()
        }
        wanted = answer_key([one.row for one in scored.values()])["test_id_map"]
        return cls({name: scores[name] for name in wanted}, scored, options)

    def galleries(self, most: int) -> dict[str, list[dict[str, Any]]]:
        """Return the worst mistakes among all scored images, by ids alone."""
        positives, negatives = worst_mistakes(self.scores, self.key, most=most)
        return {
            "false_positives": [self._kept(one) for one in positives],
            "false_negatives": [self._kept(one) for one in negatives],
        }

    def _kept(self, one: Mistake) -> dict[str, Any]:
        return asdict(one) | {"candidate": self.names[one.test_id], "ratings": list(one.ratings)}


def _features(
    found: _Errors, encoder: ImageVectors, sentences: SentenceTexts, progress: Progress
) -> dict[str, Vectors]:
    """Return (n, d) features of the kept images by predictor."""
    kept = [found.rows[one.instance] for one in found.groups.kept]
    total = 2 * len(kept)
    progress.log(f"{len(kept)} images with human agreement; image features: {encoder.name}")
    pictures, means = [], []
    for start in range(0, len(kept), BATCH):
        few = kept[start : start + BATCH]
        pictures.append(encoder.encode_images([_picture(one) for one in few]))
        progress.advance(start + len(few), total=total)
    for place, one in enumerate(kept, start=len(kept) + 1):
        means.append(np.mean(sentences.encode_texts(list(one.inferences.values())), axis=0))
        progress.advance(place, total=total)
    agreement = np.array([[one.human / 100] for one in found.groups.kept])
    return {"image": np.concatenate(pictures), "text": np.stack(means), "agreement": agreement}


def _picture(one: Compared) -> Pillow.Image:
    assert one.image is not None, "photos that were taken down are left out"
    return open_image(one.image)


def _figures(
    groups: Groups, features: Mapping[str, Vectors], seed: int, progress: Progress
) -> dict[str, Any]:
    """Return the figures that ``ErrorAnalysis`` keeps: areas in percent, and how many images they rest on."""
    areas = {}
    total = len(PREDICTORS) * (PERMUTATIONS + 1)
    progress.log(f"{PERMUTATIONS} permutations of the groups, with models fitted anew")
    done = 0
    for place, name in enumerate(PREDICTORS):
        rotated = rotate(features[name])
        area = area_foretold(rotated, groups.above, seed)

        def permuted(labels: NDArray[np.bool_], vectors: Vectors = rotated) -> float:
            nonlocal done
            done += 1
            progress.advance(done, total=total)
            return area_foretold(vectors, labels, seed).value

        chance = area_by_chance(
            groups.above,
            permuted,
            observed=area.value,
            rng=np.random.default_rng([seed, place + 1]),
            permutations=PERMUTATIONS,
        )
        areas[name] = {
            "value": area.value,
            "folds": list(area.folds),
            "chance": asdict(chance),
            "paper": PAPER_AUCS[name],
        }
    return {
        "asked": groups.asked,
        "kept": len(groups.kept),
        "above": int(groups.above.sum()),
        "median": groups.median,
        "chance": CHANCE_AUC,
        "folds": FOLDS,
        "predictors": areas,
    }


def _provenance(evaluation: Evaluation, encoder: ImageVectors, sentences: SentenceTexts) -> dict[str, Any]:
    return {
        "evaluation": evaluation.pk,
        "evaluation_sha256": evaluation.sha256,
        "version_seal": evaluation.version.manifest_sha256,
        "image_encoder": encoder.name,
        "image_revision": encoder.revision,
        "sentence_encoder": sentences.name,
        "sentence_revision": sentences.revision,
        "regularisation": REGULARISATION,
        "permutations": PERMUTATIONS,
    }
