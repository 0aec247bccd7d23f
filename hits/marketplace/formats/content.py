"""Content elements of a QuestionForm: titles, text, lists, images, audio, video, and limited XHTML."""

from dataclasses import dataclass
from enum import StrEnum
from html.parser import HTMLParser
from typing import ClassVar
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import nh3

from hits.domain.mturk_formats.external_question import QuestionInvalid

from .xml_reader import check_children, get_text, iter_children, optional_text, required_text, short_tag

MAX_PIXELS = 10_000
# Amazon's table of tags (Formatted Content: XHTML), without image maps, colours and fonts: colours for a white page
# would not fit a dark one.
_COMMON_ATTRIBUTES = {"title", "lang", "dir"}
_CELL_ATTRIBUTES = {"abbr", "align", "valign", "colspan", "rowspan", "headers", "scope"}
_ALLOWED_TAGS: dict[str, set[str]] = {
    **{
        tag: set()
        for tag in [
            "b",
            "big",
            "blockquote",
            "br",
            "center",
            "cite",
            "code",
            "dd",
            "dl",
            "dt",
            "em",
            "hr",
            "i",
            "small",
            "strong",
            "sub",
            "sup",
            "u",
        ]
    },
    **{
        tag: {"align"}
        for tag in ["h1", "h2", "h3", "h4", "h5", "h6", "p", "caption", "thead", "tbody", "tfoot", "tr"]
    },
    **{tag: {"align", "valign", "span"} for tag in ("col", "colgroup")},
    **{tag: {"datetime"} for tag in ("del", "ins")},
    "a": {"href", "hreflang"},
    "font": set(),
    "img": {"src", "alt", "width", "height", "align"},
    "li": {"value", "type"},
    "ol": {"start", "type"},
    "pre": set(),
    "q": set(),
    "table": {"border", "cellpadding", "cellspacing", "summary"},
    "td": _CELL_ATTRIBUTES,
    "th": _CELL_ATTRIBUTES,
    "ul": {"type"},
}
_FORBIDDEN_TAGS = frozenset(
    [
        "script",
        "style",
        "iframe",
        "frame",
        "frameset",
        "object",
        "embed",
        "applet",
        "form",
        "input",
        "button",
        "select",
        "textarea",
        "meta",
        "link",
        "base",
        "video",
        "audio",
        "svg",
        "math",
    ]
)


class MediaKind(StrEnum):
    """The type of a Binary element."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"


@dataclass(frozen=True)
class Title:
    """A heading."""

    text: str
    kind: ClassVar[str] = "title"


@dataclass(frozen=True)
class Text:
    """A paragraph of plain text; line ends are kept."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class BulletList:
    """A list of plain texts."""

    items: tuple[str, ...]
    kind: ClassVar[str] = "list"


@dataclass(frozen=True)
class Media:
    """An image, audio or video with its https URL; sizes in CSS pixels if given."""

    media: MediaKind
    url: str
    alt: str
    width: int | None = None
    height: int | None = None
    kind: ClassVar[str] = "media"


@dataclass(frozen=True)
class FormattedContent:
    """Sanitised XHTML: no scripts, styles and forms, and only https and mailto links."""

    html: str
    kind: ClassVar[str] = "formatted"


Content = Title | Text | BulletList | Media | FormattedContent
CONTENT_TAGS = ("Title", "Text", "List", "Binary", "EmbeddedBinary", "FormattedContent", "Application")


def read_contents(parent: Element) -> tuple[Content, ...]:
    """Return the content elements of an Overview or a QuestionContent, in order. Raises QuestionInvalid."""
    return tuple(read_content(child) for child in iter_children(parent, *CONTENT_TAGS))


def read_content(element: Element) -> Content:
    """Return one content element. Raises QuestionInvalid."""
    if element.tag == "Title":
        return Title(get_text(element))
    if element.tag == "Text":
        return Text(get_text(element))
    if element.tag == "List":
        return BulletList(tuple(get_text(item) for item in iter_children(element, "ListItem")))
    if element.tag == "FormattedContent":
        return FormattedContent(sanitise_html(get_text(element)))
    if element.tag == "Application":
        raise QuestionInvalid(
            "Application (Java applets and Flash) has not been served since December 2017. "
            "Use an HTMLQuestion or an ExternalQuestion for interactive content."
        )
    return _read_media(element)


def sanitise_html(html: str) -> str:
    """Return sanitised XHTML. Raises QuestionInvalid for scripts, forms and images without https.

    Tags and attributes for style only (``class``, ``div``, colours) are dropped silently. An element whose absence
    would change the meaning is refused, and the error names it.
    """
    finder = _ForbiddenTagFinder()
    finder.feed(html)  # without close(), which is slow for unclosed tags; the sanitiser drops them
    clean: str = nh3.clean(
        html,
        tags=set(_ALLOWED_TAGS),
        attributes={**{tag: names for tag, names in _ALLOWED_TAGS.items() if names}, "*": _COMMON_ATTRIBUTES},
        attribute_filter=_filter_attribute,
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes={"https", "mailto"},
    )
    return clean


def require_https_url(url: str, label: str) -> str:
    """Return a URL that browsers may load from this site. Raises QuestionInvalid unless it is https."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise QuestionInvalid(f"{label} {url[:80]!r} is not a URL.") from None
    if parts.scheme != "https" or not parts.hostname or parts.username is not None:
        raise QuestionInvalid(f"{label} must be an https address, got {url[:80]!r}.")
    return url


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    # A relative URL leads to our own pages, or with two slashes to any site.
    is_unsafe = name in {"href", "src"} and not value.strip().lower().startswith(("https://", "mailto:"))
    return None if is_unsafe else value


def _read_media(element: Element) -> Media:
    wrapper = "EmbeddedMimeType" if element.tag == "EmbeddedBinary" else "MimeType"
    check_children(element, wrapper, "DataURL", "AltText", "Width", "Height", "ApplicationParameter")
    mime = element.find(wrapper)
    if mime is None:
        raise QuestionInvalid(f"{element.tag} needs a {wrapper}.")
    kind = required_text(mime, "Type").lower()
    if kind not in set(MediaKind):
        raise QuestionInvalid(f"{wrapper}/Type must be image, audio or video, got {kind[:40]!r}.")
    return Media(
        media=MediaKind(kind),
        url=require_https_url(required_text(element, "DataURL"), "DataURL"),
        alt=optional_text(element, "AltText"),
        width=_read_pixels(element, "Width"),
        height=_read_pixels(element, "Height"),
    )


def _read_pixels(element: Element, name: str) -> int | None:
    text = optional_text(element, name).removesuffix("px")
    is_usable = text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) <= MAX_PIXELS  # noqa: PLR2004
    return int(text) if is_usable else None  # a relative size, "80%", is left to the page's style


class _ForbiddenTagFinder(HTMLParser):
    """Raises QuestionInvalid for tags that are refused instead of dropped."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _FORBIDDEN_TAGS:
            raise QuestionInvalid(
                f"FormattedContent cannot hold <{short_tag(tag)}>. Use an HTMLQuestion for interactive content."
            )
        if tag == "img":
            require_https_url((dict(attrs).get("src") or "").strip(), "The src of <img> in FormattedContent")
