"""Curation in a browser: groups, rounds and jobs in every window, a round looked through, a job that is followed."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from curation.models import ComparisonRound
from curation.services import comparison as services
from curation.services.dedup import DedupOptions, replace_preview
from hits.domain.states import JobState
from hits.models import Heartbeat, Image, Job, Project
from hits.services.images.duplicates import replace_duplicate_marks
from hits.services.images.import_image import import_image
from hits.services.jobs import jobs
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import plain_photo
from tests.support.judging.work import Work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
LONG = "Somebody who has been waiting here for hours has left the unfinishedcrosswordpuzzleofyesterday behind"


@pytest.fixture
def work(site: str, project: Project) -> Work:
    """Return a maker of confirmed work in the project; a worker process is heard of."""
    Heartbeat.objects.create(name="worker", at=timezone.now() + timezone.timedelta(hours=1))
    return Work(project)


@pytest.fixture
def photos(work: Work) -> list[Image]:
    """Return four photographs, the last two of which are marked as duplicates of the first."""
    sizes = ((640, 426), (600, 400), (320, 213), (160, 106))
    found = [
        import_image(project=work.project, name=f"shore-{width}.jpg", data=plain_photo(width, height))[0]
        for width, height in sizes
    ]
    replace_duplicate_marks(project=work.project, groups={found[0].pk: [image.pk for image in found[2:]]})
    return found


@pytest.fixture
def built(work: Work, photos: list[Image]) -> ComparisonRound:
    """Return a round of seven sets of five, so that there are two pages, with all its figures."""
    pairs = work.observed(photos[0], worker="A", salt=LONG)
    pairs += [pair for worker in "BCD" for pair in work.observed(photos[1], worker=worker, salt=worker * 3)]
    ids = [pair.instance_id for pair in pairs]
    sets = []
    for rank in range(1, 8):
        plausibility = [0.5 - 0.02 * rank - 0.03 * place for place in range(5)]
        likeness = [0.0, 0.1, 0.2, 0.3, 0.2]
        scores = {
            "gold": 0.2,
            "plausibility": plausibility,
            "similarity": likeness,
            "objectives": [5 * value - like for value, like in zip(plausibility, likeness, strict=True)],
            "copies": [1, 1, 2, 1, 1],
            "cluster": [1, 2, 1, 1, 1],
            "dropped": [[], [ids[0]], [], [], []],
            "eligible": 30,
            "available": 20 + rank,
            "promise": {"words": 7.5, "similarity": 0.2, "plausibility": 0.4},
            "places": {"words": 1.5, "similarity": 2.0, "plausibility": 1.0, "total": 8.5},
        }
        chosen = [ids[(rank + place + 1) % len(ids)] for place in range(5)]
        sets.append(services.BuiltSet(pairs[rank].pk, chosen, rank, scores))
    skipped = {
        "too_few_candidates": [{"instance": ids[0], "available": 3}, {"instance": ids[8], "available": 19}]
    }
    return services.store_round(
        project=work.project,
        options=services.RoundOptions(size=5),
        built=services.BuiltRound(
            encoder="made up",
            provenance={
                "pairs_sha256": "ab" * 32,
                "left_by_soft_deduplication": 10,
                "left_by_verbatim_cap": 9,
            },
            instances=12,
            inferences=12,
            sets=sets,
            skipped=skipped,
        ),
    )


def test_groups_of_duplicates_and_their_form(
    photos: list[Image], open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("curation", args=[photos[0].project.slug]))
    expect(page.locator(".groups li")).to_have_count(1)
    expect(page.locator(".groups figure")).to_have_count(3)
    page.get_by_role("radio", name="Photos to keep, %").check()
    page.get_by_role("button", name="Preview 4 photos").click()
    error = page.locator("#dedup_share_error")
    expect(error).to_contain_text("Enter a number here")
    check_sizes(page, "an end without its number", SIZES)
    page.get_by_role("radio", name="Cosine distance").check()
    page.get_by_role("spinbutton", name="Cosine distance").fill("0.05")
    page.get_by_role("button", name="Preview 4 photos").click()
    expect(page.locator(".job-card")).to_contain_text("De-duplicate 4 photos")
    assert Job.objects.get(task="curation.deduplicate_images").args["options"]["distance"] == 0.05
    check_page(page, "while it is queued")


def test_a_preview_is_set_aside_and_undone(
    photos: list[Image], open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    project, keys = photos[0].project, [image.pk for image in photos]
    replace_duplicate_marks(project=project, groups={})
    groups = [
        {"kept": keys[0], "members": keys[2:3], "pair": [keys[0], keys[2]], "cosine": 0.91},
        {"kept": keys[1], "members": keys[3:], "pair": [keys[1], keys[3]], "cosine": 0.885},
    ]
    replace_preview(
        project=project,
        options=DedupOptions(),
        encoder="efficientnet-lite0",
        clusters=2,
        groups=groups,
        compared_images=keys,
    )
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("curation", args=[project.slug]))
    preview = page.locator("#preview")
    expect(preview).to_contain_text("2 of 4 photos")
    expect(preview).to_contain_text("cosine 0.885, a distance of 0.115")
    expect(preview.get_by_role("group", name="Least similar pair").locator("img")).to_have_count(2)
    check_sizes(page, "a preview", SIZES)
    preview.get_by_role("button", name="Keep both of the group of shore-600").click()
    expect(preview).to_contain_text("1 of 4 photos")
    assert not Image.objects.filter(duplicate_of__isnull=False).exists(), "nothing was set aside yet"
    preview.get_by_role("button", name="Set this aside: 1 photo").click()
    expect(page.locator("#duplicates .groups li")).to_have_count(1)
    expect(page.locator("#duplicates")).to_contain_text("Cosine 0.910")
    assert list(Image.objects.filter(duplicate_of__isnull=False)) == [photos[2]]
    check_sizes(page, "photos that are set aside", SIZES)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#duplicates")).to_contain_text("No groups yet")
    assert not Image.objects.filter(duplicate_of__isnull=False).exists()


def test_a_round_is_looked_through(
    built: ComparisonRound, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("curation-rounds", args=[built.project.slug]))
    page.get_by_text("Options for ambiguous rules").click()
    page.get_by_label("Inferences of the same photo").select_option("forbidden")
    check_sizes(page, "the rounds", SIZES)
    page.get_by_role("link", name=f"Round {built.pk}").click()
    expect(page.locator(".set")).to_have_count(5)
    check_sizes(page, "the sets", SIZES)
    page.get_by_label("Go to set").fill("7")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".set[aria-current] h2")).to_have_text("Set 7")
    page.goto(page.url.split("?")[0])
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".set h2").first).to_have_text("Set 6")
    page.get_by_label("Containing").fill("of another round")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("heading", name="No set matches").wait_for()
    check_page(page, "no set has the words")
    page.get_by_role("link", name="Without a set 2").click()
    expect(page.locator(".card--flush tbody tr")).to_have_count(2)
    check_sizes(page, "without a set", SIZES)


def test_a_split_job_is_followed_to_its_end_and_its_log_grows(
    work: Work, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    job = jobs.enqueue(task="hits.nothing", title="Count the photos", project=work.project, resumable=True)
    whole = Job.objects.filter(pk=job.pk)
    whole.update(state=JobState.WAITING, total=10, runs=1, started_at=timezone.now(), cursor={"since": 0})
    halves = [
        Job.objects.create(task=job.task, title=f"Half {n}", project=work.project, parent=job, total=5)
        for n in (1, 2)
    ]
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("job-detail", args=[job.pk]))
    expect(page.locator("[data-part]")).to_have_count(2)
    first = page.locator(f"[data-part='{halves[0].pk}']")
    expect(first).to_contain_text("Queued")
    Job.objects.filter(pk=halves[0].pk).update(state=JobState.DONE, done=5)
    jobs.write_log_line(job, LONG)
    expect(first).to_contain_text("Done")
    expect(page.locator("[data-log] li")).to_contain_text(LONG)
    expect(page.locator(".job-card [data-job-count]")).to_contain_text("5 of 10")
    check_sizes(page, "a job with a log", SIZES)
    whole.update(state=JobState.FAILED, error="Half 2: no disk", finished_at=timezone.now())
    page.get_by_role("heading", name="Stopped with an error").wait_for()
    check_page(page, "a failed job")
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("is queued and resumes where it stopped").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("cancellation requested. Finished work is kept.").wait_for()
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED


def test_the_list_of_jobs(work: Work, open_page: OpenPage, sign_in: Any, researcher: User) -> None:
    about: dict[str, Any] = {"task": "curation.check_leakage", "project": work.project}
    Job.objects.create(title="Compare the splits of 120 photos", state=JobState.DONE, **about)
    Job.objects.create(
        title="Compare the splits of 108077 photos",
        state=JobState.FAILED,
        error=LONG,
        resumable=True,
        **about,
    )
    jobs.enqueue(title="Compare the splits of 3 photos", **about)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("curation-jobs", args=[work.project.slug]))
    expect(page.locator(".job-card")).to_have_count(1)
    check_sizes(page, "the jobs", SIZES)
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("heading", name="Compare the splits of 108077 photos").wait_for()
