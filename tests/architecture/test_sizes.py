"""Files and functions stay small enough to be read in one go."""

import ast
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 400
MAX_TEST_FILE_LINES = 600
MAX_FUNCTION_LINES = 60  # without the docstring


def function_lengths(source: str) -> Iterator[tuple[str, int, int]]:
    """Name, first line and length in lines of every function, its docstring not counted."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
        yield node.name, node.lineno, length


def test_the_measure() -> None:
    source = 'def a():\n    """One\n    two.\n    """\n    return 1\n\nasync def b(): ...\n'
    assert list(function_lengths(source)) == [("a", 1, 2), ("b", 7, 1)]


def test_functions_are_short(root: Path, production_sources: list[Path]) -> None:
    too_long = [
        f"{path.relative_to(root)}:{line} {name}: {length} lines"
        for path in production_sources
        for name, line, length in function_lengths(path.read_text())
        if length > MAX_FUNCTION_LINES
    ]
    assert not too_long, f"more than {MAX_FUNCTION_LINES} lines: split them\n" + "\n".join(too_long)


def test_files_are_short(root: Path, production_sources: list[Path], repository_files: list[Path]) -> None:
    scripts = [
        path for path in repository_files if path.suffix in {".js", ".mjs"} and "vendor" not in path.parts
    ]
    too_long = [
        f"{path.relative_to(root)}: {lines} lines"
        for path in [*production_sources, *scripts]
        if (lines := len(path.read_text().splitlines())) > MAX_FILE_LINES
    ]
    assert not too_long, f"more than {MAX_FILE_LINES} lines: split them\n" + "\n".join(too_long)


def test_test_files_are_short(root: Path, repository_files: list[Path]) -> None:
    too_long = [
        f"{path.relative_to(root)}: {lines} lines"
        for path in repository_files
        if path.suffix == ".py" and "tests" in path.relative_to(root).parts
        if (lines := len(path.read_text().splitlines())) > MAX_TEST_FILE_LINES
    ]
    assert not too_long, f"more than {MAX_TEST_FILE_LINES} lines: split them\n" + "\n".join(too_long)
