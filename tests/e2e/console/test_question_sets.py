"""Question sets in a browser: the form, a set with its buckets and shares, its questions, and one of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from curation.models import Question, QuestionSet, Stage
from hits.models import Heartbeat, Image, Project
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import plain_photo
from tests.support.vcr.built_sets import build_set, store_synthetic_project

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
PICTURES = os.environ.get("QUESTION_PICTURES", "")  # a folder for pictures of the pages


@pytest.fixture
def built(site: str, project: Project) -> QuestionSet:
    """Return a built set whose first question's photo can be seen; a worker process is heard of."""
    Heartbeat.objects.create(name="worker", at=timezone.now() + timezone.timedelta(hours=1))
    store_synthetic_project(project, {"train-0": 24, "val-0": 24, "test-0": 24})
    return build_set(project, "draft 1")


def picture(page: Any, name: str) -> None:
    if not PICTURES:
        return
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=f"{PICTURES}/{name}-{width}.png", full_page=True)


def test_question_set_is_requested_and_looked_through(
    built: QuestionSet, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("question-sets", args=[built.project.slug]))
    page.get_by_text("Options for ambiguous rules").click()
    expect(page.get_by_label("Responses about the same photo")).to_have_value("allowed")
    page.locator("summary", has_text="Models that score pairs").click()
    check_sizes(page, "sets and the form", SIZES)
    picture(page, "sets")
    page.get_by_label("Name", exact=True).fill("draft 1")
    page.get_by_role("button", name="Build from 72 triplets").click()
    expect(page.get_by_text("there is a question set draft 1 already")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("draft 2")
    page.get_by_role("button", name="Build from 72 triplets").click()
    expect(page.locator(".job-card")).to_contain_text("Build the question set draft 2")
    page.get_by_role("button", name="Cancel").click()
    page.goto(reverse("question-set", args=[built.project.slug, built.pk]))
    expect(page.get_by_text("The similarity model is a stand-in.")).to_be_visible()
    for summary in page.locator("summary", has_text="Buckets").all():
        summary.click()
    check_sizes(page, "a set", SIZES)
    picture(page, "set")
    page.get_by_role("button", name="Accept for versions").click()
    expect(page.locator("h1")).to_contain_text("Accepted")
    page.get_by_role("button", name="Reject: make it a draft again").click()
    expect(page.locator("h1")).to_contain_text("Draft")


def test_question_shows_its_four_choices_in_one_click(
    built: QuestionSet, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    question = (
        built.questions.filter(stage=Stage.RATIONALE, fold="train-0").select_related("triplet__image").first()
    )
    assert question is not None
    show_photo(question)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("questions", args=[built.project.slug, built.pk]))
    check_sizes(page, "the questions", SIZES)
    picture(page, "questions")
    page.get_by_label("Stage").select_option("rationale")
    page.get_by_label("Fold").select_option("train-0")
    page.get_by_label("Wrong choice").select_option("2")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".choice-lines").first.locator(".badge")).to_have_text(["Right", "Round 2"])
    page.get_by_role("link", name=question.annot_id, exact=True).click()
    wrong = page.locator(".choice-cards > li").filter(has_text="Round 1")
    expect(wrong.locator("dl")).to_contain_text("As written")
    expect(wrong.locator("dl")).to_contain_text("match index")
    expect(page.locator("#photo g").first).to_be_attached()
    mention = page.locator(".asked .mention").first
    mention.hover()
    expect(mention).to_have_class("mention mention--lit")
    check_page(page, "one question")
    check_sizes(page, "one question", SIZES)
    picture(page, "question")
    page.get_by_role("link", name="Its answers").click()
    expect(page.locator(".choice-cards > li")).to_have_count(4)


def show_photo(question: Question) -> None:
    """Give the question's photo a picture at a served path; made-up ones have a few bytes elsewhere."""
    image = question.triplet.image
    assert image is not None
    name = f"images/{image.sha256[:2]}/{image.sha256}.jpg"
    path = Path(settings.MEDIA_ROOT) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(plain_photo(image.width, image.height))
    Image.objects.filter(pk=image.pk).update(file=name)
