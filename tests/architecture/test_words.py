"""The check of retired words finds them where this project defines names or speaks to people, and nowhere else."""

import pytest

from scripts import words

PLANTED = [
    ("a.py", "MAX_OPINIONS = 9"),
    ("a.py", "def standing_of(worker): ..."),
    ("a.py", "def launch(*, wish): ..."),
    ("a.py", "class Fence: ..."),
    ("a.py", "class DownloadCrew: ..."),
    ("a.py", "told = 1"),
    ("a.py", "self.said = 1"),
    ("a.py", "for thing, things in pairs: ..."),
    ("a.py", "import datetime as anew"),
    ("a.py", "async def tell_workers(): ..."),
    ("a.py", "usual_seconds: int = 3"),
    ("a.py", "def by_lot(): ..."),
    ("a.py", "class ReviewDesk: ..."),
    ("a.py", "with open(path) as wanted: ..."),
    ("bookings.py", ""),
    ("adopting.py", ""),
    ("studio.html", "<p>Text</p>"),
    ("a.py", 'raise Refused("the standing rule is off")'),
    ("a.py", 'field = CharField(help_text="how many opinions a unit gets")'),
    ("a.py", 'messages.success(request, "You handed it in.")'),
    ("a.py", 'help = "Adopt what an annotator left."'),
    ("a.py", '_("2 fields to mend")'),
    ("a.html", "<h2>What came of it</h2>"),
    ("a.html", '<button title="Open the trainer desk">x</button>'),
    ("a.html", '{% translate "Hand in" %}'),
    ("a.html", "<p>\nSee what\nit rests on</p>"),
    ("a.js", "function tellWorker() {}"),
    ("a.js", "export class Bench {"),
    ("a.js", "gettext('Handed in')"),
    ("a.css", ".desk-list { margin: 0; }"),
    ("a.md", "The pairs are drawn by lot."),
    ("a.md", "See paper " + "000, figure 6."),
    ("a.md", "Money is cents (ruling " + "15)."),
    ("a.md", "The job goes on\nwith the next shard."),
]


@pytest.mark.parametrize(("path", "source"), PLANTED, ids=[f"{n}-{p}" for n, (p, _) in enumerate(PLANTED)])
def test_check_finds_a_planted_word(path: str, source: str) -> None:
    assert words.check_file(f"hits/{path}", source), source


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "from typing import cast\nx = cast(int, y)"),
        ("a.py", "folder = path.parts[0]"),
        ("a.py", 'rows = {"standing": worker.status, "told": True}'),
        ("a.py", "response.said()"),
        ("a.html", "{% if desk.wish %}<p>Queue</p>{% endif %}"),
        ("a.html", "<code>--opinions</code>"),
        ("a.md", "Use `launch_key` in old files."),
        ("a.js", "const rows = studio.rows;"),
    ],
)
def test_check_passes_names_of_others_keys_and_code(path: str, source: str) -> None:
    assert words.check_file(f"hits/{path}", source) == []


def test_finding_names_file_line_word_and_replacement() -> None:
    (found,) = words.check_file("hits/a.py", "x = 1\nopinions = 2\n")
    assert str(found) == "hits/a.py:2: opinions: redundancy (workers per unit)"


def test_identifiers_are_split_into_words() -> None:
    assert words.split_name("MAX_OPINIONS") == ["max", "opinions"]
    assert words.split_name("HTMLDesk2") == ["html", "desk", "2"]
    assert words.split_name("maxOpinions") == ["max", "opinions"]
