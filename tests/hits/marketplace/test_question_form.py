"""QuestionForm: parsing, refused elements, rendering and answer checks."""

import re
import time
from typing import Any

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from hits.domain.mturk_formats.answer_xml import (
    FormAnswer,
    build_form_answer,
    parse_answer,
    parse_form_answer,
)
from hits.domain.mturk_formats.external_question import (
    QuestionError,
    QuestionInvalid,
    QuestionNotXml,
    QuestionTooLong,
)
from hits.marketplace.formats.answer_key import check_answer_key, parse_answer_key, score_answers
from hits.marketplace.formats.content import sanitise_html
from hits.marketplace.formats.form_answers import ProblemKind, bind_form, read_answers
from hits.marketplace.formats.patterns import PatternError, compile_pattern
from hits.marketplace.formats.question_form import Choice, FreeText, parse_question_form
from tests.support.question_forms import (
    FORM,
    OLD_FORM,
    TEST,
    choice,
    form_xml,
    free_text,
    key_question,
    key_xml,
    question,
)

BINARY = (
    "<Binary><MimeType><Type>{}</Type><SubType>gif</SubType></MimeType>"
    "<DataURL>{}</DataURL><AltText>The board</AltText></Binary>"
)


def overview(content: str) -> str:
    return f"<Overview>{content}</Overview>"


def one(answer: str, **more: Any) -> Any:
    """Return the form of one question."""
    return parse_question_form(form_xml(question("a", answer, **more)))


def shown(xml: str, posted: Any = None) -> str:
    """Return the HTML of a form."""
    form = parse_question_form(xml)
    problems = read_answers(form, posted)[1] if posted else []
    return render_to_string("marketplace/form/form.html", {"form": bind_form(form, posted, problems)})


def faults(form: Any, **posted: str | list[str]) -> list[tuple[ProblemKind, int | None]]:
    """Return the problems of the answers in a form's fields."""
    lists = {name: [value] if isinstance(value, str) else value for name, value in posted.items()}
    return [(problem.kind, problem.bound) for problem in read_answers(form, lists)[1]]


@pytest.mark.rule(
    "form-schemas", source="D", text="QuestionForm is accepted in the schemas 2017-11-06 and 2005-10-01."
)
@pytest.mark.parametrize("namespace", [FORM, OLD_FORM])
def test_form_from_reference_is_read(namespace: str) -> None:
    form = parse_question_form(
        form_xml(
            overview(
                "<Title>Game 01523</Title><Text>The board:</Text>"
                + BINARY.format("image", "https://example.org/board.gif")
                + "<List><ListItem>One</ListItem><ListItem>Two</ListItem></List>"
            ),
            question(
                "nextmove",
                free_text('<Length minLength="2" maxLength="2"/>', "<DefaultText>C1</DefaultText>"),
                required=True,
                name="The Next Move",
            ),
            question("likely", choice("no", "yes", style="radiobutton")),
            namespace=namespace,
        )
    )
    move, likely = form.questions
    assert (move.identifier, move.name, move.is_required, move.field) == (
        "nextmove",
        "The Next Move",
        True,
        "q1",
    )
    assert move.answer == FreeText(min_length=2, max_length=2, default="C1")
    assert isinstance(likely.answer, Choice)
    assert [row.identifier for row in likely.answer.selections] == ["no", "yes"]
    assert not likely.is_required


