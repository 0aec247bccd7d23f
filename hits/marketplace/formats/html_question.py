"""HTMLQuestion: a whole HTML page that the marketplace shows for the requester (schema 2011-11-11).

The root has HTMLContent, usually as CDATA, and FrameHeight. The page is shown as written, with three changes: a form
with Amazon's submit URL submits here and sends the assignment id (``prepare_page``), and our own script comes
first, because a sandboxed frame shows no dialogs.

A page from Amazon's editor, used for layouts, has no form: Amazon's site added one (``add_form_if_missing``).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from urllib.parse import urlsplit

from hits.domain.mturk_formats.external_question import MAX_FRAME_HEIGHT
from hits.domain.task_template.page import is_submit_button

from .xml_reader import SCHEMAS, check_children, parse_whole_number, read_root, required_text

ROOT, VERSION = "HTMLQuestion", "2011-11-11"
AMAZON_HOSTS = frozenset({"www.mturk.com", "workersandbox.mturk.com", "worker.mturk.com"})
SUBMIT_NAME = "externalSubmit"
SUBMIT_PATH = f"/mturk/{SUBMIT_NAME}"
ASSIGNMENT_FIELD = "assignmentId"
# Name and ids are those of Amazon's site: scripts of old pages use them.
_FORM_START = (
    f'<form name="mturk_form" id="mturk_form" method="post" action="https://www.mturk.com{SUBMIT_PATH}">'
)
_ID_FIELD = f'<input type="hidden" name="{ASSIGNMENT_FIELD}" id="{ASSIGNMENT_FIELD}" value="">'
_SUBMIT_BUTTON = '<p><input type="submit" id="submitButton" value="Submit"></p>'
_DOCTYPE_PATTERN = re.compile(r"\s*+(?:<!--.*?-->\s*+)*+<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)
_START_TAG_PATTERN = re.compile(r"<[^\s/>]+")
_ATTRIBUTE_PATTERN = re.compile(r"""(?<!\s)(\s++)([^\s=>"'/]+)(\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+))?""")

Attributes = list[tuple[str, str | None]]


@dataclass(frozen=True)
class HTMLQuestion:
    """``html`` of the page and ``frame_height`` in CSS pixels (0: let the worker site choose)."""

    html: str
    frame_height: int


def build_html_question(html: str, frame_height: int = 0) -> str:
    """Return the XML for a page. Raises QuestionError if it cannot be parsed again."""
    content = html.replace("]]>", "]]]]><![CDATA[>")
    xml = (
        f'<{ROOT} xmlns="{SCHEMAS}/{VERSION}/{ROOT}.xsd"><HTMLContent><![CDATA[{content}]]></HTMLContent>'
        f"<FrameHeight>{frame_height}</FrameHeight></{ROOT}>"
    )
    parse_html_question(xml)
    return xml


def parse_html_question(xml: str) -> HTMLQuestion:
    """Parse an HTMLQuestion. Raises QuestionTooLong, QuestionNotXml or QuestionInvalid."""
    root = read_root(xml, ROOT, [VERSION])
    check_children(root, "HTMLContent", "FrameHeight")
    height = parse_whole_number(required_text(root, "FrameHeight"), "FrameHeight", 0, MAX_FRAME_HEIGHT)
    return HTMLQuestion(html=required_text(root, "HTMLContent"), frame_height=height)


def prepare_page(html: str, *, submit_to: str, assignment_id: str) -> str:
    """Return the page for a worker's frame; all other characters stay as the requester wrote them.

    - A form with the action externalSubmit, at Amazon or without a host, gets ``submit_to``/mturk/externalSubmit.
    - An empty field named assignmentId gets the id; such a form without the field gets a hidden one.

    Forms that a script builds, or sends to the URL from turkSubmitTo, need neither.
    """
    parser = _PageParser(html)
    changes: list[tuple[int, int, str]] = []
    for form in parser.forms:
        if not _is_submit_form(form.attributes):
            continue
        target = f"{submit_to.rstrip('/')}{SUBMIT_PATH}"
        hidden = "" if form.has_assignment_field else _assignment_id_field(assignment_id)
        changes.append((form.start, form.end, _set_attribute(form.text, "action", target) + hidden))
    changes.extend(
        (tag.start, tag.end, _set_attribute(tag.text, "value", assignment_id))
        for tag in parser.empty_id_fields
    )
    return _apply_changes(html, sorted(changes))


def add_form_if_missing(html: str) -> str:
    """Return a page that has no way to submit with a form around its body, and with a button if it has none.

    A page with its own form, with Amazon's ``crowd-form``, or with a script that names externalSubmit stays
    unchanged. So does a blank page, which stays invalid.
    """
    parser = _PageParser(html)
    if parser.submits_itself or not html.strip():
        return html
    start, end = parser.find_body(_doctype_end(html))
    field = "" if parser.has_assignment_field else _ID_FIELD
    button = "" if parser.has_button else _SUBMIT_BUTTON
    return f"{html[:start]}{_FORM_START}{field}{html[start:end]}{button}</form>{html[end:]}"


def insert_first_script(html: str, address: str) -> str:
    """Return the page with a script before its own scripts, after the doctype."""
    position = _doctype_end(html)
    return f'{html[:position]}<script src="{escape(address)}"></script>{html[position:]}'


@dataclass
class _Tag:
    start: int
    text: str
    attributes: Attributes
    has_assignment_field: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _PageParser(HTMLParser):
    """Finds forms, submit code and empty assignmentId fields with their offsets; comments are skipped."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[_Tag] = []
        self.empty_id_fields: list[_Tag] = []
        self.has_assignment_field = self.has_button = self.submits_itself = False
        self._starts: dict[str, int] = {}  # by tag: the offset after <html>, </head>, <body>
        self._ends: dict[str, int] = {}  # by tag: the offset of </body>, </html>
        self._html = html
        self._current_form: _Tag | None = None
        self._line_starts = [0]
        for line in html.split("\n"):
            self._line_starts.append(self._line_starts[-1] + len(line) + 1)
        # Without close(): it would parse an unclosed tag again from each of its characters, and browsers do not read
        # such text as a tag.
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Record forms and assignmentId fields."""
        found = _Tag(self._offset(), self.get_starttag_text() or "", attrs)
        values = dict(attrs)
        if is_submit_button(tag, values.get("type") or ""):
            self.has_button = True
        if tag in {"form", "crowd-form"}:
            self.submits_itself = True
        if tag == "form":
            self._current_form = found
            self.forms.append(found)
        elif tag == "input" and values.get("name") == ASSIGNMENT_FIELD:
            self.has_assignment_field = True
            if self._current_form is not None:
                self._current_form.has_assignment_field = True
            if not values.get("value"):
                self.empty_id_fields.append(found)
        elif tag in {"html", "body"}:
            self._starts.setdefault(tag, found.end)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        """Read ``<input …/>`` as a start tag."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Leave a form; record where head and body end."""
        if tag == "form":
            self._current_form = None
        elif tag == "head":
            self._starts.setdefault(tag, self._html.find(">", self._offset()) + 1)
        elif tag in {"html", "body"}:
            self._ends[tag] = self._offset()

    def handle_data(self, data: str) -> None:
        """Record a script that submits; the elements that it creates are unknown."""
        if self.cdata_elem == "script" and SUBMIT_NAME in data:
            self.submits_itself = True

    def find_body(self, default_start: int) -> tuple[int, int]:
        """Return start and end of the visible content; ``default_start`` applies if no element marks the start."""
        starts, ends = self._starts, self._ends
        start = starts.get("body", starts.get("head", starts.get("html", default_start)))
        end = ends.get("body", ends.get("html", -1))
        return start, end if end >= start else len(self._html)

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column


def _doctype_end(html: str) -> int:
    match = _DOCTYPE_PATTERN.match(html)
    return match.end() if match else 0


def _is_submit_form(attributes: Attributes) -> bool:
    try:
        action = urlsplit((dict(attributes).get("action") or "").strip())
    except ValueError:
        return False
    is_known_host = not action.netloc or (action.hostname or "") in AMAZON_HOSTS
    return is_known_host and action.path.rstrip("/").endswith(SUBMIT_PATH)


def _set_attribute(tag: str, name: str, value: str) -> str:
    """Return a start tag's text with one attribute set and the others unchanged."""
    opening = _START_TAG_PATTERN.match(tag)
    if opening is None:
        return tag
    written = f'{name}="{escape(value)}"'
    for match in _ATTRIBUTE_PATTERN.finditer(tag, opening.end()):
        if match[2].lower() == name:
            return f"{tag[: match.start(2)]}{written}{tag[match.end() :]}"
    return f"{tag[: opening.end()]} {written}{tag[opening.end() :]}"


def _assignment_id_field(assignment_id: str) -> str:
    return f'<input type="hidden" name="{ASSIGNMENT_FIELD}" value="{escape(assignment_id)}">'


def _apply_changes(html: str, changes: Iterable[tuple[int, int, str]]) -> str:
    parts, position = [], 0
    for start, end, text in changes:
        parts += [html[position:start], text]
        position = end
    return "".join([*parts, html[position:]])
