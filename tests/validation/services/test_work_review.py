"""Reviews of submissions: who is sampled, who may review, what the author reads, what rules count."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from hits.domain.states import AssignmentStatus, WorkerAction
from hits.domain.workers import notices
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Batch, Hit, OutgoingCall, Submission, Unit, Worker
from hits.selectors.eligibility.eligibility import hit_refusals
from hits.services.errors import Conflict, Refused
from tests.support.judging.work import Work
from tests.support.market import fund
from tests.support.vcr.reviews import ADVICE, review_answer, written
from validation.domain.judging.work_samples import is_sampled
from validation.domain.qualification.work_digest import window_bounds, window_number
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import Measure, WorkerStatus
from validation.models import RuleProposal, StatusChange
from validation.selectors import work_digest, work_reviews
from validation.selectors.worker_rules import measure_series
from validation.services import work_reviews as services
from validation.services import worker_rules
from validation.services.worker_status import change_worker_status

pytestmark = pytest.mark.django_db


def launch(work: Work, every: int = 1, **options: object) -> services.WorkReviewLaunch:
    launched = services.launch_work_review(project=work.project, by=None, every=every, **options)  # type: ignore[arg-type]
    if launched.batch is not None:
        work.publish(launched.batch)
    return launched


def review(
    work: Work,
    submission: Submission,
    worker: str = "REVIEWER",
    *,
    status: AssignmentStatus = AssignmentStatus.APPROVED,
    **labels: object,
) -> Submission:
    """Let a worker review a submission that was sent out."""
    hit = Hit.objects.get(unit__key=submission.pk.hex)
    make_reviewer(work, worker)
    count = len(submission.answer["triplets"])
    return work.answered(hit, worker, review_answer(count, **labels), status=status)  # type: ignore[arg-type]


def make_reviewer(work: Work, name: str) -> Worker:
    worker, _ = Worker.objects.get_or_create(environment="local", worker_id=name)
    if worker not in work_reviews.reviewers(work.project):
        services.set_reviewer(
            project=work.project, worker=worker, is_reviewer=True, reason="Clear questions.", by=None
        )
    return worker


def test_sample_is_a_property_of_seed_and_hit() -> None:
    hits = [f"HIT{n:05d}" for n in range(5_000)]
    sampled = [hit for hit in hits if is_sampled(7, hit, 50)]
    assert sampled == [hit for hit in hits if int(sha256(f"7/{hit}".encode()).hexdigest(), 16) % 50 == 0]
    assert 60 <= len(sampled) <= 145  # binomial, mean 100: four standard deviations
    assert sampled != [hit for hit in hits if is_sampled(8, hit, 50)]
    assert all(is_sampled(7, hit, 1) for hit in hits)


def test_submission_is_sent_once_with_a_copy_of_its_content(work: Work) -> None:
    image = work.image(1)
    first = written(work, image, "AUTHOR")
    launched = launch(work)
    assert (launched.sampled, launched.candidates) == (1, 1)
    unit = Unit.objects.get(batch=launched.batch)
    assert unit.key == first.pk.hex
    assert [row["question"] for row in unit.payload["triplets"]] == [
        row["question"] for row in first.answer["triplets"]
    ]
    assert [worker.worker_id for worker in unit.excluded_workers.all()] == ["AUTHOR"]
    again = launch(work)
    assert (again.batch, again.sampled, again.candidates) == (None, 0, 0)
    second = written(work, work.image(2), "AUTHOR")
    assert Unit.objects.get(batch=launch(work).batch).key == second.pk.hex


def test_only_sampled_hits_of_confirmed_writing_are_sent(work: Work) -> None:
    kept = [written(work, work.image(n), f"W{n}") for n in range(6)]
    written(work, work.image(7), "W7", status=AssignmentStatus.REJECTED)
    work.observed(work.image(8), worker="W8")
    launched = launch(work, every=3, seed=5)
    hit_ids = {row.pk.hex: row.attempt.hit.hit_id for row in kept}
    expected = {key for key, hit in hit_ids.items() if is_sampled(5, str(hit), 3)}
    assert launched.candidates == 6
    assert 0 < len(expected) < 6
    assert set(Unit.objects.filter(batch=launched.batch).values_list("key", flat=True)) == expected


def test_seed_of_the_last_round_is_kept_and_a_new_one_is_random(work: Work) -> None:
    written(work, work.image(1), "AUTHOR")
    first = launch(work)
    written(work, work.image(2), "AUTHOR")
    assert launch(work).seed == first.seed
    with pytest.raises(Refused, match="every: 0"):
        services.launch_work_review(project=work.project, by=None, every=0)
    with pytest.raises(Refused, match="seed: -1"):
        services.launch_work_review(project=work.project, by=None, seed=-1)


def test_tasks_are_for_reviewers_alone(work: Work, researcher: User) -> None:
    written(work, work.image(1), "AUTHOR")
    hit = Hit.objects.get(unit__batch=launch(work).batch)
    worker = Worker.objects.create(environment=hit.environment, worker_id="REVIEWER")
    assert "work-reviewers" in hit_refusals(worker, hit)[0]
    assert make_reviewer(work, "REVIEWER") == worker
    assert hit_refusals(worker, hit) == []
    with pytest.raises(Conflict, match="reviews already"):
        services.set_reviewer(
            project=work.project, worker=worker, is_reviewer=True, reason="x", by=researcher
        )
    change_worker_status(
        project=work.project, worker=worker, status=WorkerStatus.DEQUALIFIED, reason="Copied.", by=researcher
    )
    assert work_reviews.reviewers(work.project) == []
    newest = worker.decisions.filter(qualification__slug=Pool.WORK_REVIEWERS).latest("pk")
    assert newest.action == WorkerAction.REVOKE


def test_author_reads_the_advice_of_an_approved_review_and_nothing_else(work: Work) -> None:
    submission = written(work, work.image(1), "AUTHOR")
    launch(work)
    made = review(work, submission, status=AssignmentStatus.SUBMITTED, overall="dequalify", answer="wrong")
    assert services.plan_advice_notices() == 0, "nobody has approved the review"
    Assignment.objects.filter(submission=made).update(status=AssignmentStatus.APPROVED)
    assert services.plan_advice_notices() == 1
    assert services.plan_advice_notices() == 0
    call = OutgoingCall.objects.get(operation=OutgoingCall.Operation.NOTIFY)
    assert call.assignment is not None
    assert call.assignment.worker.worker_id == "AUTHOR"
    assert call.args["subject"] == notices.ADVICE
    text = call.args["text"]
    assert ADVICE in text
    assert "Why does person 1 look at person 2 like that?" in text
    for secret in ("REVIEWER", "wrong", "qualify", str(Worker.objects.get(worker_id="REVIEWER"))):
        assert secret not in text


def test_advice_waits_until_the_author_s_work_is_decided_and_rejected_reviews_are_not_sent(
    work: Work,
) -> None:
    waiting = written(work, work.image(1), "AUTHOR", status=AssignmentStatus.SUBMITTED)
    refused = written(work, work.image(2), "AUTHOR")
    launch(work)
    review(work, waiting)
    review(work, refused, status=AssignmentStatus.REJECTED)
    assert services.plan_advice_notices(project=work.project) == 0
    Assignment.objects.filter(submission=waiting).update(status=AssignmentStatus.APPROVED)
    assert services.plan_advice_notices(project=work.project) == 1


def test_rule_on_reviewed_questions_proposes_and_changes_no_status(work: Work) -> None:
    rows = [written(work, work.image(n), "AUTHOR") for n in range(2)]
    launch(work)
    review(work, rows[0], answer="wrong")
    review(work, rows[1], tags="wrong_object")
    author = Worker.objects.get(worker_id="AUTHOR")
    assert measure_series(work.project, Measure.REVIEWED_SHARE) == {author.pk: [False] * 4}
    worker_rules.save_rule(
        project=work.project,
        name="Reviews",
        rule=RuleSettings(Measure.REVIEWED_SHARE, below=60, window=50, at_least=4),
        proposes=WorkerStatus.PAUSED,
        by=None,
    )
    assert worker_rules.evaluate_rules() == 1
    assert RuleProposal.objects.get().figures["count"] == 0
    assert not StatusChange.objects.exists()


def test_unlikely_answers_and_missing_tags_are_no_error(work: Work) -> None:
    submission = written(work, work.image(1), "AUTHOR")
    launch(work)
    review(work, submission, answer="unlikely", tags="missing", question="plain", rationale="story")
    (found,) = work_reviews.reviewed_workers(work.project)
    assert (found.counted, len(found.parts), found.submissions) == (2, 2, 1)
    answer, question = (work_reviews.submission_spec().dimension(name) for name in ("answer", "question"))
    assert (found.count(answer), found.count(question)) == (2, 0)
    assert found.overall == {"keep_advice": 1}


def test_digest_has_figures_sample_and_a_text_that_is_sent_once(work: Work, researcher: User) -> None:
    rows = [written(work, work.image(n), "AUTHOR") for n in range(4)]
    launch(work)
    review(work, rows[0], answer="wrong")
    window = window_number(work.clock)
    (digest,) = work_digest.list_digests(work.project, window)
    assert (digest.figures.submissions, digest.figures.records) == (4, 8)
    assert (digest.figures.reviewed, digest.figures.reviewed_right) == (2, 0)
    assert len(digest.sample) == 3
    assert digest.sample[0].rows[0].label == "Why does person 1 look at person 2 like that?"
    assert ADVICE in digest.text
    assert "4 submissions with 8 questions" in digest.text
    assert not digest.is_sent
    worker = digest.worker
    services.send_digest(project=work.project, worker=worker, window=window, text=digest.text, by=researcher)
    with pytest.raises(Conflict, match="sent already"):
        services.send_digest(project=work.project, worker=worker, window=window, text="Again", by=researcher)
    call = OutgoingCall.objects.get(operation=OutgoingCall.Operation.NOTIFY)
    assert call.args["text"] == digest.text
    assert work_digest.list_digests(work.project, window)[0].is_sent
    assert work_digest.list_digests(work.project, window - 1) == []


def test_windows_follow_one_another_and_last_48_hours(work: Work) -> None:
    number = window_number(work.clock)
    start, end = window_bounds(number)
    assert start <= work.clock < end
    assert end - start == timedelta(hours=48)
    assert window_number(end) == number + 1
    assert window_number(end - timedelta(microseconds=1)) == number


def test_digest_queries_do_not_grow(
    work: Work,
    django_assert_num_queries: Callable[..., object],
    django_assert_max_num_queries: Callable[..., object],
) -> None:
    for n in range(3):
        written(work, work.image(n), f"AUTHOR{n}")
    launch(work)
    with django_assert_max_num_queries(22):  # type: ignore[attr-defined]
        assert len(work_digest.list_digests(work.project, window_number(work.clock))) == 3


@pytest.mark.django_db(transaction=True)
def test_command_launches_the_sample_and_may_be_repeated(
    work: Work, capsys: pytest.CaptureFixture[str]
) -> None:
    fund()
    written(work, work.image(1), "AUTHOR")
    call_command("launch_work_review", project=work.project.slug, every=1, seed=3)
    shown = capsys.readouterr()
    assert "1 of 1 new submissions are in the sample of one HIT in 1, seed 3" in shown.out
    assert "nobody holds 'work-reviewers' yet" in shown.err
    call_command("launch_work_review", project=work.project.slug, every=1, json=True)
    assert '"batch": null, "sampled": 0, "candidates": 0, "every": 1, "seed": 3' in capsys.readouterr().out
    assert Batch.objects.filter(kind="work_review").count() == 1
    with pytest.raises(CommandError) as caught:
        call_command("launch_work_review", project=work.project.slug, every=0)
    assert caught.value.returncode == 2
