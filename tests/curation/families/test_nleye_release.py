"""A release of NL-Eye: what is exported, read by others, imported again and sealed again."""

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from PIL import Image as Pillow

from curation.families.nleye.read import check_export
from curation.models import (
    DatasetVersion,
    GeneratedImage,
    ImageTriplet,
    Import,
    ImportedRow,
    Scene,
    TripletExplanation,
    VersionRow,
)
from curation.records import InvalidInput
from curation.services.triplets.explanation_rounds import take_in_crowd_explanations
from hits.domain.hashing import content_sha256
from hits.models import Image, Project, Worker
from hits.services import projects
from tests.support.nleye_published import (
    HEADER,
    ROLES,
    folder_files,
    published_rows,
    read_lines,
    sha256,
    write_published,
)
from tests.support.nleye_stored import (
    GENERATOR,
    LICENCE,
    explain,
    judge,
    judge_explanations,
    store_triplets,
)

pytestmark = pytest.mark.django_db
CARD_COLUMNS = ["sample_id", "reasoning_category", "domain", "time_direction", "time_duration"]
CHOICES = ("right", "right", "wrong")


def export(project: Project, out: Path, *more: Any, name: str = "v1") -> Path:
    call_command("export_version", name, "--project", project.slug, "--format", "nleye", "--out", out, *more)
    return out


def run_import(folder: Path, project: Project, capsys: Any, *more: Any) -> dict[str, Any]:
    capsys.readouterr()
    call_command("import_nleye", folder, "--project", project.slug, "--json", *more)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def table(folder: Path, split: str = "test") -> list[dict[str, str]]:
    text = (folder / f"{split}_set.csv").read_bytes().decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def row_hashes(project: Project, name: str = "v1") -> list[str]:
    """Return the hashes of triplets in the order of sample_id, which is the sealed one."""
    version = DatasetVersion.objects.get(project=project, name=name)
    rows = VersionRow.objects.filter(version=version, part="nleye_triplet").order_by("pk")
    stored = list(rows.values_list("row", "sha256"))
    assert all(content_sha256(row) == digest for row, digest in stored)
    return [digest for _, digest in stored]


@pytest.fixture
def other(admin: User) -> Project:
    return projects.create_project(name="Elsewhere", by=admin, family="nleye")


@pytest.fixture
def triplets(project: Project, researcher: User) -> list[ImageTriplet]:
    """Six judged triplets, whose crowd explanations were judged too: only the first one of each page is valid."""
    found = store_triplets(project, 6, researcher)
    explain(found, researcher)
    judge(project, {row.public_id: CHOICES for row in found}, researcher)
    take_in_crowd_explanations(project)
    judge_explanations(project, researcher, lambda ids: ids[:1])
    return found


def test_import_of_an_export_has_equal_rows_and_needs_no_answers(
    project: Project, other: Project, triplets: list[ImageTriplet], tmp_path: Path, capsys: Any
) -> None:
    out = export(project, tmp_path / "D")
    first = run_import(out, other, capsys)
    assert (first["triplets"], first["new"], first["unread_columns"]) == (6, 6, [])
    again = run_import(out, other, capsys)
    assert (again["import"], again["new"]) == (first["import"], 0)
    assert ImageTriplet.objects.filter(project=other).count() == 6
    _check_gold(triplets, list(ImageTriplet.objects.filter(project=other).order_by("pk")))
    back = export(other, tmp_path / "E")
    assert row_hashes(other) == row_hashes(project)
    version = DatasetVersion.objects.get(project=other)
    assert version.exclusions == {}
    assert version.statistics["answers"] == 0
    assert (back / "test_set.csv").read_bytes() == (out / "test_set.csv").read_bytes()
    pictures = {name: data for name, data in folder_files(out).items() if name.startswith("images/")}
    assert len(pictures) == 6 * 3 + 1
    assert pictures == {name: data for name, data in folder_files(back).items() if name.startswith("images/")}
    kept = ("sha256", "generator", "model", "licence", "prompt", "seed", "parameters", "cost_micro_usd")
    for mine, theirs in zip(
        read_lines(out / "provenance.jsonl"), read_lines(back / "provenance.jsonl"), strict=True
    ):
        for role in ROLES:
            assert {name: theirs[role][name] for name in kept} == {
                name: mine[role][name] or ("unknown" if name == "model" else mine[role][name])
                for name in kept
            }


