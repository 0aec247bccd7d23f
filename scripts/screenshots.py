"""``make screenshots``: run the demo and update the pictures in docs/screenshots.

The demo's scripted project gives the judging and version pages their data. Then two scripted workers answer part of
the open batch, and a third one draws in the browser. A fourth opens judging tasks; for this, the judging batches are
extended by one worker per item.
"""

import io
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Browser, Error, FrameLocator, Page, sync_playwright

from tests.support.browser import CHROMIUM, FLAGS

ROOT = Path(__file__).resolve().parents[1]
SCREENSHOTS_FOLDER = ROOT / "docs" / "screenshots"
PHOTO_CREDIT = "Rachel Michetti"
MAX_OPEN_ATTEMPTS = 10  # a second apart
JUDGING_PICTURES = {"likert_comparison": "comparison", "localization_match": "matching"}  # picture by kind
PLAYED_SLUG = "played-loop-1"
QUESTIONS_SLUG = "played-loop-1-questions"
TRIPLETS_SLUG = "played-loop-1-triplets"
WRITING_BATCH = "Played loop 1, questions: questions"
PLAUSIBILITY_BATCH = "Played loop 1, triplets: plausibility"
JUDGING_BATCH_NAMES = ("Played loop 1: ratings", "Played loop 1: matching")
WINDOW_SIZES = ((390, 844), (768, 1024), (1280, 900), (1920, 1080))
_SIGN_IN_LINE = re.compile(r"(?:admin|researcher|worker)\s+(\w+)\s+(\S+)")

TRIPLET = {
    "question": "Why does 1 stand so close to 2?",
    "answer": "1 is asking 2 the way to the harbour.",
    "rationale": "1 faces 2 and nobody would stand that close without a question to ask.",
}
"""Texts of a triplet; each digit is typed as the number of an object."""

# Clue, inference, confidence, and boxes as left, top, right, bottom, each a share (0 to 1) of the photo's size.
Observation = tuple[str, str, str, list[tuple[float, float, float, float]]]
OBSERVATIONS: list[Observation] = [
    (
        "the thin brown foam on the coffee",
        "The cup was filled less than a minute ago.",
        "Certain",
        [(0.36, 0.12, 0.66, 0.42)],
    ),
    (
        "the spoon and the grain of the table beside the saucer",
        "The guest sits outside a café and stays for a while.",
        "Possible",
        [(0.70, 0.55, 0.97, 0.95), (0.02, 0.05, 0.24, 0.5)],
    ),
]


def main() -> None:
    """Serve the demo, fill it with data, and save a screenshot of every documented page."""
    if CHROMIUM is None:
        sys.exit("screenshots: Chromium is missing (apt-get install chromium)")
    SCREENSHOTS_FOLDER.mkdir(parents=True, exist_ok=True)
    print("playing a loop …", file=sys.stderr)
    command = [sys.executable, "manage.py", "demo"]
    subprocess.run([*command, "--once"], cwd=ROOT, check=True, capture_output=True)
    with _serve_demo(command) as accounts:
        _answer_open_batch(accounts)
        addresses = _run_curation_commands() | _run_scorer_commands() | _extend_tasks()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            _take_worker_pages(browser, accounts)
            _take_judging_pages(browser, accounts)
            _take_console_pages(browser, accounts, addresses)
            _take_triplet_pages(browser, accounts)
            browser.close()


@contextmanager
def _serve_demo(command: list[str]) -> Iterator[dict[str, str]]:
    """Serve the demo in the background; yields passwords by user name."""
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    output = ""
    try:
        for line in process.stderr:
            output += line
            if "Ctrl C" in line:
                break
        else:
            sys.exit(output)
        yield dict(_SIGN_IN_LINE.findall(output))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def _answer_open_batch(accounts: dict[str, str]) -> None:
    """Let two scripted workers answer some tasks of the open batch, and extend the judging batches."""
    django.setup()
    from annotation_site.demo import answers
    from annotation_site.demo.player import ScriptedWorker
    from annotation_site.demo.steps import wait_for_job
    from hits.models import Batch
    from hits.models import Image as Photo
    from hits.services.batches.extensions import extend_batch

    batch = Batch.objects.get(project__name="Sample photos", kind="sherlock_observation")
    names = dict(Photo.objects.values_list("pk", "name"))
    for writer_index, (name, count) in enumerate((("wendy", 6), ("wilma", 2))):
        worker = ScriptedWorker(settings.PUBLIC_URL, name, accounts[name])
        try:
            worker.answer_all_hits(
                batch.name, _limit_answers(count, answers.observation_answer_function(writer_index, names))
            )
        except StopIteration:
            continue
    for kind in JUDGING_PICTURES:
        judging_batch = Batch.objects.get(project__slug=PLAYED_SLUG, kind=kind)
        wait_for_job(extend_batch(batch=judging_batch, more_redundancy=1, by=None)[1])


