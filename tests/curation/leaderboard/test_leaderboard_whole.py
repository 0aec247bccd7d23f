"""The whole way: a sealed version becomes a leaderboard, a model's zip is submitted, and the figures are right."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command, load_command_class
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.leaderboard.models import EntryState, Leaderboard
from curation.leaderboard.selectors.boards import board_folder, count_taken_down_photos
from curation.leaderboard.services import boards as services
from curation.models import ImageProposals, Pair, ProposalRun
from curation.services.versions import create_version, seal_version
from curation.versions.photos import allows_redistribution
from hits.domain.states import JobState
from hits.models import Image
from hits.services.errors import Conflict
from hits.services.jobs import jobs
from tests.curation.services.test_versions import rated_round
from tests.support.curation.leaderboards import predictions, scored
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def pairs(work: Work) -> list[Pair]:
    """Return the pairs of three photos: a judged round of some, and proposed boxes, the first as people drew them."""
    found = [
        pair
        for seed in range(1, 4)
        for pair in work.observed(work.image(seed), worker=f"W{seed}", salt=f"photo {seed} " * seed)
    ]
    rated_round(work, found[:4])
    run = ProposalRun.objects.create(project=work.project, detector="made up", is_complete=True)
    for image in {pair.image for pair in found}:
        boxes = [
            [box["left"], box["top"], box["width"], box["height"], 0.5]
            for pair in found
            if pair.image_id == image.pk
            for box in pair.boxes[:1]
        ]
        ImageProposals.objects.create(run=run, image=image, boxes=[*boxes, [0, 0, 1, 1, 0.1]])
    return found


def made(work: Work, capsys: Any, *more: str) -> Leaderboard:
    if not work.project.versions.exists():
        version = create_version(project=work.project, name="v1", by=None)
        seal_version(version=version, by=None)
    capsys.readouterr()
    call_command(
        "create_leaderboard", "v1", "--project", work.project.slug, "--title", "Whole", "--json", *more
    )
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    board = Leaderboard.objects.get(slug=result["leaderboard"])
    assert result["state"] == JobState.DONE
    assert result["expected"] == board.tasks
    return board


def best_scores(home: Path) -> dict[str, list[float]]:
    """Return what somebody who knew the keys would submit, in the order of the public ids."""
    scores: dict[str, list[float]] = {}
    for path in sorted((home / "held").rglob("*_answer_key.json")):
        name = path.name.removeprefix("all_").removesuffix("_answer_key.json")
        key = json.loads(path.read_text())
        (ids,) = (home / "public").rglob(f"all_{name}_instance_ids.json")
        value = _rating_of(key) if name == "comparison" else {one: _right(row) for one, row in key.items()}
        public_ids = json.loads(ids.read_text())
        assert public_ids == sorted(public_ids)
        scores[name] = [value[one] for one in public_ids]
    return scores


def _right(row: Any) -> float:
    if isinstance(row, list):
        return float(row[0] == row[1])
    return float(row.get("correct", row.get("IoU", 0.0)))


def _rating_of(key: Any) -> dict[str, float]:
    means = {
        (one["Input_iid"], candidate["source_iid"]): (candidate["annot1"] + candidate["annot2"]) / 2
        for one in key["annotations"]
        for candidate in one["candidates"]
    }
    return {one: means[row["Input_iid"], row["candidate"]] for one, row in key["test_id_map"].items()}


def test_from_a_sealed_version_to_figures(work: Work, pairs: list[Pair], capsys: Any) -> None:
    board = made(work, capsys)
    home = board_folder(board)
    assert board.sha256
    assert board.tasks == {"comparison": 3, "localization": 3 * (3 * 3 + 3 * 4), "retrieval_0": 81}
    assert (home / "held").stat().st_mode & 0o777 == 0o700
    assert not list(home.parent.glob(".*")), "nothing half-way is left"
    services.set_board_is_open(board=board, is_open=True, by=None)
    team, _ = services.add_team(board=board, name="Baker Street", by=None)
    entry = scored(team, predictions(best_scores(home)))
    assert (entry.state, entry.defect) == (EntryState.SCORED, "")
    found = entry.figures
    assert found["retrieval"]["p_at_1"]["value"] == 100.0
    assert found["retrieval"]["instances"] == 9
    assert found["localization"]["gt_accuracy"]["value"] == 100.0
    assert found["localization"]["auto_accuracy"]["value"] == 100.0
    assert found["comparison"]["model"] == found["comparison"]["oracle"]
    people = board.options["references"]["human"]["comparison"]["value"]
    assert people == found["comparison"]["human"]["value"], "what the empty table shows is what is measured"
    chance = board.options["references"]["random"]
    assert chance["p_at_1"]["value"] == pytest.approx(100 / 9)
    assert chance["im2txt"]["value"] == 5.0
    assert chance["gt_accuracy"]["value"] == pytest.approx(100 / 3)
    assert chance["comparison"]["value"] == found["comparison"]["random"]["value"]
    assert board.options["counts"] == {
        "p_at_1": 9,
        "im2txt": 9,
        "txt2im": 9,
        "gt_accuracy": 3,
        "auto_accuracy": 3,
        "comparison": 1,
    }


def test_chance_level_matches_random_scores(work: Work, pairs: list[Pair], capsys: Any) -> None:
    board = made(work, capsys, "--total", "400", "--daily", "100")
    services.set_board_is_open(board=board, is_open=True, by=None)
    team, _ = services.add_team(board=board, name="Lots", by=None)
    rng = np.random.default_rng(1)
    names = ("p_at_1", "im2txt", "gt_accuracy", "auto_accuracy")
    drawn: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(60):
        scores = {name: rng.random(count).tolist() for name, count in board.tasks.items()}
        entry = scored(team, predictions(scores))
        figures = entry.figures["retrieval"] | entry.figures["localization"]
        for name in names:
            drawn[name].append(figures[name]["value"])
    for name in names:
        expected = board.options["references"]["random"][name]["value"]
        reach = 4 * float(np.std(drawn[name])) / np.sqrt(60)
        assert abs(float(np.mean(drawn[name])) - expected) < reach, name


def test_public_files_hold_no_answer(work: Work, pairs: list[Pair], capsys: Any) -> None:
    board = made(work, capsys)
    home = board_folder(board)
    public = b"".join(path.read_bytes() for path in (home / "public").rglob("*.json"))
    for word in (b"annot1", b"IoU", b"correct", b"Input_iid", b"source_iid", b"confidence"):
        assert word not in public, word
    for pair in pairs:
        assert pair.instance_id.encode() not in public, "an instance id would give the pair away"
    import zipfile

    with zipfile.ZipFile(home / "instances.zip") as archive:
        names = set(archive.namelist())
    assert names == {
        path.relative_to(home / "public").as_posix() for path in (home / "public").rglob("*.json")
    }
    services.set_board_is_public(board=board, is_public=True, by=None)
    for path in (home / "held").rglob("*.json"):
        for name in (path.name, path.relative_to(home).as_posix(), f"../{path.relative_to(home).as_posix()}"):
            place = reverse("leaderboard-file", args=[board.slug, "x"]).removesuffix("x") + name
            assert Client().get(place).status_code == 404, place


def test_true_boxes_alone_leave_the_column_of_proposed_ones_out(
    work: Work, pairs: list[Pair], capsys: Any
) -> None:
    from curation.leaderboard.selectors.tables import board_measures

    board = made(work, capsys, "--proposals", "0")
    assert board.tasks["localization"] == 27
    assert "auto_accuracy" not in [one.name for one in board_measures(board)]


def test_rebuilding_keeps_existing_files(work: Work, pairs: list[Pair], capsys: Any) -> None:
    from curation.leaderboard import pipelines as pipeline

    board = made(work, capsys)
    assert board.job is not None
    before = {path: path.stat().st_mtime_ns for path in board_folder(board).rglob("*")}
    pipeline.build_leaderboard(board, jobs.Progress(board.job))
    assert {path: path.stat().st_mtime_ns for path in board_folder(board).rglob("*")} == before
    Leaderboard.objects.filter(pk=board.pk).update(sha256="")  # it died before it was written down
    board.refresh_from_db()
    job = services.jobs.enqueue(
        task="curation.build_leaderboard", title="Again", queue=False, leaderboard=board.pk
    )
    jobs.run_in_process(job=job)
    board.refresh_from_db()
    assert board.sha256


def test_version_and_split_are_named_as_the_other_commands_take_them(
    work: Work, pairs: list[Pair], capsys: Any
) -> None:
    splits = dict(zip(dict.fromkeys(pair.image_id for pair in pairs), ("train", "val", "test"), strict=True))
    for image, split in splits.items():
        Image.objects.filter(pk=image).update(split=split)
    version = create_version(project=work.project, name="v1", by=None)
    seal_version(version=version, by=None)
    project = ("--project", work.project.slug)
    for named, more, split in (
        (("--version", "v1"), (), "test"),
        (("v1",), ("--split", "val"), "val"),
        (("v1", "--version", "v1"), ("--split", "all"), ""),
    ):
        capsys.readouterr()
        call_command("create_leaderboard", *named, *project, "--title", f"B {split}", "--json", *more)
        board = Leaderboard.objects.get(
            slug=json.loads(capsys.readouterr().out.splitlines()[-1])["leaderboard"]
        )
        assert (board.version, board.split) == (version, split)
    with pytest.raises(CommandError, match="v1 is given too"):
        call_command("create_leaderboard", "v1", "--version", "v2", *project, "--title", "T")
    with pytest.raises(CommandError, match="--version v9: there is no such version"):
        call_command("create_leaderboard", "--version", "v9", *project, "--title", "T")
    assert Leaderboard.objects.count() == 3


def test_photos_taken_down_since_are_counted_in_their_split_and_left_out_of_a_new_one(
    work: Work, pairs: list[Pair], capsys: Any
) -> None:
    photo = pairs[0].image
    Image.objects.exclude(pk=photo.pk).update(split="val")
    Image.objects.filter(pk=photo.pk).update(split="test")
    boards = {split: made(work, capsys, "--split", split) for split in ("test", "val", "all")}
    assert [count_taken_down_photos(board) for board in boards.values()] == [0, 0, 0]
    Image.objects.filter(pk=photo.pk).update(taken_down_at=timezone.now())
    assert {split: count_taken_down_photos(board) for split, board in boards.items()} == {
        "test": 1,
        "val": 0,
        "all": 1,
    }
    after = made(work, capsys, "--split", "all")
    assert count_taken_down_photos(after) == 0
    assert (boards["all"].tasks["retrieval_0"], after.tasks["retrieval_0"]) == (9 * 9, 6 * 6)


def test_a_teams_command_takes_the_version_and_no_other(work: Work, pairs: list[Pair], capsys: Any) -> None:
    board = made(work, capsys)
    call_command("leaderboard_team", board.slug, "Baker Street", "--version", "v1")
    assert services.find_team_by_key(board=board, key=capsys.readouterr().out.strip()) is not None
    with pytest.raises(CommandError, match="--version v2: leaderboard whole is of v1"):
        call_command("leaderboard_team", board.slug, "Scotland Yard", "--version", "v2")
    assert board.teams.count() == 1


@pytest.mark.parametrize("name", ["create_leaderboard", "leaderboard_team"])
def test_version_is_never_the_frameworks(name: str) -> None:
    parser = load_command_class("curation.leaderboard", name).create_parser("manage.py", name)
    (flag,) = [one for one in parser._actions if "--version" in one.option_strings]
    assert flag.nargs != 0, "it takes a name"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("v9", "--project", "street-scenes", "--title", "T"), "no such version"),
        (("v1", "--project", "street-scenes", "--title", "T", "--split", "test"), "has no pair in test"),
        (("v1", "--project", "street-scenes", "--title", "T", "--daily", "0"), "daily limit"),
        (("v1", "--project", "street-scenes", "--title", "T", "--proposals", "77"), "no run 77"),
        (("v1", "--project", "street-scenes"), "--title"),
    ],
)
def test_command_gives_one_line_errors(work: Work, arguments: tuple[str, ...], message: str) -> None:
    work.observed(work.image(1))
    version = create_version(project=work.project, name="v1", by=None)
    seal_version(version=version, by=None)
    with pytest.raises(CommandError, match=message) as error:
        call_command("create_leaderboard", *arguments)
    assert error.value.returncode == 2
    assert not Leaderboard.objects.exists()


def load(client: Client, key: str, board: Leaderboard, name: str) -> bytes | None:
    """Load a file of a leaderboard with a team's key and nothing else."""
    reply = client.get(
        reverse("api-leaderboard-file", args=[board.slug, name]), headers={"authorization": f"Bearer {key}"}
    )
    return b"".join(reply.streaming_content) if reply.status_code == 200 else None