def _check_gold(triplets: list[ImageTriplet], copies: list[ImageTriplet]) -> None:
    """Check that gold stays with its hypothesis, although a and b are drawn anew."""
    for mine, copy in zip(triplets, copies, strict=True):
        assert (copy.gold, copy.scene.plausible_text) == (mine.gold, mine.scene.plausible_text)
        for role in ("premise", "h1", "h2"):
            assert getattr(copy, role).image.sha256 == getattr(mine, role).image.sha256
        assert copy.scene.text(copy.first) == mine.scene.text(mine.first)


def test_table_is_what_others_read(project: Project, triplets: list[ImageTriplet], tmp_path: Path) -> None:
    out = export(project, tmp_path / "D")
    data = (out / "test_set.csv").read_bytes()
    assert not data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\r\n") == 7  # RFC 4180
    frame = pd.read_csv(out / "test_set.csv", keep_default_na=False)
    assert list(frame.columns)[:5] == CARD_COLUMNS
    assert list(frame["sample_id"]) == [1, 2, 3, 4, 5, 6]
    for number, triplet in enumerate(triplets, start=1):
        line = frame.iloc[number - 1]
        scene = triplet.scene
        assert line["premise_description"] == scene.premise
        golds = (line["hypothesis1_description"], line["hypothesis2_description"])
        assert golds[triplet.gold - 1] == scene.plausible_text
        assert golds[2 - triplet.gold] == scene.implausible_text
        assert line["gold_hypothesis"] == triplet.gold
        crowd = TripletExplanation.objects.filter(triplet=triplet, source="crowd").order_by("pk")
        assert crowd.count() == 2  # of the two judges who were right
        assert len(json.loads(line["explanations"])) == 1  # of these, the one with a vote
        assert json.loads(line["explanations"])[0] in {row.text for row in crowd}
        for role, own in zip(ROLES, ("premise", "h1", "h2"), strict=True):
            assert line[f"{role}_image"] == f"images/{number}/{role}.png"
            path = out / "images" / str(number) / f"{role}.png"
            assert sha256(path.read_bytes()) == getattr(triplet, own).image.sha256
            with Pillow.open(path) as opened:
                assert (opened.format, opened.size, opened.info) == ("PNG", (64, 64), {})
    facets = Counter(zip(frame["time_direction"], frame["time_duration"], strict=True))
    assert facets == Counter((row.scene.direction, row.scene.duration) for row in triplets)


