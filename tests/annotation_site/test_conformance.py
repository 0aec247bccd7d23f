"""docs/conformance.md says what the tests say, and every operation of the API has a rule."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hits.marketplace import dispatch
from scripts import conformance
from tests.hits.marketplace.conftest import local_client, local_market, requester  # noqa: F401
from tests.support.children import ROOT


@pytest.fixture(scope="module")
def fresh() -> str:
    """The page as the tests make it now, from a process of its own: collecting inside a run would disturb it."""
    code = "from scripts import conformance; print(conformance.build_page(), end='')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_conformance_page_is_up_to_date(fresh: str) -> None:
    assert conformance.PAGE.read_text() == fresh, "run make conformance"


def test_every_operation_has_a_rule(fresh: str) -> None:
    rows = dict(
        line.strip("| ").split(" | ", 1)
        for line in fresh.partition("rules that name it |\n")[2].partition("\n\n")[0].splitlines()[1:]
    )
    assert len(rows) == 39
    assert [name for name, rules in rows.items() if rules == "none"] == []


@pytest.mark.long
def test_every_rule_calls_the_operation_it_names() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.conformance", "--calls"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def answered(*names: str) -> set[tuple[str, bool]]:
    """Return the calls of operations that were answered."""
    return {(name, tried) for name in names for tried in (False, True)}


def test_find_uncalled_reports_rule_whose_tests_do_not_call_it() -> None:
    names = conformance.operation_names()
    every = conformance.Rule("every", "M", " ".join(names))
    calls = {"every": answered(*names) - {("GetFileUploadURL", True)}}  # which is refused whatever is asked
    assert conformance.find_uncalled([every], calls) == []
    boast = conformance.Rule("boast", "M", "GetHIT shows what CreateHIT made.")
    calls["boast"] = answered("CreateHIT", "ListHITs")
    assert conformance.find_uncalled([every, boast], calls) == [
        "rule boast names GetHIT, and its tests never call it"
    ]


def test_find_uncalled_reports_operation_without_an_answer() -> None:
    names = conformance.operation_names()
    every = conformance.Rule("every", "M", " ".join(names))
    calls = {"every": answered(*names) - {("ListReviewableHITs", True)}}
    assert conformance.find_uncalled([every], calls) == [
        "no rule's tests get an answer of ListReviewableHITs"
    ]


def item(test: str, *marks: pytest.MarkDecorator, file: str = "tests/test_a.py") -> Any:
    """Return the little of a collected test that the reader looks at."""
    own = [each.mark for each in marks]
    return SimpleNamespace(location=(file, 1, test), name=test, iter_markers=lambda name: iter(own))


def test_read_rules_collects_tests_of_a_rule_once() -> None:
    mark = pytest.mark.rule("a", source="M", text="One.")
    (rule,) = conformance.read_rules([item("test_x[1]", mark), item("test_x[2]", mark), item("test_y", mark)])
    assert [name for _, name in rule.tests] == ["test_x", "test_y"]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (pytest.mark.rule("a", source="M", text="Another."), "has two texts or sources"),
        (pytest.mark.rule("a", source="D", text="One."), "has two texts or sources"),
        (pytest.mark.rule("b", source="guess", text="One."), "is none of"),
        (pytest.mark.rule("b", source="M"), "an id, a source and a text"),
        (pytest.mark.rule("b", source="M", text=""), "an id, a source and a text"),
    ],
)
def test_read_rules_refuses_contradicting_or_incomplete_marks(
    second: pytest.MarkDecorator, words: str
) -> None:
    first = pytest.mark.rule("a", source="M", text="One.")
    with pytest.raises(conformance.RuleError, match=words):
        conformance.read_rules([item("test_x", first), item("test_y", second)])


def test_error_codes_come_from_the_sources(tmp_path: Path) -> None:
    folder = tmp_path / "hits" / "marketplace"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text(
        'ApiError("HITAlreadyExists", "x")\nApiError("", "x")\nvalidation_error("x", "Odd")\n'
        'validation_error("x", code="Odder")\nnot_found_error("Cat", "1")\n'
    )
    formats = tmp_path / "hits" / "domain" / "mturk_formats"
    formats.mkdir(parents=True)
    (formats / "b.py").write_text('class Bad(ValueError):\n    api_code = "BadForm"\n')
    assert conformance.error_codes(tmp_path) == {
        "BadForm",
        "CatDoesNotExist",
        "HITAlreadyExists",
        "Odd",
        "Odder",
    }


def test_recorder_records_calls_in_the_dispatcher(
    local_client: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "_run_operation", dispatch._run_operation)  # which the recorder replaces
    test = item("test_x", pytest.mark.rule("a", source="M", text="GetHIT shows a HIT."))
    nameless = item("test_y", pytest.mark.rule("b", source="M", text="Names no operation."))
    recorder, items = conformance.CallRecorder(), [nameless, test]
    recorder.pytest_collection_modifyitems(items)
    assert (items, [rule.id for rule in recorder.rules]) == ([test], ["a", "b"])
    recorder.pytest_collection_finish()
    local_client.list_hits()  # by nobody's test
    running = recorder.pytest_runtest_protocol(test)
    next(running)
    local_client.get_account_balance()
    with pytest.raises(ClientError):
        local_client.get_hit(HITId="3NOSUCHHIT")
    assert recorder.calls == {"a": answered("GetAccountBalance") | {("GetHIT", False)}}
