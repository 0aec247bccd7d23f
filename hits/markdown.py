"""Markdown that people write, as safe HTML.

A photo is named by its number, ``![what it shows](photo:12)``, and shown only where the caller knows it. No other
picture survives: an address elsewhere would tell its owner who reads, and could change after it was approved.
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
_LINKS = {"a": {"target": "_blank"}}  # followed in place, a link would put its page where the work stands
_SCHEMES = ("https:", "mailto:")
_PHOTO = re.compile(r"photo:(\d{1,18})")
# The parser's time grows with the length times these, and it finds no end to a link that is never closed.
MOST_MARKS = 100


def trouble(text: str) -> str:
    """Return what keeps ``text`` from being read as Markdown, in words; nothing for every text that people write."""
    for mark in "[<":
        if text.count(mark) > MOST_MARKS:
            return f"it has “{mark}” more than {MOST_MARKS} times; use fewer"
    return "" if _parsed(text) is not None else "it nests too many lists or quotations; use fewer levels"


def to_html(text: str, photos: Mapping[int, str] | None = None) -> str:
    """Return ``text`` rendered and sanitised: no scripts, styles or unknown tags survive.

    ``photos`` are addresses by number. Of pictures only these are shown; of all others, the words in their place,
    and without ``photos`` not even these.
    """
    shown = photos or {}

    def attribute(tag: str, name: str, value: str) -> str | None:
        if (tag, name) != ("img", "src"):
            return _kept(tag, name, value)
        number = photo_number(value)
        return shown.get(number) if number is not None else None

    html: str = nh3.clean(
        _rendered(text),
        tags=_TAGS | ({"img"} if photos is not None else set()),
        attributes={"a": {"href"}, "img": {"src", "alt"}},
        attribute_filter=attribute,
        set_tag_attribute_values=_LINKS,
        url_schemes={"https", "mailto", "photo"},
    )
    return html


def to_inline_html(text: str) -> str:
    """Return one line of Markdown as HTML without a paragraph round it, and without pictures and blocks."""
    html: str = nh3.clean(
        _rendered(text),
        tags={"strong", "em", "a", "code"},
        attributes={"a": {"href"}},
        attribute_filter=_kept,
        set_tag_attribute_values=_LINKS,
        url_schemes={"https", "mailto"},
    )
    return html.strip()


def pictures(text: str) -> list[str]:
    """Return the source of every picture in ``text``, as it is written, in their order."""
    finder = _Pictures()
    finder.feed(_rendered(text))
    finder.close()
    return finder.found


def photo_number(source: str) -> int | None:
    """Return which photo a picture's source names, or ``None`` where it is something else."""
    match = _PHOTO.fullmatch(source)
    return int(match.group(1)) if match else None


class _Pictures(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"img", "image", "picture", "source", "video", "svg", "object", "embed", "iframe"}:
            self.found.append(dict(attrs).get("src") or "")


def _kept(tag: str, name: str, value: str) -> str | None:
    # A relative address leads to our own pages, or with two slashes to anybody's.
    foreign = (tag, name) == ("a", "href") and not value.lower().startswith(_SCHEMES)
    return None if foreign else value


def _rendered(text: str) -> str:
    fits = all(text.count(mark) <= MOST_MARKS for mark in "[<")
    html = _parsed(text) if fits else None
    return f"<pre>{escape(text)}</pre>" if html is None else html


@lru_cache(maxsize=64)  # every task's page shows one of a few texts
def _parsed(text: str) -> str | None:
    try:
        return markdown.markdown(text)
    except RecursionError:
        return None
