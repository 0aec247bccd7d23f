"""No test waits a fixed time for a state: it waits until the state is there, or for an event that comes after it.

Use ``tests.support.waiting.wait_until``, and ``tests.support.pages.until`` where a browser's events must be handled
meanwhile. Code that a test gives to another process as a string is not looked at: it works until it is killed or
told to continue.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

# Files and folders that sleep for another reason than to wait for a state.
SLEEPS = {
    "tests/support/waiting.py": "the pause between two looks",
    "tests/support/sleepers.py": "jobs that take long",
    "tests/benchmarks/": "measurements over a time",
    "tests/annotation_site/test_siege.py": "the pace of a person's requests",
    "tests/annotation_site/test_sqlite_write_queue.py": "work within a transaction",
    "tests/curation/services/test_versions_killed.py": "the random moment of a kill",
}
BROWSER_WAITS = {
    "tests/support/pages.py": "the pause between two looks, in which the browser's events are handled"
}
TIMER = re.compile(r"\bsetTimeout\(")


def fixed_waits(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every call that waits a fixed time."""
    tree = ast.parse(source)
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in {"time", "asyncio"}
        for name in node.names
        if name.name == "sleep"
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in imported:
            yield node.lineno, "sleep"
        elif isinstance(node.func, ast.Attribute):
            if node.func.attr == "wait_for_timeout":
                yield node.lineno, "wait_for_timeout"
            elif node.func.attr == "sleep" and ast.unparse(node.func.value) in {"time", "asyncio"}:
                yield node.lineno, "sleep"


def allowed(name: str) -> dict[str, str]:
    """Return the files and folders in which a call is allowed, and why."""
    return BROWSER_WAITS if name == "wait_for_timeout" else SLEEPS


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import time\ntime.sleep(1)\n", [(2, "sleep")]),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(1)\n", [(3, "sleep")]),
        ("from time import sleep as rest\nwhile True:\n    rest(0.1)\n", [(3, "sleep")]),
        ("page.wait_for_timeout(500)\n", [(1, "wait_for_timeout")]),
        ("task.page.wait_for_timeout(500)\n", [(1, "wait_for_timeout")]),
        ("clock.sleep(1)\nCODE = 'time.sleep(60)'\nwait_until(ready)\n", []),
    ],
)
def test_planted_waits_are_found(source: str, expected: list[tuple[int, str]]) -> None:
    assert list(fixed_waits(source)) == expected


def test_planted_timers_are_found() -> None:
    assert TIMER.search("await new Promise((done) => setTimeout(done, 5));")
    assert not TIMER.search("new Draft({ setTimer: clock.setTimeout })")


@pytest.fixture(scope="module")
def found(root: Path, repository_files: list[Path]) -> list[tuple[str, int, str]]:
    """Return file, line and name of every fixed wait in tests."""
    return [
        (path.relative_to(root).as_posix(), line, name)
        for path in repository_files
        if path.suffix == ".py" and "tests" in path.relative_to(root).parts
        for line, name in fixed_waits(path.read_text())
    ]


def test_no_test_waits_a_fixed_time(found: list[tuple[str, int, str]]) -> None:
    refused = [
        f"{file}:{line}: {name}"
        for file, line, name in found
        if not any(file == place or file.startswith(f"{place.rstrip('/')}/") for place in allowed(name))
    ]
    assert not refused, "wait for the state itself (tests/support/waiting.py)\n" + "\n".join(refused)


def test_every_allowed_place_still_waits(found: list[tuple[str, int, str]]) -> None:
    for name, places in {"sleep": SLEEPS, "wait_for_timeout": BROWSER_WAITS}.items():
        files = [file for file, _, found_name in found if found_name == name]
        unused = [place for place in places if not any(file.startswith(place) for file in files)]
        assert not unused, f"{name} is not called there any more: {unused}"


def test_no_script_test_sets_a_timer(root: Path) -> None:
    refused = [path.name for path in (root / "tests/js").glob("*.test.js") if TIMER.search(path.read_text())]
    assert not refused, "use a fake timer, or wait for the event itself"
