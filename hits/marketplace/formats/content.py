"""What a QuestionForm shows: titles, text, lists, pictures, sound, films, and a little XHTML."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from html.parser import HTMLParser
from typing import ClassVar
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import nh3

from hits.domain.mturk_formats.external_question import QuestionInvalid

from .xml import children, optional_text, plain, required_text, text_of

MAX_PIXELS = 10_000
# Amazon's table of tags (Formatted Content: XHTML), without image maps. Colours and fonts are left out, too: they
# would be chosen for a white page, and this one may be dark.
_EVERYWHERE = {"title", "lang", "dir"}
_CELL = {"abbr", "align", "valign", "colspan", "rowspan", "headers", "scope"}
_TAGS: dict[str, set[str]] = {
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
    "td": _CELL,
    "th": _CELL,
    "ul": {"type"},
}
_ACTIVE = frozenset(
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
    """What a Binary element holds."""

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
    """A picture, a sound or a film by its https address; sizes in CSS pixels where they are given."""

    media: MediaKind
    url: str
    alt: str
    width: int | None = None
    height: int | None = None
    kind: ClassVar[str] = "media"


@dataclass(frozen=True)
class Formatted:
    """XHTML that was sanitised: no script, style, form or address but https and mailto."""

    html: str
    kind: ClassVar[str] = "formatted"


Content = Title | Text | BulletList | Media | Formatted
ELEMENTS = ("Title", "Text", "List", "Binary", "EmbeddedBinary", "FormattedContent", "Application")


def read_contents(parent: Element) -> tuple[Content, ...]:
    """Return the content elements of an Overview or a QuestionContent, in order. Raises QuestionInvalid."""
    return tuple(read_content(child) for child in children(parent, *ELEMENTS))


def read_content(element: Element) -> Content:
    """Return one content element. Raises QuestionInvalid."""
    if element.tag == "Title":
        return Title(text_of(element))
    if element.tag == "Text":
        return Text(text_of(element))
    if element.tag == "List":
        return BulletList(tuple(text_of(item) for item in children(element, "ListItem")))
    if element.tag == "FormattedContent":
        return Formatted(sanitise(text_of(element)))
    if element.tag == "Application":
        raise QuestionInvalid(
            "Application (Java applets and Flash) has not been served since December 2017. "
            "Use an HTMLQuestion or an ExternalQuestion for interactive content."
        )
    return _media(element)


def sanitise(html: str) -> str:
    """Return the XHTML that may be shown. Raises QuestionInvalid for scripts, forms and pictures without https.

    Tags and attributes that only style (``class``, ``div``, colours) are dropped without a word; what would change
    the meaning by its absence is refused by name.
    """
    finder = _Finder()
    finder.feed(html)  # without close(), which takes long over tags that never end; the sanitiser drops those
    clean: str = nh3.clean(
        html,
        tags=set(_TAGS),
        attributes={**{tag: names for tag, names in _TAGS.items() if names}, "*": _EVERYWHERE},
        attribute_filter=_kept,
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes={"https", "mailto"},
    )
    return clean


def check_https(url: str, what: str) -> str:
    """Return an address that browsers may load from this site. Raises QuestionInvalid unless it is https."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise QuestionInvalid(f"{what} {url[:80]!r} is not a URL.") from None
    if parts.scheme != "https" or not parts.hostname or parts.username is not None:
        raise QuestionInvalid(f"{what} must be an https address, got {url[:80]!r}.")
    return url


def _kept(tag: str, name: str, value: str) -> str | None:
    # A relative address leads to our own pages, or with two slashes to anybody's.
    foreign = name in {"href", "src"} and not value.strip().lower().startswith(("https://", "mailto:"))
    return None if foreign else value


def _media(element: Element) -> Media:
    wrapper = "EmbeddedMimeType" if element.tag == "EmbeddedBinary" else "MimeType"
    for _ in children(element, wrapper, "DataURL", "AltText", "Width", "Height", "ApplicationParameter"):
        pass
    mime = element.find(wrapper)
    if mime is None:
        raise QuestionInvalid(f"{element.tag} needs a {wrapper}.")
    kind = required_text(mime, "Type").lower()
    if kind not in set(MediaKind):
        raise QuestionInvalid(f"{wrapper}/Type must be image, audio or video, got {kind[:40]!r}.")
    return Media(
        media=MediaKind(kind),
        url=check_https(required_text(element, "DataURL"), "DataURL"),
        alt=optional_text(element, "AltText"),
        width=_pixels(element, "Width"),
        height=_pixels(element, "Height"),
    )


def _pixels(element: Element, name: str) -> int | None:
    text = optional_text(element, name).removesuffix("px")
    usable = text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) <= MAX_PIXELS  # noqa: PLR2004
    return int(text) if usable else None  # a share of the page, "80%", is left to the page's own rule


class _Finder(HTMLParser):
    """Finds what is refused by name rather than dropped."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _ACTIVE:
            raise QuestionInvalid(
                f"FormattedContent cannot hold <{plain(tag)}>. Use an HTMLQuestion for interactive content."
            )
        if tag == "img":
            check_https((dict(attrs).get("src") or "").strip(), "The src of <img> in FormattedContent")
