"""Markdown that people write, as safe HTML."""

import markdown
import nh3

_TAGS = {"p", "ul", "ol", "li", "strong", "em", "a", "h2", "h3", "h4", "blockquote", "code", "br", "hr"}


def to_html(text: str) -> str:
    """Return ``text`` rendered and sanitised: no scripts, styles, images or unknown tags survive."""
    html: str = nh3.clean(
        markdown.markdown(text), tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"https", "mailto"}
    )
    return html
