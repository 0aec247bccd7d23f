"""The template tag that shows a text with object tags."""

import re
from html import unescape
from typing import Any

import pytest
from django.template import Context, Template
from django.utils.html import strip_tags

from hits.domain.tagged_text import display_text

NAMES = ["person", "person", "dog", "dining table", "cup", "<b>cat</b>"]
PAGE = Template("{% load tagged_text %}{% tagged_text text objects %}")


def shown(text: list[Any], objects: list[Any]) -> str:
    return PAGE.render(Context({"text": text, "objects": objects})).strip()


@pytest.mark.parametrize(
    "text",
    [
        ["They wait."],
        ["Why does ", {"objects": [0]}, " smile?"],
        [{"objects": [0, 2]}, "'s cup is next to ", {"objects": [0, 1, 3]}, "."],
        [{"objects": [4]}],
        [],
    ],
)
def test_tagged_text_reads_as_the_displayed_text(text: list[Any]) -> None:
    page = shown(text, [{"name": name, "box": {}} for name in NAMES])
    assert unescape(strip_tags(page)) == display_text(text, NAMES)


def test_tagged_text_names_the_objects_of_each_tag() -> None:
    page = shown(["A ", {"objects": [0, 2]}, " b ", {"objects": [5]}], NAMES)
    assert re.findall(r'data-objects="([\d ]+)"', page) == ["0 2", "5"]
    assert re.findall(r"obs obs-(\d)", page) == ["1", "3", "1"], "colours repeat after five objects"
    assert "<b>cat</b>" not in page
    assert "&lt;b&gt;cat&lt;/b&gt; <b>6</b>" in page


def test_tagged_text_escapes_the_text() -> None:
    assert shown(["<script>"], []) == "&lt;script&gt;"
