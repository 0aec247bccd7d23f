"""A leaderboard in a browser: in every window, and with submissions by a team without an account."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from curation.leaderboard.models import Leaderboard, LeaderboardEntry
from curation.leaderboard.services import boards as services
from curation.leaderboard.views.boards import make_receipt
from hits.models import Heartbeat, Project
from hits.services.jobs import jobs
from tests.support.axe import check_page, check_sizes, check_width
from tests.support.curation.leaderboards import HALF, made_board, predictions, scored, variant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
LONG = "ViT-B/16 with regions highlighted and an_unbrokenwordthatgoesonandonandonuntilitisverylong"


@pytest.fixture
def board(site: str, project: Project) -> Leaderboard:
    """Return a public leaderboard with the entries of three teams."""
    Heartbeat.objects.create(name="worker", at=timezone.now() + timezone.timedelta(hours=1))
    board = made_board(project, limits=services.SubmissionLimits(9, 50))
    services.set_board_is_public(board=board, is_public=True, by=None)
    for name in ("Baker Street", "Scotland Yard", "W" * 60):
        team, _ = services.add_team(board=board, name=name, by=None)
        scored(team, predictions(HALF), model=LONG[:80])
        scored(team, variant(len(name)))
        scored(team, b"broken")
    return board


@pytest.mark.long
def test_every_page_fits_every_window(
    board: Leaderboard, admin: User, open_page: OpenPage, sign_in: Any
) -> None:
    page = open_page()
    entries = {entry.state: entry for entry in LeaderboardEntry.objects.all()}
    for name, path in {
        "list": reverse("leaderboard-list"),
        "board": reverse("leaderboard", args=[board.slug]),
        "all": reverse("leaderboard", args=[board.slug]) + "?all=1&sort=im2txt",
        "submit": reverse("leaderboard-submit", args=[board.slug]),
        "mine": reverse("leaderboard-team-submissions", args=[board.slug]),
        "refused": reverse("leaderboard-entry", args=[board.slug, make_receipt(entries["refused"])]),
        "scored": reverse("leaderboard-entry", args=[board.slug, make_receipt(entries["scored"])]),
    }.items():
        page.goto(path)
        check_sizes(page, name, SIZES)
    sign_in(page, admin.username)
    at = [board.project.slug, board.pk]
    for name, path in {
        "desks": reverse("leaderboards", args=at[:1]),
        "desk": reverse("leaderboard-manage", args=at),
    }.items():
        page.goto(path)
        check_sizes(page, name, SIZES)


def test_a_team_hands_in_and_reads_what_came_of_it(
    board: Leaderboard, open_page: OpenPage, tmp_path: Path
) -> None:
    _, key = services.add_team(board=board, name="Irregulars", by=None)
    file = tmp_path / "test_set_predictions.zip"
    file.write_bytes(variant(99))
    page = open_page(390)
    page.goto(reverse("leaderboard", args=[board.slug]))
    page.get_by_role("link", name="Submit").click()
    page.get_by_label("Your team’s key").fill("wrong")
    page.get_by_label("Zip of predictions").set_input_files(file)
    page.get_by_label("Model").fill("Wiggins")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("This key is not valid here")
    check_page(page, "refused form")
    page.get_by_label("Your team’s key").fill(key)
    page.get_by_label("Zip of predictions").set_input_files(file)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status")).to_contain_text("being scored")
    check_width(page, "waiting")
    entry = LeaderboardEntry.objects.get(team__name="Irregulars")
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    page.reload()
    page.get_by_role("link", name="See the entry in the table").click()
    expect(page.locator(f"#entry-{entry.pk}")).to_contain_text("Wiggins")


def test_a_closed_board_shows_both_tables_in_every_window(board: Leaderboard, open_page: OpenPage) -> None:
    board.options |= {
        "private_share": 30,
        "kept": {"references": board.options["references"], "counts": {"p_at_1": 1}},
        "photos": {"passed_on": 4, "by_source": 1, "nowhere": 2},
    }
    board.save(update_fields=["options"])
    for entry in LeaderboardEntry.objects.filter(state="scored"):
        entry.figures = entry.figures | {"kept": entry.figures}
        entry.save(update_fields=["figures"])
    page = open_page()
    page.goto(reverse("leaderboard", args=[board.slug]))
    assert page.get_by_text("Results on the private photos").count() == 0
    services.set_board_is_open(board=board, is_open=False, by=None)
    page.reload()
    expect(page.locator("#kept tbody tr")).to_have_count(
        page.locator(".board-table").first.locator("tbody tr").count()
    )
    check_sizes(page, "both tables", SIZES)
    if folder := os.environ.get("DEERSTALKER_PICTURES"):
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=Path(folder) / f"board-{width}.png", full_page=True)
