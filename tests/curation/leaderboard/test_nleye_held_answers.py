"""Nothing public of a version that holds its answers tells gold, or which instances belong together."""

import hashlib
import io
import itertools
import json
import random
import re
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.evaluation.nleye_key import PRESENTATIONS
from curation.families.nleye.instances import pair_instances, triplet_instances
from curation.leaderboard.models import Leaderboard, LeaderboardTeam
from curation.leaderboard.selectors.boards import board_folder
from curation.leaderboard.services import boards as services
from curation.models import (
    DatasetVersion,
    ImageTriplet,
    PickOrigin,
    Scene,
    TripletExplanation,
    VersionRow,
)
from curation.services.triplets.explanation_rounds import take_in_crowd_explanations
from curation.services.triplets.images import pick_image
from curation.services.triplets.settings import SettingsChange, change_settings
from curation.services.triplets.triplets import build_triplets
from curation.services.versions import create_sealed_version
from hits.domain.hashing import canonical_json
from hits.models import Project
from tests.support.curation.leaderboards import scored, zipped
from tests.support.nleye_boards import (
    COUNT,
    Files,
    answers,
    export,
    make_board,
    seal,
    stored_rows,
)
from tests.support.nleye_published import (
    ROLES,
    folder_files,
    published_rows,
    read_lines,
    sha256,
    write_published,
)
from tests.support.nleye_stored import ROLES as SCENE_ROLES
from tests.support.nleye_stored import (
    explain,
    judge,
    keep_scenes,
    nleye_project,
    store_image,
    store_scenes,
)

pytestmark = pytest.mark.django_db
SEED = 987_654_321_012


@pytest.fixture
def version(project: Project, tmp_path: Path) -> DatasetVersion:
    """A sealed version of imported triplets that holds its answers."""
    return seal(nleye_project(project), write_published(tmp_path / "P", published_rows(COUNT)))


@pytest.fixture
def board(version: DatasetVersion) -> Leaderboard:
    return make_board(version)


@pytest.fixture
def team(board: Leaderboard) -> LeaderboardTeam:
    return services.add_team(board=board, name="Baker Street", by=None)[0]


