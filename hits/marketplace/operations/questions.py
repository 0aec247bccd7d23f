"""The question of a new HIT: one of three kinds of XML, or a layout with its parameters."""

from typing import Any

from django.conf import settings

from hits.domain.mturk_formats import external_question as xq
from hits.marketplace.errors import ApiError, validation_error
from hits.marketplace.formats import html_question, layout, question_form
from hits.marketplace.formats.xml_reader import root_name
from hits.marketplace.models import HITLayout, QuestionKind
from hits.marketplace.services.hits import HostedPage

from .registry import Call

Question = xq.ExternalQuestion | HostedPage


def resolve_question(call: Call, params: dict[str, Any]) -> tuple[str, Question]:
    """Return the XML of a HIT's question and the parsed question. Raises ApiError.

    The call gives either a Question or a HITLayoutId. A layout becomes an HTMLQuestion, as on Amazon's service.
    """
    xml, layout_id = params.get("Question", ""), params.get("HITLayoutId", "")
    if xml and layout_id:
        raise validation_error("Give either a Question or a HITLayoutId, not both.", "InvalidParameterValue")
    if not layout_id and params.get("HITLayoutParameters"):
        raise validation_error("HITLayoutParameters need a HITLayoutId.", "InvalidParameterValue")
    if not xml and not layout_id:
        raise ApiError("MissingParameter", "Either a Question or a HITLayoutId must be provided.")
    try:
        return _build_question_from_layout(call, params) if layout_id else (xml, _read_question(xml))
    except xq.QuestionError as error:
        raise validation_error(str(error), error.api_code) from None


def _read_question(xml: str) -> Question:
    """Parse a question by its root element. An unknown root gets the error of an ExternalQuestion."""
    root = root_name(xml)
    if root == QuestionKind.HTML:
        page = html_question.parse_html_question(xml)
        return HostedPage(QuestionKind.HTML, page.frame_height)
    if root == QuestionKind.FORM:
        question_form.parse_new_form(xml)
        return HostedPage(QuestionKind.FORM)
    question = xq.parse_external_question(xml)
    xq.check_url(question.url, http_origin=settings.HIT_ORIGIN)
    return question


def _build_question_from_layout(call: Call, params: dict[str, Any]) -> tuple[str, HostedPage]:
    layout_id = params["HITLayoutId"]
    hit_layout = HITLayout.objects.filter(requester=call.requester, layout_id=layout_id).first()
    if hit_layout is None:
        raise ApiError("HITLayoutDoesNotExist", f"HITLayout {layout_id} does not exist.")
    try:
        html = layout.fill_layout(hit_layout.html, _read_layout_values(params.get("HITLayoutParameters", [])))
    except layout.LayoutError as error:
        raise validation_error(str(error), "InvalidParameterValue") from None
    xml = html_question.build_html_question(html_question.add_form_if_missing(html), hit_layout.frame_height)
    return xml, HostedPage(QuestionKind.HTML, hit_layout.frame_height, hit_layout)


def _read_layout_values(rows: list[dict[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for row in rows:
        if row["Name"] in values:
            raise layout.LayoutError(f"The parameter {row['Name'][:80]} is given twice.")
        values[row["Name"]] = row["Value"]
    return values
