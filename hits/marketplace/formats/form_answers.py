"""A QuestionForm as a page's form: what stands in its fields, and what was wrong with what was sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from hits.domain.mturk_formats.answer_xml import FormAnswer, clean_text

from .content import Content, Text
from .patterns import Work, WorkSpent
from .question_form import MAX_LENGTH, Choice, FreeText, Overview, Question, QuestionForm, Selection, Style

Posted = Mapping[str, list[str]]
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{0,30})?|[+-]?\.[0-9]{1,30}")
_IN_ONE_BOX = {Style.DROPDOWN, Style.LIST, Style.COMBO_BOX}


class Fault(StrEnum):
    """What can be wrong with an answer. The page has a sentence for each."""

    MISSING = "missing"
    UNCHOSEN = "unchosen"
    NOT_A_NUMBER = "not a number"
    TOO_SMALL = "too small"
    TOO_LARGE = "too large"
    TOO_SHORT = "too short"
    TOO_LONG = "too long"
    FORMAT = "format"
    TOO_FEW = "too few"
    TOO_MANY = "too many"


@dataclass(frozen=True)
class FieldProblem:
    """One fault of one answer. ``bound`` is the limit that was broken, ``words`` the requester's own error text."""

    question: Question
    fault: Fault
    bound: int | None = None
    words: str = ""


@dataclass(frozen=True)
class Option:
    """A selection as it stands on the page."""

    element_id: str
    identifier: str
    label: Content
    is_chosen: bool


@dataclass(frozen=True)
class BoundQuestion:
    """A question with what stands in its fields. Exactly one of ``widget``'s kinds is shown."""

    question: Question
    text: str
    options: tuple[Option, ...]
    other_chosen: bool
    problem: FieldProblem | None

    @property
    def widget(self) -> str:
        """``line``, ``lines``, ``box`` (a drop-down list), ``radio`` or ``check``."""
        answer = self.question.answer
        if isinstance(answer, FreeText):
            return "line" if answer.lines == 1 else "lines"
        if answer.most > 1:
            return "check"
        plain = all(isinstance(selection.label, Text) for selection in answer.selections)
        if plain and answer.style in _IN_ONE_BOX and answer.other is None:
            return "box"
        return "radio"

    @property
    def other(self) -> FreeText | None:
        """The text field for what is not in the list."""
        return self.question.answer.other if isinstance(self.question.answer, Choice) else None

    @property
    def others_field(self) -> str:
        """The name of that field."""
        return others_field(self.question)

    @property
    def most_characters(self) -> int:
        """What the text field takes at most."""
        return longest(self.question.answer if isinstance(self.question.answer, FreeText) else self.other)


@dataclass(frozen=True)
class BoundForm:
    """What the templates show."""

    parts: tuple[Overview | BoundQuestion, ...]
    problems: tuple[FieldProblem, ...]
    is_disabled: bool


def others_field(question: Question) -> str:
    """Return the name of the form field for an answer that is not in the list."""
    return f"{question.field}.other"


def longest(answer: FreeText | None) -> int:
    """Return how many characters a text field takes at most."""
    given = answer.max_length if answer else None
    return min(given or MAX_LENGTH, MAX_LENGTH)


def bind(
    form: QuestionForm,
    posted: Posted | None = None,
    problems: Iterable[FieldProblem] = (),
    *,
    disabled: bool = False,
) -> BoundForm:
    """Return a form for the page: with default texts at first, with everything that was typed afterwards."""
    listed = tuple(problems)
    by_field = {problem.question.field: problem for problem in reversed(listed)}
    parts = tuple(
        part if isinstance(part, Overview) else _bound(part, posted, by_field.get(part.field))
        for part in form.parts
    )
    return BoundForm(parts, listed, disabled)


def read_answers(form: QuestionForm, posted: Posted) -> tuple[list[FormAnswer], list[FieldProblem]]:
    """Return the answers given and what is wrong with them, at most one problem a question, in the form's order.

    A question that was left out has no answer. Fields that the form does not know are ignored. A text that could not
    be matched within the form's limit of work (``patterns.Work``) is too long; its bound is what is always matched.
    """
    answers, problems = [], []
    work = Work(form.pattern_steps)
    for question in form.questions:
        answer, problem = _read(question, posted, work)
        if problem is not None:
            problems.append(problem)
        elif answer is not None:
            answers.append(answer)
    return answers, problems


