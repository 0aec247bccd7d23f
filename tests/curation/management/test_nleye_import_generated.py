"""The command ``import_generated``: images made elsewhere become candidates; a bad folder leaves nothing behind."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from curation.models import GeneratedImage, Import, ImportedRow, Scene, SceneVerdict
from curation.models.scenes import SceneReason
from curation.pipelines.triplets import import_generated as pipeline
from curation.pipelines.triplets.image_drawer import read_image
from curation.services.triplets.scenes import ReaderDecision, decide_scene
from hits.models import Image, Project
from tests.support.generation import picture_file, pixels
from tests.support.nleye_jobs import refusal, run_json
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes

pytestmark = pytest.mark.django_db
HEADER = "scene_id,image,model,prompt,seed,licence\n"
NAMES = {"premise": "premise.png", "a": "hypothesis1.jpg", "b": "hypothesis2.webp"}
KINDS = {"premise": "PNG", "a": "JPEG", "b": "WEBP"}


@pytest.fixture
def scenes(project: Project, researcher: User) -> list[Scene]:
    """Return two kept scenes; the first one has approved prompts."""
    rows = store_scenes(nleye_project(project), 2)
    keep_scenes(rows, researcher)
    approve_prompts(rows[:1], researcher)
    return rows


def write_folder(folder: Path, scenes: list[Scene]) -> Path:
    """Write a folder with the three images of each scene, and its manifest."""
    for number, scene in enumerate(scenes):
        (folder / scene.public_id).mkdir(parents=True)
        for role, name in NAMES.items():
            data = picture_file(KINDS[role], seed=3 * number + list(NAMES).index(role))
            (folder / scene.public_id / name).write_bytes(data)
    lines = [
        f"{scene.public_id},,midjourney 7,a lamp,{number},unknown\n" for number, scene in enumerate(scenes)
    ]
    lines.append(f"{scenes[0].public_id},premise,dall-e-3,another lamp,unknown,CC0\n")
    (folder / "manifest.csv").write_text(HEADER + "".join(lines))
    return folder


def test_a_folder_or_its_zip_becomes_candidates_once(
    project: Project, scenes: list[Scene], tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "made", scenes)
    found = run_json("import_generated", folder, project=project.slug)
    assert (found["images"], found["new"]) == (6, 6)
    rows = {
        (row.scene_id, row.role): row
        for row in GeneratedImage.objects.select_related("imported_row", "image")
    }
    assert len(rows) == 6
    for (key, role), row in rows.items():
        scene = next(scene for scene in scenes if scene.pk == key)
        is_named = scene == scenes[0] and role == "premise"
        assert (row.generator, row.run, row.call) == ("import", None, None)
        assert (row.model, row.licence) == (("dall-e-3", "CC0") if is_named else ("midjourney 7", "unknown"))
        assert row.seed == (None if is_named else scenes.index(scene))
        assert row.prompt == ("another lamp" if is_named else "a lamp")
        assert row.imported_row is not None
        assert row.imported_row.location == f"{scene.public_id}/{NAMES[role]}"
        assert (row.prompt_set is not None) == (scene == scenes[0])
        assert row.image.file.name.endswith(".png")
        original = pixels((folder / scene.public_id / NAMES[role]).read_bytes())
        assert pixels(read_image(row)).tobytes() == original.tobytes()
        assert not any(word in row.image.name for word in (scene.public_id, "premise", "hypothesis"))
    assert run_json("import_generated", folder, project=project.slug)["new"] == 0
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, f"outer/{file.relative_to(folder)}")
    assert run_json("import_generated", path, project=project.slug) | {"import": 0} == {
        "import": 0,
        "images": 6,
        "new": 0,
    }
    assert (Import.objects.count(), ImportedRow.objects.count()) == (1, 6)


def test_a_folder_that_another_process_imports_meanwhile_is_stored_once(
    project: Project, scenes: list[Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_folder(tmp_path / "made", scenes)
    real, others = pipeline.store_image_file, []

    def store_later(**given: Any) -> Image:
        if not others:
            others.append(None)
            others.append(pipeline.import_generated(project=project, path=folder, by=None))
        return real(**given)

    monkeypatch.setattr(pipeline, "store_image_file", store_later)
    found = pipeline.import_generated(project=project, path=folder, by=None)
    assert others[1] is not None
    assert (others[1].new, found.new, found.source) == (6, 0, others[1].source)
    assert (Import.objects.count(), GeneratedImage.objects.count()) == (1, 6)


def test_pictures_that_were_taken_down_or_show_two_roles_are_named(
    project: Project, scenes: list[Scene], tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "made", scenes)
    place = folder / scenes[0].public_id
    (place / NAMES["b"]).unlink()
    (place / "hypothesis2.png").write_bytes((place / NAMES["premise"]).read_bytes())
    same = refusal("import_generated", folder, project=project.slug)
    assert f"{scenes[0].public_id}/" in same
    assert "is the same picture as " in same
    (place / "hypothesis2.png").write_bytes(picture_file("PNG", seed=50))
    run_json("import_generated", folder, project=project.slug)
    down = GeneratedImage.objects.get(scene=scenes[1], role="a")
    Image.objects.filter(pk=down.image_id).update(taken_down_at=timezone.now())
    (folder / "manifest.csv").write_text(
        (folder / "manifest.csv").read_text().replace("midjourney 7", "midjourney 8")
    )
    assert f"{scenes[1].public_id}/{NAMES['a']}: was taken down here" in refusal(
        "import_generated", folder, project=project.slug
    )
    assert (Import.objects.count(), GeneratedImage.objects.count()) == (1, 6)
    Image.objects.update(taken_down_at=None)
    (place / NAMES["a"]).unlink()
    (place / "hypothesis1.png").write_bytes((place / NAMES["premise"]).read_bytes())
    assert "is the same picture as the premise of this scene" in refusal(
        "import_generated", folder, project=project.slug
    )


def test_a_bad_folder_is_one_line_and_leaves_nothing(
    project: Project, scenes: list[Scene], researcher: User, tmp_path: Path
) -> None:
    first = scenes[0].public_id

    def replace(folder: Path, old: str, new: str) -> None:
        path = folder / "manifest.csv"
        path.write_text(path.read_text().replace(old, new))

    cases = [
        (lambda f: (f / "manifest.csv").unlink(), "has no manifest.csv; add one with the columns scene_id"),
        (lambda f: replace(f, "licence", "rights"), "has no column licence (found: scene_id, image, model"),
        (
            lambda f: replace(f, ",unknown\n", ",\n"),
            "column licence: is empty; if nobody knows it, write unknown",
        ),
        (lambda f: replace(f, "midjourney 7", ""), "column model: is empty"),
        (lambda f: replace(f, ",0,", ",-1,"), "column seed: '-1'; write a whole number"),
        (lambda f: replace(f, first, "nobody"), "has no row in manifest.csv"),
        (lambda f: (f / first / NAMES["a"]).write_bytes(b"no image"), f"{first}/hypothesis1.jpg"),
        (lambda f: (f / first / "notes.txt").write_text("x"), f"{first}/notes.txt: is not expected"),
        (
            lambda f: (f / first / "premise.jpg").write_bytes(picture_file("JPEG")),
            "is there too; keep one",
        ),
        (lambda f: (f / first / "hypothesis1.png").symlink_to("/etc/hostname"), "leads out of"),
        (
            lambda f: (f / first).rename(f / "nobody") and replace(f, first, "nobody"),
            "this project has no scene nobody",
        ),
    ]
    for number, (spoil, message) in enumerate(cases):
        folder = write_folder(tmp_path / str(number), scenes)
        spoil(folder)
        text = refusal("import_generated", folder, project=project.slug)
        assert message in text
    assert "is neither a folder nor a zip" in refusal(
        "import_generated", tmp_path / "none", project=project.slug
    )
    folder = write_folder(tmp_path / "dropped", scenes)
    decide_scene(
        scene=scenes[1], decision=ReaderDecision(SceneVerdict.DROP, [SceneReason.UNCLEAR]), by=researcher
    )
    text = refusal("import_generated", folder, project=project.slug)
    assert f"scene {scenes[1].public_id} is not kept; decide about it first" in text
    assert not any(table.objects.exists() for table in (GeneratedImage, Import, ImportedRow, Image))
