"""Write docs/conformance.md: every rule of the MTurk contract that a test proves, with its source.

Each rule is a mark on the tests that prove it:

    @pytest.mark.rule("hit-type-equal-values", source="D", text="Equal values give the same HITTypeId.")

The script collects the tests without running them, and writes the page. ``--check`` writes nothing and fails when the
page in the repository is outdated. ``--calls`` runs the tests of rules that name an operation, and fails when none of
a rule's tests calls that operation.
"""

import argparse
import ast
import contextlib
import io
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.md"
RULE_MARK = "pytest.mark.rule("
SOURCES = {
    "M": "botocore's model of the service (version 2017-01-17)",
    "D": "Amazon's documentation",
    "I": "issue threads in which users or maintainers show what the service does",
    "X": "measured with unmodified boto3",
    "ours": "our own decision, where the contract says nothing or cannot be kept",
}
# Seen on Amazon's service in this version: in its documentation, or in replies that issue threads quote.
CODES_SEEN_ON_AMAZON = frozenset(
    {
        "HITAlreadyExists",
        "HITDoesNotExist",
        "InvalidAssignmentState",
        "InvalidMaximumAssignmentsIncrease",
        "ParameterValidationError",
    }
)
# Named by Amazon's own Java SDK for the API's previous version (ErrorProcessingFilter.java).
CODES_IN_EARLIER_SDK = frozenset(
    {
        "AssignmentDoesNotExist",
        "InsufficientFunds",
        "InvalidHITState",
        "InvalidParameterValue",
        "InvalidQualificationRequestState",
        "InvalidQualificationState",
        "InvalidQualificationTypeState",
        "InvalidTransportEndpoint",
        "QualificationDoesNotExist",
        "QualificationRequestDoesNotExist",
        "QualificationTypeAlreadyExists",
        "QualificationTypeDoesNotExist",
        "XMLParseError",
    }
)
REFUSED_PREFIX = "refused-"
# Operations that are always refused.
NEVER_ANSWERED = frozenset({"GetFileUploadURL"})


class RuleError(Exception):
    """Tests that fail, or marks that contradict one another or are incomplete; the message names the tests."""


@dataclass
class Rule:
    """One sentence of the contract, and the tests that prove it, each as (file, name)."""

    id: str
    source: str
    text: str
    tests: list[tuple[str, str]] = field(default_factory=list)


class ItemCollector:
    """A pytest plugin that keeps the collected tests."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the collected tests in source order."""
        self.items = sorted(session.items, key=_sort_key)