def _run_curation_commands() -> dict[str, str]:
    """Run the commands that fill the curation pages; return these pages' addresses by picture."""
    from django.core.management import call_command

    from curation.models import Audit, ComparisonRound, ProposalRun

    project_options = ("--project", PLAYED_SLUG)
    call_command("propose_boxes", *project_options)
    for kind in ("duplicates", "topics"):
        call_command("analyse_texts", kind, *project_options)
    call_command(
        "create_audit",
        *project_options,
        *("--name", "Grounded on people", "--codebook", "grounded-on-people", "--n", "50"),
    )
    return {
        "curation": reverse("curation", args=[PLAYED_SLUG]),
        "round": reverse("comparison-round", args=[PLAYED_SLUG, ComparisonRound.objects.latest("pk").pk]),
        "proposals": reverse(
            "curation-proposals-run", args=[PLAYED_SLUG, ProposalRun.objects.latest("pk").pk]
        ),
        "texts": reverse("curation-texts", args=[PLAYED_SLUG]),
        "audit": reverse("curation-audit-read", args=[PLAYED_SLUG, Audit.objects.latest("pk").pk]),
    }


def _run_scorer_commands() -> dict[str, str]:
    """Train and evaluate a tiny random scorer for the Scorers pages; return these pages' addresses by picture."""
    from django.core.management import call_command

    from curation.models import DatasetVersion, Scorer

    version = DatasetVersion.objects.get(project__slug=PLAYED_SLUG)
    version_options = ("--project", PLAYED_SLUG, "--version", version.name)
    steps = ("--batch-size", "16", "--max-steps", "300", "--checkpoint-every", "30", "--warmup-steps", "60")
    rate = ("--learning-rate", "0.001", "--epochs", "200")
    call_command("train_scorer", *version_options, "--name", "tiny", "--model", "tiny", *steps, *rate)
    for evaluated in (("--scorer", "tiny"), ("--scorer", "label-sentence"), ("--random",), ("--judgments",)):
        call_command("evaluate_scorer", *version_options, "--split", "all", *evaluated)
    call_command("audit_shortcuts", *version_options, "--split", "all", "--only", "text_only")
    call_command("create_leaderboard", *version_options, "--split", "all", "--title", "Played loop")
    return {
        "scorer": reverse("scorer", args=[PLAYED_SLUG, Scorer.objects.latest("pk").pk]),
        "evaluations": reverse("evaluations", args=[PLAYED_SLUG]),
        "leaderboard": reverse("leaderboard", args=[_submit_predictions().slug]),
    }


def _extend_tasks() -> dict[str, str]:
    """Offer tasks about questions and triplets to another worker; return the addresses of the pages about them."""
    from annotation_site.demo.steps import wait_for_job
    from curation.models import ImageTriplet, Question, QuestionSet
    from hits.models import Batch
    from hits.services.batches.extensions import extend_batch

    for name in (WRITING_BATCH, PLAUSIBILITY_BATCH):
        batch = Batch.objects.get(name=name)
        wait_for_job(extend_batch(batch=batch, more_redundancy=1, by=None)[1])
    question_set = QuestionSet.objects.get(project__slug=QUESTIONS_SLUG)
    place = [QUESTIONS_SLUG, question_set.pk]
    questions = Question.objects.filter(question_set=question_set, stage="answer").exclude(choices=[])
    triplet = ImageTriplet.objects.filter(project__slug=TRIPLETS_SLUG).earliest("pk")
    return {
        "question-set": reverse("question-set", args=place),
        "question": reverse("question", args=[*place, questions.earliest("pk").pk]),
        "choice-rounds": reverse("choice-rounds", args=[QUESTIONS_SLUG]),
        "scenes": reverse("scenes", args=[TRIPLETS_SLUG]),
        "scene-images": reverse("scene-images", args=[TRIPLETS_SLUG, triplet.scene_id]),
        "image-triplet": reverse("image-triplet", args=[TRIPLETS_SLUG, triplet.pk]),
        "triplet-evaluations": reverse("triplet-evaluations", args=[TRIPLETS_SLUG]),
        "triplet-audits": reverse("triplet-audits", args=[TRIPLETS_SLUG]),
    }


