"""Pure functions: money, the two XML formats, access keys."""

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.domain.money.fees import AMAZON_FEES, LOCAL_FEES, fee_schedule
from hits.domain.money.usd import format_bare_usd, format_dollars, parse_usd
from hits.domain.mturk_formats import answer_xml, external_question
from hits.domain.mturk_formats.access_keys import derive_secret, new_access_key_id

RESERVED = st.sampled_from(sorted(answer_xml.RESERVED_FIELDS))


@pytest.mark.rule(
    "money-text",
    source="M",
    text="Money is text in dollars with at most two decimals (CurrencyAmount); it is stored as whole cents.",
)
@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("1.10", 110),
        ("1", 100),
        ("1.", 100),
        ("0.5", 50),
        ("0", 0),
        ("007.01", 701),
        ("999999999.99", 99_999_999_999),
    ],
)
def test_parse_usd(text: str, cents: int) -> None:
    assert parse_usd(text) == cents


@pytest.mark.rule(
    "money-text",
    source="M",
    text="Money is text in dollars with at most two decimals (CurrencyAmount); it is stored as whole cents.",
)
@pytest.mark.parametrize(
    "text", ["", "$1", "1.105", "-1", "+1", "1,000", " 1", "1\n", "1e2", "٣", ".5", "NaN", "1" * 10, "0x1"]
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="Write whole cents"):
        parse_usd(text)


@given(st.integers(0, 10**11 - 1))
def test_format_and_parse_are_inverse(cents: int) -> None:
    assert parse_usd(format_bare_usd(cents)) == cents


def test_format_usd() -> None:
    assert [format_bare_usd(-5), format_bare_usd(110)] == ["-0.05", "1.10"]
    assert [format_dollars(123_456), format_dollars(-5)] == ["$1,234.56", "−$0.05"]


@pytest.mark.rule(
    "fees-amazon",
    source="D",
    text="Amazon's fees are 20 %, 20 % more from 10 assignments, 5 % more for Masters, and at least a cent "
    "for each assignment.",
)
@pytest.mark.parametrize(
    ("cents", "assignments", "masters", "fee"),
    [
        (1, 1, False, 1),
        (7, 1, False, 1),
        (8, 1, False, 2),
        (45, 9, False, 9),
        (45, 10, False, 18),
        (45, 9, True, 11),
    ],
)
def test_amazons_fee_table(cents: int, assignments: int, masters: bool, fee: int) -> None:
    assert AMAZON_FEES.fee_cents(cents, assignments, masters=masters) == fee


def test_local_fees_are_zero_and_unknown_schedule_is_named() -> None:
    assert LOCAL_FEES.fee_cents(110, 100, masters=True) == 0
    with pytest.raises(LookupError, match="amazon, local"):
        fee_schedule("ebay")
    with pytest.raises(ValueError, match="cannot be negative"):
        AMAZON_FEES.fee_cents(-1)


DECLARED = ["ISO-8859-1", "utf-8", "windows-1252", "ASCII", "UTF-16", "no-such-encoding"]


