"""``manage.py import_nleye``: one line with status 2 for each bad input, and then neither a row nor a file."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.models import ImageTriplet
from curation.services.triplets import nleye_imports
from hits.domain.states import Role
from hits.models import Image, Project
from hits.services import projects
from hits.services.images.take_down import take_down_image
from tests.support.nleye_published import HEADER, published_rows, read_lines, table_bytes, write_published
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
Spoil = Callable[[Path], Any]


@pytest.fixture
def project(admin: User) -> Project:
    return projects.create_project(name="Elsewhere", by=admin, family="nleye")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_published(tmp_path / "P", published_rows(3))


def run(folder: Path, project: Project, *more: Any) -> None:
    call_command("import_nleye", folder, "--project", project.slug, *more)


def rows_of_all_tables() -> dict[str, int]:
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def stored_files() -> list[Path]:
    return [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()]


def refused(folder: Path, project: Project, *more: Any) -> str:
    """Return the message of a refused import, of which nothing may be left."""
    before = rows_of_all_tables()
    with pytest.raises(CommandError) as caught:
        run(folder, project, *more)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    assert rows_of_all_tables() == before
    assert stored_files() == []
    return str(caught.value)


def change(number: int, **values: str) -> Spoil:
    """Return what changes cells of a row, which is counted from 1."""

    def spoil(folder: Path) -> None:
        rows = published_rows(3)
        rows[number - 1] |= values
        (folder / "test_set.csv").write_bytes(table_bytes(rows))

    return spoil


def table(edit: Callable[[bytes], bytes]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "test_set.csv"
        path.write_bytes(edit(path.read_bytes()))

    return spoil


def image(name: str, data: bytes | None) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / "images" / name).unlink()
        if data is not None:
            (folder / "images" / name).write_bytes(data)

    return spoil


def link_out(name: str) -> Spoil:
    """Return what moves a file or folder away and leaves a symbolic link to it."""

    def spoil(folder: Path) -> None:
        moved = folder.parent / "elsewhere"
        (folder / name).rename(moved)
        (folder / name).symlink_to(moved)

    return spoil


def without(column: str) -> Spoil:
    header = [name for name in HEADER if name != column]
    rows = [{name: row[name] for name in header} for row in published_rows(3)]
    return lambda folder: (folder / "test_set.csv").write_bytes(table_bytes(rows, header))


def origins(line: str) -> Spoil:
    return lambda folder: (folder / "provenance.jsonl").write_text("\n" + line + "\n", encoding="utf-8")


def origin(**values: Any) -> Spoil:
    return origins(json.dumps({"triplet": "x", "premise": {"sha256": "ab", **values}}))


FOUND_HEADER = ", ".join(name for name in HEADER if name != "gold_hypothesis")
BAD: dict[str, tuple[Spoil, str]] = {
    "no table": (lambda folder: (folder / "test_set.csv").unlink(), r"P: has no table such as test_set.csv"),
    "empty table": (table(lambda _: b""), r"test_set.csv: is empty"),
    "header alone": (table(lambda data: data.partition(b"\r\n")[0]), r"test_set.csv: has no rows"),
    "no UTF-8": (table(lambda data: data + b"\xff"), r"test_set.csv: cannot be read as UTF-8"),
    "open quote": (table(lambda data: data + b'4,"x'), r"test_set.csv, line \d+: is no readable CSV"),
    "short line": (
        table(lambda data: data + b"4,social\r\n"),
        r"test_set.csv, line 8: has 2 values and the header has 11",
    ),
    "needed column": (
        without("gold_hypothesis"),
        rf"test_set.csv: has no column gold_hypothesis; .* The header is: {re.escape(FOUND_HEADER)}$",
    ),
    "missing image": (
        image("2/hypothesis1.png", None),
        r"line 4: images/2/hypothesis1.png is missing; add the file",
    ),
    "no image": (image("3/premise.png", b"<html>"), r"line 6: images/3/premise.png: is not a readable image"),
    "cut image": (
        image("3/premise.png", picture(48, 40, seed=1)[:90]),
        r"line 6: images/3/premise.png: is not a readable image",
    ),
    "wrong suffix": (
        image("1/premise.png", picture(48, 40, seed=1, image_format="JPEG")),
        r"line 2: images/1/premise.png: is a JPEG file; rename it",
    ),
    "one image twice": (
        image("1/hypothesis2.png", picture(48, 40, seed=11)),
        r"line 2: two of its images are the same file",
    ),
    "one id twice": (
        change(3, sample_id="1"),
        r"test_set.csv, line 6: sample 1 was on test_set.csv, line 2; give each a number",
    ),
    "id in two tables": (
        lambda folder: (folder / "train_set.csv").write_bytes(table_bytes(published_rows(1))),
        r"train_set.csv, line 2: sample 1 was on test_set.csv, line 2",
    ),
    "unknown split": (
        lambda folder: (folder / "test_set.csv").rename(folder / "exam_set.csv"),
        r"exam_set.csv: .*'exam'",
    ),
    "gold 3": (change(2, gold_hypothesis="3"), r"line 4, gold: '3' is neither 1 nor 2; correct it"),
    "no gold": (change(2, gold_hypothesis=""), r"line 4, gold: '' is neither 1 nor 2"),
    "gold in words": (change(2, gold_hypothesis="hypothesis1"), r"line 4, gold: 'hypothesis1' is neither"),
    "id 0": (change(2, sample_id="0"), r"line 4, sample_id: '0' is no number from 1"),
    "id that leaves": (change(2, sample_id="../1"), r"line 4, sample_id: '../1' is no number from 1"),
    "absolute id": (change(2, sample_id="/etc"), r"line 4, sample_id: '/etc' is no number from 1"),
    "huge id": (change(2, sample_id="9" * 400), r"line 4, sample_id: '9{40}' is no number"),
    "very long id": (change(2, sample_id="9" * 5000), r"line 4, sample_id: '9{40}' is no number"),
    "id in other digits": (change(2, sample_id="٢"), r"line 4, sample_id: '٢' is no number from 1"),
    "deep list": (change(1, explanations="[" * 100_000), r"line 2, explanations: is no JSON list"),
    "table that links to itself": (
        lambda folder: (folder / "train_set.csv").symlink_to("train_set.csv"),
        r"^train_set.csv leads nowhere; put the file itself there",
    ),
    "linked image": (link_out("images/1/premise.png"), r"line 2: images/1/premise.png leaves the folder; copy"),
    "linked folder": (link_out("images/2"), r"line 4: images/2/premise.png leaves the folder; copy"),
    "linked images": (link_out("images"), r"line 2: images/1/premise.png leaves the folder; copy"),
    "linked table": (link_out("test_set.csv"), r"^test_set.csv leaves the folder; copy"),
    "category": (
        change(1, reasoning_category="magical"),
        r"line 2, reasoning_category: 'magical' is not known; use physical,",
    ),
    "direction": (change(1, time_direction="up"), r"line 2, time_direction: 'up' is not known; use forward"),
    "duration": (change(1, time_duration="parallel"), r"line 2, time_duration: 'parallel' is not known; use short"),
    "no duration": (change(1, time_duration=""), r"line 2, time_duration: '' is not known; use short, long"),
    "long duration": (change(3, time_duration="d" * 11), r"line 6, time_duration: is longer than 10"),
    "no domain": (change(1, domain=" "), r"line 2, domain: is empty; fill it in"),
    "long domain": (change(1, domain="d" * 61), r"line 2, domain: is longer than 60 characters"),
    "no text": (change(1, premise_description=" "), r"line 2, premise_description: is empty; fill it in"),
    "long text": (change(1, hypothesis1_description="x" * 2001), r"hypothesis1_description: is longer than 2,000"),
    "NUL": (change(1, gold_explanation="a\0b"), r"line 2, gold_explanation: contains the control character U\+0000"),
    "broken list": (change(1, explanations='["a"'), r"line 2, explanations: is no JSON list"),
    "other list": (change(1, explanations="[1]"), r"line 2, explanations: is no list of texts"),
    "NUL in a list": (change(1, explanations='["a\\u0000"]'), r"explanation 1: contains the control character"),
    "surrogate": (change(1, explanations='["\\ud800"]'), r"explanation 1: contains the control character U\+D800"),
    "NUL elsewhere": (change(1, notes="\0"), r"line 2, other columns.notes: contains the control character"),
    "origins: no JSON": (origins("{"), r"provenance.jsonl, line 2: not valid JSON"),
    "origins: a list": (origins("[]"), r"provenance.jsonl, line 2: is no JSON object"),
    "origins: seed": (origin(seed="x"), r"provenance.jsonl, line 2, premise, seed: is no whole number from 0"),
    "origins: huge seed": (origin(seed=2**63), r"line 2, premise.seed: is too large a number"),
    "origins: cost": (origin(cost_micro_usd=-1), r"line 2, premise, cost_micro_usd: is no whole number from 0"),
    "origins: licence": (origin(licence="l" * 121), r"line 2, premise, licence: is longer than 120"),
    "origins: prompt": (origin(prompt=5), r"line 2, premise, prompt: is no text"),
    "origins: NaN": (origins('{"premise": {"sha256": "a", "parameters": {"x": NaN}}}'), r"parameters.x: is too"),
    "origins: NUL": (origin(model="a\0"), r"line 2, premise.model: contains the control character U\+0000"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_folder_is_refused_in_one_line(folder: Path, project: Project, name: str) -> None:
    spoil, message = BAD[name]
    spoil(folder)
    assert re.search(message, found := refused(folder, project)), found


def test_bad_folder_and_project_are_refused(folder: Path, project: Project, admin: User) -> None:
    assert "has no table" in refused(folder / "none", project)
    assert "has no table" in refused(folder / "a\0b", project)
    assert "is no readable TOML file" in refused(folder, project, "--columns", folder / "a\0b")
    other = projects.create_project(name="Street scenes", by=admin)
    assert "its family is sherlock; use a project of family nleye" in refused(folder, other)
    assert refused(folder, project, "--licence", "l" * 121).startswith("licence: has 121 characters: use 120")
    assert "citation: contains the control character" in refused(folder, project, "--citation", "a\0b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gold", "is no readable TOML file"),
        ("gold = " + "[" * 5000, "is no readable TOML file"),
        ("gold = " + "9" * 5000, "is no readable TOML file"),
        ("gold = 1", r"\[gold\]: is no table"),
        ("[label]\nname = 'x'", r"\[label\] is no field; use sample_id,"),
        ("[gold]\nnames = 'x'", r"\[gold\]: names is not known; use aliases, name, required, verified"),
        ("[gold]\nname = ' '", r"\[gold\]: needs a name of one line"),
        ("[gold]\nname = \"a\\u0000\"", r"\[gold\]: needs a name of one line"),
        ("[gold]\nname = 'x'\naliases = 'y'", r"\[gold\]: aliases is no list of names"),
        ("[gold]\nname = 'x'\nverified = 1", r"\[gold\]: verified is 1; write true or false"),
        ("[gold]\nname = 'x'\nrequired = false", r"\[gold\]: required is false, but no triplet can do without it"),
        ("[gold]\nname = 'domain'", "two fields are called domain; give each a name of its own"),
    ],
)  # fmt: skip
def test_bad_column_map_is_refused_in_one_line(
    folder: Path, project: Project, tmp_path: Path, text: str, message: str
) -> None:
    columns = tmp_path / "map.toml"
    columns.write_text(text)
    assert re.search(rf"^map.toml: {message}", found := refused(folder, project, "--columns", columns)), found


def test_map_entry_keeps_the_values_that_it_leaves_out(
    folder: Path, project: Project, tmp_path: Path
) -> None:
    columns = tmp_path / "map.toml"
    columns.write_text("[explanations]\nname = 'theirs'\n[gold]\nname = 'plausible'\n")
    without("explanations")(folder)  # optional still; and the aliases of gold are still read
    path = folder / "test_set.csv"
    path.write_bytes(path.read_bytes().replace(b"gold_hypothesis", b"label", 1))
    run(folder, project, "--columns", columns, "--licence", "CC0")
    assert ImageTriplet.objects.count() == 3


def test_image_that_was_taken_down_does_not_come_back(folder: Path, project: Project, admin: User) -> None:
    run(folder, project, "--licence", "CC0")
    row = ImageTriplet.objects.order_by("pk")[1]
    take_down_image(image=row.premise.image, by=admin, reason="withdrawn")
    change(1, gold_explanation="Another one.")(folder)
    before = rows_of_all_tables()
    with pytest.raises(CommandError, match=r"line 4: images/2/premise.png was taken down here; leave the"):
        run(folder, project)
    assert rows_of_all_tables() == before


def test_cell_with_an_address_is_never_read(folder: Path, project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture(99, 9, seed=77))
    rows = [
        row | {"premise_image": str(secret), "hypothesis1_image": "https://a.example/x"}
        for row in published_rows(3)
    ]
    (folder / "test_set.csv").write_bytes(table_bytes(rows))
    run(folder, project, "--licence", "CC0")  # a test that reached an address would fail
    assert set(Image.objects.values_list("width", flat=True)) == {48}


def test_import_that_dies_amid_its_rows_leaves_none_and_goes_on_later(
    folder: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = nleye_imports._store_scene
    monkeypatch.setattr(
        nleye_imports,
        "_store_scene",
        lambda source, origin, row: real(source, origin, row) if row.sample_id < 3 else 1 / 0,
    )
    before = rows_of_all_tables()
    with pytest.raises(ZeroDivisionError):
        run(folder, project, "--licence", "CC0")
    after = rows_of_all_tables()
    assert {name for name in after if after[name] != before[name]} == {"hits.Image"}  # without a triplet
    monkeypatch.undo()
    run(folder, project, "--licence", "CC0")
    assert (ImageTriplet.objects.count(), Image.objects.count()) == (3, 9)


def test_origins_are_found_by_the_file_of_an_image(folder: Path, project: Project, tmp_path: Path) -> None:
    from curation.models import GeneratedImage
    from tests.support.nleye_published import sha256

    data = (folder / "images" / "2" / "premise.png").read_bytes()
    known = {
        "sha256": sha256(data),
        "generator": "drawing",
        "licence": "own",
        "seed": 7,
        "prompt": "A queue\u2028.",
    }
    (folder / "provenance.jsonl").write_text(
        json.dumps({"premise": known}, ensure_ascii=False), encoding="utf-8"
    )
    assert read_lines(folder / "provenance.jsonl")[0]["premise"]["seed"] == 7
    run(folder, project, "--licence", "CC0")
    (row,) = GeneratedImage.objects.filter(generator="drawing")
    assert (row.licence, row.seed, row.prompt, row.image.licence) == ("own", 7, "A queue\u2028.", "own")
    assert set(GeneratedImage.objects.exclude(pk=row.pk).values_list("licence", "seed")) == {("CC0", None)}


def test_images_of_an_imported_triplet_lead_to_it_and_wait_for_no_pick(
    folder: Path, project: Project, client: Client, researcher: User
) -> None:
    projects.set_role(project=project, user=researcher, role=Role.RESEARCHER, by=None)
    run(folder, project)
    triplet = ImageTriplet.objects.filter(project=project).earliest("pk")
    client.force_login(researcher)
    shown = client.get(reverse("scene-images", args=[project.slug, triplet.scene_id])).content.decode()
    assert reverse("image-triplet", args=[project.slug, triplet.pk]) in shown
    assert shown.count('class="candidate"') == 3
    assert not re.search(r"not kept|Not picked|pick it first|data-pick|Draw one more", shown)
