"""QuestionFormAnswers: the XML with a worker's form fields for the requester.

Schema 2005-10-01. Only ``&``, ``<`` and ``>`` are escaped, because requesters' scripts extract ``<FreeText>`` with
regular expressions and expect all other characters unchanged.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from hits.domain.mturk_formats.safe_xml import NotPlainXml, parse_plain_xml

NAMESPACE = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
)
RESERVED_FIELDS = frozenset({"assignmentId", "hitId", "workerId", "turkSubmitTo"})
# Characters that XML 1.0 forbids: control characters except tab and line feed, halves of surrogate pairs, and the two
# non-characters at the end of the basic plane. (Carriage returns are line feeds already.)
_INVALID_CHARACTER_PATTERN = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# Between several values of one field, as in Amazon's result files.
VALUE_SEPARATOR = "|"


class AnswerError(ValueError):
    """An answer that cannot be written or read; the message names the reason."""


@dataclass(frozen=True)
class FormAnswer:
    """The answer to one question of a QuestionForm: a text, or selections with an optional other text."""

    question: str
    text: str | None = None
    selections: tuple[str, ...] = ()
    other: str | None = None

    @property
    def value(self) -> str:
        """The answer as one text; several selections are joined by ``|``."""
        if self.text is not None:
            return self.text
        return VALUE_SEPARATOR.join([*self.selections, *([self.other] if self.other else [])])


def clean_xml_text(text: str) -> str:
    """Return text that is valid in XML: line ends become ``\\n``, forbidden characters are dropped."""
    return _INVALID_CHARACTER_PATTERN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def join_values_by_name(fields: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return a form's fields by name; several values of one name, such as ticked boxes, are joined by ``|``."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name, []).append(value)
    return {name: VALUE_SEPARATOR.join(values) for name, values in found.items()}


def build_answer(fields: Iterable[tuple[str, str]]) -> str:
    """Return the XML of form fields ``(name, value)``: one Answer for each name, in the order of first use.

    Several values of one name, such as ticked boxes, become one text, because scripts that read an answer into a
    dictionary would keep only one of several elements. MTurk's parameters (RESERVED_FIELDS) are left out. Raises
    AnswerError when no field remains or a field has no name.
    """
    answers = [(clean_xml_text(name), value) for name, value in fields if name not in RESERVED_FIELDS]
    if any(not name for name, _ in answers):
        raise AnswerError("A form field has no name.")
    if not answers:
        raise AnswerError("The form has no field besides the assignment id.")
    return _build_document(
        [
            _build_answer_element(name, _build_element("FreeText", value))
            for name, value in join_values_by_name(answers).items()
        ]
    )


def build_form_answer(answers: Iterable[FormAnswer]) -> str:
    """Return the XML of the answers to a QuestionForm, in the given order; a form may be empty."""
    elements = []
    for answer in answers:
        if answer.text is not None:
            content = _build_element("FreeText", answer.text)
        else:
            content = "".join(_build_element("SelectionIdentifier", chosen) for chosen in answer.selections)
            content += _build_element("OtherSelectionText", answer.other) if answer.other else ""
        elements.append(_build_answer_element(answer.question, content))
    return _build_document(elements)


def parse_answer(xml: str) -> dict[str, str]:
    """Read an answer into ``{field: text}``; a repeated field's values and selections are joined by ``|``.

    Raises AnswerError.
    """
    return join_values_by_name((answer.question, answer.value) for answer in parse_form_answer(xml))


def parse_form_answer(xml: str) -> list[FormAnswer]:
    """Read an answer with its selections as a list.

    Workers' browsers write the XML, so entities, external references and document types are refused. Raises
    AnswerError.
    """
    try:
        root = parse_plain_xml(xml)
    except NotPlainXml as error:
        raise AnswerError(f"The answer is not plain XML: {error}") from None
    if root.tag != f"{{{NAMESPACE}}}QuestionFormAnswers":
        raise AnswerError("The root element must be QuestionFormAnswers of schema 2005-10-01.")
    return [_parse_answer_element(answer) for answer in root.findall(f"{{{NAMESPACE}}}Answer")]


def extract_fields(xml: str, names: Iterable[str]) -> Mapping[str, str]:
    """Return the named fields of an answer. Raises AnswerError that names the missing ones."""
    fields = parse_answer(xml)
    required = list(names)
    missing = [name for name in required if name not in fields]
    if missing:
        raise AnswerError(f"The answer lacks {', '.join(missing)}.")
    return {name: fields[name] for name in required}


def _build_element(name: str, text: str) -> str:
    return f"<{name}>{escape(clean_xml_text(text))}</{name}>"


def _build_answer_element(question: str, content: str) -> str:
    return f"<Answer>{_build_element('QuestionIdentifier', question)}{content}</Answer>"


def _build_document(answers: list[str]) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<QuestionFormAnswers xmlns="{NAMESPACE}">{"".join(answers)}</QuestionFormAnswers>'
    )


def _parse_answer_element(answer: Element) -> FormAnswer:
    name = answer.findtext(f"{{{NAMESPACE}}}QuestionIdentifier")
    if not name:
        raise AnswerError("An Answer has no QuestionIdentifier.")
    chosen = [element.text or "" for element in answer.findall(f"{{{NAMESPACE}}}SelectionIdentifier")]
    other = answer.findtext(f"{{{NAMESPACE}}}OtherSelectionText")
    text = answer.findtext(f"{{{NAMESPACE}}}FreeText")
    if text is None and not chosen and other is None:
        text = ""
    return FormAnswer(name, text, tuple(chosen), other)
