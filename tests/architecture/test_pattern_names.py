"""A constant that holds a compiled regular expression says so in its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

SUFFIX = "_PATTERN"


def misnamed_patterns(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every compiled regular expression of a module or class whose name lacks the suffix."""
    for scope in ast.walk(ast.parse(source)):
        for node in scope.body if isinstance(scope, ast.Module | ast.ClassDef) else ():
            if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
                continue
            if ast.unparse(node.value.func) in {"re.compile", "compile"}:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (
                    (node.lineno, name) for name in map(ast.unparse, targets) if not name.endswith(SUFFIX)
                )


def test_the_measure() -> None:
    source = 'A_PATTERN = re.compile("a")\nB: re.Pattern[str] = re.compile("b")\nclass C:\n    D = re.compile("d")\n'
    assert list(misnamed_patterns(source)) == [(2, "B"), (4, "D")]


def test_compiled_regular_expressions_are_named_patterns(root: Path, production_sources: list[Path]) -> None:
    found = [
        f"{path.relative_to(root)}:{line} {name}"
        for path in production_sources
        for line, name in misnamed_patterns(path.read_text())
    ]
    assert not found, f"let the names end in {SUFFIX}:\n" + "\n".join(found)
