"""Evaluations that are started on a page, files of predictions, and replies that a person reads."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from curation.models import (
    DatasetVersion,
    ModelRun,
    ReplyCorrection,
    TripletEvaluation,
    TripletPrediction,
)
from curation.selectors.jobs import EVALUATE_TRIPLETS, JUDGE_EXPLANATIONS
from curation.selectors.triplets.prediction_files import PREDICTIONS_FILE, prediction_files
from curation.services.triplets.reply_corrections import CHOICES
from curation.views.command_lines import command_lines
from curation.views.triplets.evaluation_replies import CHOICE_NAMES
from hits.models import AuditEvent, Job, Project
from tests.support.nleye_evaluations import answers_of, quick_version, store_choices, store_scores
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
COUNT = 4
CHAT = {"model": "canned", "cap_usd": "0", "threads": "1"}


@pytest.fixture
def version(project: Project, researcher: User) -> DatasetVersion:
    return quick_version(project, COUNT, researcher)


def start(client: Client, user: User, version: DatasetVersion, what: str, **given: Any) -> Any:
    client.force_login(user)
    address = reverse("triplet-evaluation-start", args=[version.project.slug])
    return client.post(address, {"what": what, "version": version.pk, **given})


def test_page_names_the_calls_before_a_start(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    client.force_login(researcher)
    address = reverse("triplet-evaluation-start", args=[version.project.slug])
    page = squeezed(client.get(address, {"strategy": "hypotheses-only"}))
    assert '<td class="n" data-label="Choices">8</td>' in page
    assert '<td class="n" data-label="Descriptions">12</td>' in page
    assert '<option value="hypotheses-only" selected>' in page
    row = store_choices(version, answers_of(version, "rrww"), strategy="combined")
    again = squeezed(client.get(address, {"like": row.pk}))
    assert '<option value="combined" selected>' in again
    assert not Job.objects.filter(task=EVALUATE_TRIPLETS).exists()


def test_model_people_baseline_and_judge_are_started(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    asked = CHAT | {"setup": "pairs", "strategy": "combined", "variant": "answer_first", "cap_calls": "50"}
    reply = start(client, researcher, version, "model", **asked)
    row = TripletEvaluation.objects.get()
    assert reply.status_code == 302
    assert reply["Location"] == reverse("triplet-evaluation", args=[version.project.slug, row.pk])
    assert (row.label, row.setup, row.strategy, row.version) == ("canned", "pairs", "combined", version)
    assert ModelRun.objects.get().cap_calls == 50
    assert row.job is not None
    words = f"--project {version.project.slug} --version v1 --setup pairs --strategy combined --cap-calls 50"
    command = command_lines([row.job])[0].removeprefix("manage.py evaluate_triplets ")
    assert sorted(command.split()) == sorted(words.split())
    page = squeezed(client.get(reply["Location"]))
    assert f'data-job-url="{reverse("api-job", args=[row.job_id])}"' in page
    assert f'action="{reverse("job-cancel", args=[row.job_id])}"' in page
    assert "No figures yet" in page
    for subject, source in (("people", "people"), ("baseline:likeness", "baseline")):
        assert (
            start(client, researcher, version, "baseline", subject=subject, setup="triplet").status_code
            == 302
        )
        assert TripletEvaluation.objects.latest("pk").source == source
    assert start(client, researcher, version, "judge", **CHAT, repeats="2").status_code == 302
    judge = TripletEvaluation.objects.latest("pk")
    assert (judge.source, judge.options["repeats"]) == ("judge", 2)
    assert Job.objects.filter(task=EVALUATE_TRIPLETS).count() == 3
    assert Job.objects.filter(task=JUDGE_EXPLANATIONS).count() == 1
    listed = squeezed(client.get(reverse("triplet-evaluations", args=[version.project.slug])))
    assert listed.count("data-job-url") == 4


@pytest.mark.parametrize(
    ("what", "given", "message"),
    [
        ("model", {"model": "gpt-4o"}, "gpt-4o"),
        ("model", {"model": "canned:/etc/replies.jsonl"}, "Recorded replies are read by the command"),
        ("model", {"model": "openai:gpt-4o", "cap_usd": "5"}, "price of a token is unknown"),
        ("model", {"cap_usd": "-1"}, "Cap, $"),
        ("model", {"threads": "99"}, "Requests at once"),
        ("model", {"strategy": "guess"}, "It sees"),
        ("judge", {"repeats": "99"}, "Grades of each explanation"),
        ("baseline", {"subject": "baseline:nli:/etc"}, "People or baseline"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_stored(
    client: Client, researcher: User, version: DatasetVersion, what: str, given: dict[str, str], message: str
) -> None:
    default = CHAT | {"setup": "triplet", "strategy": "separate", "variant": "answer_first", "repeats": "2"}
    reply = start(client, researcher, version, what, **default | given)
    assert reply.status_code == 400
    page = squeezed(reply)
    assert page.count('role="alert"') == 1
    assert message in page
    assert not TripletEvaluation.objects.exists()
    assert not ModelRun.objects.exists()


def test_drafts_and_versions_of_others_cannot_be_chosen(
    client: Client, researcher: User, version: DatasetVersion, rehearsal: Project
) -> None:
    draft = DatasetVersion.objects.create(project=version.project, name="v2")
    other = DatasetVersion.objects.create(project=rehearsal, name="v1")
    for row in (draft, other):
        client.force_login(researcher)
        address = reverse("triplet-evaluation-start", args=[version.project.slug])
        given = {"what": "baseline", "version": row.pk, "subject": "people", "setup": "triplet"}
        assert client.post(address, given).status_code == 400
    assert not TripletEvaluation.objects.exists()


def upload(client: Client, user: User, version: DatasetVersion, data: bytes, **more: str) -> Any:
    file = SimpleUploadedFile("mine.jsonl", data)
    given = {"label": "mine", "setup": "triplet", "split": "", "predictions": file}
    return start(client, user, version, "file", **given | more)


def test_a_file_has_the_figures_of_the_answers_that_it_was_written_from(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    row = store_choices(version, answers_of(version, "rwfu"))
    data = prediction_files(row)[PREDICTIONS_FILE]
    assert upload(client, researcher, version, data).status_code == 302
    mine = TripletEvaluation.objects.latest("pk")
    assert (mine.source, mine.label, mine.run) == ("file", "mine", None)
    assert mine.figures == row.figures
    assert prediction_files(mine) == prediction_files(row)
    page = squeezed(client.get(reverse("triplet-evaluation", args=[version.project.slug, mine.pk])))
    assert "mine.jsonl" in page
    scores = store_scores(version, [(1.0, 2.0), (None, 2.0), (3.0, 3.0), (9.5, 1.0)])
    data = prediction_files(scores)["pairs.jsonl"]
    assert upload(client, researcher, version, data, setup="pairs").status_code == 302
    assert TripletEvaluation.objects.latest("pk").figures == scores.figures


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "no line for"),
        (lambda lines: [*lines, lines[0]], "line 9: &#x27;1&#x27;, as_listed is on line 1 too"),
        (
            lambda lines: [*lines, {"id": "5", "presentation": "swapped", "choice": 1}],
            "line 9: id &#x27;5&#x27;",
        ),
        (lambda lines: [lines[0] | {"choice": 3}, *lines[1:]], "line 1: choice is 3"),
        (lambda lines: [lines[0] | {"presentation": "upside"}, *lines[1:]], "line 1: presentation is"),
        (lambda lines: [], "mine.jsonl: is empty"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_stored(
    client: Client, researcher: User, version: DatasetVersion, change: Any, message: str
) -> None:
    lines = [
        {"id": str(number), "presentation": presentation, "choice": 1}
        for number in range(1, COUNT + 1)
        for presentation in ("as_listed", "swapped")
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in change(lines)) or b"\n"
    reply = upload(client, researcher, version, data)
    assert reply.status_code == 400
    assert message in squeezed(reply)
    assert not TripletEvaluation.objects.exists()
    assert not TripletPrediction.objects.exists()


def correct(client: Client, user: User, row: TripletEvaluation, **given: Any) -> Any:
    client.force_login(user)
    address = reverse("triplet-evaluation-correct", args=[row.project.slug, row.pk])
    return client.post(address, given, follow=True)


def test_a_person_reads_replies_and_both_figures_are_shown(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    row = store_choices(
        version, answers_of(version, "uuww"), replies={1: "the <b>second</b> one", 2: "no idea"}
    )
    before = row.figures["triplet"]
    assert (before["consistency_accuracy"]["value"], before["reasons"]["unparseable"]) == (0.0, 2)
    slug = version.project.slug
    client.force_login(researcher)
    address = reverse("triplet-evaluation-replies", args=[slug, row.pk])
    page = squeezed(client.get(address))
    assert "the &lt;b&gt;second&lt;/b&gt; one" in page
    assert not ReplyCorrection.objects.exists()
    first, second = TripletPrediction.objects.filter(evaluation=row, reason="unparseable")
    answer = answers_of(version, "rrrr")[0][1]  # gold where the first triplet is swapped
    page = squeezed(
        correct(client, researcher, row, **{f"choice-{first.pk}": answer, f"seen-{first.pk}": "0"})
    )
    assert "1 reply stored" in page
    row.refresh_from_db()
    figures = row.figures
    assert figures["triplet"]["consistency_accuracy"]["value"] == 25.0
    assert figures["corrections"]["replies"] == 1
    assert figures["corrections"]["share"] == 12.5
    assert figures["corrections"]["as_parsed"] == before
    own = squeezed(client.get(reverse("triplet-evaluation", args=[slug, row.pk])))
    assert "Replies read by people" in own
    assert '<data value="25.0"><b>25.0</b>' in own
    assert '<data value="0.0"><b>0.0</b>' in own
    assert "12.5% of all answers" in own
    assert AuditEvent.objects.filter(action="reply.correct", subject=str(row.pk)).count() == 1

    stale = squeezed(
        correct(client, researcher, row, **{f"choice-{first.pk}": "equal", f"seen-{first.pk}": "0"})
    )
    assert "Nothing stored: reply: somebody else read it since this page was loaded" in stale
    newest = ReplyCorrection.objects.get()
    done = squeezed(client.get(address, {"show": "read"}))
    assert f'name="seen-{first.pk}" value="{newest.pk}"' in done
    again = {f"choice-{first.pk}": "none", f"seen-{first.pk}": str(newest.pk)}
    correct(client, researcher, row, **again | {f"choice-{second.pk}": "equal"})
    assert ReplyCorrection.objects.filter(prediction=first).count() == 2
    row.refresh_from_db()
    reasons = row.figures["triplet"]["reasons"]
    assert (reasons["unparseable"], reasons["equal"], reasons["none"]) == (0, 1, 1)
    assert "Every reply was read" in squeezed(client.get(address))


def test_bad_corrections_are_refused(client: Client, researcher: User, version: DatasetVersion) -> None:
    row = store_choices(version, answers_of(version, "urww"))
    other = store_choices(version, answers_of(version, "urww"), label="other")
    unread = TripletPrediction.objects.get(evaluation=row, reason="unparseable")
    read = TripletPrediction.objects.filter(evaluation=row, reason="").first()
    foreign = TripletPrediction.objects.get(evaluation=other, reason="unparseable")
    assert read is not None
    for given, message in (
        ({f"choice-{unread.pk}": "third"}, "choice: &#x27;third&#x27; is not known"),
        ({f"choice-{read.pk}": "first"}, "correct only replies that could not be read"),
        ({f"choice-{foreign.pk}": "first"}, "correct only replies that could not be read"),
        ({"choice-x": "first"}, "choose what at least one reply says"),
        ({}, "choose what at least one reply says"),
    ):
        assert message in squeezed(correct(client, researcher, row, **given)), given
    assert not ReplyCorrection.objects.exists()
    assert tuple(CHOICE_NAMES) == CHOICES
