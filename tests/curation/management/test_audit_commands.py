"""``manage.py create_audit`` and ``export_audit``: a close reading without a browser, but for the reading."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from curation.management.commands import export_audit
from curation.models import Audit
from curation.services import audits
from tests.support.curation.audits import NO, SMALL, begun, pairs, scored, yes
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


def run(*args: Any) -> dict[str, Any]:
    out = StringIO()
    call_command(*map(str, args), "--json", stdout=out)
    (line,) = out.getvalue().splitlines()
    return dict(json.loads(line))


def refused(*args: Any) -> str:
    with pytest.raises(CommandError) as caught:
        run(*args)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_shipped_codebook_takes_the_paper_s_number(work: Work) -> None:
    pairs(work, 6)
    result = run(
        "create_audit",
        "--project",
        work.project.slug,
        "--name",
        "250",
        "--codebook",
        "protected-characteristics",
    )
    assert (result["pairs"], result["missing"], result["readers"]) == (6, 244, 2)
    assert Audit.objects.get().name == "250"


def test_codebook_has_the_papers_sample_size_per_split(work: Work) -> None:
    analysis = scored(work, pairs(work, 60), [0.5 + place / 200 for place in range(60)])
    args = ["create_audit", "--project", work.project.slug, "--name", "Toxic", "--codebook"]
    result = run(*args, "toxicity-reading", "--how", "top", "--analysis", analysis.pk)
    assert (result["sample"]["n"], result["pairs"], result["missing"]) == (50, 50, 0)


def test_a_codebook_of_one_s_own_and_the_top_of_each_split(work: Work, tmp_path: Path) -> None:
    found = pairs(work, 6)
    analysis = scored(work, found, [0.1, 0.2, 0.9, 0.3, 0.4, 0.8])
    codebook = tmp_path / "small.toml"
    codebook.write_text(SMALL)
    args = ["create_audit", "--project", work.project.slug, "--name", "Top", "--codebook", codebook]
    result = run(*args, "--how", "top", "--n", 2, "--analysis", analysis.pk, "--readers", 3)
    assert (result["codebook"], result["codebook_version"], result["pairs"]) == ("small", 3, 2)
    chosen = Audit.objects.get().items.values_list("observation_id", flat=True)
    assert set(chosen) == {found[2].pk, found[5].pk}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--codebook", "nothing"], "--codebook nothing: No such file or directory; use a file, or one of"),
        (["--codebook", "BAD"], "bad.toml: version: is missing; add it"),
        (["--codebook", "SMALL"], "n: enter the number of pairs; this codebook has no default"),
        (["--n", "0"], "n: 0 is out of range"),
        (["--readers", "9"], "readers: 9 is out of range"),
        (["--split", "val"], "pairs: there are none to choose from"),
        (["--how", "top"], "n: enter the number of pairs of each split; this codebook has no default"),
        (["--how", "top", "--n", "5"], "analysis: required for the top pairs"),
        (
            ["--how", "top", "--n", "5", "--analysis", "99"],
            "analysis: this project has no such toxicity analysis",
        ),
        (["--project", "nowhere"], "--project nowhere: there is no such project"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    work: Work, tmp_path: Path, more: list[str], why: str
) -> None:
    pairs(work, 3)
    (tmp_path / "bad.toml").write_text(
        'id = "bad"\ntitle = "Bad"\n[[codes]]\nid="a"\nquestion="?"\nkind="yes-no"\n'
    )
    (tmp_path / "small.toml").write_text(SMALL)
    files = {"BAD": str(tmp_path / "bad.toml"), "SMALL": str(tmp_path / "small.toml")}
    args = ["--project", work.project.slug, "--name", "x", "--codebook", "grounded-on-people"]
    assert why in refused("create_audit", *args, *(files.get(word, word) for word in more))
    assert not Audit.objects.exists()


@pytest.fixture
def audit(work: Work, admin: User, researcher: User) -> Audit:
    pairs(work, 3)
    found = begun(work, n=3)
    for place, (first, second) in enumerate([(NO, NO), (yes("age", "work"), NO)], start=1):
        audits.record_label(audit=found, position=place, by=admin, posted=first)
        audits.record_label(audit=found, position=place, by=researcher, posted=second)
    audits.record_label(audit=found, position=3, by=admin, posted=yes("work"))
    return found


def test_csv_has_a_line_per_pair_and_question(audit: Audit, tmp_path: Path) -> None:
    out = tmp_path / "audit.csv"
    result = run("export_audit", audit.pk, "--out", out)
    assert result == {"audit": audit.pk, "state": "open", "pairs": 3, "out": str(out), "rehearsal": False}
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    first = audit.items.select_related("observation").get(position=1)
    assert rows[0]["instance_id"] == first.observation.instance_id
    assert [(row["code"], row["state"], row["reader_A"], row["reader_B"], row["agreed"]) for row in rows] == [
        ("person", "agreed", "no", "no", "no"),
        ("which", "agreed", "", "", ""),
        ("person", "differs", "yes", "no", ""),
        ("which", "differs", "age;work", "", ""),
        ("person", "reading", "", "", ""),
        ("which", "reading", "", "", ""),
    ]


def test_json_has_all_of_it(audit: Audit, tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    run("export_audit", audit.pk, "--out", out)
    document = json.loads(out.read_text("utf-8"))
    assert (document["audit"], document["readers"], len(document["pairs"])) == (
        "Close reading",
        ["A", "B"],
        3,
    )
    assert document["figures"][0]["values"][1]["count"] == 1


def test_files_are_never_written_over_or_by_halves(audit: Audit, tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    assert "end it in .json or .csv" in refused("export_audit", audit.pk, "--out", tmp_path / "audit.txt")
    assert "audit 99: there is no such audit; known:" in refused("export_audit", 99, "--out", out)
    assert "choose another path" in refused("export_audit", audit.pk, "--out", tmp_path / "no" / "audit.csv")
    out.write_text("mine")
    assert "exists already" in refused("export_audit", audit.pk, "--out", out)
    assert out.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["audit.json"]


def test_a_file_that_fails_half_way_leaves_nothing(
    audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(*_: Any) -> Iterator[str]:
        yield "a line\n"
        raise RuntimeError("the database is gone")

    monkeypatch.setattr(export_audit, "csv_lines", torn)
    with pytest.raises(RuntimeError, match="the database is gone"):
        run("export_audit", audit.pk, "--out", tmp_path / "audit.csv")
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


def test_file_permissions_follow_umask(audit: Audit, tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    run("export_audit", audit.pk, "--out", tmp_path / "audit.csv")
    assert (tmp_path / "audit.csv").stat().st_mode == (tmp_path / "usual").stat().st_mode
