"""Nothing in the repository belongs to one machine: no absolute paths, package hosts or merge leftovers."""

import re

import pytest

# A route such as "/home/" or "/work/" is no path of a machine; these are.
MACHINE_PATH = re.compile(
    rb"(?<![\w./-])/(?:root|home/\w+|opt/\w+|work/(?:main|shared|\.library)|tmp/ds\w*)/"
)
PACKAGE_HOSTS = (
    "pypi.org",
    "pythonhosted.org",
    "npmjs.org",
    "npmjs.com",
    "deb.debian.org",
    "download.pytorch.org",
)
PACKAGE_HOST = re.compile(rb"//(?:[\w-]+\.)*(?:" + "|".join(map(re.escape, PACKAGE_HOSTS)).encode() + rb")\b")
CONFLICT = re.compile(rb"^(?:<{7} |={7}$|>{7} )", re.MULTILINE)
# Numbers of documents that lie outside of the repository lead nowhere: cite the paper, or state the rule.
PRIVATE_NUMBER = re.compile(rb"\bpapers? 00[0-4]\b|\bruling [0-9]+\b", re.IGNORECASE)
CARRIAGE_RETURN = re.compile(rb"\r")

# The published sample tables keep the line ends that they were published with.
LINE_ENDS_KEPT = ("tests/cases/",)


def found(texts: dict[str, bytes], pattern: re.Pattern[bytes]) -> list[str]:
    """Every match as "file:line: text"."""
    return [
        f"{name}:{content.count(bytes([10]), 0, match.start()) + 1}: {match.group().decode(errors='replace')}"
        for name, content in texts.items()
        for match in pattern.finditer(content)
    ]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MACHINE_PATH, "cd /" + "root/x"),
        (MACHINE_PATH, "'/" + "home/someone/x'"),
        (PACKAGE_HOST, "https://" + "files.pythonhosted.org/x"),
        (CONFLICT, "<" * 7 + " ours"),
        (PRIVATE_NUMBER, "source: paper " + "000"),
        (PRIVATE_NUMBER, "counts (ruling" + " 11)"),
        (CARRIAGE_RETURN, "a" + chr(13)),
    ],
)
def test_patterns_find_planted_text(pattern: re.Pattern[bytes], text: str) -> None:
    assert found({"file": b"first line\n" + text.encode()}, pattern)[0].startswith("file:2:")


def test_routes_are_not_machine_paths() -> None:
    assert found({"file": b"/home/ /work/ /a/root/b https://example.org/home/x/"}, MACHINE_PATH) == []


def test_repository_has_no_machine_path(repository_texts: dict[str, bytes]) -> None:
    assert found(repository_texts, MACHINE_PATH) == []


def test_repository_has_no_package_host(repository_texts: dict[str, bytes]) -> None:
    assert found(repository_texts, PACKAGE_HOST) == []


def test_no_private_number(repository_texts: dict[str, bytes]) -> None:
    assert found(repository_texts, PRIVATE_NUMBER) == []


def test_no_conflict_markers(repository_texts: dict[str, bytes]) -> None:
    assert found(repository_texts, CONFLICT) == []


def test_unix_line_ends(repository_texts: dict[str, bytes]) -> None:
    texts = {name: text for name, text in repository_texts.items() if not name.startswith(LINE_ENDS_KEPT)}
    assert found(texts, CARRIAGE_RETURN) == []
