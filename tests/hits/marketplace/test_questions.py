"""HTMLQuestion and QuestionForm as HITs: accepted XML, the worker's frame, and submission."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.exceptions import ClientError
from django.conf import settings
from django.test import Client

from hits.domain.mturk_formats.answer_xml import parse_answer, parse_form_answer
from hits.domain.mturk_formats.external_question import QuestionInvalid, QuestionNotXml, QuestionTooLong
from hits.marketplace.errors import ActionRefused
from hits.marketplace.formats.html_question import (
    build_html_question,
    insert_first_script,
    parse_html_question,
    prepare_page,
)
from hits.marketplace.formats.patterns import MAX_WORK
from hits.marketplace.formats.question_form import parse_question_form
from hits.marketplace.models import HIT, Assignment, Clock, Worker
from hits.marketplace.selectors import questions
from hits.marketplace.selectors.worker import find_latest_attempt
from hits.marketplace.services import attempts
from tests.hits.marketplace.support import accept, advance_time, hit_params, secret_of
from tests.hits.marketplace.test_admission import Browser, need, page
from tests.hits.marketplace.test_conformance import code_of
from tests.hits.marketplace.test_qualifications import make_type

PAGE = """<!DOCTYPE html>
<form name='mturk_form' method='post' action='https://www.mturk.com/mturk/externalSubmit'>
<input type='hidden' value='' name='assignmentId' id='assignmentId'/>
<input name="weather"></form>"""
SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
FORM = f"""<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd">
<Overview><Title>Two questions</Title></Overview>
<Question><QuestionIdentifier>mood</QuestionIdentifier><IsRequired>true</IsRequired>
<QuestionContent><Text>What is the mood?</Text></QuestionContent>
<AnswerSpecification><SelectionAnswer><StyleSuggestion>radiobutton</StyleSuggestion><Selections>
<Selection><SelectionIdentifier>calm</SelectionIdentifier><Text>Calm</Text></Selection>
<Selection><SelectionIdentifier>tense</SelectionIdentifier><Text>Tense</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question>
<Question><QuestionIdentifier>why</QuestionIdentifier><IsRequired>true</IsRequired>
<QuestionContent><Text>Why?</Text></QuestionContent>
<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question>
</QuestionForm>"""


def frame_of(client: Client, path: str) -> str:
    """Return the address of the frame on a worker's page."""
    found = re.search(r'<iframe[^>]* src="([^"]+)"', client.get(path).content.decode())
    assert found is not None
    return unescape(found[1])


def framed(address: str) -> Any:
    """Return what a frame loads, as a browser without cookies asks for it."""
    parts = urlsplit(address)
    return Client(headers={"host": parts.netloc}).get(f"{parts.path}?{parts.query}")


def html_hit(client: Any, html: str = PAGE, **more: Any) -> dict[str, Any]:
    """Return a HIT whose page the marketplace shows."""
    return dict(client.create_hit(**hit_params(Question=build_html_question(html), **more))["HIT"])


