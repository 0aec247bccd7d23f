"""A worker takes a qualification test in a real browser; every state of its pages at two widths, and in the dark."""

from collections.abc import Callable
from typing import Any

import pytest

from hits.marketplace.models import Clock, Qualification, QualificationType, TypeStatus
from hits.marketplace.services import accounts, qualification_requests, qualifications
from hits.marketplace.services.qualifications import QualificationTerms
from tests.support import market
from tests.support.axe import check_page
from tests.support.question_forms import TEST, TEST_KEY, choice, form_xml, free_text, question

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LIST = "/work/qualifications"
LONG = form_xml(
    "<Overview><Title>Looking closely</Title><Text>Read each photo as a detective would.</Text>"
    "<List><ListItem>Name what you see.</ListItem><ListItem>Say what it hints at.</ListItem></List>"
    "<FormattedContent><![CDATA[<p>A <b>clue</b> is in the photo, an <i>inference</i> is not.</p>"
    "<table><tr><th>Clue</th><th>Inference</th></tr><tr><td>Wet umbrella</td><td>It rained.</td></tr></table>]]>"
    "</FormattedContent></Overview>",
    question(
        "sky", choice("blue", "green", "grey"), required=True, name="The sky", text="What colour is it?"
    ),
    question("fruit", choice("apple", "pear", "chair", most=2), required=True, text="Which are fruit?"),
    question("place", choice("kitchen", "street", style="dropdown"), text="Where was this taken?"),
    question(
        "other", choice("dog", "cat", other="<OtherSelection/>"), name="The animal", text="Which one is it?"
    ),
    question(
        "age", free_text('<IsNumeric minValue="1" maxValue="120"/>'), required=True, text="How old is she?"
    ),
    question(
        "why", free_text('<Length minLength="20"/>', "<NumberOfLinesSuggestion>4</NumberOfLinesSuggestion>")
    ),
)


@pytest.fixture
def types(site: str) -> dict[str, QualificationType]:
    """Types of another requester: scored at once, read by hand, given at once, and without a test."""
    requester = accounts.create_key_pair(name="Abduction lab").requester

    def make(name: str, description: str, **terms: Any) -> QualificationType:
        return qualifications.create_qualification_type(
            requester=requester,
            name=name,
            description=description,
            keywords="",
            status=TypeStatus.ACTIVE,
            now=Clock.now(),
            terms=QualificationTerms(is_decided_by_hand=True, **terms),
        )

    return {
        "scored": make(
            "Photo reader",
            "Two questions about photos. 80 or more opens the observation tasks.",
            test=TEST,
            answer_key=TEST_KEY,
            test_seconds=600,
            retry_delay_seconds=86_400,
        ),
        "by hand": make("Close looker", "Six questions, read by a person.", test=LONG, test_seconds=1200),
        "given": make("Newsletter", "For people who want to hear of new rounds.", is_auto_granted=True),
        "asked": make("Helper", "Ask, and we look at your work so far.", retry_delay_seconds=3600),
    }


def look(page: Any, state: str) -> None:
    """Check the page as it stands."""
    check_page(page, state)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{state} is too wide"


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_every_state_of_the_pages(
    types: dict[str, QualificationType],
    open_page: Callable[..., Any],
    sign_in: Any,
    width: int,
    scheme: str,
) -> None:
    worker = market.market_worker("wilma")
    page = open_page(width=width, height=844, color_scheme=scheme)
    sign_in(page, "wilma")
    page.goto(LIST)
    look(page, "what can be asked for")
    page.get_by_role("link", name="Details of Close looker").click()
    look(page, "a qualification by a test")
    page.get_by_role("button", name="Start the test").click()
    look(page, "a test")
    page.get_by_label("blue").check()
    page.get_by_role("textbox", name="How old is she?").fill("old")
    page.get_by_role("button", name="Submit the test").click()
    page.get_by_role("heading", name="3 answers need attention").wait_for()
    assert page.get_by_label("blue").is_checked()
    look(page, "a test with problems")
    page.get_by_role("link", name="Question 5").click()
    assert page.evaluate("document.activeElement.id") == "q5"
    page.keyboard.press("Control+a")
    page.keyboard.type("44")
    page.get_by_label("apple").check()
    page.get_by_role("textbox", name="Why?").fill("Because of the hair and the shoes.")
    page.get_by_role("button", name="Submit the test").click()
    page.get_by_text("Request pending.").wait_for()
    look(page, "a request that waits")
    request = worker.qualification_requests.get()
    qualification_requests.reject_request(
        request=request, reason="Say more about what you see.", now=Clock.now()
    )
    page.reload()
    look(page, "a request that was turned down")
    qualification_requests.request_qualification(
        worker=worker, qualification_type=types["given"], now=Clock.now()
    )
    qualification_requests.request_qualification(
        worker=worker, qualification_type=types["asked"], now=Clock.now()
    )
    page.goto(LIST)
    look(page, "held, waiting and closed")
    page.goto(f"{LIST}/{types['scored'].type_id}")
    page.get_by_role("button", name="Start the test").click()
    made = worker.qualification_requests.get(qualification_type=types["scored"])
    page.get_by_label("blue").check()
    type(made).objects.filter(pk=made.pk).update(deadline=made.started_at)
    page.get_by_label("Selection apple").check()
    page.get_by_role("button", name="Submit the test").click()
    page.get_by_text("Your answers came too late").wait_for()
    assert page.get_by_label("blue").is_checked()
    look(page, "a test that came too late")
    page.get_by_role("link", name="Back to the qualification").click()
    look(page, "a qualification whose test ran out")


def test_a_scored_test_is_granted_at_once(
    types: dict[str, QualificationType], open_page: Callable[..., Any], sign_in: Any
) -> None:
    market.market_worker("wilma")
    page = open_page(width=390, height=844)
    sign_in(page, "wilma")
    page.goto(f"{LIST}/{types['scored'].type_id}")
    page.get_by_role("button", name="Start the test").click()
    page.locator("[data-countdown]").wait_for()
    for label in ("Selection blue", "Selection apple", "Selection pear"):
        page.get_by_label(label).check()
    page.get_by_role("button", name="Submit the test").click()
    page.get_by_text("Value 100").wait_for()
    look(page, "a qualification that was granted")
    assert Qualification.objects.get().value == 100