def test_datasets_loads_table_and_images(
    other: Project, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: ITS READING IS SKIPPED")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    given = published_rows(6)
    folder = write_published(tmp_path / "P", given)
    run_import(folder, other, capsys, "--licence", "CC0")
    out = export(other, tmp_path / "D")
    options = {"cache_dir": str(tmp_path / "cache")}
    for found in (
        datasets.load_dataset(str(out), **options),
        datasets.load_dataset("csv", data_files={"test": str(out / "test_set.csv")}, **options),
    ):
        assert {name: len(rows) for name, rows in found.items()} == {"test": 6}
        assert [str(row["gold_hypothesis"]) for row in found["test"]] == [
            row["gold_hypothesis"] for row in given
        ]
    images = datasets.load_dataset("imagefolder", data_dir=str(out / "images"), **options)
    (rows,) = images.values()
    assert len(rows) == 6
    for row, line in zip(sorted(rows, key=lambda row: row["sample_id"]), given, strict=True):
        assert row["reasoning_category"] == line["reasoning_category"]
        for role in ROLES:
            with Pillow.open(folder / "images" / line["sample_id"] / f"{role}.png") as own:
                assert row[role].convert("RGB").tobytes() == own.tobytes()


def test_column_map_changes_the_header_alone(
    project: Project, other: Project, triplets: list[ImageTriplet], tmp_path: Path, capsys: Any
) -> None:
    names = {
        name: f"{name} of theirs" for name in ("sample_id", "gold", "hypothesis1_description", "explanations")
    }
    columns = tmp_path / "map.toml"
    columns.write_text("".join(f'[{field}]\nname = "{name}"\n' for field, name in names.items()))
    plain, renamed = (
        folder_files(export(project, tmp_path / "D")),
        folder_files(export(project, tmp_path / "E", "--columns", columns)),
    )
    assert plain.keys() == renamed.keys()
    differing = {name for name in plain if plain[name] != renamed[name]}
    assert differing == {
        "test_set.csv",
        "README.md",
        "manifest.json",
    }  # the card names ours, the manifest hashes all
    head, _, body = plain["test_set.csv"].partition(b"\r\n")
    other_head, _, other_body = renamed["test_set.csv"].partition(b"\r\n")
    assert body == other_body
    field_of = {"sample_id": "sample_id", "gold_hypothesis": "gold", **{name: name for name in names}}
    assert other_head.decode().split(",") == [
        names.get(field_of.get(name, ""), name) for name in head.decode().split(",")
    ]
    lines = zip(plain["README.md"].splitlines(), renamed["README.md"].splitlines(), strict=True)
    (changed,) = [mine for mine, theirs in lines if mine != theirs]
    assert changed.startswith(b"Column names that could not be read")
    with pytest.raises(
        CommandError, match=r"has no column sample_id; .* The header is: sample_id of theirs,"
    ):
        run_import(tmp_path / "E", other, capsys)
    assert run_import(tmp_path / "E", other, capsys, "--columns", columns)["new"] == 6
    export(other, tmp_path / "F")
    assert row_hashes(other) == row_hashes(project)


def test_provenance_and_answers_have_everything_but_workers_names(
    project: Project, triplets: list[ImageTriplet], tmp_path: Path
) -> None:
    out = export(project, tmp_path / "D")
    for line, triplet in zip(read_lines(out / "provenance.jsonl"), triplets, strict=True):
        assert line["triplet"] == triplet.public_id
        for role, own in zip(ROLES, ("premise", "h1", "h2"), strict=True):
            row: GeneratedImage = getattr(triplet, own)
            given = line[role]
            assert (given["generator"], given["licence"]) == (GENERATOR, LICENCE)
            assert (given["prompt"], given["seed"]) == (row.prompt, row.seed)
            assert (given["cost_micro_usd"], given["parameters"]) == (row.cost_micro, row.parameters)
            assert (given["model"], given["revision"], given["mask"]) == (row.model, row.revision, [])
    answers = read_lines(out / "nleye_answer.jsonl")
    assert Counter(line["triplet"] for line in answers) == {row.public_id: 3 for row in triplets}
    golds = {row.public_id: f"h{row.gold}" for row in triplets}
    assert sum(line["is_gold"] for line in answers) == 12
    for line in answers:
        assert line["is_gold"] == (line["choice"] == golds[line["triplet"]])
        assert line["first_shown"] in {"h1", "h2"}
        assert line["certainty"] == "certain"
        assert line["ratings"][line["choice"]] == 5
        assert line["active_seconds"] == 60.0
        assert len(line["worker"]) == 32
    assert {line["first_shown"] for line in answers} == {"h1", "h2"}
    explanations = read_lines(out / "nleye_explanation.jsonl")
    assert Counter(line["source"] for line in explanations) == {"gold": 6, "crowd": 12}
    assert {(line["votes"], line["voters"]) for line in explanations if line["source"] == "crowd"} == {
        (3, 3),
        (0, 3),
    }
    everything = b"".join(data for name, data in folder_files(out).items() if not name.startswith("images/"))
    workers = list(Worker.objects.values_list("worker_id", flat=True))
    assert len(workers) == 6
    assert {line["worker"] for line in answers} & {line["worker"] for line in explanations}
    for name in workers:
        assert f'"{name}"'.encode() not in everything


def test_published_folder_keeps_what_nothing_reads_and_writes_it_back(
    other: Project, tmp_path: Path, capsys: Any
) -> None:
    rows = [
        row | {"premise_url": f"https://cloud.example/{row['sample_id']}.png", "annotator_note": "seen"}
        for row in published_rows(5)
    ]
    folder = write_published(tmp_path / "P", rows)
    result = run_import(folder, other, capsys, "--licence", "Apache-2.0", "--citation", "Ventura et al. 2025")
    assert result["unread_columns"] == [
        "annotator_note"
    ]  # an address is known as a column, and never fetched
    assert {row.extra["annotator_note"] for row in ImportedRow.objects.all()} == {"seen"}
    source = Import.objects.get()
    assert (source.licence, source.citation, source.rows) == ("Apache-2.0", "Ventura et al. 2025", 5)
    out = export(other, tmp_path / "D")
    found = table(out)
    assert [{name: line[name] for name in HEADER} for line in found] == [
        {name: row[name] for name in HEADER} for row in rows
    ]
    key = {line["time_direction"]: line["time_duration"] for line in found}
    assert key["parallel"] == "long"  # kept, although measures know parallel triplets without one
    assert DatasetVersion.objects.get().statistics["temporal"] == {
        "backward-long": 1,
        "backward-short": 1,
        "forward-long": 1,
        "forward-short": 1,
        "parallel": 1,
    }
    origins = [line[role] for line in read_lines(out / "provenance.jsonl") for role in ROLES]
    assert {(row["generator"], row["model"], row["licence"]) for row in origins} == {
        ("import", "unknown", "Apache-2.0")
    }


def test_numbers_are_dense_in_the_order_of_the_published_ones(
    other: Project, tmp_path: Path, capsys: Any
) -> None:
    rows = published_rows(12)
    chosen = [rows[index] for index in (11, 1, 9)]  # 12, 2 and 10, in a table of their own order
    run_import(write_published(tmp_path / "P", chosen), other, capsys, "--licence", "CC0")
    out = export(other, tmp_path / "D")
    found = table(out)
    assert [(line["sample_id"], line["premise_description"]) for line in found] == [
        (str(number), rows[index]["premise_description"]) for number, index in enumerate((1, 9, 11), start=1)
    ]


def test_jpeg_is_stored_and_exported_as_png(other: Project, tmp_path: Path, capsys: Any) -> None:
    folder = write_published(tmp_path / "P", published_rows(1))
    source = folder / "images" / "1" / "premise.png"
    with Pillow.open(source) as opened:
        opened.save(source.with_suffix(".jpg"), "JPEG", quality=90)
    source.unlink()
    run_import(folder, other, capsys, "--licence", "CC0")
    out = export(other, tmp_path / "D")
    with (
        Pillow.open(out / "images" / "1" / "premise.png") as written,
        Pillow.open(source.with_suffix(".jpg")) as given,
    ):
        assert written.format == "PNG"
        assert written.tobytes() == given.convert("RGB").tobytes()
    assert check_export(out) == 1


def test_changed_table_or_picture_is_found(other: Project, tmp_path: Path, capsys: Any) -> None:
    run_import(write_published(tmp_path / "P", published_rows(2)), other, capsys, "--licence", "CC0")
    out = export(other, tmp_path / "D")
    assert check_export(out) == 2
    for name in ("test_set.csv", "images/2/premise.png"):
        path = out / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-3] + b"x" + whole[-2:])
        with pytest.raises(InvalidInput, match=rf"^{name}: was changed"):
            check_export(out)
        path.write_bytes(whole)
    # Whoever changes the manifest too is found out by what was sealed.
    manifest = json.loads((out / "manifest.json").read_text())
    table = out / "test_set.csv"
    table.write_bytes(table.read_bytes().replace(b',2,"People', b',1,"People', 1))
    for file in manifest["files"]:
        file["sha256"] = sha256((out / file["name"]).read_bytes())
    (out / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InvalidInput, match=r"^test_set.csv: line 2 differs from what was sealed"):
        check_export(out)


