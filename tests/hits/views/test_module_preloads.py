"""The list of modules that a task page preloads is the list that its script really imports."""

import posixpath
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.template import Context, Template

from hits import registry

_ANY_IMPORT = re.compile(r"""(?:from|import)\s*['"]([^'"]+\.js)['"]""")


def _links(entry: str) -> list[str]:
    source = "{% load modules %}{% module_preloads entry %}"
    return re.findall(r'href="/static/([^"]+)"', Template(source).render(Context({"entry": entry})))


@pytest.mark.parametrize("kind", sorted(registry.kind_names()))
def test_every_kind_preloads_what_its_script_imports(kind: str) -> None:
    expected, waiting = set(), [f"{kind}/task.js"]
    while waiting:
        name = waiting.pop()
        path = finders.find(name)
        assert isinstance(path, str), f"{name} is imported but does not exist"
        if name in expected:
            continue
        expected.add(name)
        imports = _ANY_IMPORT.findall(Path(path).read_text(encoding="utf-8"))
        waiting += [posixpath.normpath(posixpath.join(posixpath.dirname(name), other)) for other in imports]
    links = _links(f"{kind}/task.js")
    assert len(links) > 1
    assert sorted(links) == sorted(expected), "each once, none left out"


def test_a_kind_without_a_script_preloads_nothing() -> None:
    assert _links("no_such_kind/task.js") == []
