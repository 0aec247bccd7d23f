"""The pages of qualification and training rounds, and the grading page: access, content, and grades."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.domain.money.usd import format_bare_usd, format_dollars
from hits.models import Batch, Hit, Image, Job, Project
from tests.support import market
from tests.support.judging.applicants import application, bulk_applicants, grade, qualification
from tests.support.judging.work import Work
from tests.support.pages import squeezed
from validation.domain.qualification.outcome import PassRule
from validation.models import Grade, QualificationRound
from validation.selectors.grading import PairKey
from validation.services.applicant_decisions import _decide_chunk, _ready_applicants

pytestmark = pytest.mark.django_db


@pytest.fixture
def images(make_image: Callable[..., Image]) -> list[Image]:
    return [make_image(n) for n in range(6)]


@pytest.fixture
def found(work: Work, images: list[Image]) -> QualificationRound:
    started = qualification(work.project, images, 12, rule=PassRule(graders=2), exam=True)
    work.publish(started.batch)
    return started


@pytest.fixture
def addresses(found: QualificationRound) -> dict[str, tuple[str, str]]:
    """Every URL of these pages with the method that changes something, if there is one."""
    slug = found.batch.project.slug
    one = [slug, found.pk]
    return {
        "applicants": ("get", reverse("applicants", args=[slug])),
        "qualification-new": ("post", reverse("qualification-new", args=[slug])),
        "training-new": ("post", reverse("training-new", args=[slug])),
        "qualification-round": ("get", reverse("qualification-round", args=one)),
        "answer-applicants": ("post", reverse("answer-applicants", args=one)),
        "grading": ("post", reverse("grading", args=one)),
        "grades": ("post", reverse("grades", args=one)),
    }


def applied(work: Work, found: QualificationRound, worker: str) -> Any:
    hit = Hit.objects.filter(unit__batch=found.batch).order_by("pk")[0]
    from hits.domain.states import AssignmentStatus

    answer = application(hit.unit.payload, salt=worker)
    return work.answered(hit, worker, answer, status=AssignmentStatus.SUBMITTED)


def test_every_url_of_these_views_is_listed(addresses: dict[str, tuple[str, str]]) -> None:
    from validation.urls import urlpatterns

    mine = {
        p.name
        for p in urlpatterns
        if p.callback.__module__ in {"validation.views.rounds", "validation.views.grading"}
    }
    assert mine == set(addresses)


def test_pages_open_for_researchers_only(
    client: Client,
    addresses: dict[str, tuple[str, str]],
    outsider: User,
    annotator: User,
    researcher: User,
) -> None:
    for name, (method, path) in addresses.items():
        assert getattr(client, method)(path).status_code == 302, name
    for user in (outsider, annotator):
        client.force_login(user)
        for name, (method, path) in addresses.items():
            assert client.get(path).status_code in {404, 405}, name
            assert getattr(client, method)(path).status_code == 404, name
    assert not Grade.objects.exists()
    client.force_login(researcher)
    opened = {name: client.get(path).status_code for name, (_, path) in addresses.items()}
    assert opened == dict.fromkeys(addresses, 200) | {"answer-applicants": 405, "grades": 405}


def test_round_of_another_project_is_not_found(
    client: Client, found: QualificationRound, admin: User, rehearsal: Project
) -> None:
    client.force_login(admin)
    for name in ("qualification-round", "grading"):
        assert client.get(reverse(name, args=[rehearsal.slug, found.pk])).status_code == 404


def test_post_without_csrf_token_is_refused(addresses: dict[str, tuple[str, str]], admin: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin)
    for name, (method, path) in addresses.items():
        if method == "post":
            assert strict.post(path).status_code == 403, name


# --- starting rounds


def form_values(images: list[Image], **changes: Any) -> dict[str, Any]:
    values = {
        "name": "Spring",
        "assignments": "40",
        "reward": "2.00",
        "needed": "8",
        "graders": "1",
        "exam_needed": "1",
        "countries": "us, ca",
        "photos": [str(image.pk) for image in images],
        "q1_text": "Who may write “he”?",
        "q1_choices": "Everybody\n\nNobody",
        "q1_right": "2",
        "step": "estimate",
    }
    return values | changes


def test_qualification_round_is_launched_in_two_steps(
    client: Client, project: Project, images: list[Image], researcher: User
) -> None:
    market.fund()
    client.force_login(researcher)
    url = reverse("qualification-new", args=[project.slug])
    asked = client.post(url, form_values(images))
    page = asked.content.decode()
    assert "Launch 40 assignments, hold $80.00" in page
    assert 'Pass rule: <span class="num">8 of 9</span>' in page
    assert not Batch.objects.exists()
    # The confirmation page sends the same values again, and nothing else.
    carried = dict.fromkeys(name for name, _ in asked.context["hidden_form_fields"])
    again = {name: [v for n, v in asked.context["hidden_form_fields"] if n == name] for name in carried}
    again |= {"step": ["launch"], "idempotency_key": [asked.context["idempotency_key"]]}
    for _ in range(2):
        assert client.post(url, again).status_code == 302
    found = QualificationRound.objects.get()
    assert (found.needed, found.exam_needed, found.graders, found.batch.name) == (8, 1, 1, "Spring")
    unit = found.batch.units.first()
    assert unit is not None
    assert unit.payload["questions"] == [
        {"id": "q1", "text": "Who may write “he”?", "choices": ["Everybody", "Nobody"], "right": 1}
    ]
    country = found.batch.requirements.get(qualification=None)
    assert country.values == ["US", "CA"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assignments": "0"}, "greater than or equal to 1"),
        ({"photos": []}, "Tick 3, 6, 9"),
        ({"assignments": "1"}, "more photo sets than applicants"),
        ({"reward": "free"}, "at most two decimals"),
        ({"countries": "US, Narnia"}, "“Narnia” is not a country"),
        ({"exam_needed": "2"}, "The exam has 1 question."),
        ({"q1_right": "3"}, "enter the number of the correct choice"),
        ({"q1_choices": "Only one"}, "2 to 6 choices"),
        ({"q2_right": "1"}, "Question 2 has no text."),
        ({"needed": "10"}, "less than or equal to 9"),
    ],
)
def test_invalid_value_is_named_at_its_field(
    client: Client,
    project: Project,
    images: list[Image],
    researcher: User,
    changes: dict[str, Any],
    message: str,
) -> None:
    client.force_login(researcher)
    reply = client.post(reverse("qualification-new", args=[project.slug]), form_values(images, **changes))
    assert reply.status_code == 400
    assert message in reply.content.decode()
    assert not Batch.objects.exists()


def test_change_restores_the_form(
    client: Client, project: Project, images: list[Image], researcher: User
) -> None:
    client.force_login(researcher)
    reply = client.post(reverse("qualification-new", args=[project.slug]), form_values(images, step="change"))
    page = squeezed(reply)
    assert page.count('name="photos"') == page.count(" checked") == 6
    assert "Who may write “he”?" in page


def test_training_round_is_launched(
    client: Client, project: Project, images: list[Image], researcher: User
) -> None:
    market.fund()
    client.force_login(researcher)
    url = reverse("training-new", args=[project.slug])
    values = {
        "name": "",
        "assignments": "12",
        "reward": "1.90",
        "countries": "",
        "photos": [str(i.pk) for i in images],
    }
    asked = client.post(url, values | {"step": "estimate"})
    assert "Launch 12 assignments, hold $22.80" in asked.content.decode()
    reply = client.post(url, values | {"step": "launch", "idempotency_key": asked.context["idempotency_key"]})
    batch = Batch.objects.get()
    assert reply.headers["Location"] == reverse("batch-detail", args=[batch.pk])
    assert (batch.kind, batch.name) == ("sherlock_training", "Training, 12 assignments")


@pytest.mark.parametrize(
    ("page_name", "cents", "typed"),
    [
        ("qualification-new", 8_000, {}),
        ("training-new", 2_280, {"name": "Autumn", "assignments": "12", "reward": "1.90", "countries": ""}),
    ],
)
def test_refused_round_shows_reason_and_keeps_input(
    client: Client,
    project: Project,
    images: list[Image],
    researcher: User,
    page_name: str,
    cents: int,
    typed: dict[str, str],
) -> None:
    market.fund(cents - 1)
    client.force_login(researcher)
    url = reverse(page_name, args=[project.slug])
    values = form_values(images) if not typed else typed | {"photos": [str(image.pk) for image in images]}
    short = client.post(url, values | {"step": "launch"})
    page = squeezed(short)
    most, less = format_dollars(cents), format_dollars(cents - 1)
    assert short.status_code == 400
    assert f"Not launched: insufficient funds: {most} will be held, but the account has only {less}" in page
    assert 'value="launch"' not in page
    assert f'name="name" value="{values["name"]}"' in page
    assert page.count('name="photos"') == len(images)
    assert squeezed(client.post(url, values | {"step": "change"})).count(" checked") == len(images)

    market.fund(1)
    Project.objects.update(confirm_above_cents=cents - 1)
    page = squeezed(client.post(url, values | {"step": "launch", "typed_cost": less}))
    assert f"{less} is another sum; type the maximum cost, {format_bare_usd(cents)}." in page
    assert f'value="{less}" aria-invalid="true"' in page
    assert page.count('name="photos"') == len(images)
    assert not Batch.objects.exists()
    assert client.post(url, values | {"step": "launch", "typed_cost": most}).status_code == 302


# --- the grading page


def test_grading_works_without_script(
    client: Client, work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    client.force_login(researcher)
    url = reverse("grading", args=[work.project.slug, found.pk])
    page = squeezed(client.get(url))
    assert "Pair 1 of 9 waiting" in page
    assert f"{submission.attempt.worker}, photo 1 of 3, pair 1" in page
    assert "WORKER" not in page
    first = PairKey(submission.pk, 0)
    reply = client.post(url, {"key": str(first), "grade": "no", "note": "Not in the photo."}, follow=True)
    page = squeezed(reply)
    assert "Pair 1 of 8 waiting" in page or "pair 2" in page
    assert f"?at={first}" in page
    again = squeezed(client.get(url, {"at": str(first)}))
    assert "Already graded" in again
    assert 'value="Not in the photo."' in again
    assert client.post(url, {"key": "nonsense", "grade": "no"}, follow=True).status_code == 200
    assert Grade.objects.get().note == "Not in the photo."


def test_several_grades_are_saved_in_one_request(
    client: Client, work: Work, found: QualificationRound, researcher: User
) -> None:
    submission = applied(work, found, "A")
    applied(work, found, "B")
    client.force_login(researcher)
    url = reverse("grades", args=[work.project.slug, found.pk])
    sent = [{"key": str(PairKey(submission.pk, n)), "grade": "yes", "note": ""} for n in range(5)]
    sent.append({"key": str(PairKey(submission.pk, 12)), "grade": "yes", "note": ""})
    body = json.dumps({"grades": sent, "after": str(PairKey(submission.pk, 6))})
    reply = client.post(url, body, content_type="application/json").json()
    assert Grade.objects.count() == 5
    assert [row["key"] for row in reply["refused"]] == [str(PairKey(submission.pk, 12))]
    assert reply["waiting"] == 13
    assert reply["cards"][0]["key"] == str(PairKey(submission.pk, 7))
    client.post(url, body, content_type="application/json")
    assert Grade.objects.count() == 5
    for bad in ("[]", "{", '{"grades": [{"key": "x", "grade": "yes"}]}', '{"grades": [{"key": 1}]}'):
        assert client.post(url, bad, content_type="application/json").status_code == 400


def test_second_grader_sees_no_grade_of_the_first(
    client: Client, work: Work, found: QualificationRound, researcher: User, admin: User
) -> None:
    submission = applied(work, found, "A")
    grade(found, submission, researcher, reasonable=3, note="Secret of the first grader")
    client.force_login(admin)
    url = reverse("grading", args=[work.project.slug, found.pk])
    for page in (client.get(url), client.get(url, {"at": str(PairKey(submission.pk, 5))})):
        text = page.content.decode()
        assert "Secret" not in text
        assert "rosa" not in text
    body = json.dumps({"grades": [], "after": ""})
    reply = client.post(
        reverse("grades", args=[work.project.slug, found.pk]), body, content_type="application/json"
    )
    assert "Secret" not in reply.content.decode()
    whole = client.get(reverse("qualification-round", args=[work.project.slug, found.pk])).content.decode()
    assert "Secret" not in whole
    assert "0 of 9 graded" in whole


# --- the round's page


def test_round_page_shows_progress_agreement_and_pay(
    client: Client, work: Work, found: QualificationRound, researcher: User, admin: User
) -> None:
    first, second, third = (applied(work, found, name) for name in "ABC")
    for grader, good in ((researcher, 9), (admin, 8)):
        grade(found, first, grader, reasonable=good, note="Too vague.")
        grade(found, second, grader, reasonable=6, note="Nothing points there.")
    grade(found, third, researcher, items=range(4))
    client.force_login(researcher)
    url = reverse("qualification-round", args=[work.project.slug, found.pk])
    page = squeezed(client.get(url))
    assert "Answer 2 applicants…" in page
    assert '<b class="num">1</b> passes and can be invited' in page
    assert "8 of 9" in page
    assert "0 of 9 graded" in page
    assert "94.4% <small>of 18</small>" in page
    assert "Answer 2 and pay $4.00" in page
    assert 'The graders disagree on <b class="num">1</b> pair.' in page
    assert str(first.attempt.worker.worker_id) not in re.findall(r">(\w)<", page)
    reply = client.post(reverse("answer-applicants", args=[work.project.slug, found.pk]), follow=True)
    job = Job.objects.get(task="validation.answer_applicants")
    assert f'data-job-url="/api/jobs/{job.pk}/"' in reply.content.decode()
    again = client.post(reverse("answer-applicants", args=[work.project.slug, found.pk]), follow=True)
    assert "is running already" in again.content.decode()
    _decide_chunk(found, [a.first_key.submission for a in _ready_applicants(found)], researcher)
    page = squeezed(client.get(url, {"show": "declined"}))
    assert "You did not pass the qualification: 6 of 9" in page
    assert "Nothing points there." in page


def test_round_page_warns_of_failing_applicant_without_note(
    client: Client, work: Work, images: list[Image], researcher: User
) -> None:
    found = qualification(work.project, images, 12)
    work.publish(found.batch)
    grade(found, applied(work, found, "A"), researcher, reasonable=2)
    client.force_login(researcher)
    page = squeezed(client.get(reverse("qualification-round", args=[work.project.slug, found.pk])))
    assert "</b> applicant would not pass and has no grader’s note" in page
    assert "Add a note" in page
    assert "applicant…" not in page
    reply = client.post(reverse("answer-applicants", args=[work.project.slug, found.pk]), follow=True)
    assert "No applicant is ready" in reply.content.decode()


def test_pages_have_no_inline_style_or_script(
    client: Client,
    work: Work,
    found: QualificationRound,
    addresses: dict[str, tuple[str, str]],
    researcher: User,
) -> None:
    grade(found, applied(work, found, "A"), researcher)
    client.force_login(researcher)
    for name in ("applicants", "qualification-new", "training-new", "qualification-round", "grading"):
        page = client.get(addresses[name][1]).content.decode()
        assert " style=" not in page, name
        assert not re.search(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)", page), name
        assert not re.search(r"\son[a-z]+=", page), name
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert sorted(ids) == sorted(set(ids)), name


def test_query_count_is_the_same_for_20_and_200_submissions(
    client: Client, work: Work, found: QualificationRound, researcher: User, admin: User
) -> None:
    workers = bulk_applicants(found, 20, graders=[researcher, admin])
    bulk_applicants(found, 5, graders=[admin], start=20)
    _decide_chunk(found, [a.first_key.submission for a in _ready_applicants(found)][:10], admin)
    slug = work.project.slug
    pages = {
        "round": reverse("qualification-round", args=[slug, found.pk]),
        "passed": reverse("qualification-round", args=[slug, found.pk]) + "?show=passed",
        "grading": reverse("grading", args=[slug, found.pk]),
        "applicants": reverse("applicants", args=[slug]),
        "workers": reverse("workers", args=[slug]),
        "worker": reverse("worker-detail", args=[slug, workers[0].pk]),
        "training": reverse("training-new", args=[slug]),
    }
    client.force_login(researcher)

    def counted() -> Iterator[tuple[str, int]]:
        for name, url in pages.items():
            client.get(url)  # fill the caches
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert client.get(url).status_code == 200
            yield name, len(queries)

    before = dict(counted())
    bulk_applicants(found, 160, graders=[researcher, admin], start=25)
    bulk_applicants(found, 15, graders=[admin], start=185)
    _decide_chunk(found, [a.first_key.submission for a in _ready_applicants(found)][:100], admin)
    assert dict(counted()) == before
    assert max(before.values()) < 40


# --- the command


def test_command_refuses_invalid_input(project: Project, images: list[Image], tmp_path: Any) -> None:
    exam = tmp_path / "exam.json"
    exam.write_text('[{"text": "Which?", "choices": ["a", "b"], "right": 3}]')
    common = ["--project", project.slug, "--assignments"]
    for arguments, words in (
        (["qualification", "--project", "nowhere", "--places", "3"], "no such project"),
        (["qualification", *common, "0"], "use at least 1"),
        (["qualification", *common, "9", "--sets", "3"], "9 photos, and there are 6"),
        (["qualification", *common, "9", "--images", "1,2"], "use a multiple of three"),
        (["qualification", *common, "9", "--images", "one"], "use numbers separated by commas"),
        (["qualification", *common, "9", "--needed", "12"], "1 to 9 reasonable"),
        (["qualification", *common, "9", "--exam", str(exam)], "right is 3; use 1 to 2"),
        (["qualification", *common, "9", "--exam", str(tmp_path / "no.json")], "No such file"),
        (["qualification", *common, "9", "--exam-needed", "1"], "there are 0 questions"),
        (["qualification", *common, "9", "--countries", "US,ZZ"], "ZZ is not an ISO"),
        (["training", *common, "2", "--images", "1,2,3"], "there are 3 for 2 assignments"),
        (["training", *common, "-1"], "choose at least one"),
    ):
        with pytest.raises(CommandError, match=re.escape(words)) as error:
            call_command("launch_round", *arguments)
        assert error.value.returncode == 2
    assert not Batch.objects.exists()
