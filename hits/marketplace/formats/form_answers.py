"""A QuestionForm as an HTML form: field values, and problems of the submitted answers."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from hits.domain.mturk_formats.answer_xml import FormAnswer, clean_xml_text

from .content import Content, Text
from .patterns import BudgetExceeded, MatchBudget
from .question_form import (
    MAX_LENGTH,
    Choice,
    FreeText,
    Overview,
    Question,
    QuestionForm,
    Selection,
    SelectionStyle,
)

Fields = Mapping[str, list[str]]
_NUMBER_PATTERN = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{0,30})?|[+-]?\.[0-9]{1,30}")
_DROPDOWN_STYLES = {SelectionStyle.DROPDOWN, SelectionStyle.LIST, SelectionStyle.COMBO_BOX}


class ProblemKind(StrEnum):
    """Kinds of problems with an answer. The page has a message for each."""

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
    """One problem of one answer. ``bound`` is the broken limit, ``error_text`` the requester's own message."""

    question: Question
    kind: ProblemKind
    bound: int | None = None
    error_text: str = ""


CheckedAnswer = tuple[FormAnswer | None, FieldProblem | None]


@dataclass(frozen=True)
class Option:
    """A selection as it is shown on the page."""

    element_id: str
    identifier: str
    label: Content
    is_chosen: bool


@dataclass(frozen=True)
class BoundQuestion:
    """A question with its field values, shown as exactly one ``widget``."""

    question: Question
    text: str
    options: tuple[Option, ...]
    is_other_chosen: bool
    problem: FieldProblem | None

    @property
    def widget(self) -> str:
        """``input``, ``textarea``, ``select``, ``radio`` or ``checkbox``."""
        answer = self.question.answer
        if isinstance(answer, FreeText):
            return "input" if answer.lines == 1 else "textarea"
        if answer.max_count > 1:
            return "checkbox"
        plain = all(isinstance(selection.label, Text) for selection in answer.selections)
        if plain and answer.style in _DROPDOWN_STYLES and answer.other is None:
            return "select"
        return "radio"

    @property
    def other_text_field(self) -> FreeText | None:
        """The text field for an answer that is not in the list."""
        return self.question.answer.other if isinstance(self.question.answer, Choice) else None

    @property
    def max_characters(self) -> int:
        """The maximum length of the text field."""
        return max_text_length(
            self.question.answer if isinstance(self.question.answer, FreeText) else self.other_text_field
        )


@dataclass(frozen=True)
class BoundForm:
    """A form with values and problems, for the templates."""

    sections: tuple[Overview | BoundQuestion, ...]
    problems: tuple[FieldProblem, ...]
    is_disabled: bool


def other_field_name(question: Question) -> str:
    """Return the name of the form field for an answer that is not in the list."""
    return f"{question.field}.other"


def max_text_length(answer: FreeText | None) -> int:
    """Return the maximum length of a text field in characters."""
    given = answer.max_length if answer else None
    return min(given or MAX_LENGTH, MAX_LENGTH)


def bind_form(
    form: QuestionForm,
    posted: Fields | None = None,
    problems: Iterable[FieldProblem] = (),
    *,
    disabled: bool = False,
) -> BoundForm:
    """Return a form for the page, with default texts, or with the posted values if there are any."""
    listed = tuple(problems)
    by_field = {problem.question.field: problem for problem in reversed(listed)}
    sections = tuple(
        section
        if isinstance(section, Overview)
        else _bind_question(section, posted, by_field.get(section.field))
        for section in form.sections
    )
    return BoundForm(sections, listed, disabled)


def read_answers(form: QuestionForm, posted: Fields) -> tuple[list[FormAnswer], list[FieldProblem]]:
    """Return the answers and their problems, at most one problem per question, in the form's order.

    A skipped question has no answer. Unknown fields are ignored. A text that cannot be matched within the form's
    budget (``patterns.MatchBudget``) counts as too long; the problem's bound is the guaranteed length.
    """
    answers, problems = [], []
    budget = MatchBudget(form.pattern_step_count)
    for question in form.questions:
        answer, problem = _read_posted_answer(question, posted, budget)
        if problem is not None:
            problems.append(problem)
        elif answer is not None:
            answers.append(answer)
    return answers, problems


def _bind_question(question: Question, posted: Fields | None, problem: FieldProblem | None) -> BoundQuestion:
    answer = question.answer
    if isinstance(answer, FreeText):
        text = answer.default if posted is None else _posted_text(posted, question.field)
        return BoundQuestion(question, text, (), False, problem)
    sent = set() if posted is None else _posted_selections(posted, question)
    options = tuple(
        _build_option(question, number, selection, sent)
        for number, selection in enumerate(answer.selections, 1)
    )
    default = answer.other.default if answer.other else ""
    text = default if posted is None else _posted_text(posted, other_field_name(question))
    return BoundQuestion(question, text, options, "" in sent, problem)


