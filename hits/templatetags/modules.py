"""Preload links for all JavaScript modules of a page, so that the browser fetches them in parallel."""

import posixpath
import re
from functools import cache
from pathlib import Path

from django import template
from django.conf import settings
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()

_IMPORT_PATTERN = re.compile(
    r"""^(?:import|export)\s(?:[^'"]*?\sfrom\s*)?['"](\.{1,2}/[^'"]+)['"]""", re.MULTILINE
)


@register.simple_tag
def module_preloads(entry: str) -> SafeString:
    """Return modulepreload links for the module and all its imports; empty if the file does not exist."""
    names = _module_graph.__wrapped__(entry) if settings.DEBUG else _module_graph(entry)
    links = ((static(name),) for name in names)
    return format_html_join("\n  ", '<link rel="modulepreload" href="{}">', links)


@cache
def _module_graph(entry: str) -> tuple[str, ...]:
    """Return the static names of the module and its imports, breadth first, without duplicates."""
    names: dict[str, None] = {}
    queue = [entry]
    while queue:
        name = queue.pop(0)
        path = finders.find(name)
        if name in names or not isinstance(path, str):
            continue
        names[name] = None
        imports = _IMPORT_PATTERN.findall(Path(path).read_text(encoding="utf-8"))
        queue += [posixpath.normpath(posixpath.join(posixpath.dirname(name), other)) for other in imports]
    return tuple(names)