@pytest.mark.rule(
    "form-refused-by-name",
    source="D",
    text="Elements that a form may not contain are refused by name, such as Application and "
    "FileUploadAnswer.",
)
@pytest.mark.parametrize(
    ("xml", "words"),
    [
        (form_xml(), "at least one Question"),
        (form_xml("<Other/>"), "QuestionForm cannot hold Other"),
        (form_xml(question("a", free_text()) * 2), "'a' is used twice"),
        (form_xml(question("", free_text())), "needs a QuestionIdentifier"),
        (form_xml(question("a", "<FileUploadAnswer/>")), "FileUploadAnswer has not been served"),
        (form_xml(question("a", "")), "AnswerSpecification"),
        (form_xml(question("a", free_text() * 2)), "AnswerSpecification"),
        (
            form_xml(overview("<Application/>") + question("a", free_text())),
            "Application .* has not been served",
        ),
        (form_xml(question("a", free_text()).replace("false", "maybe")), "IsRequired must be true or false"),
        (form_xml(question("a", free_text('<IsNumeric minValue="low"/>'))), "IsNumeric minValue"),
        (form_xml(question("a", free_text('<Length minLength="9" maxLength="2"/>'))), "above maxLength 2"),
        (form_xml(question("a", free_text("<AnswerFormatRegex/>"))), "needs the attribute regex"),
        (form_xml(question("a", free_text('<AnswerFormatRegex regex="(a"/>'))), "never closed"),
        (form_xml(question("a", free_text('<AnswerFormatRegex regex="(?=a)b"/>'))), "look-ahead"),
        (form_xml(question("a", free_text('<AnswerFormatRegex regex="a" flags="g"/>'))), "flags"),
        (form_xml(question("a", free_text('<AnswerFormatRegex regex="a"/>' * 51))), "at most 50"),
        (form_xml(question("a", choice("x", "x"))), "its own SelectionIdentifier"),
        (form_xml(question("a", choice())), "at least one Selection"),
        (form_xml(question("a", choice("x", most=2))), "MaxSelectionCount"),
        (form_xml(question("a", choice("x", "y", least=2))), "above MaxSelectionCount"),
        (form_xml(question("a", choice("x", style="dial"))), "StyleSuggestion"),
        (
            form_xml(overview(BINARY.format("smell", "https://e.org/a")) + question("a", free_text())),
            "image, audio",
        ),
        (
            form_xml(overview(BINARY.format("image", "http://e.org/a")) + question("a", free_text())),
            "DataURL.*https",
        ),
        (
            form_xml(overview("<FormattedContent><b>x</b></FormattedContent>")),
            "FormattedContent holds text only",
        ),
    ],
)
def test_invalid_forms_are_refused(xml: str, words: str) -> None:
    with pytest.raises(QuestionInvalid, match=words):
        parse_question_form(xml)


@pytest.mark.parametrize(
    ("xml", "error"),
    [
        ("<QuestionForm", QuestionNotXml),
        ('<!DOCTYPE a [<!ENTITY x "y">]><QuestionForm/>', QuestionNotXml),
        ("<QuestionForm/>", QuestionInvalid),
        (f'<QuestionForm xmlns="{FORM}" xmlns:o="urn:o"><o:Question/></QuestionForm>', QuestionInvalid),
        (form_xml(question("a", free_text(), text="é" * 33_000)), QuestionTooLong),
    ],
)
def test_other_xml_is_not_a_form(xml: str, error: type[QuestionError]) -> None:
    with pytest.raises(error):
        parse_question_form(xml)


@pytest.mark.rule(
    "form-xhtml",
    source="D",
    text="FormattedContent is a subset of XHTML: no scripts, styles and event handlers, and https URLs only.",
)
def test_formatted_content_is_sanitised() -> None:
    html = sanitise_html(
        '<p style="x" onclick="a()" class="c">A <b>bold</b> <a href="javascript:a()">one</a> '
        '<a href="//evil.example">two</a> <a href="https://e.org/">three</a></p><div>kept</div><!-- gone -->'
        '<table bgcolor="red"><tr><td colspan="2">cell</td></tr></table>'
    )
    for gone in ("style=", "onclick", "class=", "javascript", "evil", "<div", "<!--", "bgcolor"):
        assert gone not in html
    for kept in ("<b>bold</b>", 'href="https://e.org/"', "kept", '<td colspan="2">cell</td>', "noopener"):
        assert kept in html


