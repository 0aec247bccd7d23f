"""Launching judging rounds and reading them: who may judge, and what counts."""

import pytest

from curation.models import Pair
from hits.domain.states import AssignmentStatus, BatchState
from hits.models import Batch, Hit, Unit, Worker
from hits.selectors.eligibility.acceptance import acceptance_refusals
from hits.services.collecting.submit import NotEligible
from hits.services.errors import Refused
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work, ratings, review
from validation.domain.agreement.votes import verdict_share
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.kinds.observation_review.scales import Dimension
from validation.selectors.judging import (
    is_fully_judged,
    likert_judgments,
    pair_judgments,
    pairs_not_sent_to_judges,
)
from validation.selectors.ratings import read_judgments
from validation.services.judging import launch_comparison, launch_review

pytestmark = pytest.mark.django_db


def launched_review(work: Work, pairs: list[Pair]) -> tuple[Batch, list[Hit]]:
    batch, _ = launch_review(project=work.project, observations=pairs, by=None)
    work.publish(batch)
    return batch, list(Hit.objects.filter(unit__batch=batch))


def a_set(pairs: list[Pair], others: list[Pair], set_id: str = "1") -> SetToJudge:
    gold = pairs[0]
    return SetToJudge(
        id=set_id,
        own_pair_id=gold.instance_id,
        image_id=gold.image_id,
        boxes=gold.boxes,
        candidates=[CandidateToRate(o.instance_id, o.inference) for o in others],
    )


def test_review_units_exclude_the_author_and_carry_the_pair(work: Work) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    batch, hits = launched_review(work, pairs)
    assert batch.kind == "observation_review"
    assert batch.state == BatchState.LAUNCHING
    assert [hit.max_assignments for hit in hits] == [3, 3, 3]
    unit = Unit.objects.get(key=pairs[0].instance_id)
    assert unit.payload["clue"] == pairs[0].clue
    assert [worker.worker_id for worker in unit.excluded_workers.all()] == ["AUTHOR"]
    with pytest.raises(NotEligible):
        work.answered(hits[0], "AUTHOR", review())
    work.answered(hits[0], "SOMEBODY", review())


@pytest.mark.parametrize("status", [AssignmentStatus.SUBMITTED, AssignmentStatus.REJECTED])
def test_only_approved_pairs_are_sent_to_judges(work: Work, status: AssignmentStatus) -> None:
    pairs = work.observed(work.image(), status=status)
    with pytest.raises(Refused, match=f"observation {min(p.instance_id for p in pairs)}"):
        launch_review(project=work.project, observations=pairs, by=None)
    assert not Batch.objects.filter(kind="observation_review").exists()


def test_pairs_of_another_project_are_refused(work: Work, rehearsal: object) -> None:
    other = Work(rehearsal)  # type: ignore[arg-type]
    pairs = other.observed(other.image())
    with pytest.raises(Refused, match="of this project"):
        launch_review(project=work.project, observations=pairs, by=None)


def test_nothing_to_judge_is_refused(work: Work) -> None:
    with pytest.raises(Refused, match="nothing to judge"):
        launch_review(project=work.project, observations=[], by=None)


def test_unconfirmed_and_rejected_judgments_do_not_count(work: Work) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    batch, hits = launched_review(work, pairs)
    work.answered(hits[0], "J1", review("highly"))
    work.answered(hits[0], "J2", review("un"), status=AssignmentStatus.SUBMITTED)
    work.answered(hits[0], "J3", review("un"), confirmed=False)
    work.answered(hits[1], "J1", review("un"), status=AssignmentStatus.REJECTED)
    tallies = pair_judgments(project=work.project)
    of_batch = read_judgments(project=work.project, kind=batch.kind, batches=[batch.pk])
    assert [row.item for row in of_batch] == [pairs[0].instance_id] * 2
    assert list(tallies) == [pairs[0].instance_id]
    pair = tallies[pairs[0].instance_id]
    assert pair.judge_count == 2
    assert pair.tallies[Dimension.REASONABLE] == {"highly": 1, "relatively": 0, "un": 1}
    assert verdict_share([pair.verdicts[Dimension.REASONABLE]]).undecided == 1
    assert verdict_share([pair.verdicts[Dimension.BOXES]]).percent == 100


