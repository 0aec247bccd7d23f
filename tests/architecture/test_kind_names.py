"""Kinds are found by purpose or by what they declare, never by name.

A kind's name stands in its own folder, in the families that consume it, in the demo and in migrations; and no code
of validation compares a kind's name with anything.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from hits import registry

# Stored values of the pool, and names of relations, tables and modules that happen to be the same.
SAME_WORD = {"compensation", "html_template"}
EXCEPTED = (
    "hits/domain/workers/qualification_pools.py",
    "hits/observing/",
    "curation/families/",
    "annotation_site/demo/",
)


def _names() -> set[str]:
    return {name for name in registry.kind_names() if not registry.kind_module(name).startswith("tests.")}


def _is_excepted(path: str, name: str) -> bool:
    parts = Path(path).parts
    own = "kinds" in parts and parts[parts.index("kinds") + 1 :][:1] == (name,)
    return own or "migrations" in parts or "tests" in parts or path.startswith(EXCEPTED)


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, part) for part in node.module.split("."))
        if isinstance(node, ast.Import):
            yield from ((node.lineno, part) for alias in node.names for part in alias.name.split("."))


def test_kind_names_are_only_in_allowed_files(root: Path, production_sources: list[Path]) -> None:
    names = _names() - SAME_WORD
    found = [
        f"{path.relative_to(root)}:{line} {text}"
        for path in production_sources
        for line, text in _strings(ast.parse(path.read_text()))
        if text in names and not _is_excepted(str(path.relative_to(root)), text)
    ]
    assert not found, "find kinds by purpose or by what they declare:\n" + "\n".join(found)


def _compares_a_kind(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    about_kind = any(
        (isinstance(side, ast.Name) and side.id in {"kind", "kind_name"})
        or (isinstance(side, ast.Attribute) and side.attr in {"kind", "kind_name"})
        for side in sides
    )
    with_text = any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)
    with_name = any(isinstance(side, ast.Name) and side.id.isupper() for side in sides)
    return about_kind and (with_text or with_name) and isinstance(node.ops[0], ast.Eq | ast.NotEq)


def test_validation_has_no_branches_by_kind(root: Path, production_sources: list[Path]) -> None:
    found = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in production_sources
        if path.relative_to(root).parts[0] == "validation"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare) and _compares_a_kind(node)
    ]
    assert not found, "ask the kind's spec instead:\n" + "\n".join(found)


def test_the_measure() -> None:
    compared = ast.parse('kind == "a"').body[0]
    assert isinstance(compared, ast.Expr)
    assert isinstance(compared.value, ast.Compare)
    assert _compares_a_kind(compared.value)
    other = ast.parse("kind == found.kind").body[0]
    assert isinstance(other, ast.Expr)
    assert isinstance(other.value, ast.Compare)
    assert not _compares_a_kind(other.value)
