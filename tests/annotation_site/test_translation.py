"""The catalogues are complete, in step with the sources, and compiled as they stand."""

import ast
import gettext
import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from hits.marketplace.views.worker_messages import WORKER_MESSAGES as MARKETPLACE_MESSAGES
from hits.views.task_pages import language
from hits.views.task_pages.worker_messages import WORKER_MESSAGES
from tests.support import messages
from tests.support.messages import ROOT, Entry

LOCALES = sorted(path.name for path in (ROOT / "locale").iterdir())
FILES = [(locale, domain) for locale in LOCALES for domain in ("django", "djangojs")]
each_file = pytest.mark.parametrize(("locale", "domain"), FILES)


def _po(locale: str, domain: str) -> Path:
    return ROOT / "locale" / locale / "LC_MESSAGES" / f"{domain}.po"


def _holes(text: str) -> list[str]:
    return sorted(re.findall(r"%\(\w+\)s|%%|</?\w+[^>]*>", text))


def test_every_language_of_the_settings_has_a_catalogue() -> None:
    offered = {translation.to_locale(code) for code, _ in settings.LANGUAGES}
    assert offered == {settings.LANGUAGE_CODE, *LOCALES}


@each_file
def test_catalogue_matches_the_sources(locale: str, domain: str) -> None:
    expected = messages.expected(domain)
    assert expected, "the extractor finds nothing"
    there = {entry.message for entry in messages.read_po(_po(locale, domain))[1]}
    missing = {
        message: str(path.relative_to(ROOT)) for message, path in expected.items() if message not in there
    }
    assert not missing, "run `make messages`, then translate what is new"
    assert not there - expected.keys(), "run `make messages`: these are messages no more"


@each_file
def test_every_entry_is_translated_with_its_placeholders(locale: str, domain: str) -> None:
    header, entries = messages.read_po(_po(locale, domain))
    plurals = re.search(r"nplurals=(\d+)", header)
    assert plurals

    def wrong(entry: Entry) -> bool:
        forms = int(plurals[1]) if len(entry.message) > 1 else 1
        holes = _holes(entry.message[-1])
        # A form for one thing may leave the number out, as English does.
        kept = all(_holes(text) in ([holes] if forms == 1 else [holes, []]) for text in entry.translations)
        return (
            "fuzzy" in entry.flags
            or len(entry.translations) != forms
            or not all(entry.translations)
            or not kept
        )

    assert [entry for entry in entries if wrong(entry)] == []


@each_file
def test_compiled_catalogue_matches_its_source(locale: str, domain: str) -> None:
    path = _po(locale, domain)
    header, entries = messages.read_po(path)
    with path.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    expected: dict[object, str] = {"": header}
    for entry in entries:
        if len(entry.message) == 1:
            expected[entry.message[0]] = entry.translations[0]
        else:
            expected |= {(entry.message[0], form): text for form, text in enumerate(entry.translations)}
    assert compiled == expected, "run `make messages`"


def test_extractor_finds_every_message() -> None:
    template = """{% load i18n %}{% translate "One" %}{% translate 'Two "2"' %}
        {% blocktranslate with n=a.b %}Three {{ n }} %{% endblocktranslate %}{{ x|default:_('Four') }}
        {% blocktranslate count n=a|length %}{{ n }} five{% plural %}{{ n }} fives{% endblocktranslate %}"""
    assert messages.in_template(template) == {
        ("One",), ('Two "2"',), ("Three %(n)s %%",), ("Four",), ("%(n)s five", "%(n)s fives"),
    }  # fmt: skip
    script = "// gettext('no')\nf(gettext('It\\'s'), ngettext('a %(n)s', \"b\", n)); x.gettext('no');"
    assert messages.in_script(script) == {("It's",), ("a %(n)s", "b")}
    with pytest.raises(AssertionError, match="1 calls, of which 0"):
        messages.in_script("gettext(`a ${b}`)")
    assert messages.in_python("gettext('a' 'b'); _('c'); gettext(d); ngettext('e', 'f', 2)") == {
        ("ab",), ("c",), ("e", "f"),
    }  # fmt: skip


def test_one_word_in_two_contexts_is_two_messages(tmp_path: Path) -> None:
    template = """{% load i18n %}{% translate "Left" %}{% translate "Left" context "side" %}
        {% blocktranslate count n=n context "side" %}{{ n }} left{% plural %}{{ n }} lefts{% endblocktranslate %}"""
    texts = {("Left",), ("side\4Left",), ("side\4%(n)s left", "%(n)s lefts")}
    assert messages.in_template(template) == texts
    assert messages.in_python("pgettext('side', 'Left'); npgettext('side', 'a', 'b', n); gettext('Left')") == {
        ("Left",), ("side\4Left",), ("side\4a", "b"),
    }  # fmt: skip
    path = tmp_path / "django.po"
    path.write_text(
        'msgid ""\nmsgstr "x: y\\n"\n\nmsgid "Left"\nmsgstr "Übrig"\n\n'
        'msgctxt "side"\nmsgid "Left"\nmsgstr "Links"\n\n'
        'msgctxt "side"\nmsgid "%(n)s left"\nmsgid_plural "%(n)s lefts"\nmsgstr[0] "1"\nmsgstr[1] "2"\n'
    )
    entries = messages.read_po(path)[1]
    assert {entry.message for entry in entries} == texts
    assert [entry.translations for entry in entries] == [("Übrig",), ("Links",), ("1", "2")]


def test_every_listed_message_is_in_use() -> None:
    texts: set[str] = set()
    for path in (file for app in messages.APPS for file in (ROOT / app).rglob("*.py")):
        if path.name in {"sentences.py"} or "tests" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        texts |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    # Ages are made from their bands.
    made = {band.replace("-", " to ") for band in texts if re.fullmatch(r"\d\d-\d\d", band)}
    assert [
        sentence for sentence in (*WORKER_MESSAGES, *MARKETPLACE_MESSAGES) if sentence not in texts | made
    ] == []


def test_catalogue_of_a_page_is_small() -> None:
    with translation.override("en"):
        assert language.script_catalog() is None
    with translation.override("de"):
        carried = language.script_catalog()
    assert carried is not None
    assert carried["messages"]["Reload"] == "Neu laden"
    assert carried["messages"]["%(n)s minute left."] == ["Noch %(n)s Minute.", "Noch %(n)s Minuten."]
    assert carried["plurals"][:4] == "1011"
    # Of its own strings only: not the admin's, nor those that templates say.
    expected = {message[0] for message in messages.expected("djangojs")}
    assert carried["messages"].keys() == expected
    assert len(json.dumps(carried, ensure_ascii=False).encode()) < 30_000


@pytest.mark.parametrize(
    ("cents", "english", "german"),
    [(110, "$1.10", "1,10\xa0$"), (123_456, "$1,234.56", "1.234,56\xa0$"), (-5, "−$0.05", "−0,05\xa0$")],
)
def test_money_is_formatted_by_language(cents: int, english: str, german: str) -> None:
    with translation.override("en"):
        assert language.localized_dollars(cents) == english
    with translation.override("de"):
        assert language.localized_dollars(cents) == german