def test_unsent_pairs_exclude_launched_pairs(work: Work) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    launch_review(project=work.project, observations=[pairs[1].instance_id], by=None)
    assert [row.pk for row in pairs_not_sent_to_judges(work.project)] == [pairs[0].pk, pairs[2].pk]


def test_comparison_excludes_the_authors_of_the_region_and_of_its_candidates(work: Work) -> None:
    mine = work.observed(work.image(1), worker="AUTHOR")
    others = work.observed(work.image(2), worker="OTHER")
    batch, _ = launch_comparison(project=work.project, sets=[a_set(mine, others)], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    assert hit.max_assignments == 2
    assert set(hit.unit.excluded_workers.all()) == set(
        Worker.objects.filter(worker_id__in=["AUTHOR", "OTHER"])
    )
    for author in ("AUTHOR", "OTHER"):
        with pytest.raises(NotEligible):
            work.answered(hit, author, ratings(hit, 1))
    work.answered(hit, "J1", ratings(hit, 1))


def test_a_pair_in_two_rounds_is_judged_once_by_a_worker(work: Work) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    _, (first, *_) = launched_review(work, pairs)
    work.answered(first, "J1", review())
    _, (again, *_) = launched_review(work, pairs)
    assert again.unit.key == first.unit.key
    (reason,), _ = acceptance_refusals(worker_id="J1", hit_id=str(again.hit_id), taken_hit_ids=[])
    assert "You have already worked on this item" in reason
    assert acceptance_refusals(worker_id="J2", hit_id=str(again.hit_id), taken_hit_ids=[]) == ([], False)
    work.answered(again, "J2", review())
    assert pair_judgments(project=work.project)[first.unit.key].judge_count == 2


def test_likert_judgments_are_in_order_of_submission(work: Work) -> None:
    mine = work.observed(work.image(1), worker="AUTHOR")
    others = work.observed(work.image(2), worker="OTHER")
    batch, _ = launch_comparison(project=work.project, sets=[a_set(mine, others)], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    work.answered(hit, "J0", ratings(hit, 2), confirmed=False)
    assert likert_judgments(batch=batch) == {}
    work.answered(hit, "J1", ratings(hit, 1, 2, 3))
    assert not is_fully_judged(batch=batch)
    work.answered(hit, "J2", ratings(hit, 3), status=AssignmentStatus.SUBMITTED)
    found = likert_judgments(batch=batch)["1"]
    assert [c.candidate for c in found.candidates] == [o.instance_id for o in others]
    assert [c.ratings for c in found.candidates] == [(1, 3), (2, 3), (3, 3)]
    assert found.candidates[1].mean == 2.5
    assert is_fully_judged(batch=batch)
    approved = (AssignmentStatus.APPROVED,)
    assert likert_judgments(batch=batch, statuses=approved)["1"].judge_count == 1
    assert not is_fully_judged(batch=batch, statuses=approved)


def test_judges_over_several_tasks_of_a_unit_count_together_and_nobody_twice(work: Work) -> None:
    mine = work.observed(work.image(1), worker="AUTHOR")
    others = work.observed(work.image(2), worker="OTHER")
    batch, _ = launch_comparison(
        project=work.project, sets=[a_set(mine, others)], by=None, terms=LaunchTerms(redundancy=12)
    )
    work.publish(batch)
    nine, three = Hit.objects.filter(unit__batch=batch).order_by("slice")
    for number in range(9):
        work.answered(nine, f"J{number}", ratings(nine, 2))
    assert not is_fully_judged(batch=batch)
    (reason,), _ = acceptance_refusals(worker_id="J0", hit_id=str(three.hit_id), taken_hit_ids=[])
    assert "You have already worked on this item in another task" in reason
    for number in range(9, 12):
        work.answered(three, f"J{number}", ratings(three, 3))
    found = likert_judgments(batch=batch)["1"]
    assert (found.judge_count, len(set(found.workers))) == (12, 12)
    assert found.candidates[0].ratings == (2,) * 9 + (3,) * 3
    assert is_fully_judged(batch=batch)
