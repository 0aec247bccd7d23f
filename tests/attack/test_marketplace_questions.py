"""Hostile questions, patterns and layouts, and concurrent calls about one HIT or qualification type."""

import threading
import time
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.exceptions import ClientError
from django.test import Client
from django.utils import timezone

from hits.marketplace.errors import ActionRefused
from hits.marketplace.formats.content import sanitise_html
from hits.marketplace.formats.form_answers import ProblemKind, read_answers
from hits.marketplace.formats.html_question import build_html_question, insert_first_script, prepare_page
from hits.marketplace.formats.layout import LayoutError, fill_layout
from hits.marketplace.formats.patterns import MAX_WORK, compile_pattern
from hits.marketplace.formats.question_form import QuestionForm, parse_new_form, parse_question_form
from hits.marketplace.formats.xml_reader import SCHEMAS
from hits.marketplace.models import HIT, Assignment, QualificationType, SlotState, Worker
from hits.marketplace.selectors.accounts import find_unbalanced_requesters
from hits.marketplace.services import accounts, attempts
from tests.hits.marketplace.conftest import local_client, local_market, requester, worker, workers  # noqa: F401
from tests.hits.marketplace.support import Market, accept, advance_time, hit_params, secret_of
from tests.support.question_forms import form_xml, free_text, question
from tests.support.threads import is_another_blocked, together
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
QUICK_SECONDS = 2.0  # without the limits these took five seconds or never ended


def seconds(act: Any) -> float:
    """Return how long an act keeps this thread busy: what else the machine does costs the site nothing here."""
    started = time.thread_time()
    act()
    return time.thread_time() - started


@pytest.mark.timeout(30, func_only=True)
@pytest.mark.parametrize("source", ["(" * 12 + ")" + "{500})" * 11 + "{500}", "(a{0}){500}" * 20])
def test_repeated_empty_group_adds_no_steps(source: str) -> None:
    assert seconds(lambda: compile_pattern(source)) < QUICK_SECONDS
    assert compile_pattern(source).search("")


def test_long_character_class_costs_like_short_one() -> None:
    listed = "".join(chr(0x4E00 + 2 * n) for n in range(480))
    pattern = compile_pattern(f"^[{listed}]{{15}}$")
    assert pattern.search(listed[-15:])
    assert not pattern.search(listed[:14] + chr(0x4E01))
    long = compile_pattern(f"[{listed}]{{15}}-")
    assert seconds(lambda: long.search(listed[-1] * 20_000)) < 5 * QUICK_SECONDS


def _slow_form(patterns: int, source: str = "(a?){190}-") -> QuestionForm:
    """Return a form of as many questions, each with a pattern that looks at nearly all of its steps every time."""
    rule = f'<AnswerFormatRegex regex="{source}"/>'
    return parse_new_form(form_xml(*(question(f"q{n}", free_text(rule)) for n in range(patterns))))


@pytest.mark.timeout(60, func_only=True)
def test_all_patterns_of_form_share_one_budget() -> None:
    form = _slow_form(50)
    started = time.thread_time()
    answers, problems = read_answers(form, {row.field: ["a" * 1_000] for row in form.questions})
    assert (
        time.thread_time() - started < QUICK_SECONDS
    )  # 50 times a pattern's own limit took from five seconds
    assert (answers, len(problems)) == ([], 50)
    always = MAX_WORK // form.pattern_step_count
    kinds = [(problem.kind, problem.bound) for problem in problems]
    checked = kinds.count((ProblemKind.FORMAT, None))
    assert kinds[checked:] == [(ProblemKind.TOO_LONG, always)] * (
        50 - checked
    )  # one bound, and the same for all
    assert 0 < checked < 50


@pytest.mark.timeout(60, func_only=True)
def test_text_within_guaranteed_length_is_always_matched() -> None:
    form = _slow_form(50)
    always = MAX_WORK // form.pattern_step_count
    fields = [row.field for row in form.questions]
    posted = {field: ["a" * 90_000] for field in fields[:-1]} | {fields[-1]: ["a" * (always - 1) + "-"]}
    started = time.thread_time()
    answers, problems = read_answers(form, posted)
    assert [answer.question for answer in answers] == ["q49"]
    assert {problem.kind for problem in problems} == {ProblemKind.TOO_LONG}
    within = {field: ["a" * always] for field in fields}
    assert {problem.kind for problem in read_answers(form, within)[1]} == {ProblemKind.FORMAT}
    assert time.thread_time() - started < 2 * QUICK_SECONDS


def test_ordinary_patterns_stay_within_budget() -> None:
    form = _slow_form(25, source="^.{1,300}$")
    posted = {row.field: ["a" * 300] for row in form.questions}
    assert len(read_answers(form, posted)[0]) == 25
    essay = _slow_form(1, source=r"(^$|\S{2,})")
    assert read_answers(essay, {"q1": ["a word " * 14_000]})[1] == []