@pytest.fixture
def telling_version(project: Project, researcher: User, tmp_path: Path) -> DatasetVersion:
    """A sealed version that holds its answers, whose every secret stands out.

    Three triplets were made and judged here, the others imported with their origins.
    """
    scenes = store_scenes(nleye_project(project), 3)
    keep_scenes(scenes, researcher)
    for scene, role in itertools.product(scenes, SCENE_ROLES):
        origin = {"prompt": f"prompt-sentinel {scene.pk} {role}", "seed": SEED, "model": "model-sentinel"}
        row = store_image(scene, role, **origin)
        pick_image(scene=scene, role=role, image=row, by=researcher, origin=PickOrigin.QUEUE)
    triplets = build_triplets(project=project, by=researcher).triplets
    explain(triplets, researcher)
    judge(project, {row.public_id: ("right", "right", "wrong") for row in triplets}, researcher)
    take_in_crowd_explanations(project)
    folder = write_published(tmp_path / "P", published_rows(COUNT - 3))
    lines = [
        {
            "premise": {
                "sha256": sha256(path.read_bytes()),
                "generator": "g-sentinel",
                "prompt": f"p-sentinel {path}",
                "seed": SEED,
            }
        }
        for path in folder.rglob("*.png")
    ]
    (folder / "provenance.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return seal(project, folder)


def unpacked(files: Files) -> Files:
    """Return files with the members of zips beside them."""
    found = dict(files)
    for name, data in files.items():
        if name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                found |= {f"{name}/{member}": archive.read(member) for member in archive.namelist()}
    return found


def public_files(board: Leaderboard, export: Path) -> Files:
    """Return all that teams or anybody can have: of a board all but its held folder, and an export's public one."""
    home = board_folder(board)
    found = {
        name: data for name, data in folder_files(home).items() if not name.startswith(("held/", "entries/"))
    }
    found |= {
        f"export/{name}": data for name, data in folder_files(export).items() if not name.startswith("held/")
    }
    return unpacked(found)


def sentinels(version: DatasetVersion) -> set[str]:
    """Return texts and ids that tell what an instance is, how it was made, or what is right."""
    found = {
        "-sentinel",
        str(SEED),
        version.manifest_sha256,
        "gold",
        "candidate",
        "hypothesis1",
        "hypothesis2",
    }
    found |= {"as_listed", "swapped", "reasoning_category", "seal.jsonl"}
    for scene in Scene.objects.all():
        found |= {scene.premise, scene.hypothesis_a, scene.hypothesis_b, scene.why, scene.public_id} - {""}
    found |= {text for row in TripletExplanation.objects.all() for text in (row.text, row.public_id)}
    found |= set(ImageTriplet.objects.values_list("public_id", flat=True))
    return found | set(VersionRow.objects.values_list("sha256", flat=True))


def forms(text: str) -> set[bytes]:
    """Return a text as files may have it: as it is, and escaped in JSON."""
    return {
        form.lower().encode()
        for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    }


def test_public_files_have_no_text_gold_prompt_seed_or_hash_of_a_row(
    telling_version: DatasetVersion, tmp_path: Path
) -> None:
    board = make_board(telling_version, data=services.LeaderboardDataOptions(passing="all"))
    out = export(telling_version, tmp_path / "D")
    found = public_files(board, out)
    assert {
        "manifest.json",
        "public/triplet.jsonl",
        "public/pairs.jsonl",
        "instances.zip/pairs.jsonl",
    } <= set(found)
    assert {"export/public/instances.jsonl", "export/public/README.md", "export/public/manifest.json"} <= set(
        found
    )
    assert sum(name.startswith("export/public/images/") for name in found) == 3 * COUNT
    assert not any(
        name.endswith(("seal.jsonl", ".csv", "annotators.jsonl", "provenance.jsonl")) for name in found
    )
    secrets = sentinels(telling_version)
    assert len(secrets) > 9 * COUNT
    for name, data in found.items():
        searched = (name.encode() + b"\0" + data).lower()
        assert not [secret for secret in secrets if any(form in searched for form in forms(secret))], name
    held = folder_files(out / "held")
    assert {"seal.jsonl", "test_set.csv", "provenance.jsonl", "annotators.jsonl", "manifest.json"} <= set(
        held
    )
    for folder in (out / "held", board_folder(board) / "held"):
        assert folder.stat().st_mode & 0o077 == 0
    # The search finds what is held. Reasons of writers and ids of scenes are in no file.
    everything = b"".join([*held.values(), *folder_files(board_folder(board) / "held").values()]).lower()
    absent = {secret for secret in secrets if not any(form in everything for form in forms(secret))}
    assert absent == {text for row in Scene.objects.all() for text in (row.why, row.public_id) if text}
    _check_labels(telling_version, found)


def _check_labels(version: DatasetVersion, found: Files) -> None:
    """Check that no hash of a row or an answer, with either label, stands in a public file."""
    searched = b"\n".join(name.encode() + data for name, data in found.items()).lower()
    tried = 0
    for key, row in stored_rows(version):
        sealed = VersionRow.objects.get(version=version, part="nleye_triplet", instance_id=key).sha256
        facets = {"category": row["reasoning_category"], "domain": row["domain"]}
        guesses = {gold: canonical_json(row | {"gold": gold}) for gold in (1, 2)}
        assert sealed in {
            hashlib.sha256(guess).hexdigest() for guess in guesses.values()
        }  # as a public hash would tell
        for gold, guess in guesses.items():
            held = canonical_json({"id": key, "gold": gold, **facets})
            for content in (guess, guess + b"\n", held, f"{key}{gold}".encode(), f"{key}:h{gold}".encode()):
                for kind in ("sha256", "sha1", "md5", "sha512", "blake2b"):
                    tried += 1
                    assert hashlib.new(kind, content).hexdigest()[:16].encode() not in searched
    assert tried == COUNT * 2 * 5 * 5


def test_instances_are_complete_and_in_a_random_order(
    version: DatasetVersion, board: Leaderboard, tmp_path: Path
) -> None:
    out = export(version, tmp_path / "D")
    public = board_folder(board) / "public"
    triplets, pairs = read_lines(public / "triplet.jsonl"), read_lines(public / "pairs.jsonl")
    assert read_lines(out / "public" / "instances.jsonl") == triplets
    assert board.tasks == {"triplet": 2 * COUNT, "pairs": 2 * COUNT}
    assert {tuple(sorted(row)) for row in triplets} == {("id", "image1", "image2", "premise")}
    assert {tuple(sorted(row)) for row in pairs} == {("image", "pair_id", "premise")}
    both = defaultdict(list)
    for row in triplets:
        both[row["premise"]].append((row["image1"], row["image2"]))
    assert len(both) == COUNT
    assert all(first == second[::-1] for first, second in both.values())  # the pictures tell the pairing
    singles = defaultdict(set)
    for row in pairs:
        singles[row["premise"]].add(row["image"])
    assert {premise: set(found[0]) for premise, found in both.items()} == dict(singles)
    for rows, name in ((triplets, "id"), (pairs, "pair_id")):
        ids = [row[name] for row in rows]
        assert ids == sorted(ids)
        assert len(set(ids)) == 2 * COUNT
        assert all(re.fullmatch(r"[0-9a-f]{20}", value) for value in ids)
    photos = json.loads((public / "photos.json").read_text())
    names = [row["img_fn"] for row in photos]
    assert set(names) == {row[role] for row in triplets for role in ("premise", "image1", "image2")}
    assert names == sorted(names)  # not the order in which premise and hypotheses were drawn
    pictures = folder_files(out / "public" / "images")
    assert {f"images/{name}" for name in pictures} == set(names)
    hashes = {hashlib.sha256(data).hexdigest() for data in pictures.values()}
    assert hashes == {digest for _, row in stored_rows(version) for digest in row["images"].values()}
    stems = {name.rpartition("/")[2].partition(".")[0] for name in names}
    assert not any(digest.startswith(stem) for digest in hashes for stem in stems)


def test_presentations_of_a_triplet_have_unrelated_ids() -> None:
    rows = [
        (
            f"{number:032x}",
            {"images": {role: f"{number:060x}{place:04x}" for place, role in enumerate(ROLES)}},
        )
        for number in range(500)
    ]
    found = triplet_instances(rows, "secret")
    order = {(row.triplet, row.shown): place for place, row in enumerate(found)}
    listed, swapped = ([order[key, shown] for key, _ in rows] for shown in PRESENTATIONS)
    neighbours = sum(abs(one - other) == 1 for one, other in zip(listed, swapped, strict=True))
    assert neighbours <= 6  # about one is expected by chance
    first = sum(one < other for one, other in zip(listed, swapped, strict=True))
    assert 200 < first < 300  # neither presentation stands first
    ids = {row.id for row in found} | {row.id for row in pair_instances(rows, "secret")}
    assert len(ids) == 2000
    # Parts of ids are as often alike between presentations of a triplet as between others.
    by_slot = {(row.triplet, row.shown): row.id for row in found}
    alike = sum(
        one == other
        for key, _ in rows
        for one, other in zip(*(by_slot[key, shown] for shown in PRESENTATIONS), strict=True)
    )
    assert 500 < alike < 760  # 500 × 20 digits, of which a 16th is alike by chance: 625
    # Another secret gives other ids, and nothing but the secret is needed to make them.
    assert not ids & {row.id for row in triplet_instances(rows, "other")}
    assert [row.id for row in triplet_instances(random.Random(1).sample(rows, 500), "secret")] == [
        row.id for row in found
    ]
    guesses = (
        hashlib.new(kind, f"{before}{key}{after}".encode()).hexdigest()[:20]
        for key, _ in rows
        for kind in ("sha256", "sha1", "md5")
        for before, after in itertools.product(
            ("", *PRESENTATIONS, "as_listed:", "swapped:"), ("", *PRESENTATIONS)
        )
    )
    assert not ids & set(guesses)


def test_pages_and_api_of_a_board_have_nothing_held(
    client: Client, version: DatasetVersion, board: Leaderboard, team: LeaderboardTeam
) -> None:
    services.set_board_is_public(board=board, is_public=True, by=None)
    files, _, _ = answers(board, seed=9)
    entry = scored(team, zipped(files))
    value = entry.figures["triplet"]["consistency_accuracy"]["value"]
    found = client.get(reverse("api-leaderboard", args=[board.slug])).json()
    assert found["measures"][0]["name"] == "consistency_accuracy"
    (row,) = found["entries"]
    assert row["figures"]["consistency_accuracy"]["value"] == pytest.approx(value, abs=0.05)
    texts = [json.dumps(found)]
    for name in ("leaderboard", "leaderboard-submit"):
        reply = client.get(reverse(name, args=[board.slug]))
        assert reply.status_code == 200
        texts.append(reply.content.decode())
    assert any("equal pictures show it" in " ".join(text.split()) for text in texts)
    words = {
        "gold",
        "candidate",
        "hypothesis1",
        "hypothesis2",
    }  # of which pages and measures speak in general
    secrets = sentinels(version) | {version.manifest_sha256[:12]}
    assert not [secret for text in texts for secret in secrets - words if secret in text]


def test_an_open_version_is_one_folder_with_its_seal(version: DatasetVersion, tmp_path: Path) -> None:
    change_settings(project=version.project, change=SettingsChange(holds_answers=False), by=None)
    later = create_sealed_version(project=version.project, name="v2", by=None)
    out = export(later, tmp_path / "E")
    assert {"seal.jsonl", "test_set.csv", "manifest.json"} <= {path.name for path in out.iterdir()}
    assert not (out / "public").exists()
    held = export(version, tmp_path / "D")  # what was sealed as held stays held
    assert {path.name for path in held.iterdir()} == {"public", "held"}