def test_both_splits_are_written_and_read(other: Project, tmp_path: Path, capsys: Any) -> None:
    rows = published_rows(4)
    folder = write_published(tmp_path / "P", rows[:2])
    write_published(folder, rows[2:], split="train")
    run_import(folder, other, capsys, "--licence", "CC0")
    out = export(other, tmp_path / "D")
    numbers = {split: [line["sample_id"] for line in table(out, split)] for split in ("train", "test")}
    assert numbers == {"train": ["3", "4"], "test": ["1", "2"]}
    again = projects.create_project(name="Third", by=None, family="nleye")
    run_import(out, again, capsys)
    export(again, tmp_path / "E")
    assert row_hashes(again) == row_hashes(other)
    assert Scene.objects.filter(project=again).count() == 4
    assert Image.objects.filter(project=again, split="train").count() == 6


@pytest.mark.nightly
def test_release_of_the_published_size_goes_there_and_back(
    other: Project, tmp_path: Path, capsys: Any, django_assert_max_num_queries: Any
) -> None:
    folder = write_published(tmp_path / "P", published_rows(350))
    run_import(folder, other, capsys, "--licence", "CC0")
    with django_assert_max_num_queries(120):  # whatever the number of triplets
        out = export(other, tmp_path / "D")
    again = projects.create_project(name="Third", by=None, family="nleye")
    assert run_import(out, again, capsys)["new"] == 350
    export(again, tmp_path / "E")
    assert row_hashes(again) == row_hashes(other)
    assert len(row_hashes(again)) == 350
