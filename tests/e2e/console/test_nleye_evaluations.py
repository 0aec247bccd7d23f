"""Evaluations and audits of image triplets in a browser: at several sizes, and by keyboard."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from curation.models import ReplyCorrection, TripletEvaluation, TripletSource
from hits.models import Project
from tests.support.axe import ALL_SIZES, check_page, check_sizes
from tests.support.nleye_evaluations import (
    answers_of,
    found_audits,
    lose_call,
    quick_version,
    store_audit,
    store_choices,
    store_scores,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
VIEWS = ("accuracy", "order", "groups", "explanations") if ALL_SIZES else ("order", "groups")
LONG = "I look at the premise first. " * 40


@pytest.fixture
def evaluation(site: str, project: Project, researcher: User) -> TripletEvaluation:
    """Return an evaluation with unread replies and a lost call, beside others."""
    version = quick_version(project, 12, researcher)
    name = "openai:a-model-with-a-very-long-name-2026-05-01"
    row = store_choices(version, answers_of(version, "rrrrwfffsuuw"), label=name, replies={10: LONG})
    store_scores(version, [(3.0, 7.5), (4.0, 4.0), (None, 2.0)] * 4, label=name)
    store_choices(version, answers_of(version, "f" * 12), label="always-first", source=TripletSource.BASELINE)
    lose_call(row, "triplet 3, swapped")
    store_audit(project, found_audits(list(project.image_triplets.order_by("pk"))))
    return row


def test_pages_fit_every_size(
    evaluation: TripletEvaluation, open_page: Callable[..., Any], sign_in: Any, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    slug = evaluation.project.slug
    one = [slug, evaluation.pk]
    addresses = [f"{reverse('triplet-evaluations', args=[slug])}?view={view}" for view in VIEWS]
    addresses += [
        reverse("triplet-evaluation", args=one),
        reverse("triplet-evaluation-triplet", args=[*one, 10]),
        reverse("triplet-audits", args=[slug]),
    ]
    if ALL_SIZES:
        addresses += [
            reverse("triplet-evaluation-start", args=[slug]),
            reverse("triplet-evaluation-replies", args=one),
        ]
    for address in addresses:
        page.goto(address)
        check_sizes(page, address, SIZES)


def test_replies_are_read_by_keyboard(
    evaluation: TripletEvaluation, open_page: Callable[..., Any], sign_in: Any, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("triplet-evaluations", args=[evaluation.project.slug]))
    page.get_by_role("link", name="Read them").focus()
    page.keyboard.press("Enter")
    group = page.get_by_role("group", name="The reply chooses").first
    group.get_by_label("First image").focus()
    page.keyboard.press("ArrowDown")  # the second image
    page.get_by_role("button", name="Store and measure again").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 reply stored")).to_be_visible()
    assert ReplyCorrection.objects.get().choice == "second"
    check_page(page, "one reply is left")
    expect(page.get_by_role("button", name="Store and measure again")).to_be_visible()
