"""Refuse retired words in the names that this project defines and in the sentences that people read (``make lint``).

A concept has one name (docs/glossary.md). ``scripts/retired_words.toml`` lists the words that it had before, what to
write instead, and where a word has another, standard sense. The check looks at names where they are defined, never at
where they are used, so that ``typing.cast`` or a path's ``.parts`` are nobody's concern here.

    python -m scripts.words             prints every place as "file:line: word: what to write"; exit status 1 if any
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "scripts" / "retired_words.toml"
CHECKED = (
    "annotation_site/",
    "hits/",
    "validation/",
    "curation/",
    "scripts/",
    "static/",
    "tests/",
    "docs/",
    "README.md",
)
# Migrations keep names of their time; cases and conformance are other people's words or made from tests.
EXEMPT = (
    "*/migrations/*",
    "tests/cases/*",
    "docs/screenshots/*",
    "docs/glossary.md",
    "scripts/words.py",
    "scripts/retired_words.toml",
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_JS_NAMES = re.compile(
    r"\b(?:function\*?|class|const|let|var)\s+([A-Za-z_$][\w$]*)"
    r"|^\s+(?:static |async |get |set |#)*([a-z]\w*)\([^)]*\) \{$"
)
_JS_STRINGS = re.compile(r"n?gettext\(\s*'((?:[^'\\]|\\.)*)'")
_CSS_CLASSES = re.compile(r"\.([a-zA-Z][\w-]*)")
_TEMPLATE_CODE = re.compile(
    r"{%\s*(?:comment\b.*?endcomment|translate|trans)\s*|{%.*?%}|{{.*?}}|{#.*?#}", re.DOTALL
)
_TEMPLATE_STRINGS = re.compile(r"{%\s*(?:translate|trans|include)\b[^%]*%}")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_ATTRIBUTES = re.compile(r"\b(?:title|alt|placeholder|aria-label|aria-description)=\"([^\"]*)\"")
_HIDDEN = re.compile(
    r"<(?:script|style|code|kbd|pre)\b.*?</(?:script|style|code|kbd|pre)>|<[^>]*>", re.DOTALL
)
_CODE = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->", re.DOTALL)
_SAYING = {
    "gettext",
    "gettext_lazy",
    "ngettext",
    "ngettext_lazy",
    "pgettext",
    "pgettext_lazy",
    "_",
    "mark_safe",
    "format_html",
}
_TELLING = {
    "success",
    "error",
    "warning",
    "info",
    "Refused",
    "Conflict",
    "CommandError",
    "ValidationError",
    "BadInput",
}
_LABELS = {
    "label",
    "help_text",
    "help",
    "title",
    "description",
    "verbose_name",
    "empty_label",
    "message",
    "metavar",
}


@dataclass(frozen=True, slots=True)
class RetiredWord:
    """A word that names no longer have, or a phrase that sentences no longer have; ``allowed`` are names or globs."""

    word: str
    instead: str
    allowed: frozenset[str]

    def permits(self, name: str, path: str) -> bool:
        """Return whether a name may keep the word, by itself or for its file."""
        return name in self.allowed or any("/" in one and fnmatch(path, one) for one in self.allowed)


@dataclass(frozen=True, slots=True)
class Finding:
    """One retired word in one place."""

    path: str
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}: {self.instead}"


@cache
def read_rules() -> tuple[tuple[RetiredWord, ...], tuple[tuple[re.Pattern[str], RetiredWord], ...]]:
    """Return the retired words of names, and the retired phrases of sentences."""
    found = tomllib.loads(RULES.read_text("utf-8"))
    names = [
        RetiredWord(one["word"], one["instead"], frozenset(one.get("allowed", ()))) for one in found["name"]
    ]
    phrases = [
        RetiredWord(one["phrase"], one["instead"], frozenset(one.get("allowed", ())))
        for one in found["sentence"]
    ]
    compiled = [
        (re.compile(rf"\b(?:{one.word})\b".replace(" ", r"\s+"), re.IGNORECASE), one) for one in phrases
    ]
    return tuple(names), tuple(compiled)


def words_of(name: str) -> list[str]:
    """Return the words of an identifier: ``MAX_OPINIONS`` and ``maxOpinions`` both have max and opinions."""
    return [part.lower() for part in _PARTS.findall(name)]


def check_name(name: str, path: str, line: int) -> Iterator[Finding]:
    """Find retired words in one name; a rule of several words (``job_parts``) wants them side by side."""
    words = words_of(name)
    for rule in read_rules()[0]:
        wanted = rule.word.split("_")
        if any(words[at : at + len(wanted)] == wanted for at in range(len(words))) and not rule.permits(
            name, path
        ):
            yield Finding(path, line, name, rule.instead)


def check_text(text: str, path: str, line: int = 1) -> Iterator[Finding]:
    """Find retired phrases in a text that people read and that begins at ``line``."""
    for pattern, rule in read_rules()[1]:
        for found in pattern.finditer(text):
            if not rule.permits(found.group(), path):
                excerpt = " ".join(text[max(0, found.start() - 30) : found.end() + 30].split())
                yield Finding(path, line + text.count("\n", 0, found.start()), f"“{excerpt}”", rule.instead)


def check_python(source: str, path: str) -> Iterator[Finding]:
    """Check the names that a module defines, and its sentences for people."""
    for node in ast.walk(ast.parse(source)):
        yield from _check_definition(node, path)
        for text in _sentences(node):
            yield from check_text(text, path, getattr(node, "lineno", 1))


def _check_definition(node: ast.AST, path: str) -> Iterator[Finding]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield from check_name(node.name, path, node.lineno)
        case ast.arg():
            yield from check_name(node.arg, path, node.lineno)
        case ast.Name(ctx=ast.Store()):
            yield from check_name(node.id, path, node.lineno)
        case ast.Attribute(ctx=ast.Store()):
            yield from check_name(node.attr, path, node.lineno)
        case ast.alias(asname=str(name)):
            yield from check_name(name, path, node.lineno)


def _sentences(node: ast.AST) -> Iterator[str]:
    """Yield the strings of a call or an assignment that people read."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _SAYING | _TELLING:
            yield from _strings(node.args)
        yield from _strings(word.value for word in node.keywords if word.arg in _LABELS)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(one, ast.Name) and one.id in _LABELS for one in targets):
            yield from _strings([node.value])


