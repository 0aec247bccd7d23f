"""Commands about scenes and settings: what they store, and one line with status 2 for bad input."""

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from curation.models import ImageTriplet, Import, ImportedRow, Scene, SceneDecision, TripletSettings
from hits.models import AuditEvent, Batch, Project, Unit, Worker
from hits.services import projects
from tests.support import market
from tests.support.nleye_stored import keep_scenes, nleye_project, pick_images, store_scenes

pytestmark = pytest.mark.django_db
GOOD = {
    "premise": "A man sits on a hospital bed with his leg in a cast.",
    "plausible": "The man slips on a wet floor without a sign.",
    "implausible": "The man slips on a wet floor beside a yellow sign.",
    "category": "logical",
    "direction": "backward",
    "duration": "short",
    "domain": "healthcare",
    "why": "Nobody warned the man.",
}
OTHER = GOOD | {"premise": "A cat lies in a box.", "direction": "parallel", "duration": "", "licence": "CC0"}
ALIKE = "the MAN slips: on a wet floor without a sign"


@pytest.fixture
def project(project: Project) -> Project:
    return nleye_project(project)


def run(name: str, *arguments: Any) -> Any:
    """Run a command, and return its JSON."""
    out = io.StringIO()
    call_command(name, *map(str, arguments), "--json", stdout=out)
    return json.loads(out.getvalue())


def error(name: str, *arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        call_command(name, *map(str, arguments))
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def as_csv(path: Path, rows: list[dict[str, str]], *, mark: bytes = b"") -> Path:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)))
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(mark + out.getvalue().encode())
    return path


