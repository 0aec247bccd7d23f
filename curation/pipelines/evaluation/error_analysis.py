"""Test whether errors on the comparison task can be predicted, and list the worst ones (Hessel et al. 2022 §5.3).

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
    MedianGroups,
    Mistake,
    measure_outcomes,
    permutation_test,
    split_at_median,
    worst_mistakes,
)
from curation.models import ErrorAnalysis, Evaluation
from curation.pipelines.encoders import ImageEncoder, get_image_encoder
from curation.pipelines.evaluation.error_models import REGULARISATION, prediction_auc, rotate_features
from curation.pipelines.evaluation.evaluation_scores import comparison_scores
from curation.pipelines.texts.texts_common import TextEncoder, sentence_encoder
from curation.pipelines.vectors import BATCH_SIZE
from curation.records import InvalidInput
from curation.selectors.error_analyses import ComparisonItem, comparison_items
from curation.services.error_analysis import ErrorOptions, store_error_analysis
from curation.services.image_files import open_image
from curation.services.refusals import refuse_invalid_input
from hits.services.errors import JobCannotStart, Refused
from hits.services.jobs.jobs import Progress
from validation.domain.reports.leaderboard import build_answer_key

PREDICTORS = ("image", "text", "agreement")
Vectors = NDArray[np.floating]


def analyse_errors(
    progress: Progress,
    *,
    images: ImageEncoder | None = None,
    sentences: TextEncoder | None = None,
) -> dict[str, Any]:
    """Run a job: analyse the errors of its evaluation, and return the result for the job's page.

    Args:
        images: encoder of photos; by default the one in the options. sentences: by default all-MiniLM-L6-v2.

    Raises:
        JobCannotStart: no scores, or too few images with human agreement.
        Refused: a photo's file or a model is not available.
    """
    analysis = ErrorAnalysis.objects.select_related("evaluation__version", "evaluation__project").get(
        pk=progress.job.args["analysis"]
    )
    options = ErrorOptions(**analysis.options)
    with refuse_invalid_input():
        data = _load_errors(analysis.evaluation, options)
        encoder = images or get_image_encoder(options.encoder)
        texts = sentences or sentence_encoder()
        features = _make_features(data, encoder, texts, progress)
        with threadpool_limits(
            1, user_api="blas"
        ):  # thousands of small models: BLAS threads would only wait for each other
            figures = _compute_figures(data.groups, features, options.seed, progress)
    store_error_analysis(
        analysis=analysis,
        figures=figures,
        galleries=data.mistake_galleries(options.shown),
        provenance=_provenance(analysis.evaluation, encoder, texts),
    )
    areas = {name: round(area["value"], 1) for name, area in figures["predictors"].items()}
    return {"analysis": analysis.pk, "images": figures["kept"], "asked": figures["asked"], **areas}


def _load_errors(evaluation: Evaluation, options: ErrorOptions) -> "_ErrorData":
    """Load scores and groups, before any vector is made, so that a job with too few images fails early."""
    try:
        return _ErrorData.load(evaluation, options)
    except (InvalidInput, Refused) as error:
        raise JobCannotStart(str(error)) from error


class _ErrorData:
    """An evaluation's comparison scores, and the images with human agreement in two groups."""

    def __init__(
        self, scores: Mapping[str, float], rows: Mapping[str, ComparisonItem], options: ErrorOptions
    ) -> None:
        raw = build_answer_key([compared.row for compared in rows.values()])
        self.rows, self.scores = rows, scores
        self.names: dict[str, str] = {name: pair["candidate"] for name, pair in raw["test_id_map"].items()}
        self.key = parse_comparison_key(raw)
        self.groups = split_at_median(measure_outcomes(scores, self.key), min_agreement=options.agreement)

    @classmethod
    def load(cls, evaluation: Evaluation, options: ErrorOptions) -> "_ErrorData":
        """Load an evaluation's scores, without unscored instances and photos that were taken down since."""
        scores = comparison_scores(evaluation)
        rows = comparison_items(
            evaluation.version, evaluation.split or None
        )  # no split means the whole version
        scored = {
            pk: compared
            for pk, compared in rows.items()
            if compared.image is not None
            and set(build_answer_key([compared.row])["test_id_map"]) <= scores.keys()
        }
        test_ids = build_answer_key([compared.row for compared in scored.values()])["test_id_map"]
        return cls({name: scores[name] for name in test_ids}, scored, options)

    def mistake_galleries(self, limit: int) -> dict[str, list[dict[str, Any]]]:
        """Return the worst mistakes among all scored images, as ids without texts."""
        positives, negatives = worst_mistakes(self.scores, self.key, limit=limit)
        return {
            "false_positives": [self._describe_mistake(mistake) for mistake in positives],
            "false_negatives": [self._describe_mistake(mistake) for mistake in negatives],
        }

    def _describe_mistake(self, mistake: Mistake) -> dict[str, Any]:
        return asdict(mistake) | {"candidate": self.names[mistake.test_id], "ratings": list(mistake.ratings)}