@pytest.mark.parametrize(
    "html",
    [
        "<script>a()</script>",
        "<iframe src=x>",
        "<input>",
        "<SCRIPT>",
        '<img src="http://e.org/a.gif">',
        "<img>",
        "<svg>",
    ],
)
def test_active_content_is_refused_by_name(html: str) -> None:
    with pytest.raises(QuestionInvalid, match="FormattedContent"):
        parse_question_form(
            form_xml(f"<Overview><FormattedContent><![CDATA[{html}]]></FormattedContent></Overview>")
        )


def test_plain_text_shows_its_markup_as_text() -> None:
    page = shown(form_xml(question("a", free_text(), text="&lt;b&gt; &amp; &quot;", name="&lt;i&gt;")))
    assert "&lt;b&gt; &amp; &quot;" in page
    assert "&lt;i&gt;" in page


@pytest.mark.rule(
    "form-constraints",
    source="D",
    text="Free text must meet IsNumeric, Length and every AnswerFormatRegex; a minLength makes an "
    "answer required.",
)
@pytest.mark.parametrize(
    ("constraints", "text", "wrong"),
    [
        ("", "", []),
        ('<IsNumeric minValue="100" maxValue="999"/>', "99", [(ProblemKind.TOO_SMALL, 100)]),
        ('<IsNumeric minValue="100" maxValue="999"/>', "999.5", [(ProblemKind.TOO_LARGE, 999)]),
        ('<IsNumeric minValue="100" maxValue="999"/>', " 100 ", []),
        ("<IsNumeric/>", "1e5", [(ProblemKind.NOT_A_NUMBER, None)]),
        ("<IsNumeric/>", "٣", [(ProblemKind.NOT_A_NUMBER, None)]),
        ("<IsNumeric/>", "-.5", []),
        ('<Length minLength="2"/>', "", [(ProblemKind.MISSING, None)]),
        ('<Length minLength="2"/>', "x", [(ProblemKind.TOO_SHORT, 2)]),
        ('<Length maxLength="3"/>', "four", [(ProblemKind.TOO_LONG, 3)]),
        ('<Length maxLength="3"/>', "a\r\nb", []),
        (r'<AnswerFormatRegex regex="(^$|\S{2,})"/>', "", []),
        (r'<AnswerFormatRegex regex="(^$|\S{2,})"/>', "x", [(ProblemKind.FORMAT, None)]),
        (r'<AnswerFormatRegex regex="^[12][0-9]{3}-[01]?\d-[0-3]?\d$"/>', "2026-11-3", []),
        (
            r'<AnswerFormatRegex regex="^[12][0-9]{3}-[01]?\d-[0-3]?\d$"/>',
            "2026-11-3\n",
            [(ProblemKind.FORMAT, None)],
        ),
        ('<AnswerFormatRegex regex="regex" flags="i"/>', "my RegExes", []),
        ('<AnswerFormatRegex regex="a"/><AnswerFormatRegex regex="b"/>', "a", [(ProblemKind.FORMAT, None)]),
    ],
)
def test_free_text_constraints_are_checked(constraints: str, text: str, wrong: list[Any]) -> None:
    assert faults(one(free_text(constraints)), q1=text) == wrong


def test_requesters_error_text_is_shown() -> None:
    rule = '<AnswerFormatRegex regex="^x$" errorText="Write an x, nothing &lt;else&gt;."/>'
    page = shown(form_xml(question("a", free_text(rule))), {"q1": ["y"]})
    assert "Write an x, nothing &lt;else&gt;." in page
    assert 'value="y"' in page
    assert "Invalid input supplied." in shown(
        form_xml(question("a", free_text('<AnswerFormatRegex regex="^x$"/>'))), {"q1": ["y"]}
    )


