"""QuestionForm: questions for a qualification test or a HIT, as plain data.

Schemas 2017-11-06 and 2005-10-01, which differ only in elements that are no longer served. The order of elements in a
question does not matter here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from xml.etree.ElementTree import Element

from hits.domain.mturk_formats.external_question import QuestionInvalid

from .content import Content, read_content, read_contents
from .patterns import Pattern, PatternError, compile_pattern
from .xml_reader import (
    check_children,
    find_only_child,
    get_text,
    iter_children,
    optional_text,
    parse_boolean,
    parse_whole_number,
    read_root,
    required_identifier,
)

VERSIONS = ("2017-11-06", "2005-10-01")
MAX_LINE_COUNT = 50
MAX_LENGTH = 100_000
MAX_PATTERNS = 50
MAX_STEPS = 20_000  # of all compiled patterns of a form; one pattern has at most 2,000
INT32 = 2**31 - 1
DEFAULT_ERROR = "Invalid input supplied."
_ANSWER_TAGS = ("FreeTextAnswer", "SelectionAnswer", "FileUploadAnswer")
_LABEL_TAGS = ("Text", "FormattedContent", "Binary")


class SelectionStyle(StrEnum):
    """The requester's suggestion for the widget; ``form_answers.BoundQuestion.widget`` decides."""

    RADIO_BUTTON = "radiobutton"
    DROPDOWN = "dropdown"
    CHECKBOX = "checkbox"
    LIST = "list"
    COMBO_BOX = "combobox"
    MULTI_CHOOSER = "multichooser"


@dataclass(frozen=True)
class FormatRule:
    """A pattern that a text must match, and the message if it does not."""

    pattern: Pattern
    error_text: str


@dataclass(frozen=True)
class FreeText:
    """A text field. Absent bounds are None; lengths are in characters, including white space."""

    is_numeric: bool = False
    min_value: int | None = None
    max_value: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    rules: tuple[FormatRule, ...] = ()
    default: str = ""
    lines: int = 1


@dataclass(frozen=True)
class Selection:
    """One option of a choice."""

    identifier: str
    label: Content


@dataclass(frozen=True)
class Choice:
    """A multiple-choice field; ``other`` is a text field for an answer that is not in the list."""

    selections: tuple[Selection, ...]
    min_count: int = 1
    max_count: int = 1
    style: SelectionStyle | None = None
    other: FreeText | None = None


@dataclass(frozen=True)
class Question:
    """One question. ``field`` names its form field, since identifiers may contain any characters."""

    number: int
    identifier: str
    name: str
    is_required: bool
    contents: tuple[Content, ...]
    answer: FreeText | Choice

    @property
    def field(self) -> str:
        """The name of the form field, and the id of its first element."""
        return f"q{self.number}"


@dataclass(frozen=True)
class Overview:
    """Instructions outside the questions."""

    contents: tuple[Content, ...]


