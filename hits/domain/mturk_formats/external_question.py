"""ExternalQuestion: the XML in which a HIT names the page for its workers.

Schema 2006-07-14: the root has ExternalURL and FrameHeight, nothing else.
"""

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from hits.domain.mturk_formats.safe_xml import NotPlainXml, parse_plain_xml

NAMESPACE = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
MAX_QUESTION_BYTES = 65_535
MAX_FRAME_HEIGHT = 100_000
NO_ASSIGNMENT = "ASSIGNMENT_ID_NOT_AVAILABLE"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class QuestionError(ValueError):
    """A question that cannot be shown; the message names the reason, ``api_code`` the requester API's error."""

    api_code = "XMLValidationError"


class QuestionTooLong(QuestionError):
    """More than 65,535 bytes."""

    api_code = "InvalidParameterValue"


class QuestionNotXml(QuestionError):
    """Not well-formed XML, or XML with entities or a document type."""

    api_code = "XMLParseError"


class QuestionInvalid(QuestionError):
    """Well-formed, but not an ExternalQuestion with a usable URL and height."""


@dataclass(frozen=True)
class ExternalQuestion:
    """The page's ``url``, and ``frame_height`` in CSS pixels (0: the worker site chooses)."""

    url: str
    frame_height: int


def build_external_question(url: str, frame_height: int = 0) -> str:
    """Return the XML for a page. Raises QuestionError if it would not be readable."""
    xml = (
        f'<ExternalQuestion xmlns="{NAMESPACE}"><ExternalURL>{escape(url)}</ExternalURL>'
        f"<FrameHeight>{frame_height}</FrameHeight></ExternalQuestion>"
    )
    parse_external_question(xml)
    return xml


def parse_external_question(xml: str) -> ExternalQuestion:
    """Read an ExternalQuestion. Raises QuestionTooLong, QuestionNotXml or QuestionInvalid."""
    root = parse_question_root(xml, "question")
    if root.tag != f"{{{NAMESPACE}}}ExternalQuestion":
        raise QuestionInvalid("The root element must be ExternalQuestion of schema 2006-07-14.")
    return ExternalQuestion(url=_child_text(root, "ExternalURL"), frame_height=_parse_height(root))


def parse_question_root(xml: str, name: str) -> Element:
    """Return the root of a question's XML without surrounding white space; messages call the question ``name``.

    Raises QuestionTooLong or QuestionNotXml.
    """
    xml = xml.strip()
    size = len(xml.encode("utf-8", "surrogatepass"))
    if size > MAX_QUESTION_BYTES:
        raise QuestionTooLong(f"The {name} has {size} bytes; at most {MAX_QUESTION_BYTES} are allowed.")
    try:
        return parse_plain_xml(xml)
    except NotPlainXml as error:
        raise QuestionNotXml(f"The {name} is not plain XML: {error}") from None


def check_url(url: str, *, http_origin: str) -> None:
    """Refuse a page URL that is unsafe for workers' browsers.

    https is always allowed, http only for the platform's own HIT origin ``http_origin`` (equal scheme, host and
    port). Raises QuestionInvalid.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise QuestionInvalid(f"ExternalURL {url!r} is not a URL.") from None
    if not parts.hostname or parts.username is not None:
        raise QuestionInvalid("ExternalURL needs a host and no user name.")
    if parts.scheme == "https":
        return
    own = urlsplit(http_origin)
    same = (parts.scheme, parts.hostname, port or _DEFAULT_PORTS.get(parts.scheme)) == (
        own.scheme,
        own.hostname,
        own.port or _DEFAULT_PORTS.get(own.scheme),
    )
    if not same:
        raise QuestionInvalid("ExternalURL must use https.")


def frame_url(question_url: str, *, assignment_id: str, hit_id: str, worker_id: str, submit_to: str) -> str:
    """Return the address of the worker's frame: the question's URL with MTurk's four parameters.

    Their order (assignmentId, hitId, workerId, turkSubmitTo) is that of Amazon's access logs. A fragment stays at the
    end; a URL with a query gets ``&``.
    """
    query = urlencode(
        {"assignmentId": assignment_id, "hitId": hit_id, "workerId": worker_id, "turkSubmitTo": submit_to}
    )
    address, mark, fragment = question_url.partition("#")
    joint = "&" if "?" in address else "?"
    return f"{address}{joint}{query}{mark}{fragment}"


def _child_text(root: Element, name: str) -> str:
    found = [child for child in root if child.tag == f"{{{NAMESPACE}}}{name}"]
    text = (found[0].text or "").strip() if len(found) == 1 else ""
    if not text:
        raise QuestionInvalid(f"The question needs exactly one {name} with a value.")
    return text


def _parse_height(root: Element) -> int:
    text = _child_text(root, "FrameHeight")
    if not (text.isascii() and text.isdigit()) or int(text.lstrip("0")[:9] or 0) > MAX_FRAME_HEIGHT:
        raise QuestionInvalid(
            f"FrameHeight must be whole pixels from 0 to {MAX_FRAME_HEIGHT}, got {text[:40]!r}."
        )
    return int(text.lstrip("0") or 0)