@pytest.mark.timeout(60, func_only=True)
def test_too_large_patterns_are_refused_for_new_forms_only(
    local_client: Any,  # noqa: F811
) -> None:
    rule = '<AnswerFormatRegex regex="(a?){500}-"/>'
    xml = form_xml(*(question(f"q{n}", free_text(rule)) for n in range(30)))
    with pytest.raises(ClientError, match="have 30060 steps together; at most 20000"):
        local_client.create_hit(**hit_params(Question=xml))
    with pytest.raises(ClientError, match="Test: The AnswerFormatRegex elements have 30060 steps"):
        local_client.create_qualification_type(
            Name="n", Description="d", QualificationTypeStatus="Active", Test=xml, TestDurationInSeconds=60
        )
    assert parse_question_form(xml).pattern_step_count == 30_060


@pytest.mark.parametrize(
    ("source", "taken", "refused"),
    [
        (r"^[a-cb-fx-]$", "aefx-", "gw,"),
        (r"^[\d-]$", "0-", "a\\"),
        (r"^[^\s\Wa-c]$", "dz_", "a !\n"),
        ("^[--0]$", "-./0", "1,"),
        ("^[]$", "", "a"),
    ],
)
def test_character_classes_match_javascript(source: str, taken: str, refused: str) -> None:
    pattern = compile_pattern(source)
    assert all(pattern.search(character) for character in taken)
    assert not any(pattern.search(character) for character in refused)


