"""The filter queue of scenes by keys, and the pages about scenes and prompts at every width, in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from curation.models import SceneDecision, SceneTwins
from hits.models import Project
from tests.support.axe import ALL_SIZES, check_page, check_sizes
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "light"), (1280, "light"), (1920, "dark")]


def verdicts() -> list[tuple[int, str, list[str], int | None]]:
    """Return the stored verdicts, oldest first."""
    rows = SceneDecision.objects.order_by("pk")
    return [(row.scene_id, row.verdict, row.reasons, row.twin_id) for row in rows]


def drop_with_two_reasons(page: Page) -> None:
    keys, dialog = page.keyboard, page.locator("#reasons")
    keys.press("d")
    expect(dialog).to_be_visible()
    check_page(page, "the dialog about reasons")
    keys.press("Enter")  # without a reason
    expect(dialog.get_by_text("Choose at least one reason.")).to_be_visible()
    keys.press("n")
    expect(dialog.get_by_text("It repeats scene")).to_be_visible()
    keys.press("c")
    keys.press("Enter")


def revise_with_note(page: Page, note: str) -> None:
    """Open the dialog, cancel it, open it again, and store the verdict from the note."""
    keys, dialog = page.keyboard, page.locator("#reasons")
    keys.press("r")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    keys.press("r")
    keys.press("c")
    dialog.get_by_role("textbox", name="Note").fill(note)
    keys.press("Enter")


def test_queue_is_worked_through_by_keys_alone(
    site: str,
    open_page: OpenPage,
    sign_in: Callable[..., None],
    researcher: User,
    project: Project,
) -> None:
    scenes = store_scenes(nleye_project(project), 4)
    first, second, third, fourth = (scene.pk for scene in scenes)
    twins = {
        scenes[1].public_id: [scenes[2].public_id, 0.91],
        scenes[2].public_id: [scenes[0].public_id, 0.31],
    }
    SceneTwins.objects.create(project=project, encoder="made up", twins=twins)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("scenes", args=[project.slug]))
    check_sizes(page, "the queue of scenes", SIZES)
    focused = page.locator("[data-scene]:focus")
    keys = page.keyboard

    keys.press("j")
    expect(focused).to_have_attribute("data-scene", str(first))
    keys.press("k")
    expect(page.locator(f"#scene-{first} [data-state]")).to_have_text("Kept")
    expect(focused).to_have_attribute("data-scene", str(second))
    expect(page.locator(".quotas summary")).to_contain_text("1 kept")
    expect(page.locator("[data-scene-count]")).to_have_text("3 scenes")
    expect(page.locator(".next-steps")).to_contain_text("1 kept scene waits for prompts")

    keys.press("t")
    expect(page.locator(f"#scene-{second} details")).to_have_attribute("open", "")
    drop_with_two_reasons(page)
    expect(page.locator(f"#scene-{second} [data-state]")).to_have_text("Dropped")
    expect(focused).to_have_attribute("data-scene", str(third))

    keys.press("ArrowDown")
    expect(focused).to_have_attribute("data-scene", str(fourth))
    keys.press("ArrowUp")
    keys.press("u")  # the newest verdict of this page, wherever the focus is
    expect(page.locator(f"#scene-{second} [data-state]")).to_have_text("Waiting for you")
    expect(focused).to_have_attribute("data-scene", str(second))

    revise_with_note(page, "Which of the two?")
    expect(page.locator(f"#scene-{second} [data-state]")).to_have_text("To revise")
    focused.press("t")  # a scene that is not close is compared, too
    expect(page.locator(f"#scene-{third} details")).to_have_attribute("open", "")

    page.get_by_role("button", name="Turn keys off").click()
    page.locator(f"#scene-{fourth}").focus()
    keys.press("k")
    assert verdicts() == [
        (first, "keep", [], None),
        (second, "drop", ["uniqueness", "unclear"], third),
        (second, "undone", [], None),
        (second, "revise", ["unclear"], None),
    ]
    assert SceneDecision.objects.latest("pk").note == "Which of the two?"


def test_click_on_a_stale_page_shows_what_is_stored(
    site: str,
    open_page: OpenPage,
    sign_in: Callable[..., None],
    researcher: User,
    project: Project,
) -> None:
    scene = store_scenes(nleye_project(project), 1)[0]
    page = open_page(390, 844, has_touch=True)
    sign_in(page, researcher.username)
    page.goto(reverse("scenes", args=[project.slug]))
    SceneDecision.objects.create(scene=scene, verdict="keep", by=researcher)
    card = page.locator(f"#scene-{scene.pk}")
    dialog = page.locator("#reasons")
    card.locator("[data-act=revise]").tap()
    dialog.get_by_label("Not clear").check()
    dialog.get_by_role("button", name="Revise").tap()
    expect(page.locator(".toast")).to_contain_text("somebody decided about it after you opened the page")
    expect(card.locator("[data-state]")).to_have_text("Kept")
    card.locator("[data-act=undo]").tap()
    expect(card.locator("[data-state]")).to_have_text("Waiting for you")
    assert verdicts() == [(scene.pk, "keep", [], None), (scene.pk, "undone", [], None)]


def test_pages_of_scenes_prompts_and_settings_fit_every_window(
    site: str,
    open_page: OpenPage,
    sign_in: Callable[..., None],
    researcher: User,
    project: Project,
) -> None:
    scenes = store_scenes(nleye_project(project), 2)
    keep_scenes(scenes, researcher)
    approve_prompts(scenes[:1], researcher)
    slug, scene = project.slug, scenes[0].pk
    page = open_page()
    sign_in(page, researcher.username)
    pages = [("scene", [slug, scene]), ("scene-prompts", [slug]), ("triplet-settings", [slug])]
    if ALL_SIZES:
        pages += [("scene-launch", [slug]), ("scene-prompts-augment", [slug])]
    for name, arguments in pages:
        page.goto(reverse(name, args=arguments))
        check_sizes(page, f"the page {name}", SIZES)
