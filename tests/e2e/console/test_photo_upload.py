"""Photos go in from the page: any number, the broken one named, what failed sent again."""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import expect

from hits.domain.states import JobState
from hits.models import Image, Job, Project
from tests.support.axe import check_sizes
from tests.support.pages import until
from tests.support.pictures import picture

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]


@pytest.fixture
def photos_page(
    open_page: Callable[..., Any], sign_in: Callable[..., None], researcher: User, project: Project
) -> Any:
    Path(settings.MEDIA_ROOT).mkdir(parents=True, exist_ok=True)  # the server's own leads there
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(f"/projects/{project.slug}/photos")
    return page


def make_files(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"photo-{number}.png" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(picture(seed=number))
    return paths


def test_more_files_than_a_form_takes_go_in_and_the_broken_one_is_named(
    photos_page: Any, project: Project, tmp_path: Path
) -> None:
    paths = make_files(tmp_path, 104)
    paths[7].write_bytes(b"no picture")
    manifest = tmp_path / "manifest.csv"
    manifest.write_text("file,credit,split\nphoto-3.png,Ann Own,val\n")
    photos_page.fill("#credit", "The whole group")
    photos_page.set_input_files("#files", paths)
    photos_page.set_input_files("#manifest", manifest)
    check_sizes(photos_page, "chosen", SIZES)
    photos_page.get_by_role("button", name="Add the photos").click()
    expect(photos_page.locator("[data-upload-count]")).to_have_text(
        "104 of 104 photos: 103 added, 1 refused", timeout=120_000
    )
    expect(photos_page.locator("[data-upload-problems] li")).to_have_text(
        ["photo-7.png: is not a readable image; export it again as JPEG or PNG"]
    )
    assert photos_page.input_value("#credit") == "The whole group"
    check_sizes(photos_page, "refused", SIZES)
    assert Image.objects.filter(project=project).count() == 103
    assert Image.objects.filter(credit="The whole group").count() == 102
    assert Image.objects.get(name="photo-3.png").split == "val"
    photos_page.get_by_role("link", name="Show the photos").click()
    expect(photos_page.locator(".photos li")).to_have_count(60)


@pytest.mark.photos
def test_real_photos_go_in_with_their_manifest(photos_page: Any, project: Project, tmp_path: Path) -> None:
    folder = os.environ.get("DEERSTALKER_DATA")
    if not folder:
        pytest.skip("DEERSTALKER_DATA is not set: THE REAL PHOTOGRAPHS ARE NOT TRIED")
    found = sorted((Path(folder) / "photos" / "images").glob("*.jpg"))
    broken = tmp_path / found[0].name
    broken.write_bytes(found[0].read_bytes()[:1000])
    photos_page.fill("#credit", "COCO")
    photos_page.set_input_files("#files", [broken, *found[1:]])
    photos_page.get_by_role("button", name="Add the photos").click()
    expect(photos_page.locator("[data-upload-count]")).to_have_text(
        f"{len(found)} of {len(found)} photos: {len(found) - 1} added, 1 refused", timeout=180_000
    )
    assert broken.name in photos_page.locator("[data-upload-problems]").inner_text()
    assert Image.objects.filter(project=project, credit="COCO").count() == len(found) - 1


def test_what_did_not_arrive_is_sent_again_and_a_cancel_keeps_what_is_in(
    photos_page: Any, project: Project, tmp_path: Path
) -> None:
    state = {"down": True}
    photos_page.route("**/photos/add", lambda route: route.abort() if state["down"] else route.continue_())
    photos_page.set_input_files("#files", make_files(tmp_path, 3))
    photos_page.get_by_role("button", name="Add the photos").click()
    count = photos_page.locator("[data-upload-count]")
    expect(count).to_have_text("3 of 3 photos: 3 not sent")
    state["down"] = False
    photos_page.get_by_role("button", name="Retry the failed photos").click()
    expect(count).to_have_text("3 of 3 photos: 3 added")
    assert Image.objects.filter(project=project).count() == 3


def test_a_manifest_with_a_mistake_stops_before_anything_is_sent(
    photos_page: Any, project: Project, tmp_path: Path
) -> None:
    manifest = tmp_path / "m.csv"
    manifest.write_text("file,split\nphoto-0.png,holdout\n")
    photos_page.set_input_files("#files", make_files(tmp_path, 1))
    photos_page.set_input_files("#manifest", manifest)
    photos_page.get_by_role("button", name="Add the photos").click()
    expect(photos_page.locator("[data-upload-problems]")).to_contain_text(
        "row 2, column split: 'holdout' is unknown"
    )
    assert not Image.objects.exists()
    assert json.dumps(state_of(photos_page)) == '["photo-0.png"]', "the choice stays"


def state_of(page: Any) -> list[str]:
    return page.locator("#files").evaluate("input => [...input.files].map(file => file.name)")


def test_a_zip_goes_to_its_job_and_a_bad_one_is_refused_on_the_page(
    photos_page: Any, project: Project, worker_process: None, tmp_path: Path
) -> None:
    good, bad = tmp_path / "shoot.zip", tmp_path / "cut.zip"
    with zipfile.ZipFile(good, "w") as archive:
        for path in make_files(tmp_path, 12):
            archive.write(path, f"shoot/{path.name}")
        archive.writestr("shoot/manifest.csv", "file,credit\nphoto-3.png,Ann Own\n")
    bad.write_bytes(good.read_bytes()[:500])
    photos_page.fill("#credit", "The whole group")
    photos_page.set_input_files("#zip", bad)
    photos_page.get_by_role("button", name="Add the photos").click()
    expect(photos_page.locator("[data-upload-problems] li")).to_have_text(
        ["cut.zip: is not a complete zip; make it again, or upload the photos themselves"]
    )
    check_sizes(photos_page, "a bad zip", SIZES)
    photos_page.set_input_files("#zip", good)
    photos_page.get_by_role("button", name="Add the photos").click()
    photos_page.wait_for_url("**/jobs/*/")
    until(photos_page, lambda: Job.objects.get().state == JobState.DONE, "the zip was not taken in")
    # The job's page loads itself anew when the job ends: a reload of our own would cut that one off.
    expect(photos_page.locator("main")).to_contain_text("Added")
    check_sizes(photos_page, "the zip's job", SIZES)
    photos_page.get_by_role("link", name="Show the photos").click()
    expect(photos_page.locator(".photos li")).to_have_count(12)
    assert Image.objects.get(name="photo-3.png").credit == "Ann Own"
    assert Image.objects.filter(credit="The whole group").count() == 11
