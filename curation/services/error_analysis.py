"""Request error analyses of evaluations, and store their results. A pipeline computes them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.evaluation.errors import MIN_AGREEMENT
from curation.models import ErrorAnalysis, Evaluation, EvaluationSource
from curation.selectors.jobs import ERROR_ANALYSIS
from curation.services.options import check_at_least
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

MAX_SHOWN = 48
_HIGHEST_AGREEMENT = 100.0
_WITHOUT_SCORES = {EvaluationSource.JUDGMENTS.value: "human judgments, which are the reference for errors"}


@dataclass(frozen=True, slots=True)
class ErrorOptions:
    """Options of an error analysis; the defaults are those of Hessel et al. 2022 §5.3.

    agreement: minimum human agreement of an image, percent with chance at 0. encoder: for image features; empty is
    the default for photos. seed: for folds and intervals. shown: mistakes per gallery.
    """

    agreement: float = MIN_AGREEMENT
    encoder: str = ""
    seed: int = 0
    shown: int = 12

    def __post_init__(self) -> None:
        if not -_HIGHEST_AGREEMENT <= self.agreement < _HIGHEST_AGREEMENT:
            raise Refused(
                f"agreement: {self.agreement:g} leaves no image; use for instance {MIN_AGREEMENT:g}"
            )
        check_at_least("seed", self.seed, 0)
        if not 1 <= self.shown <= MAX_SHOWN:
            raise Refused(f"shown: {self.shown}; use 1 to {MAX_SHOWN}")


def request_error_analysis(
    *, evaluation: Evaluation, options: ErrorOptions, by: AbstractBaseUser | None, queue: bool = True
) -> ErrorAnalysis:
    """Return a new analysis whose job is queued; ``queue`` as for ``hits.services.jobs.jobs.enqueue``.

    Raises:
        Refused: the evaluation is not done, has no comparison task, or is not of a model.
        Conflict: one of this evaluation is running.
    """
    images = evaluation.figures.get("comparison", {}).get("images", 0)
    if not evaluation.figures:
        raise Refused("evaluation: has no figures yet; wait until it is done, or run it again")
    if evaluation.source in _WITHOUT_SCORES:
        what = _WITHOUT_SCORES[evaluation.source]
        raise Refused(f"evaluation: is of {what}; choose an evaluation of a model")
    if not evaluation.path:
        raise Refused("evaluation: has no scores of single candidates; choose an evaluation of a model")
    if not images:
        raise Refused(
            "evaluation: has no comparison task; seal a version with a judged comparison round and evaluate on it"
        )
    with transaction.atomic():
        row = ErrorAnalysis.objects.create(
            evaluation=evaluation, options=asdict(options), created_by_id=by.pk if by else None
        )
        row.job = jobs.enqueue(
            task=ERROR_ANALYSIS,
            title=f"Analyse the errors of {evaluation.label}",
            project=evaluation.project,
            by=by,
            exclusive_key=f"errors:{evaluation.pk}",
            resumable=True,
            queue=queue,
            analysis=row.pk,
        )
        row.save(update_fields=["job"])
    return row


@transaction.atomic
def store_error_analysis(
    *,
    analysis: ErrorAnalysis,
    figures: Mapping[str, Any],
    galleries: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> None:
    """Store an analysis. Galleries hold ids only, so that they never show photos that were taken down."""
    analysis.figures, analysis.galleries = dict(figures), dict(galleries)
    analysis.provenance = dict(provenance)
    analysis.save(update_fields=["figures", "galleries", "provenance"])
    audit.record(
        project=analysis.evaluation.project,
        actor=analysis.created_by,
        action="evaluation.analyse_errors",
        subject=analysis.evaluation_id,
        images=figures["kept"],
    )
