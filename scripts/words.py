"""Refuse retired words in the names that this project defines and in the sentences that people read (``make lint``).

A concept has one name (docs/glossary.md). ``scripts/retired_words.toml`` lists the words that it had before, what to
write instead, and where a word has another, standard sense. The check looks at names where they are defined, never
where they are used, so ``typing.cast`` or a path's ``.parts`` are not reported.

    python -m scripts.words     prints every finding as "file:line: name or excerpt: what to write"; exits 1 if any
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
RULES_FILE = ROOT / "scripts" / "retired_words.toml"
CHECKED_PATHS = (
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
# Migrations keep old names; tests/cases has other people's texts; the glossary and these rules list retired words.
EXEMPT_PATHS = (
    "*/migrations/*",
    "tests/cases/*",
    "docs/screenshots/*",
    "docs/glossary.md",
    "scripts/words.py",
    "scripts/retired_words.toml",
)
_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
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
_QUOTED_STRINGS = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_ATTRIBUTES = re.compile(r"\b(?:title|alt|placeholder|aria-label|aria-description)=\"([^\"]*)\"")
_HIDDEN_HTML = re.compile(
    r"<(?:script|style|code|kbd|pre)\b.*?</(?:script|style|code|kbd|pre)>|<[^>]*>", re.DOTALL
)
_MARKDOWN_CODE = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->", re.DOTALL)
_TRANSLATION_CALLS = {
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
_MESSAGE_CALLS = {
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
_LABEL_NAMES = {
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
    """A retired word of names, or phrase (regex) of sentences; ``allowed`` names and globs of paths may keep it."""

    word: str
    instead: str
    allowed: frozenset[str]

    def permits(self, name: str, path: str) -> bool:
        """Return whether a name may keep the word, because the name or its file is allowed."""
        return name in self.allowed or any("/" in glob and fnmatch(path, glob) for glob in self.allowed)


@dataclass(frozen=True, slots=True)
class Finding:
    """A retired word: its file and line, the name or excerpt with it, and what to write instead."""

    path: str
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}: {self.instead}"


@cache
def read_rules() -> tuple[tuple[RetiredWord, ...], tuple[tuple[re.Pattern[str], RetiredWord], ...]]:
    """Return the retired words of names, and the compiled retired phrases of sentences."""
    rules = tomllib.loads(RULES_FILE.read_text("utf-8"))
    names = [
        RetiredWord(row["word"], row["instead"], frozenset(row.get("allowed", ()))) for row in rules["name"]
    ]
    phrases = [
        RetiredWord(row["phrase"], row["instead"], frozenset(row.get("allowed", ())))
        for row in rules["sentence"]
    ]
    compiled = [
        (re.compile(rf"\b(?:{phrase.word})\b".replace(" ", r"\s+"), re.IGNORECASE), phrase)
        for phrase in phrases
    ]
    return tuple(names), tuple(compiled)


def split_name(name: str) -> list[str]:
    """Return the words of an identifier, in lower case: max and opinions for ``MAX_OPINIONS`` and ``maxOpinions``."""
    return [word.lower() for word in _NAME_WORDS.findall(name)]


def check_name(name: str, path: str, line: int) -> Iterator[Finding]:
    """Find retired words in one name; the words of a rule such as ``job_parts`` must be adjacent in the name."""
    words = f"_{'_'.join(split_name(name))}_"
    for rule in read_rules()[0]:
        if f"_{rule.word}_" in words and not rule.permits(name, path):
            yield Finding(path, line, name, rule.instead)


def check_text(text: str, path: str, line: int = 1) -> Iterator[Finding]:
    """Find retired phrases in a text that people read. ``line`` is the line of the file on which the text begins."""
    for pattern, rule in read_rules()[1]:
        for found in pattern.finditer(text):
            if not rule.permits(found.group(), path):
                excerpt = " ".join(text[max(0, found.start() - 30) : found.end() + 30].split())
                yield Finding(path, line + text.count("\n", 0, found.start()), f"“{excerpt}”", rule.instead)


def check_python(source: str, path: str) -> Iterator[Finding]:
    """Check the names that a module defines, and the strings that people read."""
    for node in ast.walk(ast.parse(source)):
        yield from _check_definition(node, path)
        for text in _visible_strings(node):
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


def _visible_strings(node: ast.AST) -> Iterator[str]:
    """Yield those strings of a call or an assignment that people read: messages, translations and labels."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _TRANSLATION_CALLS | _MESSAGE_CALLS:
            yield from _string_constants(node.args)
        yield from _string_constants(
            keyword.value for keyword in node.keywords if keyword.arg in _LABEL_NAMES
        )
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id in _LABEL_NAMES for target in targets):
            yield from _string_constants([node.value])


