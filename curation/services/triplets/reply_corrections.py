"""Store what people read in replies that the parser could not read, and measure the evaluation again."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import ReplyCorrection, TripletEvaluation
from curation.selectors.triplets.evaluations import measure_evaluation, refused_replies, version_triplets
from curation.services.options import check_one_of
from curation.services.refusals import refuse_invalid_input
from hits.services import audit
from hits.services.errors import Conflict, Refused

CHOICES = ("first", "second", "equal", "none")


@dataclass(frozen=True, slots=True)
class ReadReply:
    """What a person read in a reply. seen: the key of the newest correction that their page showed, 0 for none."""

    choice: str
    seen: int = 0


@transaction.atomic
def correct_replies(
    *, evaluation: TripletEvaluation, replies: Mapping[int, ReadReply], by: AbstractBaseUser
) -> list[ReplyCorrection]:
    """Store what a person read in replies, and measure the evaluation again; earlier corrections stay stored.

    Args:
        replies: by the key of the prediction.

    Raises:
        Refused: a choice is unknown, or a reply was read by the parser or belongs to another evaluation.
        Conflict: somebody else corrected a reply since the page was loaded.
    """
    # One person at a time measures, so that the figures count every correction.
    locked = TripletEvaluation.objects.select_for_update(of=("self",)).select_related("version", "project")
    row = locked.get(pk=evaluation.pk)
    known = {
        reply.pk: max((correction.pk for correction in reply.corrections.all()), default=0)
        for reply in refused_replies(row).filter(pk__in=list(replies)).prefetch_related("corrections")
    }
    for key, read in replies.items():
        check_one_of("choice", read.choice, CHOICES)
        if key not in known:
            raise Refused("reply: it was read, so nobody has to; correct only replies that could not be read")
        if known[key] != read.seen:
            raise Conflict("reply: somebody else read it since this page was loaded; look at their choice")
    stored = [
        ReplyCorrection.objects.create(prediction_id=key, choice=read.choice, by_id=by.pk)
        for key, read in replies.items()
    ]
    audit.record(project=row.project, actor=by, action="reply.correct", subject=row.pk, replies=len(stored))
    measure_again(row)
    return stored


def measure_again(evaluation: TripletEvaluation) -> None:
    """Compute the figures of a finished evaluation from its answers and corrections, and store them."""
    if not evaluation.figures or evaluation.version is None:
        return
    with refuse_invalid_input():
        triplets = version_triplets(evaluation.version, evaluation.options.get("split", ""))
        figures = measure_evaluation(evaluation, triplets)
    TripletEvaluation.objects.filter(pk=evaluation.pk).update(figures=figures)