def _build_option(question: Question, number: int, selection: Selection, chosen: Collection[str]) -> Option:
    # The first option has the field's own id, the target of the links in the error summary.
    element_id = question.field if number == 1 else f"{question.field}-{number}"
    return Option(element_id, selection.identifier, selection.label, selection.identifier in chosen)


def _posted_text(posted: Fields, field: str) -> str:
    values = posted.get(field) or [""]
    return clean_xml_text(values[-1])


def _posted_selections(posted: Fields, question: Question) -> set[str]:
    """Return the posted identifiers, normalized like those of the question."""
    return {clean_xml_text(value) for value in posted.get(question.field, [])}


def _read_posted_answer(question: Question, posted: Fields, budget: MatchBudget) -> CheckedAnswer:
    if isinstance(question.answer, Choice):
        return _read_posted_choice(question, question.answer, posted, budget)
    text = _posted_text(posted, question.field)
    problem = None
    if question.is_required and not text.strip():
        problem = FieldProblem(question, ProblemKind.MISSING)
    return _answer_or_problem(
        FormAnswer(question.identifier, text) if text else None, question, text, problem, budget
    )


def _answer_or_problem(
    answer: FormAnswer | None,
    question: Question,
    text: str,
    problem: FieldProblem | None,
    budget: MatchBudget,
) -> CheckedAnswer:
    rules = question.answer if isinstance(question.answer, FreeText) else question.answer.other
    if problem is None and rules is not None:
        problem = _find_problem(question, rules, text, budget)
    return (None, problem) if problem else (answer, None)


def _find_problem(question: Question, rules: FreeText, text: str, budget: MatchBudget) -> FieldProblem | None:
    if text:
        for kind, bound in (*_length_problems(rules, text), *_number_problems(rules, text)):
            return FieldProblem(question, kind, bound)
    # Patterns apply to an empty text too: in Amazon's reference, "^$" allows it.
    limit = budget.budget_unless_short(text)
    for rule in rules.rules:
        try:
            found = rule.pattern.search(text, limit)
        except BudgetExceeded:
            return FieldProblem(question, ProblemKind.TOO_LONG, budget.guaranteed_length)
        if not found:
            return FieldProblem(question, ProblemKind.FORMAT, error_text=rule.error_text)
    return None


def _length_problems(rules: FreeText, text: str) -> list[tuple[ProblemKind, int]]:
    if rules.min_length is not None and len(text) < rules.min_length:
        return [(ProblemKind.TOO_SHORT, rules.min_length)]
    return [(ProblemKind.TOO_LONG, max_text_length(rules))] if len(text) > max_text_length(rules) else []


def _number_problems(rules: FreeText, text: str) -> list[tuple[ProblemKind, int | None]]:
    if not rules.is_numeric:
        return []
    if not _NUMBER_PATTERN.fullmatch(text.strip()):
        return [(ProblemKind.NOT_A_NUMBER, None)]
    number = Decimal(text.strip())
    if rules.min_value is not None and number < rules.min_value:
        return [(ProblemKind.TOO_SMALL, rules.min_value)]
    if rules.max_value is not None and number > rules.max_value:
        return [(ProblemKind.TOO_LARGE, rules.max_value)]
    return []


def _read_posted_choice(
    question: Question, choice: Choice, posted: Fields, budget: MatchBudget
) -> CheckedAnswer:
    sent = _posted_selections(posted, question)
    chosen = tuple(row.identifier for row in choice.selections if row.identifier in sent)
    other = _posted_text(posted, other_field_name(question)) if choice.other else ""
    other = other if other.strip() else ""
    count = len(chosen) + bool(other)
    min_count = max(choice.min_count, 1) if question.is_required else choice.min_count
    problem = None
    if count == 0 and question.is_required:
        problem = FieldProblem(question, ProblemKind.UNCHOSEN)
    elif 0 < count < min_count:
        problem = FieldProblem(question, ProblemKind.TOO_FEW, min_count)
    elif count > choice.max_count:
        problem = FieldProblem(question, ProblemKind.TOO_MANY, choice.max_count)
    answer = FormAnswer(question.identifier, None, chosen, other or None) if count else None
    if not other:
        return (None, problem) if problem else (answer, None)
    return _answer_or_problem(answer, question, other, problem, budget)
