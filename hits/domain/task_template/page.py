"""A page as a tree of elements with their lines, for checks.

There is no browser: elements that the page's script creates are not found.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID_TAG_PATTERN = re.compile(r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
# Elements that end where one of these starts, because their end tag is optional in HTML.
_IMPLIED_END = {
    "li": {"li"},
    "p": {"p"},
    "option": {"option"},
    "tr": {"tr", "td", "th"},
    "td": {"td", "th"},
    "th": {"td", "th"},
}
_FIELDS = frozenset({"input", "select", "textarea"})
_NOT_ANSWERS = frozenset({"submit", "button", "reset", "image"})
_SUBMIT_TYPES = {"button": frozenset({"", "submit"}), "input": frozenset({"submit", "image"})}
_HIDING_STYLE_PATTERN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
MAX_DEPTH = 100  # nesting of elements; deeper elements are read at this depth
_BRACE_PATTERN = re.compile(r"[{}]")
_SIMPLE_SELECTOR_PATTERN = re.compile(r"[.#][\w-]+")


@dataclass(slots=True, eq=False)
class Element:
    """One element. Attribute names are lower case, and an attribute without a value has an empty one."""

    tag: str
    attributes: dict[str, str]
    line: int
    parent: "Element | None" = None
    depth: int = 0
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def get(self, name: str) -> str:
        """Return an attribute's trimmed value, empty if it is missing."""
        return self.attributes.get(name, "").strip()

    def has(self, name: str) -> bool:
        """Return whether the attribute exists, with or without a value."""
        return name in self.attributes

    @property
    def classes(self) -> set[str]:
        """The element's classes."""
        return set(self.get("class").split())

    def ancestors(self) -> Iterator["Element"]:
        """Yield the elements around it, from the inside out."""
        element = self.parent
        while element is not None:
            yield element
            element = element.parent

    def descendants(self) -> Iterator["Element"]:
        """Yield every element below it, in the order of the page."""
        waiting = self.children[::-1]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += element.children[::-1]

    def full_text(self) -> str:
        """Return its own text and that of all elements in it."""
        return " ".join(" ".join([self.text, *(element.text for element in self.descendants())]).split())


@dataclass(slots=True)
class Page:
    """A parsed page: its elements in order, and the lines of nested forms and of forms without an end."""

    elements: list[Element]
    nested_form_lines: list[int]
    unclosed_form_lines: list[int]

    def find_by_tag(self, *tags: str) -> list[Element]:
        """Return the elements with one of these tags."""
        return [element for element in self.elements if element.tag in tags]

    @property
    def fields(self) -> list[Element]:
        """The inputs, selections and text areas, without buttons."""
        return [
            element
            for element in self.find_by_tag(*_FIELDS)
            if not (element.tag == "input" and element.get("type").lower() in _NOT_ANSWERS)
        ]

    @property
    def styles(self) -> str:
        """The text of all style elements."""
        return "\n".join(element.text for element in self.find_by_tag("style"))


class _PageParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.innermost = Element("", {}, 0)
        self.elements: list[Element] = []
        self.nested_form_lines: list[int] = []
        self.forms: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line = self.getpos()[0]
        if tag == "form":
            if self.forms:
                self.nested_form_lines.append(line)
            self.forms.append(line)
        if self.innermost.tag in _IMPLIED_END.get(tag, ()) and self.innermost.parent is not None:
            self.innermost = self.innermost.parent
        attributes: dict[str, str] = {}
        for name, value in attrs:
            attributes.setdefault(name, value or "")
        element = Element(tag, attributes, line, self.innermost, self.innermost.depth + 1)
        self.innermost.children.append(element)
        self.elements.append(element)
        if not _VOID_TAG_PATTERN.fullmatch(tag) and element.depth < MAX_DEPTH:
            self.innermost = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self.forms:
            self.forms.pop()
        for element in [self.innermost, *self.innermost.ancestors()]:
            if element.tag == tag and element.parent is not None:
                self.innermost = element.parent
                return

    def handle_data(self, data: str) -> None:
        self.innermost.text += data


def is_submit_button(tag: str, kind: str) -> bool:
    """Return whether an element submits its form; ``kind`` is its attribute ``type`` or empty."""
    return kind.strip().lower() in _SUBMIT_TYPES.get(tag, ())


def parse_page(html: str) -> Page:
    """Return the page's elements. Like a browser, it accepts any input."""
    builder = _PageParser()
    builder.feed(html)
    builder.close()
    return Page(builder.elements, builder.nested_form_lines, builder.forms)


def find_hiding_element(element: Element, selectors: set[str]) -> Element | None:
    """Return the element that hides this one, itself or an ancestor; ``None`` if it is visible.

    It checks the ``hidden`` attribute, inline styles, closed ``details``, Bootstrap's collapsed parts, and
    ``selectors``: classes and ids that the page's style sheet hides.
    """
    for candidate in [element, *element.ancestors()]:
        if _is_hiding(candidate, selectors, element):
            return candidate
    return None


def hiding_selectors(styles: str) -> set[str]:
    """Return the classes and ids (``.more``, ``#extra``) that a style sheet hides on every screen."""
    found: set[str] = set()
    for rule in parse_rules(styles):
        if not rule.media and rule.hides:
            found |= {part for part in rule.selectors if _SIMPLE_SELECTOR_PATTERN.fullmatch(part)}
    return found


@dataclass(frozen=True, slots=True)
class StyleRule:
    """One rule of a style sheet; ``media`` is the condition around it, such as ``@media (max-width: 30em)``."""

    media: str
    selectors: tuple[str, ...]
    body: str

    @property
    def hides(self) -> bool:
        """Whether the rule hides its elements."""
        return _HIDING_STYLE_PATTERN.search(self.body) is not None


def parse_rules(styles: str) -> Iterator[StyleRule]:
    """Yield the rules of a style sheet in one pass."""
    around: list[str] = []
    start = 0
    for match in _BRACE_PATTERN.finditer(styles):
        text = styles[start : match.start()]
        start = match.end()
        if match[0] == "{":
            around.append(text.strip())
        elif around:
            selectors = around.pop()
            if not selectors.startswith("@"):
                parts = tuple(part.strip() for part in selectors.split(","))
                yield StyleRule(around[-1] if around else "", parts, text)


def _is_hiding(at: Element, selectors: set[str], field_: Element) -> bool:
    if at.has("hidden") or _HIDING_STYLE_PATTERN.search(at.get("style")):
        return True
    classes = at.classes
    if "d-none" in classes or ("collapse" in classes and not classes & {"show", "in"}):
        return True
    if f"#{at.get('id')}" in selectors or any(f".{name}" in selectors for name in classes):
        return True
    summary = any(around.tag == "summary" for around in field_.ancestors())
    return at.tag == "details" and at is not field_ and not at.has("open") and not summary