class CallRecorder:
    """A pytest plugin that runs the tests of rules that name an operation, and records each rule's calls.

    Calls are recorded in the marketplace's dispatcher, so that both in-process and socket calls count. ``calls`` has
    by rule id the operations that its tests called, and whether each was answered.
    """

    def __init__(self) -> None:
        self.calls: dict[str, set[tuple[str, bool]]] = defaultdict(set)
        self.rules: list[Rule] = []
        self._rule_ids: list[str] = []
        self._operations = operation_names()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Read all rules, then deselect the tests whose rules name no operation."""
        self.rules = read_rules(sorted(items, key=_sort_key))
        items[:] = [
            item for item in items if any(self._names_operation(mark) for mark in item.iter_markers("rule"))
        ]

    def _names_operation(self, mark: pytest.Mark) -> bool:
        return any(is_named_in(name, _mark_values(mark).get("text", "")) for name in self._operations)

    def pytest_collection_finish(self) -> None:
        """Wrap the marketplace's dispatcher."""
        from hits.marketplace import dispatch

        original = dispatch._run_operation

        def run(operation: str, request: Any) -> dict[str, Any]:
            self._record(operation, answered=False)
            reply = original(operation, request)
            self._record(operation, answered=True)
            return reply

        dispatch._run_operation = run

    def _record(self, operation: str, *, answered: bool) -> None:
        for rule_id in self._rule_ids:
            self.calls[rule_id].add((operation, answered))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record calls for the rules of the running test."""
        self._rule_ids = [_mark_values(mark)["id"] for mark in item.iter_markers("rule")]
        return (yield)


def _sort_key(item: pytest.Item) -> tuple[str, int, str]:
    path, line, _ = item.location
    return path, line or 0, item.name


def _run_pytest(root: Path, plugin: object, *options: str) -> tuple[int, str]:
    """Run pytest on every file that has a rule; return the exit status and the output."""
    files = [
        str(path)
        for folder in ("tests", "hits", "validation", "curation")
        for path in sorted((root / folder).rglob("test_*.py"))
        if RULE_MARK in path.read_text(encoding="utf-8")
    ]
    output = io.StringIO()
    fixed_options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(root)]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main([*fixed_options, *options, *files], plugins=[plugin])
    return int(status), output.getvalue()


def collect_items(root: Path) -> list[pytest.Item]:
    """Return the tests of every file that has a rule. Raises RuleError when one cannot be collected."""
    collector = ItemCollector()
    status, output = _run_pytest(root, collector, "--collect-only")
    if status != pytest.ExitCode.OK:
        raise RuleError(f"the tests cannot be collected:\n{output[-2000:]}")
    return collector.items


def record_calls(root: Path = ROOT) -> tuple[list[Rule], dict[str, set[tuple[str, bool]]]]:
    """Run the tests of the rules that name an operation; return all rules, and by rule what its tests called.

    A call is the operation's name and whether it was answered. Raises RuleError when a test fails.
    """
    recorder = CallRecorder()
    status, output = _run_pytest(root, recorder)
    if status != pytest.ExitCode.OK:
        raise RuleError(f"the tests of the rules fail:\n{output[-2000:]}")
    return recorder.rules, dict(recorder.calls)


def find_uncalled(rules: list[Rule], calls: Mapping[str, Set[tuple[str, bool]]]) -> list[str]:
    """Return a message for each rule whose tests never call the operation it names, and each unanswered operation."""
    messages = []
    for name in operation_names():
        calls_by_rule = {
            rule.id: {(name, answered) for answered in (False, True)} & calls.get(rule.id, set())
            for rule in rules_naming(name, rules)
        }
        messages += [
            f"rule {rule_id} names {name}, and its tests never call it"
            for rule_id, rule_calls in calls_by_rule.items()
            if not rule_calls
        ]
        is_answered = any((name, True) in rule_calls for rule_calls in calls_by_rule.values())
        if name not in NEVER_ANSWERED and not is_answered:
            messages.append(f"no rule's tests get an answer of {name}")
    return messages


def read_rules(items: list[pytest.Item]) -> list[Rule]:
    """Return the rules in the order of their tests. Raises RuleError for contradicting or incomplete marks."""
    rules: dict[str, Rule] = {}
    for item in items:
        test = (item.location[0], item.name.partition("[")[0])
        for mark in reversed(list(item.iter_markers("rule"))):
            parsed = _parse_rule(mark, test)
            rule = rules.setdefault(parsed.id, parsed)
            if (rule.source, rule.text) != (parsed.source, parsed.text):
                raise RuleError(f"rule {rule.id} has two texts or sources: see {rule.tests[0]} and {test}")
            if test not in rule.tests:
                rule.tests.append(test)
    return list(rules.values())


def _parse_rule(mark: pytest.Mark, test: tuple[str, str]) -> Rule:
    values = _mark_values(mark)
    if set(values) != {"id", "source", "text"} or not all(values.values()):
        raise RuleError(f"{test}: a rule has an id, a source and a text")
    if values["source"] not in SOURCES:
        raise RuleError(f"{test}: source {values['source']!r} is none of {', '.join(SOURCES)}")
    return Rule(**values)


def _mark_values(mark: pytest.Mark) -> dict[str, Any]:
    return dict(zip(("id", "source", "text"), mark.args, strict=False)) | dict(mark.kwargs)


def operation_names() -> list[str]:
    """Return the names of the API's operations, from botocore's model of the service."""
    from hits.marketplace.shapes import service_model

    return sorted(service_model().operation_names)


def rules_naming(operation: str, rules: list[Rule]) -> list[Rule]:
    """Return the rules whose sentence names an operation."""
    return [rule for rule in rules if is_named_in(operation, rule.text)]


def is_named_in(operation: str, text: str) -> bool:
    """Return whether a sentence names an operation."""
    return re.search(rf"\b{operation}\b", text) is not None


def error_codes(root: Path) -> set[str]:
    """Return the error codes in the marketplace's source, and the ``api_code`` of the formats' exceptions."""
    found = set()
    folders = (root / "hits" / "marketplace", root / "hits" / "domain" / "mturk_formats")
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name)):
                    found |= set(_codes_in_call(name, node))
                case ast.Assign(targets=[ast.Name(id="api_code")], value=ast.Constant(value=str(code))):
                    found.add(code)
    return found


def _codes_in_call(name: str, call: ast.Call) -> Iterator[str]:
    position = {"ApiError": 0, "validation_error": 1, "not_found_error": 0}.get(name)
    if position is None:
        return
    keywords = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    for value in [*call.args[position : position + 1], *keywords]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
            yield value.value + ("DoesNotExist" if name == "not_found_error" else "")


def build_page(root: Path = ROOT) -> str:
    """Return the text of docs/conformance.md. Raises RuleError."""
    items = collect_items(root)
    rules = read_rules(items)
    summaries = {item.location[0]: _module_summary(item) for item in items}
    return "\n".join(
        [
            *_introduction(rules),
            *_topic_sections(rules, summaries),
            *_operations_section(rules),
            *_refusals_section(rules),
            *_error_codes_section(root),
        ]
    )


def _introduction(rules: list[Rule]) -> list[str]:
    return [
        "# Conformance with the MTurk requester API",
        "",
        "<!-- Written by `make conformance` from the tests' marks. Change the tests, not this page. -->",
        "",
        f"The built-in marketplace follows {len(rules)} rules of the requester API. Each rule has a source and tests",
        "that prove it. Run all tests, those of one topic by its file, or one test by its name:",
        "",
        "```",
        ".venv/bin/python -m pytest tests/hits/marketplace",
        ".venv/bin/python -m pytest tests/hits/marketplace/test_notifications.py::test_redirects_are_not_followed",
        "```",
        "",
        "| source | meaning |",
        "|---|---|",
        *(f"| {label} | {meaning} |" for label, meaning in SOURCES.items()),
        "",
        "Amazon's service was not available for comparison, because it is closing. A rule with source D, I or X is",
        "based on what others documented or on what boto3 does, not on a comparison with the running service.",
        "",
    ]


def _module_summary(item: pytest.Item) -> str:
    module: Any = item.getparent(pytest.Module)
    return (module.obj.__doc__ or "").strip().splitlines()[0]


def _topic_sections(rules: list[Rule], summaries: dict[str, str]) -> list[str]:
    lines = []
    for file in dict.fromkeys(rule.tests[0][0] for rule in rules):
        name = Path(file).stem.removeprefix("test_").replace("_", " ")
        lines += [f"## {name[0].upper()}{name[1:]}", "", summaries[file], "", f"`{file}`", ""]
        lines += ["| rule | statement | source | proved by |", "|---|---|---|---|"]
        for rule in rules:
            if rule.tests[0][0] == file:
                proofs = "<br>".join(f"`{_test_label(test, file)}`" for test in rule.tests)
                lines.append(f"| {rule.id} | {_table_cell(rule.text)} | {rule.source} | {proofs} |")
        lines.append("")
    return lines


def _test_label(test: tuple[str, str], file: str) -> str:
    return test[1] if test[0] == file else "::".join(test)


def _table_cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _operations_section(rules: list[Rule]) -> list[str]:
    names = operation_names()
    rows = (
        f"| {name} | {', '.join(rule.id for rule in rules_naming(name, rules)) or 'none'} |" for name in names
    )
    return [
        f"## The {len(names)} operations",
        "",
        "The tests of a rule call the operations that it names: `python -m scripts.conformance --calls` checks this.",
        "",
        "| operation | rules that name it |",
        "|---|---|",
        *rows,
        "",
    ]


def _refusals_section(rules: list[Rule]) -> list[str]:
    rows = (
        f"| {rule.id.removeprefix(REFUSED_PREFIX)} | {_table_cell(rule.text)} |"
        for rule in rules
        if rule.id.startswith(REFUSED_PREFIX)
    )
    return [
        "## What is refused",
        "",
        "The reply states why the call is refused, and nothing is changed.",
        "",
        "| what | why, and what to do |",
        "|---|---|",
        *rows,
        "",
    ]


def _error_codes_section(root: Path) -> list[str]:
    codes = error_codes(root)
    unverified = codes - CODES_SEEN_ON_AMAZON - CODES_IN_EARLIER_SDK
    return [
        "## Error codes",
        "",
        "A reply has these codes after `AWS.MechanicalTurk.`. A program should rely only on those of the first row.",
        "",
        "| where seen | codes |",
        "|---|---|",
        f"| on Amazon's service in this version | {_join_codes(CODES_SEEN_ON_AMAZON)} |",
        f"| in Amazon's Java SDK for the API's previous version | {_join_codes(codes & CODES_IN_EARLIER_SDK)} |",
        f"| nowhere: plausible names that this project chose, not verified | {_join_codes(unverified)} |",
        "",
    ]


def _join_codes(codes: Set[str]) -> str:
    return ", ".join(f"`{code}`" for code in sorted(codes))


def main() -> int:
    """Write the page, or only check it; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is outdated")
    parser.add_argument(
        "--calls",
        action="store_true",
        help="run the rules' tests; fail if a rule names an operation that none of them calls",
    )
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation_site.settings")
    try:
        if arguments.calls:
            return _check_calls()
        fresh = build_page()
    except RuleError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    if not arguments.check:
        PAGE.write_text(fresh, encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != fresh:
        print(
            "conformance: docs/conformance.md is outdated: run make conformance",
            file=sys.stderr,
        )
        return 1
    return 0


def _check_calls() -> int:
    messages = find_uncalled(*record_calls())
    for message in messages:
        print(f"conformance: {message}", file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