def _make_features(
    data: _ErrorData, encoder: ImageEncoder, sentences: TextEncoder, progress: Progress
) -> dict[str, Vectors]:
    """Return (n, d) features of the selected images by predictor."""
    selected_rows = [data.rows[row.instance] for row in data.groups.selected]
    total = 2 * len(selected_rows)
    progress.log(f"{len(selected_rows)} images with human agreement; image features: {encoder.name}")
    image_vectors, means = [], []
    for start in range(0, len(selected_rows), BATCH_SIZE):
        batch = selected_rows[start : start + BATCH_SIZE]
        image_vectors.append(encoder.encode_images([_open_picture(row) for row in batch]))
        progress.advance(start + len(batch), total=total)
    for done, row in enumerate(selected_rows, start=len(selected_rows) + 1):
        means.append(np.mean(sentences.encode_texts(list(row.inferences.values())), axis=0))
        progress.advance(done, total=total)
    agreement = np.array([[row.human / 100] for row in data.groups.selected])
    return {"image": np.concatenate(image_vectors), "text": np.stack(means), "agreement": agreement}


def _open_picture(row: ComparisonItem) -> Pillow.Image:
    assert row.image is not None, "photos that were taken down are left out"
    return open_image(row.image)


def _compute_figures(
    groups: MedianGroups, features: Mapping[str, Vectors], seed: int, progress: Progress
) -> dict[str, Any]:
    """Return the figures for ``ErrorAnalysis``: AUCs in percent, and the numbers of images."""
    areas = {}
    total = len(PREDICTORS) * (PERMUTATIONS + 1)
    progress.log(f"{PERMUTATIONS} permutations of the groups, with new models for each")
    done = 0
    for index, name in enumerate(PREDICTORS):
        rotated = rotate_features(features[name])
        area = prediction_auc(rotated, groups.above, seed)

        def measure_permuted_auc(labels: NDArray[np.bool_], vectors: Vectors = rotated) -> float:
            nonlocal done
            done += 1
            progress.advance(done, total=total)
            return prediction_auc(vectors, labels, seed).value

        chance = permutation_test(
            groups.above,
            measure_permuted_auc,
            observed=area.value,
            rng=np.random.default_rng([seed, index + 1]),
            permutations=PERMUTATIONS,
        )
        areas[name] = {
            "value": area.value,
            "folds": list(area.folds),
            "chance": asdict(chance),
            "paper": PAPER_AUCS[name],
        }
    return {
        "asked": groups.considered,
        "kept": len(groups.selected),
        "above": int(groups.above.sum()),
        "median": groups.median,
        "chance": CHANCE_AUC,
        "folds": FOLDS,
        "predictors": areas,
    }


def _provenance(evaluation: Evaluation, encoder: ImageEncoder, sentences: TextEncoder) -> dict[str, Any]:
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