def _submit_predictions() -> Any:
    """Let three teams submit the predictions of the stored evaluations; return their leaderboard."""
    from curation.leaderboard.models import Leaderboard
    from curation.leaderboard.services import entries
    from curation.leaderboard.services.boards import add_team, set_board_is_open
    from curation.models import Evaluation
    from curation.selectors.evaluations import predictions_file
    from hits.services.jobs import jobs

    board = Leaderboard.objects.latest("pk")
    set_board_is_open(board=board, is_open=True, by=None)
    for team, label in (("Lestrade", "tiny"), ("Gregson", "label-sentence"), ("Hopkins", "Random")):
        path = predictions_file(Evaluation.objects.get(label=label))
        assert path is not None
        entry, _ = entries.submit_entry(
            team=add_team(board=board, name=team, by=None)[0],
            description=entries.ModelDescription(model=label),
            upload=entries.UploadedZip([path.read_bytes()], path.name),
            queue=False,
        )
        assert entry.job is not None
        jobs.run_in_process(job=entry.job)
    return board


def _limit_answers(count: int, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the answer function, but raising StopIteration after ``count`` answers."""
    remaining = iter(range(count))

    def answer_or_stop(config: Any) -> Any:
        next(remaining)
        return answer(config)

    return answer_or_stop


def _take_worker_pages(browser: Browser, accounts: dict[str, str]) -> None:
    page = _sign_in(browser, "walter", accounts)
    _open(page, "/work/")
    frame = _accept_task(page, "Sample photos: observations")
    frame.get_by_text(PHOTO_CREDIT).wait_for()  # OBSERVATIONS are about this photo
    for index, observation in enumerate(OBSERVATIONS, start=1):
        _write_observation(page, frame, index, observation)
    frame.locator("#how").evaluate("how => { how.open = false; }")
    frame.locator("html").evaluate("html => html.scrollTo(0, 0)")
    frame.get_by_text("Saved", exact=False).first.wait_for()
    for width, height in WINDOW_SIZES:
        page.set_viewport_size({"width": width, "height": height})
        frame.locator(".toolbar button").first.click()  # the hint below the photo depends on the width
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            _take_screenshot(page, f"observation-{width}{'-dark' if scheme == 'dark' else ''}")


def _take_judging_pages(browser: Browser, accounts: dict[str, str]) -> None:
    page = _sign_in(browser, "wanda", accounts)
    for title, picture in zip(JUDGING_BATCH_NAMES, JUDGING_PICTURES.values(), strict=True):
        _open(page, "/work/")
        frame = _accept_task(page, title, has_consented=True)
        frame.locator("#how").evaluate("how => { how.open = false; }")
        frame.locator("html").evaluate("html => html.scrollTo(0, 0)")
        _take_screenshot(page, f"{picture}-1280")
        page.get_by_role("button", name="Return").first.click()
        with page.expect_navigation():
            page.get_by_role("dialog").get_by_role("button", name="Return").click()


def _accept_task(page: Page, title: str, *, has_consented: bool = False) -> FrameLocator:
    """Accept the batch's first task and return its frame; give consent unless the worker ``has_consented``."""
    with page.expect_navigation():  # a frame of the page before would be replaced under the next steps
        page.locator(".job", has_text=title).get_by_role("button", name="Start").click()
    frame = page.frame_locator("iframe")
    if not has_consented:
        frame.locator("#country").select_option("US")
        frame.get_by_role("button", name="I agree").click()
    frame.locator("html[data-ready=true]").wait_for(state="attached")
    return frame


def _write_observation(page: Page, frame: FrameLocator, index: int, observation: Observation) -> None:
    clue, inference, confidence, boxes = observation
    card = frame.locator(f"#o{index}")
    if card.get_attribute("open") is None:
        card.locator("summary").click()
    card.locator(f"#clue{index}").fill(clue)
    stage = frame.locator(".stage svg").first
    stage.evaluate("stage => stage.scrollIntoView({ block: 'center' })")
    for left, top, right, bottom in boxes:
        area = stage.bounding_box()
        assert area is not None
        page.mouse.move(area["x"] + left * area["width"], area["y"] + top * area["height"])
        page.mouse.down()
        page.mouse.move(area["x"] + right * area["width"], area["y"] + bottom * area["height"], steps=4)
        page.mouse.up()
    card.locator(f"#inf{index}").fill(inference)
    card.get_by_text(confidence, exact=False).first.click()


def _take_console_pages(browser: Browser, accounts: dict[str, str], addresses: dict[str, str]) -> None:
    page = _sign_in(browser, "rosa", accounts)
    _open(page, "/projects/sample-photos/")
    page.get_by_role("link", name="Sample photos: observations").click()
    page.get_by_role("button", name="Check now").click()
    page.get_by_role("link", name=re.compile(r"^Review \d")).first.wait_for()
    _take_screenshot(page, "batch-1280", page.url)
    _take_screenshot(page, "judging-1280", f"/projects/{PLAYED_SLUG}/judging/")
    _take_screenshot(page, "judging-report-1280", f"/projects/{PLAYED_SLUG}/judging/report/")
    _take_screenshot(page, "version-1280", "/versions/1/")
    _take_screenshot(page, "pay-1280", f"/projects/{PLAYED_SLUG}/pay")
    _take_screenshot(page, "money-1280", f"/projects/{PLAYED_SLUG}/money")
    for name, address in addresses.items():
        _take_screenshot(page, f"{name}-1280", address)
    _take_grading_and_worker_pages(page)


def _take_grading_and_worker_pages(page: Page) -> None:
    """Take the grading page after three grades, a worker's page and the instruction editor."""
    _open(page, "/projects/sample-photos/applicants/")
    page.get_by_role("link", name="Sample photos: qualification").click()
    page.get_by_role("link", name=re.compile("^Grade")).first.click()
    for _ in range(3):
        page.keyboard.press("1")
        page.wait_for_timeout(400)
    _take_screenshot(page, "grading-1280")
    _open(page, f"/projects/{PLAYED_SLUG}/workers/")
    page.locator("main table a").first.click()
    _take_screenshot(page, "worker-1280")
    _take_screenshot(page, "instructions-1280", "/projects/sample-photos/instructions/sherlock_observation/")


def _take_triplet_pages(browser: Browser, accounts: dict[str, str]) -> None:
    """Take a task in which a triplet is written, and one in which image triplets are judged."""
    page = _sign_in(browser, "wanda", accounts)
    _open(page, "/work/")
    frame = _accept_task(page, WRITING_BATCH, has_consented=True)
    frame.locator("#how").evaluate("how => { how.open = false; }")
    for name, text in TRIPLET.items():
        frame.locator(f"#{name}-1").click()
        page.keyboard.type(text, delay=20)
    frame.get_by_text("Saved", exact=False).first.wait_for()
    for width, height in (WINDOW_SIZES[0], WINDOW_SIZES[2]):
        page.set_viewport_size({"width": width, "height": height})
        frame.locator("html").evaluate("html => html.scrollTo(0, 0)")
        _take_screenshot(page, f"triplet-{width}")
    _open(page, "/work/")
    frame = _accept_task(page, PLAUSIBILITY_BATCH)
    frame.locator("#how").evaluate("how => { how.open = false; }")
    for width, height in (WINDOW_SIZES[0], WINDOW_SIZES[2]):
        page.set_viewport_size({"width": width, "height": height})
        _take_screenshot(page, f"plausibility-{width}")


def _sign_in(browser: Browser, name: str, accounts: dict[str, str]) -> Page:
    page = browser.new_context(
        viewport={"width": 1280, "height": 900}, base_url=settings.PUBLIC_URL
    ).new_page()
    page.set_default_timeout(60_000)
    _open(page, "/sign-in/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", accounts[name])
    with page.expect_navigation():
        page.keyboard.press("Enter")
    return page


def _open(page: Page, url: str) -> None:
    """Open a page; retry if a busy server resets the connection or a page with a job reloads itself."""
    for attempts_left in reversed(range(MAX_OPEN_ATTEMPTS)):
        try:
            page.goto(url)
        except Error:
            if not attempts_left:
                raise
            page.wait_for_timeout(1000)
        else:
            return


def _take_screenshot(page: Page, name: str, url: str = "") -> None:
    """Save the page, or the page at ``url``, as docs/screenshots/NAME.webp."""
    if url:
        _open(page, url)
    page.wait_for_timeout(600)
    path = SCREENSHOTS_FOLDER / f"{name}.webp"
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").save(path, quality=80, method=6)
    print(path.relative_to(ROOT), path.stat().st_size // 1024, "kB", file=sys.stderr)


if __name__ == "__main__":
    main()
