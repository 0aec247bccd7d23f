"""Train a model of interestingness, and choose the score from which it keeps images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from curation.interest.counts import fit_counts
from curation.interest.threshold import (
    Threshold,
    check_labels,
    choose_threshold,
    film_folds,
    out_of_fold_scores,
    thin_curve,
    thresholds,
)
from curation.models import InterestModelKind
from curation.pipelines.interest.images import LabelledImages, image_vectors, load_labelled_images
from curation.pipelines.interest.network import (
    InterestNetwork,
    NetworkOptions,
    fit_network,
    network_scores,
    save_network,
)
from curation.services.interest import TrainingOptions, store_interest_model
from curation.services.refusals import refuse_invalid_input
from hits.models import Project
from hits.services.jobs.jobs import Progress

Rows = NDArray[np.intp]


def train_interest(progress: Progress) -> dict[str, Any]:
    """Run a job: train the model on folds of films for the threshold, then on all labels, and store it.

    Returns the result for the job's page.

    Raises:
        Refused: too few labels, films or folds; no threshold has the wanted precision, and the message names the best
            one; or the encoder is not available.
    """
    job = progress.job
    assert job.project is not None
    options = TrainingOptions(**job.args["options"])
    with refuse_invalid_input():
        labelled = load_labelled_images(job.project, options)
        check_labels(labelled.interesting, options.min_labels)
        folds = film_folds(labelled.films, options.folds, seed=options.seed)
        learner = _make_learner(job.project, labelled, options, progress)
        curve = thresholds(out_of_fold_scores(folds, learner.fit_and_score), labelled.interesting)
        threshold = choose_threshold(curve, min_precision=options.min_precision, min_kept=options.min_kept)
        weights, path = learner.fit_and_save(f"interest/{job.project.pk}/{job.pk}")
    model = store_interest_model(
        job=job,
        options=options,
        weights=weights,
        path=path,
        threshold=threshold.score,
        figures=_figures(labelled, threshold, curve),
    )
    return {"model": model.pk, "kind": model.kind, "threshold": threshold.score, **_summary(threshold)}


class CountsLearner:
    """Fits the logistic model on counts."""

    def __init__(self, labelled: LabelledImages, options: TrainingOptions) -> None:
        self._labelled, self._penalty = labelled, options.penalty

    def fit_and_score(self, train: Rows, held_out: Rows) -> NDArray[np.float64]:
        """Fit on some rows, and return the scores of others."""
        counts, labels = self._labelled.counts, self._labelled.interesting
        return fit_counts(counts[train], labels[train], penalty=self._penalty).scores(counts[held_out])

    def fit_and_save(self, folder: str) -> tuple[dict[str, Any], str]:
        """Fit on all rows, and return the weights for the model's row; there is no folder."""
        model = fit_counts(self._labelled.counts, self._labelled.interesting, penalty=self._penalty)
        return model.as_json(), ""


class FeaturesLearner:
    """Fits the network on image features and counts."""

    def __init__(
        self,
        labelled: LabelledImages,
        options: TrainingOptions,
        vectors: NDArray[np.float32],
        revision: str,
    ) -> None:
        self._labelled, self._vectors, self._revision = labelled, vectors, revision
        self._options = NetworkOptions(
            options.hidden, options.steps, options.learning_rate, options.weight_decay, options.seed
        )

    def fit_and_score(self, train: Rows, held_out: Rows) -> NDArray[np.float64]:
        """Fit on some rows, and return the scores of others."""
        return network_scores(self._fit(train), self._vectors[held_out], self._labelled.counts[held_out])

    def fit_and_save(self, folder: str) -> tuple[dict[str, Any], str]:
        """Fit on all rows, write the weights into a folder of the media folder, and return facts about them."""
        network = self._fit(np.arange(len(self._labelled.images)))
        sha256 = save_network(network, Path(settings.MEDIA_ROOT) / folder)
        return {"sha256": sha256, "revision": self._revision, "features": self._vectors.shape[1]}, folder

    def _fit(self, rows: Rows) -> InterestNetwork:
        counts, labels = self._labelled.counts[rows], self._labelled.interesting[rows]
        return fit_network(self._vectors[rows], counts, labels, self._options)


def _make_learner(
    project: Project, labelled: LabelledImages, options: TrainingOptions, progress: Progress
) -> CountsLearner | FeaturesLearner:
    progress.log(
        f"{len(labelled.images)} labelled images of {len(set(labelled.films))} films; "
        f"{labelled.unclear} without a clear verdict and {labelled.without_objects} without objects are left out"
    )
    if options.kind == InterestModelKind.COUNTS:
        return CountsLearner(labelled, options)
    vectors, revision = image_vectors(project, options.encoder, labelled.images, progress)
    return FeaturesLearner(labelled, options, vectors, revision)


def _figures(labelled: LabelledImages, threshold: Threshold, curve: Sequence[Threshold]) -> dict[str, Any]:
    """Return the figures of a model's row; the curve has (score, precision, recall, kept), highest score first."""
    return {
        "threshold": threshold.as_json(),
        "curve": [[point.score, point.precision, point.recall, point.kept] for point in thin_curve(curve)],
        "verdicts": labelled.verdicts,
        "films": len(set(labelled.films)),
        "unclear": labelled.unclear,
        "without_objects": labelled.without_objects,
    }


def _summary(threshold: Threshold) -> dict[str, Any]:
    names = ("precision", "interval", "recall", "share_kept", "kept", "labelled")
    return {name: value for name, value in threshold.as_json().items() if name in names}
