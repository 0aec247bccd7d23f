"""The question page and its exam: nothing is lost, what is refused is said, everybody can use it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from hits import registry
from hits.domain.answers.exam import ExamScore
from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.domain.states import SubmissionMatch
from hits.models import Hit, Project, Submission, Unit
from tests.support.axe import check_sizes
from tests.support.loop import collected
from tests.support.mentions import QuestionPage, question_hit
from tests.support.pages import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BOTH = [(390, "light"), (1280, "light"), (1280, "dark")]


@pytest.fixture
def hit(site: str, project: Project) -> Hit:
    """Return a live question HIT."""
    return question_hit(project)


@pytest.fixture
def exam(site: str, project: Project) -> Hit:
    """Return a live exam with the built-in questions."""
    name = "vcr_exam"
    questions = [dict(row) for row in registry.get_kind(name).exam_rule.questions]
    return question_hit(project, kind=name, questions=questions)


def _write(task: QuestionPage, card: int = 1, **texts: str) -> None:
    for name, text in texts.items():
        task.field(name, card).click()
        task.page.keyboard.type(text)


def test_reload_and_a_second_tab_keep_everything(hit: Hit, open_page: Callable[..., Any]) -> None:
    task = QuestionPage.opened(hit, open_page, width=1280, height=900)
    _write(task, question="Why does 1 and 2 look at 3?", answer="It eats ")
    task.choose(likelihood="possible")
    task.interest(-1)
    task.page.locator("#q2 summary").click()
    _write(task, card=2, question="What will 5")
    task.page.keyboard.press("Escape")
    task.wait_saved()
    task.page.reload()
    task.ready()

    def shown(page: QuestionPage) -> list[Any]:
        return [
            page.text("question"),
            page.chips("question"),
            page.text("answer"),
            page.text("question", 2),
            page.page.locator("input[name=likelihood-1]:checked").get_attribute("value"),
            page.page.locator("input[name=interest]:checked").get_attribute("value"),
        ]

    expected = [
        "Why does person 1 and person 2 look at dog 3?",
        ["person 1 and person 2", "dog 3"],
        "It eats ",
        "What will 5",
        "possible",
        "-1",
    ]
    assert shown(task) == expected
    second = task.another_tab()
    assert shown(second) == expected
    second.page.locator("#q1").evaluate("card => { card.open = true; }")
    second.field("answer").focus()
    second.page.keyboard.press("End")
    second.page.keyboard.type("the 5.")
    second.wait_saved()
    until(task.page, lambda: task.text("answer") == "It eats the cup 5.", "the first tab did not follow")
    assert task.page.locator(".note-bar").count() == 0, "nothing to decide"


def test_hints_advise_and_never_block(hit: Hit, open_page: Callable[..., Any]) -> None:
    task = QuestionPage.opened(hit, open_page, width=1280, height=900)
    _write(task, question="What is going on here?", answer="The man on the left is late.")
    hints = task.page.locator("#q1 .hint")
    hints.nth(1).wait_for()
    assert "“The man on the left" not in hints.first.inner_text()
    assert {text.split("\n")[0] for text in hints.all_inner_texts()} == {
        "What is going on here? fits any photo. Mention an object, or ask about what is special here.",
        "Do not describe The man on the left: mention the object by its number.",
    }
    hints.first.get_by_role("button", name="Ignore").click()
    until(task.page, lambda: hints.count() == 1, "the ignored hint stays away")
    _write(task, rationale="The 1 looks at the door all the time.")
    task.choose()
    task.interest()
    assert task.gaps() == []


def test_page_names_each_gap_and_the_server_what_it_refuses(
    hit: Hit, open_page: Callable[..., Any], project: Project
) -> None:
    task = QuestionPage.opened(hit, open_page, width=1280, height=900)
    assert task.gaps() == [
        "Question 1: question, answer, reason, how likely",
        "Say whether the photo is interesting",
    ]
    _write(task, question="Why so", answer="They like the others.", rationale="It looks like that to me.")
    task.choose()
    task.interest()
    assert task.gaps() == ["Question 1: question: 2 words more"]
    task.page.locator("#gaps a").click()
    assert task.field("question").evaluate("field => field === document.activeElement")
    task.page.keyboard.press("End")
    task.page.keyboard.type(" very glad?")
    assert task.gaps() == ["Mention 1 more object"]
    task.page.locator("#submit").focus()
    task.page.keyboard.press("Enter")  # leads to the gap
    task.page.keyboard.press("End")
    task.page.keyboard.type(" Or 2?")
    assert task.gaps() == []
    task.page.locator("#q2 summary").click()
    _write(task, card=2, question="x")
    assert task.gaps() == ["Question 2: question, answer, reason, how likely, or clear it"]
    task.page.locator("#q2 [data-clear]").click()
    assert task.gaps() == []
    payload = copy.deepcopy(hit.unit.payload)
    Unit.objects.update(payload=payload | {"objects_sha256": "cd" * 32})
    task.page.locator("#submit").click()
    assert "another unit's object list" in task.page.locator("#errors li").inner_text()
    assert not Submission.objects.exists()


def test_preview_shows_the_page_and_accepts_nothing(
    hit: Hit, open_page: Callable[..., Any], settings: Any
) -> None:
    page = open_page()
    page.goto(
        f"{settings.HIT_ORIGIN}{reverse('hit-page', args=[hit.unit.public_id])}?assignmentId={NO_ASSIGNMENT}"
    )
    page.locator("html[data-ready=true]").wait_for(state="attached")
    field = page.locator("#question-1")
    field.click(force=True)
    page.keyboard.type("1 ")
    page.mouse.click(*QuestionPage(page, None).at(3))  # type: ignore[arg-type]
    assert field.inner_text() == ""
    assert page.locator("#objects button:disabled").count() == 5


def test_exam_is_done_on_a_phone(exam: Hit, open_page: Callable[..., Any]) -> None:
    task = QuestionPage.opened(exam, open_page, width=390, height=844, has_touch=True, is_mobile=True)
    questions = exam.unit.payload["questions"]
    for number, question in enumerate(questions, start=1):
        wrong = number <= 2
        choice = (question["right"] + wrong) % len(question["choices"])
        task.page.locator(f"#exam-{number} .choice").nth(choice).tap()
    task.page.locator("[data-next]").tap()
    assert task.page.locator("#write-title:focus").count() == 1
    for name, text in {"question": "Why does 1 ", "answer": "The 3 ", "rationale": "Dogs "}.items():
        task.field(name).tap()
        task.page.keyboard.type(f"{text}run about at night?")
    task.page.locator("label:has([value=unlikely])").tap()
    assert task.gaps() == []
    task.page.locator("#submit").tap()
    task.page.wait_for_url(lambda url: "/hit/" not in url)
    (assignment,) = collected(exam.unit.batch)
    assert assignment.match == SubmissionMatch.MATCHED
    kind, answer = registry.get_kind(exam.unit.batch.kind), Submission.objects.get().answer
    assert kind.exam_score(exam.unit.payload, answer) == ExamScore(
        right=len(questions) - 2, total=len(questions)
    )
    assert answer["triplet"]["question"] == ["Why does ", {"objects": [0]}, " run about at night?"]


@pytest.mark.long
def test_pages_are_accessible_in_each_state(
    hit: Hit, exam: Hit, open_page: Callable[..., Any], project: Project
) -> None:
    task = QuestionPage.opened(hit, open_page, width=1280, height=900)
    check_sizes(task.page, "at first", BOTH)
    _write(task, question="What is going on here with 1?", answer="[")
    check_sizes(task.page, "with the list", BOTH)
    task.page.keyboard.press("Enter")
    task.page.keyboard.type(" 2")
    check_sizes(task.page, "with a suggestion", BOTH)
    task.page.keyboard.press("Escape")
    _write(task, rationale="She is the man on the left.")
    task.page.locator("#q1 .hint").first.wait_for()
    check_sizes(task.page, "with hints", BOTH)
    other = QuestionPage.opened(exam, open_page, worker="walter", width=1280, height=900)
    check_sizes(other.page, "the exam", BOTH)
    other.page.locator(".step").last.click()
    check_sizes(other.page, "the exam's own question", BOTH)