def test_a_team_loads_every_photo_of_the_instances_with_its_key(work: Work, capsys: Any) -> None:
    abouts = (
        {"licence": "CC BY 4.0", "credit": "A. Doyle"},
        {"licence": "all rights reserved", "source_url": "https://example.org/2.jpg"},
        {},
    )
    for seed, about in enumerate(abouts, start=1):
        work.observed(work.image(seed, **about), worker=f"W{seed}", salt=f"photo {seed} " * seed)
    board = made(work, capsys)
    assert board.options["photos"] == {"passed_on": 1, "by_source": 1, "nowhere": 1}
    _, key = services.add_team(board=board, name="Baker Street", by=None)
    client = Client()
    rows = {row["image"]: row for row in json.loads(load(client, key, board, "photos.json") or b"")}
    instances = json.loads(load(client, key, board, "all_retrieval/all_retrieval_0_instances.json") or b"")
    assert {one["image"]["url"] for one in instances} == rows.keys()
    given = [row for row in rows.values() if row["file"]]
    assert [(row["credit"], row["licence"]) for row in given] == [("A. Doyle", "CC BY 4.0")]
    (sourced,) = [row for row in rows.values() if row["source"]]
    assert (sourced["file"], sourced["source"]) == (None, "https://example.org/2.jpg")
    # The organisers' own word lets all of them be loaded.
    board = made(work, capsys, "--photos", "all")
    _, key = services.add_team(board=board, name="Baker Street", by=None)
    rows = {row["image"]: row for row in json.loads(load(client, key, board, "photos.json") or b"")}
    for one in instances:
        row = rows[one["image"]["url"]]
        data = load(client, key, board, row["file"])
        assert data is not None
        assert hashlib.sha256(data).hexdigest() == row["sha256"]
    anybody = client.get(reverse("api-leaderboard-file", args=[board.slug, row["file"]]))
    assert anybody.status_code == 404
    Image.objects.filter(sha256=row["sha256"]).update(taken_down_at=timezone.now())
    assert load(client, key, board, row["file"]) is None, "who asks after it was taken down gets it no more"


