"""What there is to translate, found without GNU gettext: an extractor of our own and a reader of .po files."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation.template import templatize

from tests.support.paths import ROOT

APPS = ("annotation_site", "hits", "validation", "curation")
Message = tuple[
    str, ...
]  # (text,) or (singular, plural); a context stands before the first, as in a .mo file
CONTEXT_END = "\4"

_QUOTED = r"""('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_ONE = re.compile(rf"(?<![\w.])(?:gettext|_)\(\s*u?{_QUOTED}\s*[,)]")
_MANY = re.compile(rf"(?<![\w.])ngettext\(\s*u?{_QUOTED}\s*,\s*u?{_QUOTED}\s*,")
_IN_CONTEXT = re.compile(
    rf"(?<![\w.])n?pgettext\(\s*u?{_QUOTED}\s*,\s*u?{_QUOTED}\s*(?:\)|,\s*u?{_QUOTED}\s*,)"
)
# A call that the first two patterns above cannot read would be missed without a word.
_ANY = re.compile(r"(?<![\w.#])n?gettext\((?!text\)|one, many, n\))")
_PYTHON = {"gettext", "gettext_lazy", "gettext_noop", "_", "ngettext", "ngettext_lazy"}
_PYTHON |= {"pgettext", "pgettext_lazy", "npgettext", "npgettext_lazy"}


def _found(text: str) -> set[Message]:
    single = {(ast.literal_eval(match[1]),) for match in _ONE.finditer(text)}
    double = {(ast.literal_eval(m[1]), ast.literal_eval(m[2])) for m in _MANY.finditer(text)}
    in_context = {
        _message(*(ast.literal_eval(part) for part in match.groups() if part))
        for match in _IN_CONTEXT.finditer(text)
    }
    return single | double | in_context


def _message(context: str, first: str, *plural: str) -> Message:
    return (f"{context}{CONTEXT_END}{first}", *plural)


def in_script(source: str) -> set[Message]:
    """Return what a JavaScript module says; AssertionError for a call whose text is no plain string."""
    code = re.sub(r"/\*(?s:.*?)\*/|^\s*//.*$", "", source, flags=re.MULTILINE)
    calls = [match for match in _ANY.finditer(code) if not code[: match.start()].endswith("function ")]
    readable = len(_ONE.findall(code)) + len(_MANY.findall(code))
    assert len(calls) == readable, f"{len(calls)} calls, of which {readable} have a plain string"
    return _found(code)


def in_template(source: str) -> set[Message]:
    """Return what a Django template translates."""
    return _found(templatize(source))


def in_python(source: str) -> set[Message]:
    """Return what a Python module translates; calls with anything but plain strings hand on other's words."""
    found: set[Message] = set()
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in _PYTHON):
            continue
        name = node.func.id  # type: ignore[attr-defined]
        in_context = "pgettext" in name
        count = (2 if name.startswith("n") else 1) + in_context
        texts = [arg.value for arg in node.args[:count] if isinstance(arg, ast.Constant)]
        if len(texts) == count and all(isinstance(text, str) for text in texts):
            found.add(_message(*texts) if in_context else tuple(texts))
    return found


def _files(ending: str) -> Iterator[Path]:
    for folder in (*APPS, "static"):
        yield from sorted((ROOT / folder).rglob(f"*{ending}"))


def expected(domain: str) -> dict[Message, Path]:
    """Return everything that the sources of a domain translate, with one place of each."""
    readers = {"djangojs": [(".js", in_script)], "django": [(".html", in_template), (".py", in_python)]}
    return {
        message: path
        for ending, reader in readers[domain]
        for path in _files(ending)
        for message in reader(path.read_text())
    }


@dataclass(frozen=True)
class Entry:
    """One entry of a .po file."""

    message: Message
    translations: tuple[str, ...]
    flags: str


def read_po(path: Path) -> tuple[str, list[Entry]]:
    """Return a .po file's header and its entries."""
    blocks = [block for block in re.split(r"\n\s*\n", path.read_text()) if "msgid" in block]
    header, *entries = (_entry(block) for block in blocks)
    assert header.message == ("",)
    return header.translations[0], entries


def _entry(block: str) -> Entry:
    fields: dict[str, str] = {}
    name = ""
    for line in block.splitlines():
        if line.startswith("#"):
            continue
        start = re.match(r"(msg\w+(?:\[\d+\])?) ", line)
        if start:
            name = start[1]
            fields[name] = ""
        fields[name] += ast.literal_eval(line[line.index('"') :])
    message = tuple(fields[key] for key in ("msgid", "msgid_plural") if key in fields)
    if "msgctxt" in fields:
        message = _message(fields["msgctxt"], *message)
    forms = tuple(fields[key] for key in sorted(fields) if key.startswith("msgstr"))
    return Entry(message, forms, " ".join(re.findall(r"^#,(.*)$", block, re.MULTILINE)))
