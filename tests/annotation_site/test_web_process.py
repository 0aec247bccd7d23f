"""The web process stays light: no learning library is loaded, whatever address is asked for."""

from tests.support import children

HEAVY = [
    "torch",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "numba",
    "scipy",
    "av",
    "openai",
    "diffusers",
]

CODE = """
import sys
from annotation_site.wsgi import application
from django.urls import get_resolver
def walk(patterns):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from walk(pattern.url_patterns)
        else:
            yield pattern.callback
views = list(walk(get_resolver().url_patterns))
assert len(views) > 20, views
heavy = [name for name in {heavy!r} if name in sys.modules]
print(heavy)
"""


def test_web_process_loads_no_learning_library(db: None) -> None:
    done = children.run(CODE.format(heavy=HEAVY))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