def _strings(values: Iterable[ast.AST]) -> Iterator[str]:
    for value in values:
        for part in ast.walk(value):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def check_template(source: str, path: str) -> Iterator[Finding]:
    """Check what a template shows: its text, its attributes for people, and the strings of its tags."""
    for found in _TEMPLATE_STRINGS.finditer(source):
        for quoted in _QUOTED.finditer(found.group()):
            line = source.count("\n", 0, found.start()) + 1
            yield from check_text(quoted.group(1) or quoted.group(2) or "", path, line)
    for found in _ATTRIBUTES.finditer(source):
        yield from check_text(
            _blank(_TEMPLATE_CODE, found.group(1)), path, source.count("\n", 0, found.start()) + 1
        )
    yield from check_text(_blank(_HIDDEN, _blank(_TEMPLATE_CODE, source)), path)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Return the text with the pattern's finds left out; line numbers stay."""
    return pattern.sub(lambda found: "\n" * found.group().count("\n") or " ", text)


def check_script(source: str, path: str) -> Iterator[Finding]:
    """Check the names that a script defines, and its translated sentences."""
    for number, line in enumerate(source.splitlines(), start=1):
        for found in _JS_NAMES.finditer(line):
            yield from check_name(found.group(1) or found.group(2), path, number)
        for found in _JS_STRINGS.finditer(line):
            yield from check_text(found.group(1), path, number)


def check_style(source: str, path: str) -> Iterator[Finding]:
    """Check the classes that a style sheet defines."""
    seen: set[str] = set()
    for number, line in enumerate(source.splitlines(), start=1):
        for name in _CSS_CLASSES.findall(line.partition("{")[0]):
            if name not in seen:
                seen.add(name)
                yield from check_name(name.replace("-", "_"), path, number)


CHECKS = {
    ".py": check_python,
    ".html": check_template,
    ".js": check_script,
    ".css": check_style,
    ".md": lambda source, path: check_text(_blank(_CODE, source), path),
}


def check_file(path: str, source: str) -> list[Finding]:
    """Check one file's own name, the names that it defines, and its sentences."""
    file = Path(path)
    found = list(check_name(file.stem, path, 1)) if file.suffix in {".py", ".html", ".js", ".css"} else []
    check = CHECKS.get(file.suffix)
    return [*found, *check(source, path)] if check else found


def checked_files() -> list[str]:
    """Return the paths of the repository's files that are checked."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        path
        for path in listed.stdout.splitlines()
        if path.startswith(CHECKED)
        and not any(fnmatch(path, one) for one in EXEMPT)
        and (ROOT / path).is_file()
        if Path(path).suffix in CHECKS
    ]


def main() -> int:
    """Print every finding, and return how the process ends."""
    found = [one for path in checked_files() for one in check_file(path, (ROOT / path).read_text("utf-8"))]
    print("\n".join(map(str, found)) or "words: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