@pytest.mark.timeout(60, func_only=True)
@pytest.mark.parametrize("piece", ["<a ", "<a", "<a b='", "<a/", "<!--", "<a b=", "<script ", "</a "])
def test_unclosed_tags_are_read_in_time(piece: str) -> None:
    html = piece * (60_000 // len(piece))
    address = {"submit_to": "http://localhost/a/1", "assignment_id": "A"}
    assert seconds(lambda: prepare_page(html, **address)) < QUICK_SECONDS
    assert seconds(lambda: sanitise_html(html)) < QUICK_SECONDS


@pytest.mark.timeout(60, func_only=True)
def test_white_space_and_comments_are_read_in_time() -> None:
    wide = f'<form {" " * 60_000}/ action="/mturk/externalSubmit">'
    page = prepare_page(wide, submit_to="http://localhost/a/1", assignment_id="A")
    assert 'action="http://localhost/a/1/mturk/externalSubmit"' in page
    assert seconds(lambda: prepare_page(wide, submit_to="", assignment_id="A")) < QUICK_SECONDS
    assert seconds(lambda: insert_first_script("<!---->" * 60, "/x.js")) < QUICK_SECONDS


@pytest.mark.timeout(60, func_only=True)
def test_question_of_unclosed_comments_is_refused_in_time(local_client: Any) -> None:  # noqa: F811
    for xml in ["<!--" * 16_000, "<!--" * 500_000]:
        started = time.thread_time()
        with pytest.raises(ClientError, match="ParameterValidationError"):
            local_client.create_hit(**hit_params(Question=xml))
        assert time.thread_time() - started < QUICK_SECONDS
    assert not HIT.objects.exists()


def test_filled_layout_size_is_limited() -> None:
    with pytest.raises(LayoutError, match="at most"):
        fill_layout("${a}" * 16_000, {"a": "x" * 1_000_000})
    assert fill_layout("${a}${a}", {"a": "x"}) == "xx"


@pytest.mark.parametrize(
    "declared", ["ISO-8859-1", "utf-8", "windows-1252", "ASCII", "UTF-16", "no-such-encoding"]
)
def test_declared_encoding_does_not_garble_decoded_text(declared: str) -> None:
    xml = (
        f'<?xml version="1.0" encoding="{declared}"?>'
        f'<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd"><Question>'
        "<QuestionIdentifier>q</QuestionIdentifier><QuestionContent><Text>Größe – 大</Text></QuestionContent>"
        "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
    )
    (content,) = parse_question_form(xml).questions[0].contents
    assert getattr(content, "text", "") == "Größe – 大"


class Gate:
    """Holds an accept between its look and its claim until something else was done, or could not be done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        claim = attempts._claim_slot_if_open

        def late(*given: Any) -> bool:
            self.reached.set()
            # Where the other one has to wait for this one, this one goes first.
            wait_until(lambda: self.opened.is_set() or is_another_blocked())
            return claim(*given)

        monkeypatch.setattr(attempts, "_claim_slot_if_open", late)

    def meanwhile(self, act: Any) -> Any:
        """Run an action while the accept waits at the gate; return its result."""
        self.reached.wait(60)
        try:
            return act()
        finally:
            self.opened.set()


def test_accept_during_disposal_is_refused(
    local_client: Any,  # noqa: F811
    worker: Worker,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    gate = Gate(monkeypatch)

    def end() -> None:
        local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
        local_client.delete_hit(HITId=hit["HITId"])

    results = together([lambda: accept(worker, hit), lambda: gate.meanwhile(end)])
    disposed = HIT.objects.get().disposed_at is not None
    assert isinstance(results[0], ActionRefused if disposed else Assignment)
    assert Assignment.objects.get().state == (SlotState.OPEN if disposed else SlotState.PENDING)
    assert find_unbalanced_requesters() == []


def test_task_is_paid_price_at_accept(
    local_client: Any,  # noqa: F811
    worker: Worker,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    cheap = local_client.create_hit(**hit_params(MaxAssignments=1, Reward="0.01"))["HIT"]["HITTypeId"]
    gate = Gate(monkeypatch)
    change = {"HITId": hit["HITId"], "HITTypeId": cheap}
    taken, changed = together(
        [
            lambda: accept(worker, hit),
            lambda: gate.meanwhile(lambda: local_client.update_hit_type_of_hit(**change)),
        ]
    )
    assert isinstance(taken, ActionRefused) is isinstance(changed, dict)
    assert find_unbalanced_requesters() == []


def test_concurrent_calls_on_hit_keep_hold_equal_to_slot_costs(
    local_market: Market,  # noqa: F811
    requester: accounts.KeyPair,  # noqa: F811
    workers: list[Worker],  # noqa: F811
) -> None:
    clients = [local_market.client(requester) for _ in range(4)]
    hit = clients[0].create_hit(**hit_params(MaxAssignments=3))["HIT"]
    slots = []
    for person in workers:
        slot = accept(person, hit)
        attempts.submit_signed_in(
            worker=person, assignment_id=slot.assignment_id, fields=[("a", "1")], now=timezone.now()
        )
        slots.append(slot)
    more = {"HITId": hit["HITId"], "NumberOfAdditionalAssignments": 1}
    results = together(
        [
            lambda: clients[0].create_additional_assignments_for_hit(**more),
            *[
                lambda c=c, s=s: c.approve_assignment(AssignmentId=s.assignment_id)
                for c, s in zip(clients[1:], slots, strict=True)
            ],
        ]
    )
    assert all(isinstance(result, dict) for result in results), results
    assert find_unbalanced_requesters() == []


def test_concurrent_update_does_not_restore_deleted_type(
    local_market: Market,  # noqa: F811
    requester: accounts.KeyPair,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hits.marketplace.operations import qualification_types

    clients = [local_market.client(requester) for _ in range(2)]
    kind = clients[0].create_qualification_type(
        Name="Round one", Description="d", QualificationTypeStatus="Active"
    )["QualificationType"]["QualificationTypeId"]
    reached, opened = threading.Event(), threading.Event()
    terms = qualification_types.read_changed_terms

    def late(*given: Any) -> Any:
        reached.set()
        wait_until(lambda: opened.is_set() or is_another_blocked())
        return terms(*given)

    monkeypatch.setattr(qualification_types, "read_changed_terms", late)

    def delete() -> None:
        reached.wait(60)
        try:
            clients[1].delete_qualification_type(QualificationTypeId=kind)
        finally:
            opened.set()

    together(
        [
            lambda: clients[0].update_qualification_type(QualificationTypeId=kind, Description="changed"),
            delete,
        ]
    )
    row = QualificationType.objects.get(type_id=kind)
    assert row.deleted_at is not None
    assert row.status == "Inactive"


def test_html_page_with_unclosed_tags_is_shown(local_client: Any) -> None:  # noqa: F811
    page = build_html_question('<form action="https://www.mturk.com/mturk/externalSubmit"><p>Hi<a ')
    assert local_client.create_hit(**hit_params(Question=page))["HIT"]["HITStatus"] == "Assignable"
    advance_time(seconds=1)


@pytest.mark.parametrize("fields", [{f"f{n}": "1" for n in range(1_500)}, {"a": "x" * 3_000_000}])
def test_too_large_answer_is_refused_in_frame(
    fields: dict[str, str],
    local_client: Any,  # noqa: F811
    worker: Worker,  # noqa: F811
) -> None:
    slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
    body = urlencode({"assignmentId": slot.assignment_id, **fields})
    address = f"/a/{secret_of(worker, slot)}/mturk/externalSubmit"
    answer = Client().post(address, body, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 409
    assert (
        answer["X-Frame-Options"] == "SAMEORIGIN"
    )  # a browser would show nothing of a page that denies framing
    assert Assignment.objects.filter(state=SlotState.PENDING).count() == 1
