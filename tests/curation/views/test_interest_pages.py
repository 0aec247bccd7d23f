"""Pages about interesting photos: who may open them, what they show, and what labelling stores."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import InterestLabel, InterestModel, InterestScore
from curation.services.interest import label_image
from curation.views import interest as views
from curation.views.command_lines import command_lines
from hits.models import Image, Job, Project
from hits.services.images.take_down import take_down_image
from tests.support.curation.interest_counts import planted
from tests.support.curation.interest_rows import FIGURES, OPTIONS, WEIGHTS
from tests.support.pages import squeezed
from tests.support.vcr.frames import build_object_set, detection_run
from tests.support.vcr.interest import store_labelled

pytestmark = pytest.mark.django_db
TRAINING = {
    "kind": "counts",
    "encoder": "label-sentence",
    "min_precision": "70",
    "folds": "5",
    "okay": "left-out",
}


@pytest.fixture
def images(project: Project, make_image: Callable[..., Image]) -> list[Image]:
    """Return three photos with detected objects."""
    run = detection_run(project)
    found = [make_image(seed) for seed in (1, 2, 3)]
    for image in found:
        build_object_set(image, run, 2, 2).save()
    return found


@pytest.fixture
def model(project: Project) -> InterestModel:
    """Return a model on counts."""
    return InterestModel.objects.create(
        project=project,
        kind="counts",
        options=OPTIONS,
        weights=WEIGHTS,
        threshold=0.6,
        figures=FIGURES,
    )


@pytest.fixture
def label_page(client: Client, researcher: User, project: Project) -> Callable[..., Any]:
    """Return a function that opens the label page, or sends a verdict to it."""
    client.force_login(researcher)
    address = reverse("interest-label", args=[project.slug])

    def open_or_send(photo: int | None = None, verdict: object = None) -> Any:
        if verdict is None:
            return client.get(address, {"photo": photo} if photo else {})
        return client.post(address, {"photo": photo, "verdict": verdict})

    return open_or_send


def addresses(project: Project, model: InterestModel) -> list[str]:
    slug = project.slug
    return [
        reverse("interest", args=[slug]),
        reverse("interest-label", args=[slug]),
        reverse("interest-model", args=[slug, model.pk]),
    ]


@pytest.mark.parametrize("who", ["outsider", "annotator"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_pages_are_missing_for_strangers_and_store_nothing(
    who: str,
    method: str,
    request: pytest.FixtureRequest,
    client: Client,
    project: Project,
    model: InterestModel,
    images: list[Image],
) -> None:
    client.force_login(request.getfixturevalue(who))
    for address in addresses(project, model):
        data = {"photo": images[0].pk, "verdict": 1}
        assert getattr(client, method)(address, data).status_code == 404, address
    assert not InterestLabel.objects.exists()
    assert not Job.objects.exists()


def test_pages_open_for_researchers(
    client: Client, researcher: User, project: Project, model: InterestModel
) -> None:
    client.force_login(researcher)
    for address in addresses(project, model):
        assert client.get(address).status_code == 200, address


def test_model_of_another_project_is_missing(
    client: Client, researcher: User, project: Project, rehearsal: Project
) -> None:
    foreign = InterestModel.objects.create(project=rehearsal, kind="counts", threshold=0.5)
    client.force_login(researcher)
    address = reverse("interest-model", args=[project.slug, foreign.pk])
    assert client.get(address).status_code == 404
    assert client.post(address, {"min_objects": 3, "min_people": 2, "min_score": 0.7}).status_code == 404


def test_list_counts_labels_and_models(
    client: Client,
    researcher: User,
    admin: User,
    project: Project,
    images: list[Image],
    model: InterestModel,
) -> None:
    label_image(image=images[0], verdict=1, by=researcher)
    label_image(image=images[1], verdict=-1, by=admin)
    for image, score in zip(images, (0.9, 0.6, 0.1), strict=True):
        InterestScore.objects.create(model=model, image=image, score=score)
    client.force_login(researcher)
    page = client.get(reverse("interest", args=[project.slug]))
    assert (page.context["labels"].interesting, page.context["labels"].boring) == (1, 1)
    assert (page.context["own_labels"], page.context["with_objects"]) == (1, 3)
    text = squeezed(page)
    assert "2 from researchers" in text
    assert f"Model {model.pk}" in text
    assert "75.0%" in text
    assert "2 of 3" in text


def test_list_few_labels_refuses_training_on_the_page(
    client: Client, researcher: User, project: Project
) -> None:
    client.force_login(researcher)
    page = client.post(reverse("interest", args=[project.slug]), TRAINING)
    assert page.status_code == 400
    assert (
        "Not started: labels: 0 images are interesting and 0 are not; label at least 50 of each."
        in squeezed(page)
    )


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({}, {"kind": "counts", "encoder": "", "min_precision": 0.7}),
        ({"kind": "features"}, {"kind": "features", "encoder": "label-sentence"}),
        ({"min_precision": "85", "folds": "3", "okay": "boring"}, {"min_precision": 0.85, "folds": 3}),
    ],
)
def test_list_training_is_queued_with_its_options_and_repeated_by_its_line(
    change: dict[str, str], options: dict[str, Any], client: Client, researcher: User, project: Project
) -> None:
    store_labelled(project, planted(1, 300, 6), researcher)
    client.force_login(researcher)
    assert client.post(reverse("interest", args=[project.slug]), TRAINING | change).status_code == 302
    job = Job.objects.get()
    assert job.args["options"].items() >= options.items()
    (line,) = command_lines([job])
    assert line.startswith(f"manage.py train_interest --project {project.slug}")
    assert ("--model features:label-sentence" in line) == (options.get("kind") == "features")


@pytest.mark.parametrize(
    "change", [{"kind": "colours"}, {"min_precision": "0"}, {"folds": "1"}, {"okay": "x"}]
)
def test_list_impossible_options_are_refused(
    change: dict[str, str], client: Client, researcher: User, project: Project
) -> None:
    client.force_login(researcher)
    assert client.post(reverse("interest", args=[project.slug]), TRAINING | change).status_code == 400
    assert not Job.objects.exists()


def test_model_page_shows_curve_figures_and_photos_by_score(
    client: Client,
    researcher: User,
    admin: User,
    project: Project,
    images: list[Image],
    model: InterestModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(views, "PHOTOS_PER_PAGE", 2)
    for image, score in zip(images, (0.1, 0.95, 0.6), strict=True):
        InterestScore.objects.create(model=model, image=image, score=score)
    client.force_login(researcher)
    address = reverse("interest-model", args=[project.slug, model.pk])
    page = client.get(address)
    text = squeezed(page)
    launch = f"{reverse('batch-new', args=[project.slug])}?kind=vcr_qar&model={model.pk}"
    assert launch.replace("&", "&amp;") in page.content.decode()
    assert f'name="model" value="{model.pk}"' in client.get(launch).content.decode()
    assert "95% interval 64.5% to 83.2%" in text
    assert "Precision by recall. Threshold at score 0.600" in text
    assert [photo.score for photo in page.context["photos"]] == [0.95, 0.6]
    assert "2 of 3 photos reach the threshold of 0.600" in text
    rest = client.get(address, {"page": 2}).context["photos"]
    assert [(photo.score, photo.is_selected) for photo in rest] == [(0.1, False)]
    nearest = client.get(address, {"order": "threshold"}).context["photos"]
    assert [photo.score for photo in nearest] == [0.6, 0.95]
    take_down_image(image=images[1], reason="asked for", by=admin)
    assert [photo.score for photo in client.get(address).context["photos"]] == [0.6, 0.1]


def test_model_page_chart_draws_few_kept_photos_thin(model: InterestModel) -> None:
    chart = views.precision_recall_chart(FIGURES, min_precision=0.7, min_kept=50)
    assert [curve.kind for curve in chart.curves] == ["light", "strong"]
    (dot,) = chart.dots
    assert dot.x == "66.67%"
    assert float(dot.y_high) < float(dot.y) < float(dot.y_low), "higher precision is further up"
    assert chart.table is not None
    assert chart.table.rows[-1] == ("0.100", "45.0%", "100.0%", "200")


def test_model_page_selection_is_queued_and_repeated_by_its_line(
    client: Client, researcher: User, project: Project, model: InterestModel
) -> None:
    client.force_login(researcher)
    address = reverse("interest-model", args=[project.slug, model.pk])
    rules = {"min_objects": "4", "min_people": "1", "min_score": "0.5"}
    assert client.post(address, rules).status_code == 302
    job = Job.objects.get()
    assert job.args["model"] == model.pk
    assert job.args["rules"] == {"min_objects": 4, "min_people": 1, "min_score": 0.5}
    (line,) = command_lines([job])
    assert line == (
        f"manage.py select_interesting --project {project.slug} --model {model.pk} --min-objects 4 --min-people 1 "
        "--min-score 0.5"
    )
    assert client.post(address, rules | {"min_score": "nan"}).status_code == 400
    assert client.post(address, rules).status_code == 400, "it is running already"


def test_label_page_three_verdicts_are_stored_with_their_person(
    label_page: Callable[..., Any], researcher: User, images: list[Image]
) -> None:
    seen = []
    for verdict in (1, 0, -1):
        page = label_page()
        seen.append(page.context["image"].id)
        assert 'data-key="3"' in page.content.decode()
        assert label_page(seen[-1], verdict).status_code == 302
    assert sorted(seen) == sorted(image.pk for image in images)
    rows = InterestLabel.objects.order_by("pk").values_list("image_id", "verdict", "by")
    assert list(rows) == [(pk, verdict, researcher.pk) for pk, verdict in zip(seen, (1, 0, -1), strict=True)]
    assert "You have labelled all photos" in squeezed(label_page())


def test_label_page_nothing_is_preset_and_an_own_label_can_be_corrected(
    label_page: Callable[..., Any], researcher: User, images: list[Image]
) -> None:
    first = label_page()
    photo = first.context["image"].id
    assert "aria-pressed" not in first.content.decode()
    label_page(photo, 1)
    after = label_page()
    assert f"?photo={photo}" in after.content.decode()
    again = label_page(photo).content.decode()
    assert len(re.findall(r'aria-pressed="true"', again)) == 1
    label_page(photo, -1)
    assert list(InterestLabel.objects.order_by("pk").values_list("verdict", flat=True)) == [1, -1]


def test_label_page_another_persons_labels_are_not_shown(
    label_page: Callable[..., Any], admin: User, images: list[Image]
) -> None:
    photo = label_page().context["image"].id
    label_image(image=Image.objects.get(pk=photo), verdict=1, by=admin)
    page = label_page()
    assert page.context["image"].id == photo
    assert "aria-pressed" not in page.content.decode()


@pytest.mark.parametrize("verdict", ["2", "", "x", "1e0"])
def test_label_page_unknown_verdict_is_refused(
    verdict: str, label_page: Callable[..., Any], images: list[Image], client: Client
) -> None:
    assert label_page(images[0].pk, verdict).status_code == 302
    assert "Not saved: verdict" in squeezed(label_page())
    assert not InterestLabel.objects.exists()


def test_label_page_photo_of_another_project_or_taken_down_is_missing(
    label_page: Callable[..., Any], images: list[Image], rehearsal: Project, make_image: Any, admin: User
) -> None:
    take_down_image(image=images[0], reason="asked for", by=admin)
    for photo in (make_image(9, into=rehearsal).pk, images[0].pk, 10**9, "x"):
        assert label_page(photo, 1).status_code == 404
    assert label_page(images[0].pk).context["image"].id != images[0].pk
    assert not InterestLabel.objects.exists()


def test_label_page_without_objects_shows_what_to_do(label_page: Callable[..., Any]) -> None:
    assert "Detect objects first" in squeezed(label_page())