def _bound(question: Question, posted: Posted | None, problem: FieldProblem | None) -> BoundQuestion:
    answer = question.answer
    if isinstance(answer, FreeText):
        text = answer.default if posted is None else _text(posted, question.field)
        return BoundQuestion(question, text, (), False, problem)
    sent = set() if posted is None else _selected(posted, question)
    options = tuple(
        _option(question, number, selection, sent) for number, selection in enumerate(answer.selections, 1)
    )
    default = answer.other.default if answer.other else ""
    text = default if posted is None else _text(posted, others_field(question))
    return BoundQuestion(question, text, options, "" in sent, problem)


def _option(question: Question, number: int, selection: Selection, sent: Collection[str]) -> Option:
    # The first one carries the field's own id, so that the summary's link to the field leads there.
    element_id = question.field if number == 1 else f"{question.field}-{number}"
    return Option(element_id, selection.identifier, selection.label, selection.identifier in sent)


def _text(posted: Posted, field: str) -> str:
    values = posted.get(field) or [""]
    return clean_text(values[-1])


def _selected(posted: Posted, question: Question) -> set[str]:
    """Return the identifiers that were sent, in the form in which the question has them."""
    return {clean_text(value) for value in posted.get(question.field, [])}


def _read(question: Question, posted: Posted, work: Work) -> tuple[FormAnswer | None, FieldProblem | None]:
    if isinstance(question.answer, Choice):
        return _read_choice(question, question.answer, posted, work)
    text = _text(posted, question.field)
    problem = None
    if question.is_required and not text.strip():
        problem = FieldProblem(question, Fault.MISSING)
    return _checked(FormAnswer(question.identifier, text) if text else None, question, text, problem, work)


def _checked(
    answer: FormAnswer | None, question: Question, text: str, problem: FieldProblem | None, work: Work
) -> tuple[FormAnswer | None, FieldProblem | None]:
    rules = question.answer if isinstance(question.answer, FreeText) else question.answer.other
    if problem is None and rules is not None:
        problem = _fault_of(question, rules, text, work)
    return (None, problem) if problem else (answer, None)


def _fault_of(question: Question, rules: FreeText, text: str, work: Work) -> FieldProblem | None:
    if text:
        for fault, bound in (*_length(rules, text), *_number(rules, text)):
            return FieldProblem(question, fault, bound)
    # An empty text meets the patterns, too: Amazon's reference lets "^$" allow it.
    limit = work.limit_for(text)
    for rule in rules.rules:
        try:
            found = rule.pattern.found_in(text, limit)
        except WorkSpent:
            return FieldProblem(question, Fault.TOO_LONG, work.always)
        if not found:
            return FieldProblem(question, Fault.FORMAT, words=rule.error_text)
    return None


def _length(rules: FreeText, text: str) -> list[tuple[Fault, int]]:
    if rules.min_length is not None and len(text) < rules.min_length:
        return [(Fault.TOO_SHORT, rules.min_length)]
    return [(Fault.TOO_LONG, longest(rules))] if len(text) > longest(rules) else []


def _number(rules: FreeText, text: str) -> list[tuple[Fault, int | None]]:
    if not rules.is_numeric:
        return []
    if not _NUMBER.fullmatch(text.strip()):
        return [(Fault.NOT_A_NUMBER, None)]
    number = Decimal(text.strip())
    if rules.min_value is not None and number < rules.min_value:
        return [(Fault.TOO_SMALL, rules.min_value)]
    if rules.max_value is not None and number > rules.max_value:
        return [(Fault.TOO_LARGE, rules.max_value)]
    return []


def _read_choice(
    question: Question, choice: Choice, posted: Posted, work: Work
) -> tuple[FormAnswer | None, FieldProblem | None]:
    sent = _selected(posted, question)
    chosen = tuple(row.identifier for row in choice.selections if row.identifier in sent)
    other = _text(posted, others_field(question)) if choice.other else ""
    other = other if other.strip() else ""
    count = len(chosen) + bool(other)
    least = max(choice.least, 1) if question.is_required else choice.least
    problem = None
    if count == 0 and question.is_required:
        problem = FieldProblem(question, Fault.UNCHOSEN)
    elif 0 < count < least:
        problem = FieldProblem(question, Fault.TOO_FEW, least)
    elif count > choice.most:
        problem = FieldProblem(question, Fault.TOO_MANY, choice.most)
    answer = FormAnswer(question.identifier, None, chosen, other or None) if count else None
    if not other:
        return (None, problem) if problem else (answer, None)
    return _checked(answer, question, other, problem, work)
