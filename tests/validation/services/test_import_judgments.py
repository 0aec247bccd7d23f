"""Judgments from files and back: the published cases survive a round trip, and bad files leave nothing behind."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from hits.models import AuditEvent, Hit, Project
from hits.services.errors import BadFile
from tests.support import paths
from tests.support.judging.work import Work, ratings, review
from validation.domain.agreement.pairwise import pairwise_accuracy
from validation.domain.judging.judgment_rows import JudgmentFileError
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.domain.reports.judgment_files import parse_rating_rows
from validation.models import ImportedJudgment, JudgmentImport
from validation.registry import spec_of
from validation.selectors.ratings import read_judgments
from validation.services.judging import launch_comparison, launch_review
from validation.services.judgment_imports import import_judgments
from validation.services.leaderboard import build_leaderboard_answer_key
from validation.services.rater_rows import write_rater_rows

pytestmark = pytest.mark.django_db
CASES = paths.CASES / "leaderboard" / "comparison"
KIND = "likert_comparison"
COLUMNS = ["kind", "item", "dimension", "label", "rater", "seconds"]


def folders() -> list[Path]:
    found = sorted(path.parent for path in CASES.glob("*/expected.json"))
    assert len(found) == 4
    return found


def run(*words: object, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    call_command(*[str(word) for word in words], "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("folder", folders(), ids=lambda path: path.name)
@pytest.mark.parametrize("route", ["json", "npy"])
def test_imported_case_after_export_and_evaluation_has_published_figures(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: Path, route: str
) -> None:
    key = folder / "answer_key.json"
    run("import_judgments", key, "--project", project.slug, "--kind", KIND, capsys=capsys)
    out = tmp_path / "key.json"
    written = run("export_judgments", "--project", project.slug, "--kind", KIND, "--out", out, capsys=capsys)
    expected = json.loads((folder / "expected.json").read_text())["exact"]
    assert written["sets"] == expected["n"]
    assert json.loads(out.read_text()) == json.loads(key.read_text())
    ids = ["--instance-ids", folder / "instance_ids.json"] if route == "npy" else []
    found = run(
        "evaluate",
        "comparison",
        "--predictions",
        folder / f"predictions.{route}",
        "--answer-key",
        out,
        *ids,
        capsys=capsys,
    )
    for theirs, ours in {"human": "human", "model": "model", "random": "random", "oracle": "oracle"}.items():
        assert found[ours] == pytest.approx(expected[theirs], abs=1e-9, rel=0)
    assert found["images"] == expected["n"]
    table = build_tables(read_judgments(project=project, kind=KIND), spec_of(KIND))["rating"]
    assert pairwise_accuracy(table).value == pytest.approx(expected["human"], abs=1e-9, rel=0)


def test_imported_ratings_are_judgments_of_two_raters_under_hashes(project: Project) -> None:
    path = folders()[0] / "answer_key.json"
    done = import_judgments(project=project, kind=KIND, path=path, name="Published")
    rows = list(read_judgments(project=project, kind=KIND))
    assert done.is_new
    assert len(rows) == 2
    assert len({row.rater for row in rows}) == 2
    assert {len(row.answer["ratings"]) for row in rows} == {10}
    stored = set(ImportedJudgment.objects.values_list("rater", flat=True))
    assert all(len(rater) == 32 and "annot" not in rater for rater in stored)
    assert AuditEvent.objects.get(action="judgments.import").subject == str(done.row.pk)


def test_the_same_file_again_changes_nothing(project: Project, tmp_path: Path) -> None:
    path = folders()[0] / "answer_key.json"
    first = import_judgments(project=project, kind=KIND, path=path)
    again = import_judgments(project=project, kind=KIND, path=path, name="Another name")
    assert (again.is_new, again.row) == (False, first.row)
    rewritten = tmp_path / "rewritten.json"
    rewritten.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    with pytest.raises(BadFile, match=r"rewritten\.json: item '\w+', rater 'annot1': .* remove it"):
        import_judgments(project=project, kind=KIND, path=rewritten)
    assert (JudgmentImport.objects.count(), ImportedJudgment.objects.count()) == (1, 2)


def small_key(**changes: Any) -> dict[str, Any]:
    candidate = {"source_iid": "c1", "annot1": 3, "annot2": "2.0"} | changes.pop("candidate", {})
    return {
        "test_id_map": {"t1": {"Input_iid": "i1", "candidate": "c1"}},
        "annotations": [{"Input_iid": "i1", "candidates": [candidate]}],
    } | changes


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "test_id_map is missing"),
        ({"test_id_map": {}}, "annotations is missing"),
        (
            small_key(rehearsal=True),
            "rehearsal: its ratings may be simulated; import it into a rehearsal project",
        ),
        (small_key(annotations=[]), r"test_id_map\['t1'\]: candidate 'c1' of 'i1' has no ratings"),
        (small_key(annotations=[], test_id_map={}), "nothing to import"),
        (small_key(annotations=[{}]), r"annotations\[0\]\.Input_iid: is missing"),
        (small_key(annotations=[{"Input_iid": "i1"}]), r"annotations\[0\]\.candidates \('i1'\): is missing"),
        (
            small_key(candidate={"annot2": 4}),
            r"annotations\[0\]\.candidates\[0\]\.annot2: 4 is not a rating; use 1",
        ),
        (small_key(candidate={"annot1": 2.5}), "annot1: 2.5 is not a rating"),
        (small_key(candidate={"annot1": True}), "annot1: True is not a rating"),
        (small_key(candidate={"annot1": float("nan")}), "annot1: nan is not a rating"),
        (small_key(candidate={"annot1": None}), "annot1: None is not a rating"),
        (small_key(candidate={"source_iid": "c2"}), r"candidates\[0\]\.source_iid: 'c2' of 'i1' is not in"),
        (small_key(candidate={"source_iid": "c" * 65}), "has 65 characters"),
        (
            small_key(candidate={"source_iid": "c/1"}),
            r"source_iid: 'c/1' is not an id; use visible characters",
        ),
        (small_key(annotations=[{"Input_iid": "\ud800"}]), r"Input_iid: '.ud800' is not an id"),
        (small_key(annotations=[{"Input_iid": ".."}]), r"Input_iid: '\.\.' is not an id"),
        (small_key(annotations=[{"Input_iid": " i1"}]), r"Input_iid: ' i1' is not an id"),
        (small_key(annotations=[{"Input_iid": "i\n1"}]), r"Input_iid: 'i.n1' is not an id"),
        (
            small_key(test_id_map={n: {"Input_iid": "i1", "candidate": "c1"} for n in ("t1", "t2")}),
            r"test_id_map\['t2'\]: names the same candidate as 't1'",
        ),
        (
            small_key(annotations=small_key()["annotations"] * 2),
            r"annotations\[1\]\.Input_iid: 'i1' occurs twice",
        ),
    ],
)
def test_bad_answer_key_is_refused_with_the_path(raw: Any, message: str) -> None:
    with pytest.raises(JudgmentFileError, match=message):
        spec_of("likert_comparison").read_json(raw)


def test_a_key_keeps_its_test_ids_and_reads_ratings_as_numbers() -> None:
    first, second = spec_of("likert_comparison").read_json(small_key())
    assert first.answer == {"ratings": [{"candidate": "c1", "rating": 3, "test_id": "t1"}]}
    assert second.answer == {"ratings": [{"candidate": "c1", "rating": 2, "test_id": "t1"}]}


def table(path: Path, rows: list[list[object]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return path


def test_rows_are_grouped_into_answers(project: Project, tmp_path: Path) -> None:
    words = [("reasonable", "highly"), ("boxes", "mostly"), ("interesting", "very")]
    rows: list[list[object]] = [
        ["observation_review", "a" * 32, name, label, rater, 12.5]
        for rater in ("R1", "R2")
        for name, label in words
    ]
    import_judgments(project=project, kind="observation_review", path=table(tmp_path / "rows.csv", rows))
    found = list(read_judgments(project=project, kind="observation_review"))
    assert [dict(row.answer) for row in found] == [dict(words)] * 2
    assert [row.seconds for row in found] == [12.5, 12.5]


def test_parquet_rows_are_parsed(project: Project, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"kind": KIND, "item": f"s1/{candidate}", "dimension": "rating", "label": str(rating), "rater": rater}
        for rater in ("R1", "R2")
        for candidate, rating in (("x", 3), ("y", 1))
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    import_judgments(project=project, kind=KIND, path=tmp_path / "rows.parquet")
    key = build_leaderboard_answer_key(project)
    assert key.key["annotations"] == [
        {
            "Input_iid": "s1",
            "candidates": [
                {"source_iid": "x", "annot1": 3, "annot2": 3},
                {"source_iid": "y", "annot1": 1, "annot2": 1},
            ],
        }
    ]


GOOD = {"item": "s/c", "dimension": "rating", "label": "3", "rater": "R"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "4"}, "row 2, label: '4' is not a rating; use 1, 2 or 3"),
        ({"label": ""}, "row 2, label: is empty"),
        ({"rater": None}, "row 2, rater: is empty"),
        ({"item": "s"}, "row 2, item: 's' has no part"),
        ({"item": "s/" + "c" * 65}, "row 2, item: has 65 characters; an id has at most 64"),
        ({"item": "a/b/c"}, "row 2, item: 'a/b' is not an id; use visible characters, no slash"),
        ({"item": "s/c\x00"}, "row 2, item: 'c.x00' is not an id"),
        ({"item": ["s/c"]}, "row 2, item: is list, not text"),
        ({"item": b"s/c"}, "row 2, item: is bytes, not text"),
        ({"rater": "R" * 201}, "row 2, rater: use a name of at most 200 visible characters"),
        ({"simulated": "1"}, "row 2, simulated: the rating is simulated; import it into a rehearsal project"),
        ({"simulated": True}, "row 2, simulated"),
        (
            {"dimension": "boxes"},
            "row 2, dimension: 'boxes' is not a dimension of likert_comparison; use rating",
        ),
        ({"kind": "observation_review"}, "row 2, kind: 'observation_review'; this import takes"),
        ({"seconds": "-3"}, "row 2, seconds: '-3' is not a time"),
        ({"seconds": "nan"}, "row 2, seconds"),
    ],
)
def test_bad_row_is_refused_with_row_and_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(JudgmentFileError, match=message):
        parse_rating_rows([(2, GOOD | changes)], spec_of(KIND))


def test_rehearsal_accepts_simulated_rows(rehearsal: Project, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("item,dimension,label,rater,simulated\ns/c,rating,3,R,1\n")
    assert import_judgments(project=rehearsal, kind=KIND, path=path).row.judgments == 1


def test_ids_that_look_like_formulas_survive_export_and_import(project: Project, tmp_path: Path) -> None:
    key = small_key(
        test_id_map={"t1": {"Input_iid": "=1+1", "candidate": "c1"}},
        annotations=[{"Input_iid": "=1+1", "candidates": small_key()["annotations"][0]["candidates"]}],
    )
    (tmp_path / "key.json").write_text(json.dumps(key))
    import_judgments(project=project, kind=KIND, path=tmp_path / "key.json")
    write_rater_rows(project=project, kind=KIND, folder=tmp_path / "rows")
    assert "'=1+1/c1" in (tmp_path / "rows" / "rows.csv").read_text()
    other = Project.objects.create(name="Other", slug="other")
    import_judgments(project=other, kind=KIND, path=tmp_path / "rows" / "rows.csv")
    assert {row.item for row in read_judgments(project=other, kind=KIND)} == {"=1+1"}


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_import_of_own_export_is_refused(work: Work, tmp_path: Path, name: str) -> None:
    kind = "observation_review"
    pair = work.observed(work.image(1))[0]
    batch, _ = launch_review(project=work.project, observations=[pair], by=None)
    work.publish(batch)
    work.answered(Hit.objects.get(unit__batch=batch), "J1", review())
    write_rater_rows(project=work.project, kind=kind, folder=tmp_path / "rows")
    with pytest.raises(BadFile, match=r"this judgment was collected in this project; remove it"):
        import_judgments(project=work.project, kind=kind, path=tmp_path / "rows" / name)
    other = Project.objects.create(name="Other", slug="other")
    import_judgments(project=other, kind=kind, path=tmp_path / "rows" / name)
    write_rater_rows(project=other, kind=kind, folder=tmp_path / "again")
    with pytest.raises(BadFile, match="was collected in this project"):
        import_judgments(project=other, kind=kind, path=tmp_path / "again" / name)
    assert [row.item for row in read_judgments(project=other, kind=kind)] == [pair.instance_id]


def test_repeated_ratings_and_incomplete_answers_are_refused() -> None:
    with pytest.raises(JudgmentFileError, match="row 3, item: rater 'R' rated 's/c' twice"):
        parse_rating_rows([(2, GOOD), (3, GOOD)], spec_of(KIND))
    row = {"item": "p", "dimension": "boxes", "label": "mostly", "rater": "R"}
    with pytest.raises(JudgmentFileError, match="row 2: the answer that starts here lacks reasonable"):
        parse_rating_rows([(2, row)], spec_of("observation_review"))
    with pytest.raises(JudgmentFileError, match="label: 'fine' is not on the scale; use appropriate, mostly"):
        parse_rating_rows([(2, row | {"label": "fine"})], spec_of("observation_review"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe", "neither UTF-8 text nor Parquet"),
        (b"{", "invalid JSON"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b"[" + b"9" * 5000 + b"]", "invalid JSON"),
        (
            b"item,item,dimension,label,rater\na/b,c/d,rating,3,R\n",
            "row 1: column item occurs twice; keep one",
        ),
        (b"PAR1 and more", "invalid Parquet"),
        (b"item,label\n", "row 1: column dimension is missing"),
        (b"item,dimension,label,rater\n", "no row"),
        (b"item,dimension,label,rater\ns/c,rating,3,R,more\n", "row 2: has more cells"),
    ],
)
def test_import_command_with_a_bad_file_exits_with_2_and_writes_nothing(
    project: Project, tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "judgments"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CommandError, match=message) as error:
        call_command("import_judgments", str(path), "--project", project.slug, "--kind", KIND)
    assert error.value.returncode == 2
    assert str(path) in str(error.value)
    assert not JudgmentImport.objects.exists()


def test_collected_ratings_are_exported_under_their_pair(work: Work, tmp_path: Path) -> None:
    mine = work.observed(work.image(1), worker="AUTHOR")
    others = work.observed(work.image(2), worker="OTHER")
    comparison = SetToJudge(
        id="1",
        own_pair_id=mine[0].instance_id,
        image_id=mine[0].image_id,
        boxes=mine[0].boxes,
        candidates=[CandidateToRate(o.instance_id, o.inference) for o in others],
    )
    batch, _ = launch_comparison(project=work.project, sets=[comparison], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    work.answered(hit, "J1", ratings(hit, 3, 2, 1))
    with pytest.raises(CommandError, match="no comparison set has two raters yet") as error:
        call_command(
            "export_judgments", "--project", work.project.slug, "--kind", KIND, "--out", "/tmp/none.json"
        )
    assert error.value.returncode == 2
    work.answered(hit, "J2", ratings(hit, 1, 2, 3))
    made = build_leaderboard_answer_key(work.project)
    same_region = [o for o in mine if o.boxes == mine[0].boxes]
    assert made.sets == 1
    [entry] = made.key["annotations"]
    assert entry["Input_iid"] == (mine[0].instance_id if len(same_region) == 1 else "1")
    assert [(c["annot1"], c["annot2"]) for c in entry["candidates"]] == [(3, 1), (2, 2), (1, 3)]
    assert len(made.key["test_id_map"]) == 3
    assert "rehearsal" not in made.key

    # The same pair in an imported key keeps its name, so that no name occurs twice in the file.
    named = {"Input_iid": mine[0].instance_id}
    key = small_key(
        test_id_map={"t1": named | {"candidate": "c1"}},
        annotations=[named | {"candidates": small_key()["annotations"][0]["candidates"]}],
    )
    (tmp_path / "key.json").write_text(json.dumps(key))
    import_judgments(project=work.project, kind=KIND, path=tmp_path / "key.json")
    names = [entry["Input_iid"] for entry in build_leaderboard_answer_key(work.project).key["annotations"]]
    assert sorted(names) == sorted([mine[0].instance_id, "1"])


def test_rehearsal_export_is_marked_and_imported_only_into_rehearsals(
    rehearsal: Project, project: Project, tmp_path: Path
) -> None:
    import_judgments(project=rehearsal, kind=KIND, path=folders()[0] / "answer_key.json")
    out = tmp_path / "key.json"
    call_command("export_judgments", "--project", rehearsal.slug, "--kind", KIND, "--out", str(out))
    assert json.loads(out.read_text())["rehearsal"] is True
    with pytest.raises(BadFile, match="import it into a rehearsal project"):
        import_judgments(project=project, kind=KIND, path=out)


def test_unwritable_output_is_refused_with_its_path(project: Project, tmp_path: Path) -> None:
    import_judgments(project=project, kind=KIND, path=folders()[0] / "answer_key.json")
    out = tmp_path / "absent" / "key.json"
    with pytest.raises(CommandError, match="No such file or directory; choose another file") as error:
        call_command("export_judgments", "--project", project.slug, "--kind", KIND, "--out", str(out))
    assert error.value.returncode == 2
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(CommandError, match="choose another file"):
        call_command("export_judgments", "--project", project.slug, "--kind", KIND, "--out", str(folder))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("tmp")] == []
