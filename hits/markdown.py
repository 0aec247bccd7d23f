"""Render Markdown that people write as safe HTML.

A photo is named by its number, ``![what it shows](photo:12)``, and shown only if the caller passes it. All other
pictures are removed: an external address would reveal the readers to its owner, and could change after approval.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from html.parser import HTMLParser

import markdown
import nh3
from django.utils.html import escape

_TAGS = {
    "p",
    "ul",
    "ol",
    "li",
    "strong",
    "em",
    "a",
    "h2",
    "h3",
    "h4",
    "blockquote",
    "code",
    "pre",
    "br",
    "hr",
}
_LINK_ATTRIBUTES = {"a": {"target": "_blank"}}  # a link that opened in the same tab would replace the task
_SCHEMES = ("https:", "mailto:")
_PHOTO_SOURCE_PATTERN = re.compile(r"photo:(\d{1,18})")
# Of each of "[" and "<". The parser's time grows with their number, because it searches for the end of each.
MAX_OPENING_BRACKETS = 100


def find_problem(text: str) -> str:
    """Return the problem that prevents ``text`` from being rendered; empty for all ordinary texts."""
    for bracket in "[<":
        if text.count(bracket) > MAX_OPENING_BRACKETS:
            return f"“{bracket}” occurs more than {MAX_OPENING_BRACKETS} times; use fewer"
    return "" if _convert(text) is not None else "lists or quotations are nested too deeply; use fewer levels"


def to_html(text: str, photos: Mapping[int, str] | None = None) -> str:
    """Return ``text`` rendered and sanitized, without scripts, styles and unknown tags.

    ``photos`` are addresses by number. Only these pictures are shown; the others are replaced by their alternative
    text, and without ``photos`` they are removed.
    """
    shown = photos or {}

    def filter_attribute(tag: str, name: str, value: str) -> str | None:
        if (tag, name) != ("img", "src"):
            return _filter_link(tag, name, value)
        number = photo_number(value)
        return shown.get(number) if number is not None else None

    html: str = nh3.clean(
        _render_or_escape(text),
        tags=_TAGS | ({"img"} if photos is not None else set()),
        attributes={"a": {"href"}, "img": {"src", "alt"}},
        attribute_filter=filter_attribute,
        set_tag_attribute_values=_LINK_ATTRIBUTES,
        url_schemes={"https", "mailto", "photo"},
    )
    return html


def to_inline_html(text: str) -> str:
    """Return one line of Markdown as inline HTML, without paragraph, pictures and blocks."""
    html: str = nh3.clean(
        _render_or_escape(text),
        tags={"strong", "em", "a", "code"},
        attributes={"a": {"href"}},
        attribute_filter=_filter_link,
        set_tag_attribute_values=_LINK_ATTRIBUTES,
        url_schemes={"https", "mailto"},
    )
    return html.strip()


def picture_sources(text: str) -> list[str]:
    """Return the source of every picture in ``text``, unchanged and in order."""
    finder = _PictureFinder()
    finder.feed(_render_or_escape(text))
    finder.close()
    return finder.found


def photo_number(source: str) -> int | None:
    """Return the number of the photo that a picture's source names, or ``None`` for another source."""
    match = _PHOTO_SOURCE_PATTERN.fullmatch(source)
    return int(match.group(1)) if match else None


class _PictureFinder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"img", "image", "picture", "source", "video", "svg", "object", "embed", "iframe"}:
            self.found.append(dict(attrs).get("src") or "")


def _filter_link(tag: str, name: str, value: str) -> str | None:
    # A relative address leads to our own pages, or with two slashes to any host.
    is_refused = (tag, name) == ("a", "href") and not value.lower().startswith(_SCHEMES)
    return None if is_refused else value


def _render_or_escape(text: str) -> str:
    fits = all(text.count(bracket) <= MAX_OPENING_BRACKETS for bracket in "[<")
    html = _convert(text) if fits else None
    return f"<pre>{escape(text)}</pre>" if html is None else html


@lru_cache(maxsize=64)  # every task's page shows one of a few texts
def _convert(text: str) -> str | None:
    try:
        return markdown.markdown(text)
    except RecursionError:
        return None