class TestExternalQuestion:
    def test_round_trip_with_ampersands(self) -> None:
        url = "https://example.org/a?b=1&c=<2>"
        parsed = external_question.parse_external_question(
            external_question.build_external_question(url, 600)
        )
        assert (parsed.url, parsed.frame_height) == (url, 600)

    @pytest.mark.rule(
        "external-question",
        source="D",
        text="An ExternalQuestion is well-formed XML of its schema, without doctype and entities.",
    )
    @pytest.mark.parametrize(
        ("xml", "error"),
        [
            ("<oops", external_question.QuestionNotXml),
            ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', external_question.QuestionNotXml),
            ("<a/>", external_question.QuestionInvalid),
            (f'<ExternalQuestion xmlns="{external_question.NAMESPACE}"/>', external_question.QuestionInvalid),
            ("é" * 33_000, external_question.QuestionTooLong),
        ],
    )
    def test_refused(self, xml: str, error: type[Exception]) -> None:
        with pytest.raises(error):
            external_question.parse_external_question(xml)

    @pytest.mark.parametrize("declared", DECLARED)
    def test_declared_encoding_does_not_garble_decoded_text(self, declared: str) -> None:
        url = "https://example.org/Größe/大?q=é"
        written = external_question.build_external_question(url, 600)
        xml = f'\n<?xml version="1.0" encoding="{declared}"?>{written}'
        assert external_question.parse_external_question(xml).url == url

    @pytest.mark.rule(
        "external-question-frame",
        source="D",
        text="FrameHeight is a whole number of pixels; 0 lets the framing page choose the height.",
    )
    @pytest.mark.parametrize("height", ["-1", "auto", "1e3", "١٢", "100001"])
    def test_frame_height(self, height: str) -> None:
        xml = external_question.build_external_question("https://e.org", 5).replace(">5<", f">{height}<")
        with pytest.raises(external_question.QuestionInvalid, match="FrameHeight"):
            external_question.parse_external_question(xml)

    @pytest.mark.rule("question-size", source="D", text="A Question has at most 65,535 bytes.")
    def test_limit_is_in_bytes(self) -> None:
        room = external_question.MAX_QUESTION_BYTES - len(
            external_question.build_external_question("https://e/", 0)
        )
        exact = external_question.build_external_question("https://e/" + "a" * room, 0)
        assert len(exact.encode()) == external_question.MAX_QUESTION_BYTES
        with pytest.raises(external_question.QuestionTooLong):
            external_question.build_external_question("https://e/" + "a" * (room + 1), 0)

    @pytest.mark.rule(
        "external-question-https",
        source="D",
        text="An ExternalURL is https; http is allowed for the platform's own page origin only.",
    )
    @pytest.mark.parametrize(
        ("url", "allowed"),
        [
            ("https://example.org/x", True),
            ("http://127.0.0.1:8000/hit/1", True),
            ("http://127.0.0.1:8001/hit/1", False),
            ("http://127.0.0.1/hit/1", False),
            ("http://localhost:8000/hit/1", False),
            ("http://127.0.0.1:8000@evil.example/", False),
            ("https://user@evil.example/", False),
            ("javascript:alert(1)", False),
            ("//example.org", False),
            ("http://127.0.0.1:99999/", False),
        ],
    )
    def test_which_pages_may_be_framed(self, url: str, allowed: bool) -> None:
        if allowed:
            external_question.check_url(url, http_origin="http://127.0.0.1:8000")
            return
        with pytest.raises(external_question.QuestionInvalid):
            external_question.check_url(url, http_origin="http://127.0.0.1:8000")

    @pytest.mark.rule(
        "external-question-parameters",
        source="D",
        text="assignmentId, hitId, workerId and turkSubmitTo are appended to the framed URL with ? or "
        "&, before a fragment.",
    )
    def test_frame_url_order_joint_and_fragment(self) -> None:
        ids = {
            "assignment_id": "A1",
            "hit_id": "H1",
            "worker_id": "W1",
            "submit_to": "http://localhost:8000/a/s",
        }
        tail = "assignmentId=A1&hitId=H1&workerId=W1&turkSubmitTo=http%3A%2F%2Flocalhost%3A8000%2Fa%2Fs"
        assert external_question.frame_url("https://e.org/p", **ids) == f"https://e.org/p?{tail}"
        assert (
            external_question.frame_url("https://e.org/p?q=1#top", **ids) == f"https://e.org/p?q=1&{tail}#top"
        )


