"""The question of a new HIT: one of three kinds of XML, or a layout with its parameters."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from hits.domain.mturk_formats import external_question as xq
from hits.marketplace.errors import ApiError, invalid
from hits.marketplace.formats import html_question, layout, question_form
from hits.marketplace.formats.xml import root_name
from hits.marketplace.models import HITLayout, QuestionKind
from hits.marketplace.services.hits import OwnPage

from .registry import Call

Question = xq.ExternalQuestion | OwnPage


def find_question(call: Call, params: dict[str, Any]) -> tuple[str, Question]:
    """Return the XML of a HIT's question and what it says. Raises ApiError.

    Either a Question or a HITLayoutId is given; a layout becomes an HTMLQuestion, as on Amazon's service.
    """
    xml, layout_id = params.get("Question", ""), params.get("HITLayoutId", "")
    if xml and layout_id:
        raise invalid("Give either a Question or a HITLayoutId, not both.", "InvalidParameterValue")
    if not layout_id and params.get("HITLayoutParameters"):
        raise invalid("HITLayoutParameters need a HITLayoutId.", "InvalidParameterValue")
    if not xml and not layout_id:
        raise ApiError("MissingParameter", "Either a Question or a HITLayoutId must be provided.")
    try:
        return _from_layout(call, params) if layout_id else (xml, _read(xml))
    except xq.QuestionTooLong as error:
        raise invalid(str(error), "InvalidParameterValue") from None
    except xq.QuestionNotXml as error:
        raise invalid(str(error), "XMLParseError") from None
    except xq.QuestionInvalid as error:
        raise invalid(str(error), "XMLValidationError") from None


def _read(xml: str) -> Question:
    """Read a question by the name of its root element; an unknown one is told what an ExternalQuestion is."""
    kind = root_name(xml)
    if kind == QuestionKind.HTML:
        page = html_question.parse_html_question(xml)
        return OwnPage(QuestionKind.HTML, page.frame_height)
    if kind == QuestionKind.FORM:
        question_form.parse_new_form(xml)
        return OwnPage(QuestionKind.FORM)
    question = xq.parse_external_question(xml)
    xq.check_url(question.url, http_origin=settings.HIT_ORIGIN)
    return question


def _from_layout(call: Call, params: dict[str, Any]) -> tuple[str, OwnPage]:
    layout_id = params["HITLayoutId"]
    found = HITLayout.objects.filter(requester=call.requester, layout_id=layout_id).first()
    if found is None:
        raise ApiError("HITLayoutDoesNotExist", f"HITLayout {layout_id} does not exist.")
    try:
        html = layout.fill(found.html, _values(params.get("HITLayoutParameters", [])))
    except layout.LayoutError as error:
        raise invalid(str(error), "InvalidParameterValue") from None
    xml = html_question.build_html_question(html_question.in_a_form(html), found.frame_height)
    return xml, OwnPage(QuestionKind.HTML, found.frame_height, found)


def _values(rows: list[dict[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for row in rows:
        if row["Name"] in values:
            raise layout.LayoutError(f"The parameter {row['Name'][:80]} is given twice.")
        values[row["Name"]] = row["Value"]
    return values
