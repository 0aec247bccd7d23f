"""Tasks whose page is a form: what a browser sends is the kind's own sample answer, and nothing can be left out."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from hits import registry
from hits.models import Hit, Image, Project, Submission
from hits.services.images.import_image import import_image
from tests.support import market
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import READY, agreed, plain_photo, task_address
from tests.support.messages import ROOT
from tests.support.pages import wait_until_seen
from tests.support.play import Play

pytestmark = pytest.mark.browser
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "light")]


def _is_a_form(name: str) -> bool:
    module = inspect.getfile(type(registry.get_kind(name)))
    script = Path(module).parent / "static" / name / "task.js"
    return script.is_file() and "plain-form.js" in script.read_text("utf-8")


FORMS = [name for name in registry.kind_names() if _is_a_form(name)]


@pytest.fixture
def photos(site: str, project: Project) -> list[Image]:
    """Return a wide photo, a tall one and a square one."""
    market.fund()
    return [
        import_image(project=project, name=f"{width}.jpg", data=plain_photo(width, height))[0]
        for width, height in ((640, 426), (420, 640), (500, 500))
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", FORMS)
def test_what_a_form_sends_is_the_answer(
    name: str, open_page: Callable[..., Any], project: Project, photos: list[Image]
) -> None:
    play = Play(registry.get_kind(name), project, photos)
    task = agreed(market.accept(Hit.objects.get(unit__batch=play.launched()), market.market_worker("wanda")))
    page = open_page(width=1280, height=900)
    page.goto(task_address(task))
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    wait_until_seen(page)
    button = page.locator("#submit")
    expect(button).to_have_attribute("aria-disabled", "true")
    for gap in page.locator("#gaps a").all():
        assert gap.text_content(), "what is missing is said"
    page.locator("#gaps a").first.click()
    assert page.evaluate("document.activeElement.closest('#work') !== null"), (
        "a gap's link leads to its field"
    )
    check_sizes(page, name, SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    for field, value in play.sample["answer"].items():
        _fill(page, field, value)
    expect(page.locator("#gaps a")).to_have_count(0)
    page.locator("#save").get_by_text("Saved").wait_for()
    page.reload()
    page.locator(READY).wait_for(state="attached")
    expect(button).to_have_attribute("aria-disabled", "false")  # what was written is there again
    check_page(page, f"{name}, complete")
    with page.expect_request("**/mturk/externalSubmit"):
        button.click()
    assert Submission.objects.get().answer == play.sample["answer"]


def _fill(page: Any, field: str, value: Any) -> None:
    if isinstance(value, dict):  # such as one answer for each image
        for key, one in value.items():
            _fill(page, f"{field}-{key}", one)
        return
    controls = page.locator(f"#work [name={field}]")
    kind = controls.first.evaluate("control => control.type")
    if isinstance(value, bool):
        controls.set_checked(value, force=True)
    elif kind in ("radio", "checkbox"):
        chosen = value if isinstance(value, list) else [value]
        for one in controls.all():
            if kind == "checkbox" or one.get_attribute("value") in chosen:
                one.set_checked(one.get_attribute("value") in chosen, force=True)
    elif kind.startswith("select"):
        controls.select_option(value)
    elif kind != "hidden":
        controls.fill(str(value))


# The class alone, on a page that holds nothing but controls: no server, no database.

_BARE = """<!doctype html><form novalidate><fieldset id="work">{controls}</fieldset></form><script type="module">
import {{ PlainForm }} from '/static/js/hit/plain-form.js';
window.changes = 0;
window.form = new PlainForm();
form.start({{ config: {{ pay: {{ reward_cents: 1 }} }}, changed: () => {{ window.changes += 1; }} }});
form.write(null);
document.documentElement.dataset.ready = 'true';
</script>"""


@pytest.fixture
def open_bare(chromium: Any) -> Iterator[Callable[[str], Any]]:
    """Return a function that opens a page with a form's controls; ``page.problems`` are its errors."""
    context = chromium.new_context(locale="en-US")
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))

    def open_(controls: str) -> Any:
        def serve(route: Any) -> None:
            path = route.request.url.removeprefix("http://form.test/")
            if path:
                route.fulfill(path=ROOT / path, content_type="text/javascript")
            else:
                route.fulfill(body=_BARE.format(controls=controls), content_type="text/html")

        page.route("http://form.test/**", serve)
        page.goto("http://form.test/")
        page.wait_for_load_state()
        return page

    yield open_
    context.close()


def _gaps(page: Any) -> list[str]:
    texts: list[str] = page.evaluate("form.gaps().map((gap) => gap.text)")
    return texts


def _answer(page: Any) -> dict[str, Any]:
    answer: dict[str, Any] = page.evaluate("form.answer()")
    return answer


PRESETS = """
  <input type="hidden" name="round" value="2">
  <input name="word" value="rain"><textarea name="text">as it is</textarea>
  <input type="number" name="count" value="3"><input type="range" name="share" min="0" max="10">
  <select name="place"><option>here</option><option>there</option></select>
  <select name="many" multiple><option>a<option selected>b<option selected>c</select>
  <input type="radio" name="side" value="left"><input type="radio" name="side" value="right" checked>
  <input type="checkbox" name="faults" value="vague" checked><input type="checkbox" name="faults" value="rude">
  <input type="checkbox" name="sure" checked>"""
