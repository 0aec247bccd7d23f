"""Audits of a question set and multiple-choice evaluations in a browser, at several sizes."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from curation.evaluation.choice_files import format_predictions_csv, read_answer_key_lines
from curation.evaluation.choices import ChoiceKey, ChoicePredictions
from curation.leaderboard.models import Leaderboard
from curation.leaderboard.selectors.boards import board_folder
from curation.leaderboard.services import boards
from curation.leaderboard.views.boards import make_receipt
from curation.models import ChoiceEvaluation, QuestionSet
from curation.pipelines.choice_audits import audit_question_set
from curation.pipelines.evaluation.evaluate_choices import measure_predictions
from curation.selectors.choice_items import question_set_items
from curation.services.versions import create_sealed_version
from hits.models import Heartbeat, Project
from hits.services.jobs import jobs
from tests.support.axe import check_page, check_sizes
from tests.support.curation.leaderboards import scored, zipped
from tests.support.vcr.question_sets import store_question_set
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import make_synthetic_set

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
PICTURES = os.environ.get("CHOICE_PICTURES", "")  # a folder for pictures of the pages
REASON = "The pilot only measures how long people need."


@pytest.fixture
def question_set(site: str, project: Project) -> QuestionSet:
    """Return a set whose tag overlap is over its limit; a worker process is heard of."""
    Heartbeat.objects.create(name="worker", at=timezone.now() + timezone.timedelta(hours=1))
    made = make_synthetic_set({"train-0": 40, "val-0": 40, "test-0": 40})
    found = store_question_set(
        project, made.triplets, store_triplets(project, made.triplets), state="draft", name="draft 1"
    )
    audits = audit_question_set(found)
    audits["limits"][0] |= {"is_over": True}
    QuestionSet.objects.filter(pk=found.pk).update(audits=audits | {"over": ["tag_overlap (answer)"]})
    return found


def _store_evaluation(question_set: QuestionSet, label: str, skill: float, split: str = "val") -> None:
    key = ChoiceKey.from_items(question_set_items(question_set, split))
    rng, n = np.random.default_rng(0), len(key.ids)
    scores = ChoicePredictions(rng.normal(size=(n, 4)), rng.normal(size=(n, 4, 4)))
    scores.answers[np.arange(n), key.answers] += skill
    scores.rationales[np.arange(n), :, key.rationales] += skill
    ChoiceEvaluation.objects.create(
        project=question_set.project,
        question_set=question_set,
        split=split,
        source="predictions",
        label=label,
        figures=measure_predictions(key, scores, {"singular": (list(key.ids[:9]), scores.take(range(9)))}),
        provenance={"file": "mine.csv", "sha256": "0" * 64},
    )


def picture(page: Any, name: str) -> None:
    if not PICTURES:
        return
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=f"{PICTURES}/{name}-{width}.png", full_page=True)


def test_set_over_a_limit_is_used_after_a_written_reason(
    question_set: QuestionSet, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("question-set", args=[question_set.project.slug, question_set.pk]))
    panel = page.locator("#audits")
    expect(panel.locator("h2")).to_contain_text("Over a limit")
    for summary in panel.locator("summary").all()[1:]:
        summary.click()
    check_page(page, "the audits")
    check_sizes(page, "the audits", SIZES)
    picture(page, "audits")
    panel.get_by_label("Reason").fill(REASON)
    panel.get_by_role("button", name="Use the set anyway").click()
    expect(page.locator("#audits .note-bar")).to_contain_text(REASON)
    picture(page, "audits-waived")
    page.locator("#audits").get_by_role("button", name="Audit again").click()
    expect(page.get_by_text("The audits are queued")).to_be_visible()


def test_evaluations_stand_beside_the_published_results(
    question_set: QuestionSet, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    page, slug = open_page(), question_set.project.slug
    sign_in(page, researcher.username)
    page.goto(reverse("choice-evaluations", args=[slug]))
    expect(page.get_by_text("Nothing evaluated yet")).to_be_visible()
    _store_evaluation(question_set, "Response only, cross-fitted over all folds", 0.2)
    _store_evaluation(question_set, "R2C, tuned for four epochs", 1.5)
    _store_evaluation(question_set, "R2C on test", 1.5, split="test")
    page.goto(reverse("choice-evaluations", args=[slug]))
    page.get_by_role("link", name="draft 1, val").click()
    expect(page.locator(".dot-plot")).to_have_count(3)
    check_page(page, "evaluations")
    check_sizes(page, "evaluations", SIZES)
    picture(page, "evaluations")
    page.get_by_role("link", name="R2C, tuned for four epochs").first.click()
    expect(page.locator("h1")).to_contain_text("R2C, tuned for four epochs")
    check_page(page, "one evaluation")
    check_sizes(page, "one evaluation", SIZES)
    picture(page, "evaluation")


def test_board_of_choices_shows_three_measures_and_the_audits_of_an_entry(
    site: str, project: Project, open_page: OpenPage
) -> None:
    triplets = make_synthetic_set({"train-0": 8, "val-0": 6, "test-0": 40}).triplets
    store_question_set(project, triplets, store_triplets(project, triplets))
    version = create_sealed_version(project=project, name="v1", by=None)
    board = boards.create_leaderboard(
        version=version, split="test", wording=boards.Wording("Choices"), by=None, queue=False
    )
    assert board.job is not None
    jobs.run_in_process(job=board.job)
    board.refresh_from_db()
    boards.set_board_is_open(board=board, is_open=True, by=None)
    boards.set_board_is_public(board=board, is_public=True, by=None)
    team = boards.add_team(board=board, name="Baker Street", by=None)[0]
    entry = scored(team, _zip_of_scores(board))
    page = open_page()
    page.goto(reverse("leaderboard", args=[board.slug]))
    expect(page.locator(".board-table thead th", has_text="Q→AR")).to_be_visible()
    check_page(page, "a board of choices")
    check_sizes(page, "a board of choices", SIZES)
    picture(page, "board")
    page.goto(reverse("leaderboard-entry", args=[board.slug, make_receipt(entry)]))
    expect(page.get_by_text("Wrong choices by match round")).to_be_visible()
    check_page(page, "an entry")
    check_sizes(page, "an entry", SIZES)
    picture(page, "entry")


def _zip_of_scores(board: Leaderboard) -> bytes:
    key = read_answer_key_lines(board_folder(board) / "held" / "answer_key.jsonl")
    rng, n = np.random.default_rng(0), len(key.ids)
    scores = ChoicePredictions(rng.normal(size=(n, 4)), rng.normal(size=(n, 4, 4)))
    scores.answers[np.arange(n), key.answers] += 1
    scores.rationales[np.arange(n), :, key.rationales] += 1
    text = "".join(format_predictions_csv(key.ids, scores))
    return zipped({"test_set_predictions/choices.csv": text.encode()})
