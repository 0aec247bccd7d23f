"""QuestionFormAnswers: the XML in which a worker's form fields reach the requester.

Schema 2005-10-01. Only ``&``, ``<`` and ``>`` are escaped, because requesters' scripts cut ``<FreeText>``
out with regular expressions and expect everything else as it was typed.
"""

from __future__ import annotations

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
# Everything that XML 1.0 cannot carry: control characters except tab and line feed, halves of surrogate
# pairs, and the two non-characters at the end of the basic plane. (A carriage return is a line feed by then.)
_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# Between several values where one text is wanted, as in Amazon's own result files.
JOINT = "|"


class AnswerError(ValueError):
    """An answer that cannot be written or read; the message says why."""


@dataclass(frozen=True)
class FormAnswer:
    """The answer to one question of a QuestionForm: a text, or selections with perhaps another in words."""

    question: str
    text: str | None = None
    selections: tuple[str, ...] = ()
    other: str | None = None

    @property
    def value(self) -> str:
        """The answer as one text; several selections are joined by ``|``."""
        if self.text is not None:
            return self.text
        return JOINT.join([*self.selections, *([self.other] if self.other else [])])


def clean_text(text: str) -> str:
    """Return text as XML can carry it: line ends become ``\\n``, characters XML forbids are dropped."""
    return _NOT_XML.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def joined(fields: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return a form's fields by name; several of one name, such as ticked boxes, with ``|`` between them."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name, []).append(value)
    return {name: JOINT.join(values) for name, values in found.items()}


def build_answer(fields: Iterable[tuple[str, str]]) -> str:
    """Return the XML of form fields ``(name, value)``: one Answer for each name, in the order of first use.

    Several values of one name, such as ticked boxes, become one text: scripts that read an answer into a
    dictionary would keep only one of several elements. MTurk's own parameters (RESERVED_FIELDS) are left out.
    Raises AnswerError when nothing is left, or when a field has no name.
    """
    kept = [(clean_text(name), value) for name, value in fields if name not in RESERVED_FIELDS]
    if any(not name for name, _ in kept):
        raise AnswerError("A form field has no name.")
    if not kept:
        raise AnswerError("The form holds nothing besides the assignment id.")
    return _document([_answer(name, _element("FreeText", value)) for name, value in joined(kept).items()])


def build_form_answer(answers: Iterable[FormAnswer]) -> str:
    """Return the XML of the answers to a QuestionForm, in the order given; a form may be left quite empty."""
    parts = []
    for answer in answers:
        if answer.text is not None:
            held = _element("FreeText", answer.text)
        else:
            held = "".join(_element("SelectionIdentifier", chosen) for chosen in answer.selections)
            held += _element("OtherSelectionText", answer.other) if answer.other else ""
        parts.append(_answer(answer.question, held))
    return _document(parts)


def parse_answer(xml: str) -> dict[str, str]:
    """Read an answer into ``{field: text}``; a repeated field's values and selections are joined by ``|``.

    Raises AnswerError.
    """
    return joined((answer.question, answer.value) for answer in parse_form_answer(xml))


def parse_form_answer(xml: str) -> list[FormAnswer]:
    """Read an answer with its selections kept apart.

    The XML is written by workers' browsers, so entities, external references and document types are refused.
    Raises AnswerError.
    """
    try:
        root = parse_plain_xml(xml)
    except NotPlainXml as error:
        raise AnswerError(f"The answer is not plain XML: {error}") from None
    if root.tag != f"{{{NAMESPACE}}}QuestionFormAnswers":
        raise AnswerError("The root element must be QuestionFormAnswers of schema 2005-10-01.")
    return [_parsed(answer) for answer in root.findall(f"{{{NAMESPACE}}}Answer")]


def submission_fields(xml: str, names: Iterable[str]) -> Mapping[str, str]:
    """Return the wanted fields of an answer; raises AnswerError naming each that is missing."""
    fields = parse_answer(xml)
    wanted = list(names)
    missing = [name for name in wanted if name not in fields]
    if missing:
        raise AnswerError(f"The answer lacks {', '.join(missing)}.")
    return {name: fields[name] for name in wanted}


def _element(name: str, text: str) -> str:
    return f"<{name}>{escape(clean_text(text))}</{name}>"


def _answer(question: str, held: str) -> str:
    return f"<Answer>{_element('QuestionIdentifier', question)}{held}</Answer>"


def _document(parts: list[str]) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<QuestionFormAnswers xmlns="{NAMESPACE}">{"".join(parts)}</QuestionFormAnswers>'
    )


def _parsed(answer: Element) -> FormAnswer:
    name = answer.findtext(f"{{{NAMESPACE}}}QuestionIdentifier")
    if not name:
        raise AnswerError("An Answer has no QuestionIdentifier.")
    chosen = [element.text or "" for element in answer.findall(f"{{{NAMESPACE}}}SelectionIdentifier")]
    other = answer.findtext(f"{{{NAMESPACE}}}OtherSelectionText")
    text = answer.findtext(f"{{{NAMESPACE}}}FreeText")
    if text is None and not chosen and other is None:
        text = ""
    return FormAnswer(name, text, tuple(chosen), other)
