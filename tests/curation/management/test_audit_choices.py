"""The command that audits a file of multiple-choice questions, and writes changed copies of it."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.support.paths import CASES

AUDITS = json.loads((CASES / "vcr_matching.json").read_text())["audits"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "val.jsonl"
    path.write_text("".join(json.dumps(record | {"extra": 1}) + "\n" for record in AUDITS["items"]))
    return path


def _run(*arguments: Any) -> dict[str, Any]:
    out = StringIO()
    call_command("audit_choices", *map(str, arguments), "--json", stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def test_audits_of_the_case_are_exact(data: Path) -> None:
    found = _run("--data", data)
    assert {name: found[name] for name in AUDITS["expected"]} == AUDITS["expected"]
    assert found["questions"] == {"answer": 4, "rationale": 4}
    assert found["response_only"]["answer"]["reason"].startswith("not measurable")


def test_lines_name_the_shares(data: Path) -> None:
    out = StringIO()
    call_command("audit_choices", "--data", str(data), stdout=out)
    assert "tag overlap: answer 56.2 %, rationale 81.2 %" in out.getvalue()
    assert "over the limit: tag_overlap (rationale), longest (rationale)" in out.getvalue()


def test_changed_copy_keeps_the_other_fields_and_questions_out(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "singular.jsonl"
    found = _run("--data", data, "--perturb", "singular", "--out", out)
    assert (found["questions"], found["written"]) == (4, 1)
    (record,) = map(json.loads, out.read_text().splitlines())
    assert (record["id"], record["extra"]) == ("b", 1)
    assert record["rationale_choices"][1][0] == "He"
    assert record["question"] == AUDITS["items"][1]["question"]
    assert _run("--data", out)["questions"]["answer"] == 1  # it is read again


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --data FILE, or --project and --set"),
        (["--data", "a.jsonl", "--set", "s"], "give --data FILE, or --project and --set"),
        (["--data", "none.jsonl"], r"none\.jsonl: cannot be read"),
        (["--data", "{data}", "--perturb", "plural"], "give --out with the file to write"),
        (["--data", "{data}", "--out", "x"], "--out only with --perturb"),
        (
            ["--data", "{data}", "--perturb", "dual", "--out", "x"],
            "perturb: 'dual' is not known; use singular, plural",
        ),
        (["--data", "{data}", "--perturb", "keep-top3", "--out", "x"], "keep-top3: needs a model's losses"),
        (["--data", "{data}", "--metadata", "none"], "line 1: metadata_fn '' is not a file"),
    ],
)
def test_wrong_options_are_one_line_with_status_2(data: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        call_command("audit_choices", *(item.format(data=data) for item in arguments))
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)


def test_line_that_is_not_a_question_writes_nothing(data: Path, tmp_path: Path) -> None:
    with data.open("a") as file:
        file.write('{"objects": []}\n')
    out = tmp_path / "out.jsonl"
    with pytest.raises(CommandError, match="line 5: has neither answer_choices nor rationale_choices"):
        call_command("audit_choices", "--data", str(data), "--perturb", "plural", "--out", str(out))
    assert not out.exists()