class TestAnswerXml:
    @pytest.mark.rule(
        "answer-escapes",
        source="I",
        text="An Answer escapes only &, < and >, as scripts expect that extract FreeText with a "
        "regular expression.",
    )
    def test_only_three_characters_are_escaped(self) -> None:
        xml = answer_xml.build_answer([("a", "R&B <b> \"quoted\" 'it' é ☃ 𝔘")])
        assert "<FreeText>R&amp;B &lt;b&gt; \"quoted\" 'it' é ☃ 𝔘</FreeText>" in xml

    @pytest.mark.rule(
        "answer-free-text",
        source="D",
        text="Each field of the posted form is a FreeText of its name in QuestionFormAnswers; the "
        "marketplace's own fields are omitted.",
    )
    @given(st.lists(st.tuples(st.one_of(st.text(min_size=1, max_size=2), RESERVED), st.text()), min_size=1))
    def test_any_form_reads_back_as_cleaned(self, fields: list[tuple[str, str]]) -> None:
        usable = [(name, value) for name, value in fields if answer_xml.clean_xml_text(name)]
        clean: dict[str, str] = {}
        for name, value in usable:
            if name not in answer_xml.RESERVED_FIELDS:
                key, text = answer_xml.clean_xml_text(name), answer_xml.clean_xml_text(value)
                clean[key] = f"{clean[key]}|{text}" if key in clean else text
        if not clean:
            with pytest.raises(answer_xml.AnswerError):
                answer_xml.build_answer(usable)
            return
        assert answer_xml.parse_answer(answer_xml.build_answer(usable)) == clean

    @pytest.mark.rule(
        "answer-same-name",
        source="ours",
        text="Several values of one name, such as ticked boxes, are one FreeText joined with |.",
    )
    def test_ticked_boxes_of_one_name_are_one_text(self) -> None:
        ticked = [("seen", "dog"), ("why", "x"), ("seen", "cat & mouse"), ("seen", "kite")]
        xml = answer_xml.build_answer(ticked)
        assert xml.count("<QuestionIdentifier>seen</QuestionIdentifier>") == 1
        assert "<FreeText>dog|cat &amp; mouse|kite</FreeText>" in xml
        both = {"seen": "dog|cat & mouse|kite", "why": "x"}
        assert answer_xml.parse_answer(xml) == both
        repeated = "".join(
            f"<Answer><QuestionIdentifier>{name}</QuestionIdentifier><FreeText>{escape(value)}</FreeText></Answer>"
            for name, value in ticked
        )  # as other endpoints may write it
        document = f'<QuestionFormAnswers xmlns="{answer_xml.NAMESPACE}">{repeated}</QuestionFormAnswers>'
        assert answer_xml.parse_answer(document) == both

    @pytest.mark.rule(
        "answer-characters",
        source="ours",
        text="Characters that XML cannot contain are dropped from an Answer; line ends stay.",
    )
    def test_control_characters_are_dropped_and_line_ends_kept(self) -> None:
        xml = answer_xml.build_answer([("a", "x\x00\x1b[0m\x7f\ud800y\r\nz\tend\ufffe")])
        assert answer_xml.parse_answer(xml) == {"a": "x[0my\nz\tend"}

    @pytest.mark.parametrize("declared", DECLARED)
    def test_declared_encoding_does_not_garble_decoded_text(self, declared: str) -> None:
        xml = answer_xml.build_answer([("a", "Größe – 大")]).replace("UTF-8", declared)
        assert answer_xml.parse_answer(xml) == {"a": "Größe – 大"}

    def test_sixty_kilobytes(self) -> None:
        text = "ä<" * 30_000
        assert answer_xml.parse_answer(answer_xml.build_answer([("a", text)])) == {"a": text}

    @pytest.mark.parametrize(
        "xml",
        [
            "",
            "<a",
            "<a/>",
            '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><x>&b;&b;&b;</x>',
            '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>',
            '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
            f'<QuestionFormAnswers xmlns="{answer_xml.NAMESPACE}"><Answer/></QuestionFormAnswers>',
        ],
    )
    def test_refused(self, xml: str) -> None:
        with pytest.raises(answer_xml.AnswerError):
            answer_xml.parse_answer(xml)

    def test_missing_fields_are_named(self) -> None:
        xml = answer_xml.build_answer([("submission_id", "1")])
        assert answer_xml.extract_fields(xml, ["submission_id"]) == {"submission_id": "1"}
        with pytest.raises(answer_xml.AnswerError, match="sha256"):
            answer_xml.extract_fields(xml, ["submission_id", "sha256"])

    @pytest.mark.parametrize("fields", [[], [("assignmentId", "A"), ("workerId", "W")], [("", "x")]])
    def test_nothing_to_write(self, fields: list[tuple[str, str]]) -> None:
        with pytest.raises(answer_xml.AnswerError):
            answer_xml.build_answer(fields)


def test_secrets_depend_on_both_parts() -> None:
    key = new_access_key_id()
    assert len(key) == 20
    assert key != new_access_key_id()
    assert derive_secret("server", key) == derive_secret("server", key)
    assert (
        len({derive_secret("server", key), derive_secret("server2", key), derive_secret("server", "k")}) == 3
    )
    with pytest.raises(ValueError, match="required"):
        derive_secret("", key)
