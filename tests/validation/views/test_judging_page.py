"""The judging page. Access: test_judging_permissions.py; launching: test_judging_launch.py."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.models import Pair
from hits.models import Batch, Hit
from tests.support.judging.work import Work, ratings, review
from tests.support.pages import squeezed
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.domain.judging.sampling import Selection, SelectionMethod
from validation.models import JudgingReport
from validation.services.judging import RoundPlan, launch_comparison, launch_review
from validation.services.judgment_imports import import_judgments

pytestmark = pytest.mark.django_db


def launched(work: Work, pairs: list[Pair], **more: Any) -> tuple[Batch, list[Hit]]:
    batch, _ = launch_review(project=work.project, observations=pairs, by=None, **more)
    work.publish(batch)
    return batch, list(Hit.objects.filter(unit__batch=batch))


def page_of(client: Client, work: Work, researcher: User) -> str:
    client.force_login(researcher)
    return squeezed(client.get(reverse("judging", args=[work.project.slug])))


def plain(page: str) -> str:
    """Return the page's text without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def a_share(percent: float, count: int, total: int) -> dict[str, Any]:
    share = {
        "count": count,
        "of": total,
        "undecided": 0,
        "percent": percent,
        "low": percent - 5,
        "high": percent + 2,
    }
    return {"share": share}


def test_figures_come_from_the_newest_report_with_its_age(
    client: Client, work: Work, researcher: User
) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    _, hits = launched(work, pairs)
    work.answered(hits[0], "J1", review("un", "appropriate", "caption_like"))
    figures = {
        "counted": 0,
        "dimensions": {"reasonable": a_share(97.5, 195, 200), "boxes": a_share(98.25, 393, 400)},
    }
    report = {"project": work.project, "kind": "observation_review", "judgments": 600, "ratings": 1800}
    JudgingReport.objects.create(**report, data_sha256="0" * 64, figures={})
    JudgingReport.objects.create(**report, data_sha256="1" * 64, figures=figures)
    page = plain(page_of(client, work, researcher))
    assert "Acceptable pairs 97.5% 195 of 200" in page
    assert "95% interval 92.5 to 99.5%" in page
    assert "Accurate boxes 98.3% 393 of 400" in page or "Accurate boxes 98.2% 393 of 400" in page
    assert "Interesting inferences" not in page, "a dimension without a share has no figure"
    assert re.search(r"Computed \d+ s ago; 1 judgment arrived since", page)


def test_page_without_report_shows_received_judgments(client: Client, work: Work, researcher: User) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    _, hits = launched(work, pairs)
    work.answered(hits[0], "J1", review())
    page = plain(page_of(client, work, researcher))
    assert "Figures are not computed yet. Judgments received: 1 ." in page


def test_page_shows_progress_of_pairs(client: Client, work: Work, researcher: User) -> None:
    page = plain(page_of(client, work, researcher))
    assert "No approved pairs yet" in page
    assert "No judgments yet" in page
    pairs = work.observed(work.image(), worker="AUTHOR")
    page = plain(page_of(client, work, researcher))
    assert "3 of 3 approved pairs have not been sent to judges." in page
    _, hits = launched(work, pairs[:2])
    page = plain(page_of(client, work, researcher))
    assert (
        "1 of 3 approved pairs has not been sent to judges; 6 judgments of other pairs are pending." in page
    )
    _, more = launched(work, pairs[2:])
    page = plain(page_of(client, work, researcher))
    assert "All 3 approved pairs were sent to judges: 0 of 9 judgments received." in page
    for hit in hits + more:
        for judge in ("J1", "J2", "J3"):
            work.answered(hit, judge, review())
    page = plain(page_of(client, work, researcher))
    assert "All 3 approved pairs were judged: 9 of 9 judgments received." in page


def test_judged_pair_shows_its_region(client: Client, work: Work, researcher: User) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    _, hits = launched(work, pairs[:1])
    for judge in ("J1", "J2", "J3"):
        work.answered(hits[0], judge, review())
    box = pairs[0].fields["boxes"][0]
    page = page_of(client, work, researcher)
    assert ", region marked" in page
    assert f'<rect class="line" x="{box["left"]}" y="{box["top"]}" width="{box["width"]}"' in page