@pytest.mark.rule(
    "form-selections",
    source="D",
    text="A selection answer has MinSelectionCount to MaxSelectionCount (default 1 to 1) of the "
    "offered selections.",
)
def test_selection_counts_are_checked() -> None:
    several = one(choice("x", "y", "z", least=2, most=2), required=True)
    assert faults(several) == [(ProblemKind.UNCHOSEN, None)]
    assert faults(several, q1=["x"]) == [(ProblemKind.TOO_FEW, 2)]
    assert faults(several, q1=["x", "y", "z"]) == [(ProblemKind.TOO_MANY, 2)]
    assert read_answers(several, {"q1": ["z", "x", "made up"]})[0] == [FormAnswer("a", None, ("x", "z"))]
    optional = one(choice("x", "y", least=1))
    assert read_answers(optional, {}) == ([], [])
    other = one(
        choice(
            "x",
            "y",
            other='<OtherSelection><Constraints><Length maxLength="4"/></Constraints></OtherSelection>',
        )
    )
    assert read_answers(other, {"q1": [""], "q1.other": ["else"]})[0] == [FormAnswer("a", None, (), "else")]
    assert faults(other, **{"q1": ["x"], "q1.other": "else"}) == [(ProblemKind.TOO_MANY, 1)]
    assert faults(other, **{"q1.other": "longer"}) == [(ProblemKind.TOO_LONG, 4)]


def test_field_of_another_answer_has_the_name_that_is_read() -> None:
    page = shown(form_xml(question("a", choice("x", "y", other="<OtherSelection/>"))))
    assert 'name="q1.other"' in page


@pytest.mark.parametrize(
    "written", ["left\nright", "left\r\nright", "left&#13;right", "le&#127;ft&#10;right"]
)
@pytest.mark.parametrize("style", ["radiobutton", "dropdown"])
def test_line_feed_in_identifier_survives_browser_encoding(written: str, style: str) -> None:
    xml = form_xml(question("a", choice(written, "other", style=style)))
    form = parse_question_form(xml)
    answers, problems = read_answers(form, {"q1": ["left\r\nright"]})  # a browser's line end
    assert problems == []
    assert [row.selections for row in parse_form_answer(build_form_answer(answers))] == [("left\nright",)]
    page = shown(xml, {"q1": ["left\r\nright"]})
    assert re.search(r'value="left\nright"[^>]* (checked|selected)', page)
    key = parse_answer_key(key_xml(key_question("a", {written: 3})))
    check_answer_key(key, form)
    assert score_answers(key, answers) == 3


def test_ambiguous_identifiers_are_refused() -> None:
    for other in ("x&#127;", "\tx"):
        with pytest.raises(QuestionInvalid, match="its own SelectionIdentifier"):
            one(choice("x", other))
    with pytest.raises(QuestionInvalid, match="Selection needs a SelectionIdentifier"):
        one(choice("&#127;"))
    with pytest.raises(QuestionInvalid, match="'a' is used twice"):
        parse_question_form(form_xml(question("a", free_text()), question("a&#127;", free_text())))


def test_field_names_are_numbered_for_any_identifier() -> None:
    xml = form_xml(question("csrfmiddlewaretoken", free_text()), question("assignmentId", free_text()))
    page = shown(xml)
    assert 'name="q1"' in page
    assert "csrfmiddlewaretoken" not in page
    answers, _ = read_answers(parse_question_form(xml), {"q2": ["7"], "assignmentId": ["8"]})
    assert parse_answer(build_form_answer(answers)) == {"assignmentId": "7"}


@pytest.mark.parametrize(
    ("style", "most", "mark"),
    [
        ("radiobutton", 1, 'type="radio"'),
        ("", 1, 'type="radio"'),
        ("dropdown", 1, "<select"),
        ("checkbox", 2, 'type="checkbox"'),
        ("dropdown", 2, 'type="checkbox"'),
    ],
)
def test_choice_widget_follows_selection_counts(style: str, most: int, mark: str) -> None:
    page = shown(form_xml(question("a", choice("x", "y", most=most, style=style))), {"q1": ["y"]})
    assert mark in page
    assert page.count("checked") + page.count("selected") == 1


def test_media_urls_must_be_https() -> None:
    media = "".join(BINARY.format(kind, f"https://e.org/{kind}") for kind in ("image", "audio", "video"))
    page = shown(form_xml(overview(media) + question("a", free_text())))
    assert '<img class="qform-image" src="https://e.org/image" alt="The board"' in page
    assert '<audio controls preload="none" src="https://e.org/audio"' in page
    assert '<video class="qform-image" controls preload="none" src="https://e.org/video"' in page


