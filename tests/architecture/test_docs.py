"""Documents name files and code that exist, and link to pages and headings that exist."""

import re
from pathlib import Path
from pkgutil import resolve_name

from annotation_site.celery import app

_PATH = re.compile(r"`((?:hits|validation|curation|annotation_site|tests|static|scripts|docs)/[\w./-]+)`")
_NAME = re.compile(r"`((?:hits|validation|curation|annotation_site)(?:\.\w+)+)`")
_LINK = re.compile(r"\]\(([\w./-]+\.(?:md|webp))?(?:#([\w-]+))?\)")
_GLOSSARY_ROW = re.compile(r"^\| (?!concept)[^|]+\| ([^|]+) \|", re.MULTILINE)  # its names in code
_EXAMPLES = ("my_kind", "my_family", "hits/task/")  # what a reader is told to make; and a template's name


def documents(root: Path) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).strip().replace(" ", "-") for one in headings}


def test_paths_in_documents_exist(root: Path) -> None:
    missing = [
        f"{document.name}: {path}"
        for document in documents(root)
        for path in _PATH.findall(document.read_text("utf-8"))
        if not any(one in path for one in _EXAMPLES) and not (root / path).exists()
    ]
    assert not missing, "\n".join(missing)


def test_code_in_documents_exists(root: Path) -> None:
    app.loader.import_default_modules()
    missing = [
        f"{document.name}: {name}"
        for document in documents(root)
        for name in _NAME.findall(document.read_text("utf-8"))
        if not name.endswith(".csv") and name not in app.tasks and not exists(name)
    ]
    assert not missing, "\n".join(missing)


def exists(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_links_in_documents_lead_somewhere(root: Path) -> None:
    broken = []
    for document in documents(root):
        for target, heading in _LINK.findall(document.read_text("utf-8")):
            page = document.parent / target if target else document
            if not page.exists() or (heading and heading not in anchors(page.read_text("utf-8"))):
                broken.append(f"{document.name}: {target}#{heading}")
    assert not broken, "\n".join(broken)


def test_glossary_names_at_most_60_concepts_by_names_that_the_code_has(
    root: Path, production_sources: list[Path]
) -> None:
    rows = _GLOSSARY_ROW.findall((root / "docs/glossary.md").read_text("utf-8"))
    assert 40 < len(rows) <= 60
    code = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in production_sources)))
    assert not {name for row in rows for name in re.findall(r"`(\w+)`", row) if name not in code}
