"""HTMLQuestion: a whole page of HTML that the marketplace shows for the requester (schema 2011-11-11).

The root holds HTMLContent, nearly always as CDATA, and FrameHeight. The page is shown as it was written, but for
three things: a form that names Amazon's own address hands in here instead, and carries the assignment's id
(``prepare_page``); and a script of ours comes first, because a frame without rights shows no dialogs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from urllib.parse import urlsplit

from hits.domain.external_question import MAX_FRAME_HEIGHT

from .xml import SCHEMAS, children, read_root, required_text, whole_number

ROOT, VERSION = "HTMLQuestion", "2011-11-11"
AMAZON_HOSTS = frozenset({"www.mturk.com", "workersandbox.mturk.com", "worker.mturk.com"})
SUBMIT_PATH = "/mturk/externalSubmit"
ASSIGNMENT_FIELD = "assignmentId"
_DOCTYPE = re.compile(r"\s*+(?:<!--.*?-->\s*+)*+<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)
_START_TAG = re.compile(r"<[^\s/>]+")
_ATTRIBUTE = re.compile(r"""(?<!\s)(\s++)([^\s=>"'/]+)(\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+))?""")

Attributes = list[tuple[str, str | None]]


@dataclass(frozen=True)
class HTMLQuestion:
    """``html`` of the page and ``frame_height`` in CSS pixels (0: let the worker site choose)."""

    html: str
    frame_height: int


def build_html_question(html: str, frame_height: int = 0) -> str:
    """Return the XML for a page. Raises QuestionError if it could not be read back."""
    content = html.replace("]]>", "]]]]><![CDATA[>")
    xml = (
        f'<{ROOT} xmlns="{SCHEMAS}/{VERSION}/{ROOT}.xsd"><HTMLContent><![CDATA[{content}]]></HTMLContent>'
        f"<FrameHeight>{frame_height}</FrameHeight></{ROOT}>"
    )
    parse_html_question(xml)
    return xml


def parse_html_question(xml: str) -> HTMLQuestion:
    """Read an HTMLQuestion. Raises QuestionTooLong, QuestionNotXml or QuestionInvalid."""
    root = read_root(xml, ROOT, [VERSION])
    list(children(root, "HTMLContent", "FrameHeight"))
    height = whole_number(required_text(root, "FrameHeight"), "FrameHeight", 0, MAX_FRAME_HEIGHT)
    return HTMLQuestion(html=required_text(root, "HTMLContent"), frame_height=height)


def prepare_page(html: str, *, submit_to: str, assignment_id: str) -> str:
    """Return the page as a worker's frame shows it; every other character stays as the requester wrote it.

    - A form whose action is externalSubmit at Amazon, or without a host, gets ``submit_to``/mturk/externalSubmit.
    - An empty field named assignmentId gets the id; a form of that kind which has none gets a hidden one.

    Forms that a script builds, or sends to the address it read from turkSubmitTo, need neither.
    """
    finder = _Finder(html)
    changes: list[tuple[int, int, str]] = []
    for form in finder.forms:
        if not _hands_in(form.attributes):
            continue
        target = f"{submit_to.rstrip('/')}{SUBMIT_PATH}"
        hidden = "" if form.has_assignment else _hidden_field(assignment_id)
        changes.append((form.start, form.end, _with_attribute(form.text, "action", target) + hidden))
    changes.extend(
        (tag.start, tag.end, _with_attribute(tag.text, "value", assignment_id)) for tag in finder.empty_ids
    )
    return _replaced(html, sorted(changes))


def with_first_script(html: str, address: str) -> str:
    """Return the page with a script before all of its own, after the document type that decides its layout."""
    start = _DOCTYPE.match(html)
    at = start.end() if start else 0
    return f'{html[:at]}<script src="{escape(address)}"></script>{html[at:]}'


@dataclass
class _Tag:
    start: int
    text: str
    attributes: Attributes
    has_assignment: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Finder(HTMLParser):
    """Finds forms and empty assignmentId fields with their places; scripts and comments are passed over."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[_Tag] = []
        self.empty_ids: list[_Tag] = []
        self._inside: _Tag | None = None
        self._lines = [0]
        for line in html.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        # Without close(): it would read a tag that never ends again from each of its characters on, and what no
        # browser reads as a tag is none here either.
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Note forms, and fields that carry the assignment's id."""
        line, column = self.getpos()
        found = _Tag(self._lines[line - 1] + column, self.get_starttag_text() or "", attrs)
        values = dict(attrs)
        if tag == "form":
            self._inside = found
            self.forms.append(found)
        elif tag == "input" and values.get("name") == ASSIGNMENT_FIELD:
            if self._inside is not None:
                self._inside.has_assignment = True
            if not values.get("value"):
                self.empty_ids.append(found)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        """Read ``<input …/>`` as a start tag."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Leave a form."""
        if tag == "form":
            self._inside = None


def _hands_in(attributes: Attributes) -> bool:
    try:
        action = urlsplit((dict(attributes).get("action") or "").strip())
    except ValueError:
        return False
    known = not action.netloc or (action.hostname or "") in AMAZON_HOSTS
    return known and action.path.rstrip("/").endswith(SUBMIT_PATH)


def _with_attribute(tag: str, name: str, value: str) -> str:
    """Return a start tag's text with one attribute set, the others as they were."""
    opening = _START_TAG.match(tag)
    if opening is None:
        return tag
    written = f'{name}="{escape(value)}"'
    for match in _ATTRIBUTE.finditer(tag, opening.end()):
        if match[2].lower() == name:
            return f"{tag[: match.start(2)]}{written}{tag[match.end() :]}"
    return f"{tag[: opening.end()]} {written}{tag[opening.end() :]}"


def _hidden_field(assignment_id: str) -> str:
    return f'<input type="hidden" name="{ASSIGNMENT_FIELD}" value="{escape(assignment_id)}">'


def _replaced(html: str, changes: Iterable[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, text in changes:
        parts += [html[at:start], text]
        at = end
    return "".join([*parts, html[at:]])