def _string_constants(values: Iterable[ast.AST]) -> Iterator[str]:
    for value in values:
        for node in ast.walk(value):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def check_template(source: str, path: str) -> Iterator[Finding]:
    """Check what a template shows: its text, its attributes for people, and the strings of its tags."""
    for found in _TEMPLATE_STRINGS.finditer(source):
        for quoted in _QUOTED_STRINGS.finditer(found.group()):
            line = source.count("\n", 0, found.start()) + 1
            yield from check_text(quoted.group(1) or quoted.group(2) or "", path, line)
    for found in _ATTRIBUTES.finditer(source):
        yield from check_text(
            _blank_out(_TEMPLATE_CODE, found.group(1)), path, source.count("\n", 0, found.start()) + 1
        )
    yield from check_text(_blank_out(_HIDDEN_HTML, _blank_out(_TEMPLATE_CODE, source)), path)


def _blank_out(pattern: re.Pattern[str], text: str) -> str:
    """Return the text without the pattern's matches, with unchanged line numbers."""
    return pattern.sub(lambda found: "\n" * found.group().count("\n") or " ", text)


def check_script(source: str, path: str) -> Iterator[Finding]:
    """Check the names that a script defines, and its translated strings."""
    for number, line in enumerate(source.splitlines(), start=1):
        for found in _JS_NAMES.finditer(line):
            yield from check_name(found.group(1) or found.group(2), path, number)
        for found in _JS_STRINGS.finditer(line):
            yield from check_text(found.group(1), path, number)


def check_style(source: str, path: str) -> Iterator[Finding]:
    """Check the names of the classes that a style sheet defines."""
    seen: set[str] = set()
    for number, line in enumerate(source.splitlines(), start=1):
        for name in _CSS_CLASSES.findall(line.partition("{")[0]):
            if name not in seen:
                seen.add(name)
                yield from check_name(name.replace("-", "_"), path, number)


CHECKS_BY_SUFFIX = {
    ".py": check_python,
    ".html": check_template,
    ".js": check_script,
    ".css": check_style,
    ".md": lambda source, path: check_text(_blank_out(_MARKDOWN_CODE, source), path),
}


def check_file(path: str, source: str) -> list[Finding]:
    """Check a file's own name, the names that it defines, and the texts that people read."""
    file = Path(path)
    found = list(check_name(file.stem, path, 1)) if file.suffix in {".py", ".html", ".js", ".css"} else []
    check = CHECKS_BY_SUFFIX.get(file.suffix)
    return [*found, *check(source, path)] if check else found


def checked_files() -> list[str]:
    """Return the paths of the repository's files that are checked."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        path
        for path in listed.stdout.splitlines()
        if path.startswith(CHECKED_PATHS)
        and not any(fnmatch(path, glob) for glob in EXEMPT_PATHS)
        and (ROOT / path).is_file()
        if Path(path).suffix in CHECKS_BY_SUFFIX
    ]


def main() -> int:
    """Print every finding; return the exit status."""
    findings = [
        finding for path in checked_files() for finding in check_file(path, (ROOT / path).read_text("utf-8"))
    ]
    print("\n".join(map(str, findings)) or "words: clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