@dataclass(frozen=True)
class QuestionForm:
    """Overviews and questions in their order."""

    sections: tuple[Overview | Question, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions without overviews."""
        return tuple(section for section in self.sections if isinstance(section, Question))

    @property
    def pattern_step_count(self) -> int:
        """The sum of the steps of all patterns."""
        rules = (rule for question in self.questions for rule in _list_format_rules(question.answer))
        return sum(rule.pattern.step_count for rule in rules)


def parse_new_form(xml: str) -> QuestionForm:
    """Parse a form that a requester sends. Raises the errors of parse_question_form.

    Only new forms are refused for too many pattern steps: earlier forms must stay readable.
    """
    form = parse_question_form(xml)
    if form.pattern_step_count > MAX_STEPS:
        raise QuestionInvalid(
            f"The AnswerFormatRegex elements have {form.pattern_step_count} steps together; at most {MAX_STEPS} are "
            "allowed. A repetition in braces counts its maximum: use smaller ones, or Length."
        )
    return form


def parse_question_form(xml: str) -> QuestionForm:
    """Parse a QuestionForm. Raises QuestionTooLong, QuestionNotXml or QuestionInvalid, which names the element."""
    root = read_root(xml, "QuestionForm", VERSIONS)
    sections: list[Overview | Question] = []
    seen: set[str] = set()
    for child in iter_children(root, "Overview", "Question"):
        if child.tag == "Overview":
            sections.append(Overview(read_contents(child)))
            continue
        question = _parse_question(child, len(seen) + 1)
        if question.identifier in seen:
            raise QuestionInvalid(f"The QuestionIdentifier {question.identifier!r} is used twice.")
        seen.add(question.identifier)
        sections.append(question)
    if not seen:
        raise QuestionInvalid("The QuestionForm needs at least one Question.")
    if sum(1 for _ in root.iter("AnswerFormatRegex")) > MAX_PATTERNS:
        raise QuestionInvalid(f"A QuestionForm has at most {MAX_PATTERNS} AnswerFormatRegex elements.")
    return QuestionForm(tuple(sections))


def _parse_question(element: Element, number: int) -> Question:
    identifier = required_identifier(element, "QuestionIdentifier")
    try:
        return _parse_question_fields(element, number, identifier)
    except QuestionInvalid as error:
        raise QuestionInvalid(f"Question {identifier[:80]!r}: {error}") from None


def _parse_question_fields(element: Element, number: int, identifier: str) -> Question:
    names = ("QuestionIdentifier", "DisplayName", "IsRequired", "QuestionContent", "AnswerSpecification")
    check_children(element, *names)
    content, specification = (
        find_only_child(element, "QuestionContent"),
        find_only_child(element, "AnswerSpecification"),
    )
    if content is None or specification is None:
        raise QuestionInvalid("it needs a QuestionContent and an AnswerSpecification.")
    answers = list(iter_children(specification, *_ANSWER_TAGS))
    if len(answers) != 1:
        raise QuestionInvalid("AnswerSpecification needs one FreeTextAnswer or one SelectionAnswer.")
    answer = _parse_answer(answers[0])
    is_marked_required = parse_boolean(optional_text(element, "IsRequired", "false"), "IsRequired")
    return Question(
        number=number,
        identifier=identifier,
        name=optional_text(element, "DisplayName"),
        # Amazon: a minLength makes an answer required.
        is_required=is_marked_required or (isinstance(answer, FreeText) and bool(answer.min_length)),
        contents=read_contents(content),
        answer=answer,
    )


def _parse_answer(element: Element) -> FreeText | Choice:
    if element.tag == "FileUploadAnswer":
        raise QuestionInvalid(
            "FileUploadAnswer has not been served since December 2017. "
            "Ask for a link instead, or use an ExternalQuestion."
        )
    return _parse_free_text(element) if element.tag == "FreeTextAnswer" else _parse_choice(element)


def _parse_free_text(element: Element) -> FreeText:
    check_children(element, "Constraints", "DefaultText", "NumberOfLinesSuggestion")
    constraints = find_only_child(element, "Constraints")
    found = {} if constraints is None else _parse_constraints(constraints)
    default = find_only_child(element, "DefaultText")
    lines = optional_text(element, "NumberOfLinesSuggestion", "1")
    return FreeText(
        **found,
        default="" if default is None else (default.text or ""),
        lines=min(parse_whole_number(lines, "NumberOfLinesSuggestion", 0, INT32) or 1, MAX_LINE_COUNT),
    )


def _parse_constraints(element: Element) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rules = []
    for child in iter_children(element, "IsNumeric", "Length", "AnswerFormatRegex"):
        if child.tag == "AnswerFormatRegex":
            rules.append(_parse_rule(child))
        elif child.tag == "IsNumeric":
            found |= {"is_numeric": True} | _parse_bounds(child, "Value", -INT32)
        else:
            found |= _parse_bounds(child, "Length", 0)
    return found | {"rules": tuple(rules)}


def _parse_bounds(element: Element, quantity: str, low: int) -> dict[str, Any]:
    names = (f"min{quantity}", f"max{quantity}")
    numbers = {
        name: parse_whole_number(element.attrib[name].strip(), f"{element.tag} {name}", low, INT32)
        for name in names
        if element.attrib.get(name, "").strip()
    }
    least, most = (numbers.get(name) for name in names)
    if least is not None and most is not None and least > most:
        raise QuestionInvalid(f"{element.tag} has {names[0]} {least} above {names[1]} {most}.")
    return {f"{name[:3]}_{quantity.lower()}": number for name, number in numbers.items()}


def _parse_rule(element: Element) -> FormatRule:
    source = element.attrib.get("regex", "")
    flags = element.attrib.get("flags", "").strip()
    if not source:
        raise QuestionInvalid("AnswerFormatRegex needs the attribute regex.")
    if flags not in {"", "i"}:
        raise QuestionInvalid(f"AnswerFormatRegex flags can be i only, got {flags[:20]!r}.")
    try:
        pattern = compile_pattern(source, ignores_case=flags == "i")
    except PatternError as error:
        raise QuestionInvalid(f"AnswerFormatRegex {source[:80]!r} cannot be used: {error}.") from None
    text = " ".join(element.attrib.get("errorText", "").split())
    return FormatRule(pattern, text or DEFAULT_ERROR)


def _list_format_rules(answer: FreeText | Choice) -> tuple[FormatRule, ...]:
    text_field = answer if isinstance(answer, FreeText) else answer.other
    return text_field.rules if text_field is not None else ()


def _parse_choice(element: Element) -> Choice:
    check_children(element, "MinSelectionCount", "MaxSelectionCount", "StyleSuggestion", "Selections")
    wrapper = find_only_child(element, "Selections")
    if wrapper is None:
        raise QuestionInvalid("SelectionAnswer needs Selections.")
    selections: list[Selection] = []
    other: FreeText | None = None
    for child in iter_children(wrapper, "Selection", "OtherSelection"):
        if child.tag == "OtherSelection":
            other = _parse_free_text(child)
        else:
            selections.append(_parse_selection(child))
    identifiers = [selection.identifier for selection in selections]
    if not selections or len(set(identifiers)) < len(identifiers):
        raise QuestionInvalid(
            "Selections needs at least one Selection, each with its own SelectionIdentifier."
        )
    count = len(selections) + (other is not None)
    least = parse_whole_number(
        optional_text(element, "MinSelectionCount", "1"), "MinSelectionCount", 0, count
    )
    most = parse_whole_number(optional_text(element, "MaxSelectionCount", "1"), "MaxSelectionCount", 1, count)
    if least > most:
        raise QuestionInvalid(f"MinSelectionCount {least} is above MaxSelectionCount {most}.")
    return Choice(tuple(selections), least, most, _parse_style(element), other)


def _parse_style(element: Element) -> SelectionStyle | None:
    text = optional_text(element, "StyleSuggestion").lower()
    if text and text not in set(SelectionStyle):
        raise QuestionInvalid(
            f"StyleSuggestion must be one of {', '.join(SelectionStyle)}, got {text[:40]!r}."
        )
    return SelectionStyle(text) if text else None


def _parse_selection(element: Element) -> Selection:
    identifier = required_identifier(element, "SelectionIdentifier")
    labels = [
        child
        for child in iter_children(element, "SelectionIdentifier", *_LABEL_TAGS)
        if child.tag in _LABEL_TAGS
    ]
    if len(labels) != 1:
        raise QuestionInvalid(
            f"Selection {identifier[:80]!r} needs one of Text, FormattedContent and Binary."
        )
    if labels[0].tag == "Text" and not get_text(labels[0]):
        raise QuestionInvalid(f"Selection {identifier[:80]!r} has an empty Text.")
    return Selection(identifier, read_content(labels[0]))
