"""A researcher in the instruction editor: sees what workers will see, loses nothing, and sees others’ versions."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.domain.instructions import InstructionText
from hits.models import Batch, Hit, Image, Instructions, Project
from hits.services.instructions import publish_instructions
from tests.support import market
from tests.support.axe import check_sizes
from tests.support.loop import published
from tests.support.pages import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KIND = "sherlock_observation"


@pytest.fixture
def open_editor(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], project: Project, researcher: User
) -> Callable[..., Any]:
    """Return a function that opens the editor as a researcher."""

    def open_(**more: Any) -> Any:
        page = open_page(**more)
        sign_in(page, researcher.username)
        page.goto(f"/projects/{project.slug}/instructions")
        page.get_by_role("link", name="Write observations about one photo", exact=True).click()
        return page

    return open_


def test_type_look_reload_publish_and_show_on_a_batch(
    open_editor: Callable[..., Any], project: Project, make_image: Callable[..., Image]
) -> None:
    market.fund()
    image = make_image(1)
    published(project, [make_image(2)])
    page = open_editor()
    frame = page.frame_locator("#preview")
    assert "Spot a clue." in frame.locator(".how-b").inner_text()

    page.fill("[name=body]", f"Look **twice** at the edges.\n\n![a door](photo:{image.pk})")
    frame.locator("strong", has_text="twice").wait_for()
    assert frame.locator(f'img[src$="{image.file.name}"]').evaluate(
        "img => img.decode().then(() => img.naturalWidth)"
    )
    page.get_by_role("button", name="Add another example").click()
    page.fill("[name=examples-2-good]", "the cup *on its side*")
    frame.locator("em", has_text="on its side").wait_for()
    assert frame.locator(".worked").count() == 2

    until(page, lambda: "on its side" in page.evaluate("Object.values(localStorage).join()"))
    page.reload()
    page.get_by_text("Your unpublished draft is restored.").wait_for()
    assert page.input_value("[name=body]").startswith("Look **twice**")
    assert page.input_value("[name=examples-2-good]") == "the cup *on its side*"
    frame.locator("strong", has_text="twice").wait_for()

    page.fill("[name=note]", "Edges matter")
    page.get_by_role("button", name="Publish version 1").click()
    page.get_by_text("Version 1 is published.").wait_for()
    page.wait_for_load_state()  # its script forgets the draft
    assert [row["good"] for row in Instructions.objects.get().examples][1] == "the cup *on its side*"
    page.get_by_role("link", name="Edit the newest version").click()
    assert not page.locator("#draft-note").is_visible()

    batch = Hit.objects.get().unit.batch
    page.goto(f"/batches/{batch.pk}/")
    page.get_by_role("button", name="Switch to version 1…").click()
    page.get_by_text("Pages that are already open keep the version that they show").wait_for()
    page.get_by_role("button", name="Change the instructions").click()
    page.get_by_text("Pages opened from now on show version 1.").wait_for()
    batch.refresh_from_db()
    assert batch.instructions == Instructions.objects.get()


def test_what_is_typed_before_the_script_arrives_is_shown_kept_and_wins_over_an_older_draft(
    open_editor: Callable[..., Any],
) -> None:
    page = open_editor()
    page.fill("[name=body]", "An older draft.")
    page.fill("[name=summary]", "The draft’s summary.")
    until(page, lambda: "The draft’s summary" in page.evaluate("Object.values(localStorage).join()"))
    held: list[Any] = []
    page.route(re.compile(r"instruction-editor[^/]*\.js"), lambda route: held.append(route))
    page.reload(wait_until="commit")
    page.fill("[name=body]", "Typed **early**.")
    until(page, lambda: held)
    held[0].continue_()
    page.frame_locator("#preview").locator("strong", has_text="early").wait_for()
    assert page.input_value("[name=body]") == "Typed **early**."
    assert page.input_value("[name=summary]") == "The draft’s summary."
    until(page, lambda: "Typed **early**" in page.evaluate("Object.values(localStorage).join()"))


def test_what_somebody_else_published_meanwhile_is_shown_and_the_text_is_kept(
    open_editor: Callable[..., Any], project: Project, admin: User
) -> None:
    page = open_editor()
    page.fill("[name=body]", "Mine.")
    page.fill("[name=note]", "Mine")
    publish_instructions(
        project=project,
        kind_name=KIND,
        text=InstructionText("Theirs.", "Theirs."),
        note="Theirs",
        based_on=0,
        by=admin,
    )
    page.get_by_role("button", name="Publish version 1").click()
    page.get_by_role("heading", name=re.compile("ada published version 1 while you edited")).wait_for()
    assert page.input_value("[name=body]").strip() == "Mine."
    page.frame_locator("#preview").get_by_text("Mine.").wait_for()
    page.get_by_role("button", name="Publish version 2").click()
    page.get_by_text("Version 2 is published.").wait_for()


def test_without_scripts_the_preview_button_shows_and_publishing_works(
    open_editor: Callable[..., Any], project: Project
) -> None:
    page = open_editor(java_script_enabled=False)
    page.fill("[name=body]", "No *script* here.")
    page.get_by_role("button", name="Preview").click()
    page.frame_locator("#preview").locator("em", has_text="script").wait_for()
    assert page.input_value("[name=body]") == "No *script* here."
    page.fill("[name=note]", "Plain")
    page.get_by_role("button", name="Publish version 1").click()
    page.get_by_text("Version 1 is published.").wait_for()
    assert Instructions.objects.get().body == "No *script* here."


@pytest.mark.long
def test_instruction_pages_have_no_axe_violations_and_do_not_overflow(
    open_editor: Callable[..., Any], project: Project, make_image: Callable[..., Image]
) -> None:
    batch = published_with_a_version(project, make_image)
    page = open_editor()
    edit = f"/projects/{project.slug}/instructions/{KIND}/"
    addresses = (
        f"/projects/{project.slug}/instructions",
        edit,
        f"{edit}versions/1",
        f"/batches/{batch.pk}/",
        f"/projects/{project.slug}/launch",
    )
    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        check_sizes(page, address, [(390, "light"), (1280, "light")])


def published_with_a_version(project: Project, make_image: Callable[..., Image]) -> Batch:
    """Return a live batch in a project with one version of its instructions and another photo to launch."""
    market.fund()
    make_image(1)
    batch = published(project, [make_image(2)])
    publish_instructions(
        project=project,
        kind_name=KIND,
        text=InstructionText("Look.", "Look twice."),
        note="New",
        based_on=0,
        by=None,
    )
    return batch