@given(
    st.lists(
        st.tuples(st.text(min_size=1), st.lists(st.text()), st.none() | st.text(), st.none() | st.text())
    )
)
def test_answers_come_back_from_their_xml(rows: list[Any]) -> None:
    from hits.domain.mturk_formats.answer_xml import clean_xml_text

    answers = [
        FormAnswer(clean_xml_text(name), None if text is None else clean_xml_text(text), (), None)
        if text is not None
        else FormAnswer(
            clean_xml_text(name),
            None,
            tuple(map(clean_xml_text, chosen)),
            clean_xml_text(other or "") or None,
        )
        for name, chosen, other, text in rows
        if clean_xml_text(name)
    ]
    found = parse_form_answer(build_form_answer(answers))
    assert [row.value for row in found] == [row.value for row in answers]
    assert [row.selections for row in found] == [row.selections for row in answers]


class TestPatterns:
    """Requesters' regular expressions, in JavaScript's dialect and in bounded time."""

    @pytest.mark.rule(
        "form-pattern-time",
        source="ours",
        text="A requester's pattern is matched in time that grows linearly with the text.",
    )
    @pytest.mark.parametrize(
        "source", ["(a+)+$", "(a|a)*$", "(a*)*b", "a*a*a*a*a*a*a*b", "(x+x+)+y", "(.*)(.*)(.*)[^a]"]
    )
    def test_slow_pattern_finishes_in_time(self, source: str) -> None:
        text = "a" * 3_000
        start = time.thread_time()
        assert compile_pattern(source).search(text) in {True, False}
        assert time.thread_time() - start < 5

    @given(
        st.lists(
            st.sampled_from([*"ab1. ", "[ab]", "[^a]", r"\d", r"\w", r"\s", "^", r"\b", "(?:ab|b)", "(a|)"]),
            max_size=4,
        ),
        st.lists(st.sampled_from(["", "*", "+", "?", "{1,2}", "{2}", "*?"]), min_size=4, max_size=4),
        st.text("abc1 \n", max_size=6),
    )
    def test_pattern_agrees_with_python_re(self, atoms: list[str], marks: list[str], text: str) -> None:
        pairs = zip(atoms, marks, strict=False)
        source = "".join(atom + ("" if atom in {"^", r"\b"} else mark) for atom, mark in pairs)
        expected = re.search(source, text, re.ASCII) is not None
        assert compile_pattern(source).search(text) is expected

    @pytest.mark.parametrize(
        ("source", "text", "found"),
        [
            ("a$", "a\n", False),
            ("[^a]", "a", False),
            (r"^\u00e9\x41$", "éA", True),
            (r"[\d-]+", "-", True),
            ("a{,2}", "a{,2}", True),
            ("[]a]", "a]", False),
            ("", "", True),
        ],
    )
    def test_pattern_follows_javascript_dialect(self, source: str, text: str, found: bool) -> None:
        assert compile_pattern(source).search(text) is found

    def test_case_is_ignored_within_classes_too(self) -> None:
        for source in ("[a-z]+$", "STRASSE|x", "^[^b]*$"):
            assert compile_pattern(source, ignores_case=True).search("A" if "S" not in source else "X")
        assert not compile_pattern("[^a]", ignores_case=True).search("A")

    @pytest.mark.parametrize(
        "source",
        [
            "(",
            ")",
            "[a",
            "a\\",
            "*a",
            "(?<n>a)",
            "(?!a)",
            r"(a)\1",
            "a{2,1}",
            "a{999}",
            "(a{400}){400}",
            "a" * 501,
            "[z-a]",
            "(" * 30,
        ],
    )
    def test_unsupported_pattern_is_refused(self, source: str) -> None:
        with pytest.raises(PatternError):
            compile_pattern(source)


def test_sample_form_is_valid() -> None:
    assert len(parse_question_form(TEST).questions) == 2