def test_rounds_show_progress_and_selection(client: Client, work: Work, researcher: User) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    plan = RoundPlan(selection=Selection(SelectionMethod.SAMPLE, n=2, seed=77))
    _, hits = launched(work, pairs[:2], name="First look", plan=plan)
    work.answered(hits[0], "J1", review())
    page = plain(page_of(client, work, researcher))
    assert "First look" in page
    assert "random sample of 2, seed 77" in page
    assert "1 of 6" in page


def test_pairs_are_listed_with_their_votes(client: Client, work: Work, researcher: User) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    _, hits = launched(work, pairs)
    work.answered(hits[0], "J1", review("highly", "appropriate", "caption_like"))
    work.answered(hits[0], "J2", review("un", "appropriate", "caption_like"))
    page = plain(page_of(client, work, researcher))
    assert f"I spy {pairs[0].clue}" in page
    assert pairs[1].inference not in page
    assert "Undecided 1 highly reasonable 1 unreasonable Yes 2 appropriate No 2 caption-like 2" in page


def test_imported_pairs_of_other_projects_are_not_listed(
    client: Client, work: Work, researcher: User, tmp_path: Path
) -> None:
    pair = work.observed(work.image())[0]
    file = tmp_path / "elsewhere.csv"
    rows = [
        f"{item},{name},{word},R"
        for item in (*(f"foreign{n}" for n in range(30)), pair.instance_id)
        for name, word in (("reasonable", "highly"), ("boxes", "mostly"), ("interesting", "very"))
    ]
    file.write_text("\n".join(["item,dimension,label,rater", *rows]))
    import_judgments(project=work.project, kind="observation_review", path=file)
    page = page_of(client, work, researcher)
    assert "No judgments yet" not in page
    assert pair.inference in page
    assert page.count('class="thumb"') == 1


def test_query_count_is_independent_of_judgments(client: Client, work: Work, researcher: User) -> None:
    client.force_login(researcher)
    url = reverse("judging", args=[work.project.slug])

    def count_queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(url).status_code == 200
        return len(queries)

    _, hits = launched(work, work.observed(work.image(1), worker="AUTHOR"))
    work.answered(hits[0], "J1", review())
    few = count_queries()
    for seed in range(2, 6):
        _, hits = launched(work, work.observed(work.image(seed), worker=f"AUTHOR{seed}", count=4))
        for hit in hits:
            for judge in ("J1", "J2", "J3"):
                work.answered(hit, judge, review())
    assert count_queries() == few


def a_set(work: Work, seed: int) -> SetToJudge:
    mine = work.observed(work.image(seed), worker="AUTHOR")
    others = work.observed(work.image(seed + 1), worker="OTHER")
    return SetToJudge(
        id=str(seed),
        own_pair_id=mine[0].instance_id,
        image_id=mine[0].image_id,
        boxes=mine[0].boxes,
        candidates=[CandidateToRate(o.instance_id, o.inference) for o in others],
    )


def test_ratings_are_listed_with_their_candidates(client: Client, work: Work, researcher: User) -> None:
    batch, _ = launch_comparison(project=work.project, sets=[a_set(work, 1), a_set(work, 3)], by=None)
    work.publish(batch)
    hit = Hit.objects.filter(unit__batch=batch)[0]
    work.answered(hit, "J1", ratings(hit, 1, 2, 3))
    work.answered(hit, "J2", ratings(hit, 3, 2, 3))
    assert reverse("judging-ratings", args=[work.project.slug, batch.pk]) in page_of(client, work, researcher)
    page = squeezed(client.get(reverse("judging-ratings", args=[work.project.slug, batch.pk])))
    assert ">2 of 2 judges<" in page
    assert '<td class="n">1, 3</td><td class="n">2.00</td>' in page
    assert ">0 of 2 judges<" in page
    assert "This set has no ratings yet." in page


def test_ratings_of_review_round_or_other_project_are_not_found(
    client: Client, work: Work, researcher: User, rehearsal: Any
) -> None:
    review_batch, _ = launched(work, work.observed(work.image(1)))
    other = Work(rehearsal)
    foreign, _ = launch_comparison(project=rehearsal, sets=[a_set(other, 1)], by=None)
    client.force_login(researcher)
    for batch in (review_batch, foreign):
        assert client.get(reverse("judging-ratings", args=[work.project.slug, batch.pk])).status_code == 404
