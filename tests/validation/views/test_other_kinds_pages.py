"""Console pages of kinds other than Sherlock's: their own labels, all images, and no pairs."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.models import Assignment, Batch, Hit, Project, Unit
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work
from validation.domain.judging.spec import ItemView, Scale
from validation.registry import spec_of
from validation.selectors.report import first_judged_kind
from validation.services.quality_checks import add_gold_item
from validation.services.report import compute_report

VERDICT = "photo_verdict"

pytestmark = pytest.mark.django_db


def launched(project: Project, kind: str, *payloads: dict[str, object]) -> Batch:
    """Return a batch of a kind with a unit for each payload."""
    units = [PlannedUnit(f"unit-{number}", payload) for number, payload in enumerate(payloads)]
    batch, _ = launch_batch(
        project=project, kind_name=kind, name="Batch", units=units, by=None, terms=LaunchTerms()
    )
    Work(project).publish(batch)
    return batch


def text_of(client: Client, name: str, *args: object, query: str = "") -> str:
    """Return a page's text."""
    reply = client.get(reverse(name, args=args) + query)
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_submission_page_shows_exact_answer_and_shown_order(
    client: Client, project: Project, researcher: User, work: Work
) -> None:
    batch = launched(project, "three_orders", {"words": ["rain", "wind", "snow"]})
    submission = work.answered(Hit.objects.get(unit__batch=batch), "W1", {"pick": "rain"})
    client.force_login(researcher)
    page = text_of(client, "assignment-detail", Assignment.objects.get().pk)
    assert "<b>rain</b>" in page
    assert f"Words on the page: {', '.join(submission.shown['words'])}" in page
    assert f"Display order: {submission.shown['arm'] + 1}" in page
    assert "<th>Shown</th>" in page
    assert "Filled in" not in page


@pytest.fixture
def judged(project: Project, work: Work, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """Return a round of another kind, judged by two workers; its items have three images and no text."""
    images = tuple(work.image(seed).pk for seed in (1, 2, 3))
    payloads = [{"item": f"t{n}", "image": images[0], "text": "a dog"} for n in (1, 2)]
    batch = launched(project, VERDICT, *payloads)
    for hit in Hit.objects.filter(unit__batch=batch):
        Unit.objects.filter(pk=hit.unit_id).update(key=hit.unit.payload["item"])
        for worker, about in (("W1", "people"), ("W2", "place")):
            work.answered(hit, worker, {"about": about, "faults": [], "why": f"as {worker} sees"})
    monkeypatch.setattr(type(spec_of(VERDICT)), "item_view", lambda self, unit: ItemView(images=images))
    return batch


def test_item_view_gives_first_image_and_all_images() -> None:
    assert ItemView(images=(4, 5)).image == 4
    assert ItemView(4).images == (4,)
    assert ItemView(None).images == ()


def test_default_item_view_has_all_images_of_the_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of("observation_review")
    monkeypatch.setattr(type(spec.kind), "image_ids", lambda self, unit: [7, 8, 9])
    view = super(type(spec), spec).item_view({"image": 7, "boxes": []})
    assert view.images == (7, 8, 9)


@pytest.mark.parametrize("page", ["gold-choose", "gold", "gold-new", "gold-edit", "item", "report", "texts"])
def test_pages_about_items_show_all_their_images(
    client: Client, project: Project, researcher: User, judged: Batch, page: str
) -> None:
    client.force_login(researcher)
    unit = judged.units.first()
    assert unit is not None
    if page == "gold-new":
        text = text_of(client, page, project.slug, query=f"?kind={VERDICT}&unit={unit.pk}")
    elif page in {"gold", "gold-edit"}:
        gold = add_gold_item(unit=unit, expected={"about": ["people"]}, by=researcher, note="")
        args = [project.slug, gold.pk] if page == "gold-edit" else [project.slug]
        text = text_of(client, page, *args, query=f"?kind={VERDICT}")
    elif page == "item":
        text = text_of(client, "judging-item", project.slug, VERDICT, unit.payload["item"])
    elif page == "texts":
        text = text_of(client, "judging-texts", project.slug, VERDICT, "why")
    else:
        if page == "report":
            compute_report(project=project, kind=VERDICT)
        name = "judging-report" if page == "report" else page
        text = text_of(client, name, project.slug, query=f"?kind={VERDICT}")
    assert text.count("image 3</figcaption>") >= 1
    assert "region marked" not in text
    assert "I spy" not in text


def test_best_first_reverses_only_ordered_scales() -> None:
    about = spec_of(VERDICT).dimensions_by_name["about"]
    assert about.scale is Scale.NOMINAL
    assert about.labels_best_first == ("people", "things", "place")
    ordered = spec_of("observation_review").dimensions[0]
    assert ordered.labels_best_first == tuple(reversed(ordered.labels))


def test_report_and_decisions_open_with_the_first_judged_kind(
    client: Client, project: Project, researcher: User, judged: Batch
) -> None:
    assert first_judged_kind(project, ("observation_review", VERDICT)) == VERDICT
    client.force_login(researcher)
    for name in ("judging-report", "decisions"):
        assert client.get(reverse(name, args=[project.slug])).context["kind"] == VERDICT


def test_first_judged_kind_without_judgments_is_the_first_kind(project: Project) -> None:
    assert first_judged_kind(project, ("observation_review", VERDICT)) == "observation_review"


def test_judging_page_without_pairs_does_not_mention_pairs(
    client: Client, project: Project, researcher: User, judged: Batch
) -> None:
    launched(project, "word_list", {"topic": "weather"})
    client.force_login(researcher)
    text = text_of(client, "judging", project.slug)
    assert "pair" not in text.lower().replace("repair", "")
    assert 'Judgments received: <b class="num">4</b>' in text
    assert reverse("units-new", args=[project.slug]) in text
    for name in ("localization", "planner", "review-new"):
        assert reverse(name, args=[project.slug]) not in text


def test_worker_page_without_pairs_has_no_pair_figures(
    client: Client, project: Project, researcher: User, work: Work
) -> None:
    batch = launched(project, "word_list", {"topic": "weather"})
    work.answered(Hit.objects.get(unit__batch=batch), "W1", {"first": "rain", "second": "wind"})
    client.force_login(researcher)
    worker = Assignment.objects.get().worker
    text = text_of(client, "worker-detail", project.slug, worker.pk)
    for label in ("Acceptable pairs", "Accurate boxes", "judged pairs", "written pairs"):
        assert label not in text