PRESET = {
    "round": "2", "word": "rain", "text": "as it is", "count": 3, "share": 5, "place": "here", "many": ["b", "c"],
    "side": "right", "faults": ["vague"], "sure": True,
}  # fmt: skip
OTHER = {
    "round": "7", "word": "", "text": "mine", "count": 0, "share": 9, "place": "there", "many": ["a"],
    "side": "left", "faults": [], "sure": False,
}  # fmt: skip


def test_without_a_draft_the_page_keeps_its_defaults(open_bare: Callable[[str], Any]) -> None:
    page = open_bare(PRESETS)
    assert _answer(page) == PRESET
    page.evaluate("answer => form.write(answer)", OTHER)
    assert _answer(page) == OTHER
    page.evaluate("form.write({word: 'wind'})")  # a draft that lacks the other fields
    assert _answer(page) == PRESET | {"word": "wind"}


def test_an_emptied_field_stays_empty_when_its_draft_is_shown(open_bare: Callable[[str], Any]) -> None:
    page = open_bare(PRESETS + '<select name="who"><option value="">Choose<option selected>me</select>')
    page.fill("[name=count]", "")
    page.select_option("[name=who]", "")
    draft = page.evaluate("form.read()")
    page.evaluate("draft => { form.write(null); form.write(draft); }", draft)
    assert _answer(page) == {key: value for key, value in PRESET.items() if key != "count"}


@pytest.mark.parametrize(
    ("control", "typed", "message"),
    [
        ('type="number" min="1"', "0", "greater than or equal to 1"),
        ('type="number"', "2.5", "valid value"),
        ('type="number" max="9"', "10", "less than or equal to 9"),
        ('type="number"', "1e", "enter a number"),
        ('type="email"', "wanda", "'@'"),
        ('pattern="[a-z]+"', "RAIN", "match the requested format"),
        ('minlength="4"', "ab", "4 characters"),
    ],
)
def test_what_breaks_a_controls_own_rule_is_a_gap(
    control: str, typed: str, message: str, open_bare: Callable[[str], Any]
) -> None:
    page = open_bare(
        f'<label for="it">How many</label> <input id="it" name="it" data-gap="say it" {control}>'
    )
    assert _gaps(page) == []
    page.locator("#it").press_sequentially(typed)
    (gap,) = _gaps(page)
    assert gap.startswith("How many: ")
    assert message in gap
    page.evaluate("form.gaps()[0].focus()")
    assert page.evaluate("document.activeElement.id") == "it"


def test_a_draft_that_is_too_short_is_a_gap(open_bare: Callable[[str], Any]) -> None:
    page = open_bare('<label>Why <textarea name="why" minlength="10">because it is so</textarea></label>')
    page.evaluate("form.write({why: 'so'})")
    assert _gaps(page) == ["Why"]


def test_controls_that_are_hidden_or_disabled_are_no_gap(open_bare: Callable[[str], Any]) -> None:
    page = open_bare("""
      <div id="block" hidden><input name="hidden" required></div>
      <input name="off" id="off" required disabled value="no">
      <fieldset id="set" disabled><input name="inner" required></fieldset>
      <input type="hidden" name="secret" required>""")
    assert _gaps(page) == []
    assert _answer(page) == {"hidden": "", "secret": ""}
    page.evaluate("document.getElementById('block').hidden = document.getElementById('set').disabled = false")
    assert _gaps(page) == ["hidden", "inner"]
    assert page.evaluate("changes") == 1  # so that the page's list of what is missing follows
    page.evaluate("document.getElementById('work').disabled = true")
    assert _gaps(page) == ["hidden", "inner"]  # as before the task is open, and in a preview


def test_a_block_that_hangs_on_an_answer_follows_a_draft(open_bare: Callable[[str], Any]) -> None:
    page = open_bare("""<input type="checkbox" name="more"><p hidden id="block"><input name="what" required></p>
      <script>document.querySelector('[name=more]').addEventListener('change', (e) => {
        document.getElementById('block').hidden = !e.target.checked;
      });</script>""")
    assert _gaps(page) == []
    page.evaluate("form.write({more: true, what: ''})")
    assert _gaps(page) == ["what"]
    assert page.evaluate("changes") == 0  # a draft that is shown is no change by the person


@pytest.mark.parametrize(
    "controls",
    [
        '<input name="word"><input name="word">',
        '<input type="checkbox" name="word"><input type="checkbox" name="word">',
        '<input type="radio" name="word" value="a"><textarea name="word"></textarea>',
    ],
)
def test_two_controls_of_one_name_are_refused_at_start(
    controls: str, open_bare: Callable[[str], Any]
) -> None:
    problems = open_bare(controls).problems
    assert len(problems) == 1
    assert 'two controls are named "word"' in problems[0]


def test_each_field_can_be_pointed_at_and_any_radio_may_require(open_bare: Callable[[str], Any]) -> None:
    page = open_bare("""<p id="field-word"></p><input name="word" required>
      <fieldset><legend>Side</legend><input type="radio" name="side" value="l">
      <input type="radio" name="side" value="r" required></fieldset>""")
    found = page.evaluate("form.gaps().map(({ href, text }) => [href, text])")
    assert found == [["#field-word-2", "word"], ["#field-side", "Side"]]