class TestHTMLQuestionFormat:
    """The XML of schema 2011-11-11 and the page in it."""

    @pytest.mark.rule(
        "html-question-schema",
        source="D",
        text="An HTMLQuestion holds HTMLContent and FrameHeight, at most 65,535 bytes in all.",
    )
    def test_html_question_round_trips(self) -> None:
        xml = build_html_question("<p>a ]]> b &amp; c</p>", 450)
        page = parse_html_question(xml)
        assert (page.html, page.frame_height) == ("<p>a ]]> b &amp; c</p>", 450)
        with pytest.raises(QuestionTooLong):
            build_html_question("x" * 65_535)
        with pytest.raises(QuestionInvalid, match="HTMLContent"):
            build_html_question("   ")

    @pytest.mark.parametrize(
        ("change", "refusal"),
        [
            (("2011-11-11", "2006-07-14"), QuestionInvalid),
            (("<FrameHeight>0</FrameHeight>", ""), QuestionInvalid),
            (("<FrameHeight>0", "<FrameHeight>-1"), QuestionInvalid),
            (("<HTMLQuestion", '<!DOCTYPE a [<!ENTITY b "c">]><HTMLQuestion'), QuestionNotXml),
            (("</HTMLQuestion>", ""), QuestionNotXml),
        ],
    )
    def test_invalid_html_questions_are_refused(
        self, change: tuple[str, str], refusal: type[Exception]
    ) -> None:
        with pytest.raises(refusal):
            parse_html_question(build_html_question("<p>a</p>").replace(*change))

    @pytest.mark.parametrize(
        ("html", "start"),
        [
            ("<p>a</p>", "<script"),
            ("\n <!-- by hand --> <!DOCTYPE html><p>", "\n <!-- by hand --> <!DOCTYPE html><script"),
        ],
    )
    def test_own_script_comes_before_page_scripts(self, html: str, start: str) -> None:
        shown = insert_first_script(html, "http://site/first.js?a&b")
        assert shown.startswith(f'{start} src="http://site/first.js?a&amp;b"></script><p>')

    @pytest.mark.rule(
        "html-question-form",
        source="D",
        text="A form with Amazon's externalSubmit URL submits here, with the assignment id filled in.",
    )
    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            (
                "<FORM method=post ACTION='https://www.mturk.com/mturk/externalSubmit' id=f>",
                '<FORM method=post action="http://site/a/s/mturk/externalSubmit" id=f>'
                '<input type="hidden" name="assignmentId" value="3ID">',
            ),
            (
                '<form action="https://workersandbox.mturk.com/mturk/externalSubmit"><input name="assignmentId">',
                '<form action="http://site/a/s/mturk/externalSubmit"><input value="3ID" name="assignmentId">',
            ),
            (
                "<form\n  action=/mturk/externalSubmit><input value='' type=hidden name=assignmentId>é",
                '<form\n  action="http://site/a/s/mturk/externalSubmit">'
                '<input value="3ID" type=hidden name=assignmentId>é',
            ),
        ],
    )
    def test_amazon_form_actions_point_to_own_submit_url(self, written: str, shown: str) -> None:
        assert prepare_page(written, submit_to="http://site/a/s", assignment_id="3ID") == shown

    @pytest.mark.parametrize(
        "html",
        [
            '<form action="https://lab.example.org/mturk/collect"><input name="a"></form>',
            '<form id="f"></form><script>f.action = get("turkSubmitTo") + "/mturk/externalSubmit"</script>',
            "<script>var s = \"<form action='https://www.mturk.com/mturk/externalSubmit'>\";</script>",
            '<!-- <form action="https://www.mturk.com/mturk/externalSubmit"> -->',
            '<form action="https://www.mturk.com.example.org/mturk/externalSubmit">',
            '<input name="assignmentId" value="mine"> <b>5 < 6 & 7</b>',
        ],
    )
    def test_other_markup_stays_unchanged(self, html: str) -> None:
        assert prepare_page(html, submit_to="http://site/a/s", assignment_id="3ID") == html