def as_lines(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("\n\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return path


def test_each_wrong_row_of_a_file_has_a_line(project: Project, tmp_path: Path) -> None:
    rows = [GOOD | {"premise": f"A cat {number}.", "category": f"c{number}"} for number in range(25)]
    table = as_csv(tmp_path / "scenes.csv", rows)
    with pytest.raises(CommandError) as caught:
        call_command("import_scenes", str(table), "--project", project.slug)
    assert caught.value.returncode == 2
    first, *further = str(caught.value).splitlines()
    assert first.startswith("scenes.csv, row 2, category: 'c0' is unknown")
    assert first.endswith("; 24 more rows are wrong")
    assert [line.partition(" is unknown")[0] for line in further] == [
        f"scenes.csv, row {number + 2}, category: 'c{number}'" for number in range(1, 20)
    ]
    assert not Scene.objects.exists()


def test_scenes_of_both_formats_are_imported_once(project: Project, tmp_path: Path) -> None:
    table = as_csv(tmp_path / "scenes.csv", [GOOD, OTHER], mark=b"\xef\xbb\xbf")
    where = ("--project", project.slug, "--licence", "CC BY 4.0", "--citation", "Us 2026")
    first = run("import_scenes", table, *where)
    assert (first["scenes"], first["new"]) == (2, 2)
    assert run("import_scenes", table, *where) == first | {"new": 0}
    lines = as_lines(
        tmp_path / "more.jsonl", [row | {"premise": f"Again: {row['premise']}"} for row in (GOOD, OTHER)]
    )
    assert run("import_scenes", lines, *where)["new"] == 2
    found = list(Scene.objects.order_by("pk"))
    assert [row.premise for row in found[:2]] == [GOOD["premise"], OTHER["premise"]]
    assert [(row.plausible_text, row.implausible_text) for row in found] == [
        (GOOD["plausible"], GOOD["implausible"])
    ] * 4
    assert [row.licence for row in found] == ["CC BY 4.0", "CC0"] * 2
    assert [row.location for row in ImportedRow.objects.order_by("pk")] == [
        "scenes.csv, row 2", "scenes.csv, row 3", "more.jsonl, row 1", "more.jsonl, row 3",
    ]  # fmt: skip
    assert set(Import.objects.values_list("format", "citation", "rows")) == {("scenes", "Us 2026", 2)}


BAD_SCENES: list[tuple[dict[str, str], str]] = [
    ({"category": "moral"}, "row 3, category: 'moral' is unknown; use physical,"),
    ({"direction": "up"}, "row 3, direction: 'up' is unknown; use forward,"),
    ({"duration": "medium"}, "row 3, duration: 'medium' is unknown; use short, long"),
    ({"domain": "space"}, "row 3, domain: 'space' is unknown; use administration,"),
    ({"implausible": ALIKE}, "row 3, implausible: has the same words as"),
    ({"premise": ""}, "row 3, premise: is empty"),
    ({"plausible": "x" * 401}, "row 3, plausible: has 401 characters: use 400 or fewer"),
    ({"replaces": "0" * 32}, "row 3, replaces: this project has no scene 0{32}; leave the cell empty"),
]


def test_file_with_good_and_bad_rows_takes_none(project: Project, admin: User, tmp_path: Path) -> None:
    for change, message in BAD_SCENES:
        bad = {**dict.fromkeys(("replaces",), ""), **GOOD, "premise": "A boat lies on a beach.", **change}
        path = as_csv(tmp_path / "scenes.csv", [{"replaces": "", **GOOD}, bad])
        assert re.match(
            rf"scenes\.csv, {message}", found := error("import_scenes", path, "--project", project.slug)
        ), found
    good = as_csv(tmp_path / "good.csv", [GOOD])
    assert "cannot be read: No such file" in error(
        "import_scenes", tmp_path / "none.csv", "--project", project.slug
    )
    where = ("import_scenes", good, "--project", project.slug)
    assert error(*where, "--licence", "l" * 121).startswith("licence: has 121 characters: use 120 or fewer")
    assert error(*where, "--citation", "c" * 401).startswith("citation: has 401 characters: use 400 or fewer")
    other = projects.create_project(name="Elsewhere", by=admin)
    assert "its family is sherlock; use a project of family nleye" in error(
        "import_scenes", good, "--project", other.slug
    )
    assert not Scene.objects.exists()
    assert not Import.objects.exists()
    assert not AuditEvent.objects.filter(action="scene.import").exists()


def test_revision_from_a_file_names_the_old_scene_and_keeps_its_author(
    project: Project, tmp_path: Path
) -> None:
    author = Worker.objects.create(environment="local", worker_id="W1")
    (scene,) = store_scenes(project, 1, author=author)
    path = as_csv(tmp_path / "revised.csv", [GOOD | {"replaces": scene.public_id}])
    assert run("import_scenes", path, "--project", project.slug)["new"] == 1
    revision = Scene.objects.get(replaces=scene)
    assert (revision.author, revision.premise) == (author, GOOD["premise"])
    again = as_csv(tmp_path / "again.csv", [OTHER | {"replaces": scene.public_id}])
    assert f"scene {scene.public_id} has a revision already; name the revision" in error(
        "import_scenes", again, "--project", project.slug
    )
    other = nleye_project(projects.create_project(name="Elsewhere", by=None))
    assert "row 2, replaces: this project has no scene" in error(
        "import_scenes",
        as_csv(tmp_path / "third.csv", [GOOD | {"replaces": revision.public_id}]),
        "--project",
        other.slug,
    )


def test_verdicts_of_a_file_are_stored_together_or_not_at_all(
    project: Project, researcher: User, annotator: User, tmp_path: Path
) -> None:
    scenes = store_scenes(project, 3)
    where = ("filter_scenes", "--project", project.slug)
    listed = run(*where)
    assert (listed["stored"], listed["scenes"]) == (0, {"open": 3})
    assert [row["scene"] for row in listed["rows"]] == [scene.public_id for scene in scenes]
    rows = [
        {"scene": scenes[0].public_id, "verdict": "keep", "reasons": "", "note": "Clear."},
        {"scene": scenes[1].public_id, "verdict": "drop", "reasons": "uniqueness | unclear", "note": ""},
    ]
    more = ("--by", researcher.username, "--decisions")
    bad: list[tuple[dict[str, str], str]] = [
        ({"scene": "0" * 32}, "row 3, scene: this project has no scene '0{32}'; copy its id from the list"),
        ({"scene": scenes[0].public_id}, "row 3, scene: row 2 decides about it too; keep one of them"),
        ({"verdict": "maybe"}, "row 3, verdict: 'maybe'; use keep, drop, revise"),
        ({"verdict": "undone"}, "row 3, verdict: 'undone'; use keep, drop, revise"),
        ({"reasons": ""}, "row 3, reasons: choose at least one for the verdict drop"),
        ({"reasons": "boring"}, "row 3, reasons: 'boring' is not known; use premise_necessity,"),
        ({"note": "n" * 401}, "row 3, note: has 401 characters"),
    ]
    for change, message in bad:
        path = as_csv(tmp_path / "v.csv", [rows[0], rows[1] | change])
        assert re.match(f"--decisions v.csv, {message}", found := error(*where, *more, path)), found
    path = as_csv(tmp_path / "v.csv", [rows[0] | {"verdict": "maybe"}, rows[1] | {"reasons": ""}])
    with pytest.raises(CommandError) as caught:
        call_command(*map(str, (*where, *more, path)))
    first, second = str(caught.value).splitlines()
    assert first.endswith("row 2, verdict: 'maybe'; use keep, drop, revise; 1 more row is wrong")
    assert second.startswith("--decisions v.csv, row 3, reasons: choose")
    assert not SceneDecision.objects.exists()
    assert error(*where, "--decisions", path).startswith("--by is missing: ")
    path = as_csv(tmp_path / "v.csv", rows, mark=b"\xef\xbb\xbf")
    for person in ("nobody", annotator.username):
        assert error(*where, "--by", person, "--decisions", path).startswith(f"--by {person}: ")
    short = as_csv(tmp_path / "s.csv", [{"scene": "x"}])
    assert (
        error(*where, *more, short)
        == "--decisions s.csv: has no column verdict; add it; the header is: scene"
    )
    long = as_csv(tmp_path / "v.csv", rows)
    long.write_bytes(long.read_bytes() + b"x,keep,,,more\r\n")
    assert "v.csv, row 4: has 5 values and the header has 4; correct the line" in error(*where, *more, long)
    path = as_csv(tmp_path / "v.csv", rows, mark=b"\xef\xbb\xbf")
    (tmp_path / "q.csv").write_text('scene,verdict\n"x,keep\n')
    assert "q.csv, row 2: is not readable CSV" in error(*where, *more, tmp_path / "q.csv")
    assert run(*where, *more, path) == {"stored": 2, "scenes": {"kept": 1, "dropped": 1, "open": 1}}
    assert list(SceneDecision.objects.order_by("pk").values_list("verdict", "reasons", "note")) == [
        ("keep", [], "Clear."),
        ("drop", ["uniqueness", "unclear"], ""),
    ]


def test_settings_are_shown_changed_and_refused_by_name(
    project: Project, researcher: User, admin: User, tmp_path: Path
) -> None:
    where = ("triplet_settings", "--project", project.slug)
    assert run(*where) == {
        "readers": 1,
        "domains": [],
        "licences": {},
        "has_prices": False,
        "holds_answers": False,
        "unknown_licence": False,
    }
    assert not AuditEvent.objects.filter(action="triplets.settings").exists()
    prices = tmp_path / "prices.toml"
    prices.write_text('[images."openai:dall-e-3"]\nimage = 0.04\n')
    found = run(
        *where, "--readers", 2, "--domains", "religion, deep  sea,religion", "--hold-answers", "on",
        "--licence", "drawing=own", "--licence", "openai:dall-e-3=Terms of use",
    )  # fmt: skip
    assert found == {
        "readers": 2,
        "domains": ["religion", "deep sea"],
        "licences": {"drawing": "own", "openai:dall-e-3": "Terms of use"},
        "has_prices": False,
        "holds_answers": True,
        "unknown_licence": False,
    }
    assert run(*where, "--unknown-licence", "on", "--by", admin.username) == found | {"unknown_licence": True}
    assert run(*where, "--unknown-licence", "off") == found
    for arguments, message in (
        (("--readers", 3), "readers: 3; use 1 or 2"),
        (("--domains", "d" * 61), r"domains: use at most \d+ names of at most 60 characters"),
        (("--licence", "drawing"), "--licence 'drawing': write GENERATOR=LICENCE"),
        (("--licence", "drawing="), "licence of drawing: write 1 to 120 characters, or unknown"),
        (("--licence", "painting=own"), "generator"),
        (
            ("--unknown-licence", "on"),
            "unknown licences: an admin of the project allows them; ask one, or give",
        ),
        (
            ("--unknown-licence", "on", "--by", researcher.username),
            "unknown licences: an admin of the project",
        ),
        (("--unknown-licence", "on", "--by", "nobody"), "--by nobody: there is no such account"),
        (("--prices", tmp_path / "none.toml"), "--prices .*none.toml: cannot be read"),
    ):
        assert re.search(message, text := error(*where, *arguments)), text
    assert TripletSettings.objects.get().readers == 2


def test_triplets_are_built_in_balance_and_built_once(project: Project, researcher: User) -> None:
    scenes = store_scenes(project, 12)
    keep_scenes(scenes, researcher)
    pick_images(scenes, researcher)
    found = run("build_triplets", "--project", project.slug)
    assert (found["triplets"], found["replaced"]) == (12, 0)
    assert found["gold"] == {"1": 6, "2": 6}
    golds = Counter(ImageTriplet.objects.values_list("scene__category", "gold"))
    assert len(golds) == 12
    assert set(golds.values()) == {1}  # one of each in each of six categories
    again = run("build_triplets", "--project", project.slug)
    assert again == {"triplets": 0, "replaced": 0, "restored": 0, "dropped": 0, "gold": {}}


@pytest.mark.django_db(transaction=True)
def test_launch_publishes_tasks_with_the_quotas(project: Project) -> None:
    market.fund()
    where = ("launch_scenes", "--project", project.slug)
    run(*where, "--count", 6, "--quota", "emotional=2", "--quota", "Social=1", "--name", "Scenes")
    batch = Batch.objects.get()
    assert (batch.name, batch.state) == ("Scenes", "live")
    asked = Counter(unit.payload["category"] for unit in Unit.objects.filter(batch=batch))
    assert asked == {"emotional": 2, "social": 1, "": 3}
    for quotas, message in (
        (("emotional",), "--quota 'emotional': has no number; write CATEGORY=N"),
        (("moral=2",), "--quota 'moral=2': 'moral' is no category; use physical,"),
        (("social=0",), "--quota 'social=0': write a whole number from 1"),
        (("social=1", "SOCIAL=2"), "--quota 'SOCIAL=2': social has a quota already"),
        (("social=7",), "quotas: they ask for 7 scenes and the launch has 6"),
    ):
        options = [value for quota in quotas for value in ("--quota", quota)]
        assert error(*where, "--count", 6, *options).startswith(message)
    assert error(*where, "--count", 0).startswith("count: use 1 to 10,000 scenes")
    assert Batch.objects.count() == 1