@pytest.mark.parametrize(
    ("licence", "given"),
    [("CC BY-NC 2.0", True), ("cc0", True), ("Public Domain", True), ("", False), ("© Getty", False)],
)
def test_licence_decides_whether_copies_are_allowed(licence: str, given: bool) -> None:
    assert allows_redistribution(licence) is given


def test_figures_over_the_kept_photos_are_shown_once_it_is_closed(
    work: Work, pairs: list[Pair], capsys: Any
) -> None:
    board = made(work, capsys, "--private-share", "34")
    kept = json.loads((board_folder(board) / "held" / "kept.json").read_text())
    assert len([name for name in kept["names"] if "/" in name]) == 1  # of three photos
    services.set_board_is_open(board=board, is_open=True, by=None)
    team, key = services.add_team(board=board, name="Baker Street", by=None)
    entry = scored(team, predictions(best_scores(board_folder(board))))
    assert (entry.state, entry.defect) == (EntryState.SCORED, "")
    counts = [one["retrieval"]["instances"] for one in (entry.figures, entry.figures["kept"])]
    assert counts == [6, 3]
    client, headers = Client(), {"authorization": f"Bearer {key}"}
    place = reverse("api-leaderboard", args=[board.slug])
    submission = reverse("api-leaderboard-submission", args=[board.slug, entry.pk])
    assert "kept" not in client.get(place, headers=headers).json()
    assert "kept" not in client.get(submission, headers=headers).json()["figures"]
    services.set_board_is_public(board=board, is_public=True, by=None)
    page = reverse("leaderboard", args=[board.slug])
    assert "shown when the leaderboard is closed" in squeezed(client.get(page))
    services.set_board_is_open(board=board, is_open=False, by=None)
    found = client.get(place, headers=headers).json()
    assert found["kept"]["entries"][0]["figures"]["p_at_1"]["value"] == 100.0
    assert "random" in [row["name"] for row in found["kept"]["references"]]
    assert "Results on the private photos" in client.get(page).text
    with pytest.raises(Conflict, match="were shown when it was closed"):
        services.set_board_is_open(board=board, is_open=True, by=None)


def test_a_share_that_leaves_nothing_is_refused(work: Work, pairs: list[Pair], capsys: Any) -> None:
    with pytest.raises(CommandError, match="3 photos is 0; keep at least one private"):
        made(work, capsys, "--private-share", "1")