class TestHTMLQuestion:
    """HTML that the marketplace shows, in a frame of its own."""

    @pytest.mark.rule(
        "html-question-frame",
        source="D",
        text="An HTMLQuestion is shown in a frame with MTurk's parameters and submits to externalSubmit.",
    )
    def test_html_question_from_creation_to_answer(
        self, mturk: Any, worker: Worker, browser: Browser
    ) -> None:
        hit = html_hit(mturk, MaxAssignments=1)
        slot = accept(worker, hit)
        address = frame_of(browser(worker), f"/work/tasks/{slot.assignment_id}")
        assert address.startswith(f"{settings.HIT_ORIGIN}/hit/question/")
        secret = secret_of(worker, slot)
        given = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert given == {
            "assignmentId": slot.assignment_id,
            "hitId": hit["HITId"],
            "workerId": worker.worker_id,
            "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{secret}",
        }
        shown = framed(address).content.decode()
        assert f'action="{settings.PUBLIC_URL}/a/{secret}/mturk/externalSubmit"' in shown
        assert f'value="{slot.assignment_id}"' in shown
        Client().post(
            f"/a/{secret}/mturk/externalSubmit", {"assignmentId": slot.assignment_id, "weather": "rain"}
        )
        (row,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
        assert parse_answer(row["Answer"]) == {"weather": "rain"}
        assert framed(address).status_code == 403

    @pytest.mark.rule(
        "html-question-sandbox",
        source="ours",
        text="The HTML runs without an origin, sees no cookie and can be framed by the worker site only.",
    )
    def test_html_question_frame_is_sandboxed(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        slot = accept(worker, html_hit(local_client))
        answer = framed(frame_of(browser(worker), f"/work/tasks/{slot.assignment_id}"))
        assert answer["Content-Security-Policy"] == (
            f"sandbox allow-scripts allow-forms; frame-ancestors {settings.PUBLIC_URL}"
        )
        assert "X-Frame-Options" not in answer
        assert answer["Referrer-Policy"] == "no-referrer"
        assert not answer.cookies

    def test_preview_of_html_question_cannot_submit(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        hit = html_hit(local_client)
        address = frame_of(browser(worker), f"/work/groups/{hit['HITTypeId']}/preview")
        answer = framed(address)
        assert answer["Content-Security-Policy"].startswith("sandbox allow-scripts; ")
        assert 'value="ASSIGNMENT_ID_NOT_AVAILABLE"' in answer.content.decode()
        assert "/a/" not in answer.content.decode()

    def test_closed_group_preview_gives_no_frame_url(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        hit = html_hit(
            local_client, QualificationRequirements=[need(make_type(local_client), guards="PreviewAndAccept")]
        )
        assert "<iframe" not in page(browser(worker), f"/work/groups/{hit['HITTypeId']}/preview")

    def test_frame_tokens_expire_and_cannot_be_forged(
        self, local_client: Any, worker: Worker, other: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hit = html_hit(local_client)
        slot = accept(worker, hit)
        attempt = find_latest_attempt(worker, slot.assignment_id)
        assert attempt is not None
        token = questions.create_task_token(attempt)
        preview = questions.create_preview_token(HIT.objects.get(hit_id=hit["HITId"]))
        assert questions.find_frame_page(token, Clock.now()) is not None
        assert worker.worker_id not in token
        assert questions.find_frame_page(token[:-1] + ("a" if token[-1] != "a" else "b"), Clock.now()) is None
        advance_time(seconds=1801)
        assert questions.find_frame_page(token, Clock.now()) is None
        assert questions.find_frame_page(preview, Clock.now()) is not None
        monkeypatch.setattr(questions, "PREVIEW_SECONDS", -1)
        assert questions.find_frame_page(preview, Clock.now()) is None

    def test_returned_task_frame_shows_nothing(
        self, local_client: Any, worker: Worker, other: Worker
    ) -> None:
        hit = html_hit(local_client, MaxAssignments=1)
        slot = accept(worker, hit)
        attempt = find_latest_attempt(worker, slot.assignment_id)
        assert attempt is not None
        token = questions.create_task_token(attempt)
        attempts.return_task(worker=worker, assignment_id=slot.assignment_id, now=Clock.now())
        accept(other, hit)
        assert questions.find_frame_page(token, Clock.now()) is None

    def test_question_comes_back_unchanged(self, local_client: Any) -> None:
        xml = build_html_question(PAGE, 450)
        assert local_client.create_hit(**hit_params(Question=xml))["HIT"]["Question"] == xml


class TestQuestionForm:
    """A form that the marketplace builds, on the worker site's own page."""

    @pytest.mark.rule(
        "question-form-answer",
        source="D",
        text="A QuestionForm's answer names selections by SelectionIdentifier and texts as FreeText.",
    )
    def test_filled_in_and_collected(self, mturk: Any, worker: Worker, browser: Browser) -> None:
        hit = mturk.create_hit(**hit_params(Question=FORM))["HIT"]
        slot = accept(worker, hit)
        client = browser(worker)
        shown = page(client, f"/work/tasks/{slot.assignment_id}")
        assert "What is the mood?" in shown
        assert "<iframe" not in shown
        answered = client.post(
            f"/work/tasks/{slot.assignment_id}/answer", {"q1": "tense", "q2": "Fists & frowns"}, follow=True
        )
        assert "You submitted this task" in answered.content.decode()
        (row,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
        mood, why = parse_form_answer(row["Answer"])
        assert (mood.question, mood.selections, mood.text) == ("mood", ("tense",), None)
        assert (why.question, why.text) == ("why", "Fists & frowns")

    def test_form_with_problem_keeps_input_and_submits_nothing(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params(Question=FORM))["HIT"])
        answer = browser(worker).post(
            f"/work/tasks/{slot.assignment_id}/answer", {"q2": "Because of the light"}
        )
        assert answer.status_code == 400
        assert "Because of the light" in answer.content.decode()
        slot.refresh_from_db()
        assert slot.submitted_at is None

    def test_text_above_pattern_budget_is_refused_with_limit(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        slow = '<FreeTextAnswer><Constraints><AnswerFormatRegex regex="(a?){190}-"/></Constraints></FreeTextAnswer>'
        xml = FORM.replace("<FreeTextAnswer/>", slow)
        slot = accept(worker, local_client.create_hit(**hit_params(Question=xml))["HIT"])
        client, address = browser(worker), f"/work/tasks/{slot.assignment_id}/answer"
        steps = parse_question_form(xml).pattern_step_count
        answer = client.post(address, {"q1": "calm", "q2": "a" * 5_000})
        assert answer.status_code == 400
        assert f"Write at most {MAX_WORK // steps} characters." in answer.content.decode()
        assert "a" * 5_000 in answer.content.decode()
        client.post(address, {"q1": "calm", "q2": "a" * (MAX_WORK // steps - 1) + "-"})
        slot.refresh_from_db()
        assert slot.submitted_at is not None

    def test_form_submitted_twice_counts_once(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params(Question=FORM))["HIT"])
        client, address = browser(worker), f"/work/tasks/{slot.assignment_id}/answer"
        for mood in ("calm", "tense"):
            answer = client.post(address, {"q1": mood, "q2": "x"}, follow=True)
            assert "You submitted this task" in answer.content.decode()
        slot.refresh_from_db()
        assert "calm" in slot.answer

    @pytest.mark.rule(
        "question-form-own-way",
        source="ours",
        text="A QuestionForm is submitted through its own form only, after its checks and in time.",
    )
    def test_external_submit_cannot_bypass_form_checks(
        self, local_client: Any, worker: Worker, other: Worker, browser: Browser
    ) -> None:
        hit = local_client.create_hit(**hit_params(Question=FORM))["HIT"]
        slot = accept(worker, hit)
        fields = [("mood", "made up")]
        with pytest.raises(ActionRefused, match="has its own form"):
            attempts.submit_with_secret(
                secret=secret_of(worker, slot),
                assignment_id=slot.assignment_id,
                fields=fields,
                now=Clock.now(),
            )
        with pytest.raises(ActionRefused, match="has its own form"):
            attempts.submit_signed_in(
                worker=worker, assignment_id=slot.assignment_id, fields=fields, now=Clock.now()
            )
        good, address = {"q1": "calm", "q2": "x"}, f"/work/tasks/{slot.assignment_id}/answer"
        assert browser(other).post(address, good).status_code == 404
        advance_time(seconds=1801)
        late = browser(worker).post(address, good)
        assert late.status_code == 409
        assert "ran out" in late.content.decode()
        assert not Assignment.objects.exclude(submitted_at=None).exists()

    def test_external_question_has_no_form(self, local_client: Any, worker: Worker, browser: Browser) -> None:
        slot = accept(worker, html_hit(local_client))
        assert (
            browser(worker).post(f"/work/tasks/{slot.assignment_id}/answer", {"q1": "a"}).status_code == 404
        )
        with pytest.raises(ActionRefused):
            attempts.submit_form(worker=worker, assignment_id=slot.assignment_id, answers=[], now=Clock.now())

    def test_form_preview_is_disabled(self, local_client: Any, worker: Worker, browser: Browser) -> None:
        hit = local_client.create_hit(**hit_params(Question=FORM))["HIT"]
        shown = page(browser(worker), f"/work/groups/{hit['HITTypeId']}/preview")
        assert "What is the mood?" in shown
        assert re.search(r'<fieldset class="qform" disabled', shown)
        assert "/answer" not in shown


@pytest.mark.rule(
    "question-kinds",
    source="D",
    text="A HIT's question is an ExternalQuestion, an HTMLQuestion or a QuestionForm of its schema.",
)
@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("<HTMLQuestion><HTMLContent>a</HTMLContent></HTMLQuestion>", "HTMLQuestion of schema 2011-11-11"),
        ("<QuestionForm/>", "QuestionForm of schema"),
        ("<!-- <HTMLQuestion> --><Other/>", "ExternalQuestion"),
        (build_html_question("<p>a</p>").replace("</HTMLQuestion>", "<Extra/></HTMLQuestion>"), "Extra"),
    ],
)
def test_questions_that_cannot_be_shown(local_client: Any, xml: str, words: str) -> None:
    with pytest.raises(ClientError) as failure:
        local_client.create_hit(**hit_params(Question=xml))
    assert code_of(failure)[0] == "ParameterValidationError"
    assert words in failure.value.response["Error"]["Message"]
    assert not HIT.objects.exists()
