"""Models of interestingness from stored labels to stored scores."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth.models import User

from curation.interest.counts import CountsModel, fit_counts
from curation.interest.rules import HardRules
from curation.models import FeatureSet, InterestLabel, InterestModel, InterestScore
from curation.pipelines.interest import images as interest_images
from curation.pipelines.interest.network import (
    NetworkOptions,
    fit_network,
    load_network,
    network_scores,
    save_network,
)
from curation.records import InvalidInput
from curation.services.interest import (
    TrainingOptions,
    request_interest_selection,
    request_interest_training,
)
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.curation.interest_counts import LabelledImages, noise, planted
from tests.support.vcr.frames import build_object_set, detection_run
from tests.support.vcr.interest import store_labelled

pytestmark = pytest.mark.django_db(transaction=True)
IMAGES, FILMS = 300, 6
FEATURES = TrainingOptions(kind="features", encoder="colours", hidden=16, steps=60)
NETWORK = NetworkOptions(hidden=16, steps=80, learning_rate=1e-2, weight_decay=1e-2, seed=0)


class PlantedFeatures:
    """An encoder whose vectors, by the order of calls, tell the label better than counts do."""

    name, revision = "colours", "1"

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors, self.used = vectors, 0

    def encode_images(self, pictures: list[Any]) -> np.ndarray:
        """Return the next vectors."""
        start, self.used = self.used, self.used + len(pictures)
        return self.vectors[start : self.used]


@pytest.fixture(scope="module")
def made_up() -> LabelledImages:
    """Return labelled images of six films."""
    return planted(3, IMAGES, FILMS, strength=2)


@pytest.fixture
def images(project: Project, researcher: User, made_up: LabelledImages) -> list[Image]:
    """Return the stored images."""
    return store_labelled(project, made_up, researcher)


def run(job: Job) -> Job:
    """Run a job here."""
    return jobs.run_in_process(job=job)


def train(project: Project, options: TrainingOptions | None = None) -> Job:
    return run(request_interest_training(project=project, by=None, options=options, queue=False))


def select(project: Project, model: InterestModel | None = None, **rules: Any) -> Job:
    job = request_interest_selection(
        project=project, by=None, rules=HardRules(**rules), model=model, queue=False
    )
    return run(job)


def test_train_interest_counts_stores_the_model_of_all_labels(
    project: Project, images: list[Image], made_up: LabelledImages
) -> None:
    job = train(project)
    assert job.state == JobState.DONE, job.error
    model = InterestModel.objects.get()
    assert CountsModel.from_json(model.weights) == fit_counts(made_up.counts, made_up.interesting)
    threshold = model.figures["threshold"]
    assert threshold["precision"] >= 0.7
    assert threshold["kept"] >= 50
    assert model.threshold == threshold["score"] == job.result["threshold"]
    assert threshold["labelled"] == IMAGES
    assert model.figures["films"] == FILMS
    assert model.figures["verdicts"] == {"writing tasks": 0, "judging tasks": 0, "researchers": IMAGES}
    scores = [row[0] for row in model.figures["curve"]]
    assert scores == sorted(scores, reverse=True)


def test_train_interest_newest_labels_count_and_okay_images_are_left_out(
    project: Project, images: list[Image], researcher: User
) -> None:
    for image in images[:10]:
        InterestLabel.objects.create(image=image, verdict=0, by=researcher)
    train(project)
    figures = InterestModel.objects.get().figures
    assert (figures["threshold"]["labelled"], figures["unclear"]) == (IMAGES - 10, 10)
    train(project, TrainingOptions(okay="boring"))
    assert InterestModel.objects.latest("pk").figures["threshold"]["labelled"] == IMAGES


def test_train_interest_noise_fails_with_the_best_threshold(project: Project, researcher: User) -> None:
    store_labelled(project, noise(5, IMAGES, FILMS), researcher)
    job = train(project)
    assert job.state == JobState.FAILED
    assert "no score keeps 50 labelled images or more with a precision of 0.70; the best, 0." in job.error
    assert not InterestModel.objects.exists()


@pytest.mark.parametrize(
    ("kept", "message"),
    [(60, "label at least 50 of each"), (0, "0 images are interesting and 0 are not")],
)
def test_request_training_too_few_labels_is_refused_before_the_job(
    kept: int, message: str, project: Project, researcher: User, made_up: LabelledImages
) -> None:
    few = LabelledImages(
        made_up.counts[:kept], made_up.interesting[:kept], made_up.films[:kept], made_up.chances[:kept]
    )
    store_labelled(project, few, researcher)
    with pytest.raises(Refused, match=message):
        request_interest_training(project=project, by=None)
    assert not Job.objects.exists()


def test_train_interest_few_films_fails_with_the_remedy(project: Project, researcher: User) -> None:
    store_labelled(project, planted(3, IMAGES, 3, strength=2), researcher)
    job = train(project)
    assert "labels are about 3, and 5 folds need 5; label images of more films" in job.error
    assert train(project, TrainingOptions(folds=3)).state == JobState.DONE


def test_train_interest_images_without_objects_are_left_out_and_counted(
    project: Project, images: list[Image], researcher: User, make_image: Any
) -> None:
    InterestLabel.objects.create(image=make_image(1), verdict=1, by=researcher)
    train(project)
    figures = InterestModel.objects.get().figures
    assert (figures["threshold"]["labelled"], figures["without_objects"]) == (IMAGES, 1)


def test_select_interesting_scores_every_image_and_counts_those_within_rules(
    project: Project, images: list[Image], made_up: LabelledImages
) -> None:
    train(project)
    model = InterestModel.objects.get()
    job = select(project, model)
    assert job.state == JobState.DONE, job.error
    expected = CountsModel.from_json(model.weights).scores(made_up.counts)
    stored = dict(InterestScore.objects.filter(model=model).values_list("image_id", "score"))
    assert [stored[image.pk] for image in images] == pytest.approx(expected.tolist())
    within = (made_up.counts.sum(axis=1) >= 3) & (made_up.counts[:, 0] >= 2)
    assert job.result["within_rules"] == within.sum()
    assert job.result["selected"] == (within & (expected >= model.threshold)).sum()
    assert job.result["scored"] == job.result["images"] == IMAGES
    again = select(project, model, min_people=0, min_objects=0)
    assert again.result["selected"] == (expected >= model.threshold).sum()
    assert InterestScore.objects.count() == IMAGES, "scores are replaced, not added"


def test_select_interesting_newer_object_list_changes_the_score(
    project: Project, images: list[Image]
) -> None:
    train(project)
    model = InterestModel.objects.get()
    build_object_set(images[0], detection_run(project), 7, 7).save()
    select(project, model)
    weights = CountsModel.from_json(model.weights)
    score = InterestScore.objects.get(model=model, image=images[0]).score
    assert score == pytest.approx(float(weights.scores(np.array([[7, 7]]))[0]))


def test_select_interesting_without_model_takes_the_rules_alone(
    project: Project, images: list[Image], made_up: LabelledImages
) -> None:
    job = select(project, min_people=3)
    within = (made_up.counts.sum(axis=1) >= 3) & (made_up.counts[:, 0] >= 3)
    assert job.result["selected"] == job.result["within_rules"] == within.sum()
    assert not InterestScore.objects.exists()


def test_select_interesting_without_object_lists_fails(project: Project, make_image: Any) -> None:
    make_image(1)
    assert "none has an object list; detect objects first" in select(project).error


def test_select_interesting_model_of_another_project_is_refused(project: Project, rehearsal: Project) -> None:
    model = InterestModel.objects.create(project=rehearsal, kind="counts", threshold=0.5)
    with pytest.raises(Refused, match="belongs to another project"):
        select(project, model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "colours"}, "model: 'colours' is not known"),
        ({"kind": "features"}, "only a model of features has an encoder, and it needs one"),
        ({"encoder": "clip"}, "only a model of features has an encoder"),
        ({"okay": "maybe"}, "okay: 'maybe' is not known"),
        ({"min_precision": 0.0}, "min precision: 0 is not within 0 to 1"),
        ({"folds": 1}, "folds: 1 is too few"),
        ({"penalty": -1.0}, "penalty: -1 is not a number above 0"),
        ({"min_score": 2.0}, "min score: 2 is not within"),
        ({"weight_decay": -1.0}, "weight decay: -1 is not"),
    ],
)
def test_training_options_impossible_values_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        TrainingOptions(**options)


class TestFeatures:
    """The model of image features and counts."""

    @pytest.fixture
    def encoder(self, made_up: LabelledImages, monkeypatch: pytest.MonkeyPatch) -> PlantedFeatures:
        """Let the features tell the label, with some noise, in one of eight numbers."""
        rng = np.random.default_rng(1)
        vectors = rng.normal(size=(IMAGES, 8)).astype(np.float32)
        vectors[:, 3] += 3 * made_up.interesting
        encoder = PlantedFeatures(vectors)
        monkeypatch.setattr(interest_images, "get_feature_encoder", lambda name: encoder)
        monkeypatch.setattr(interest_images, "open_image", lambda image: image)
        return encoder

    def test_train_interest_features_keep_more_than_counts(
        self, project: Project, images: list[Image], encoder: PlantedFeatures
    ) -> None:
        train(project)
        job = train(project, FEATURES)
        assert job.state == JobState.DONE, job.error
        counts, features = InterestModel.objects.order_by("pk")
        assert (features.kind, features.encoder) == ("features", "colours")
        assert features.figures["threshold"]["recall"] > counts.figures["threshold"]["recall"] + 0.1
        assert features.weights["features"] == 8
        assert (Path(settings.MEDIA_ROOT) / features.path / "weights.safetensors").is_file()

    def test_select_interesting_reuses_features_and_stores_the_networks_scores(
        self, project: Project, images: list[Image], encoder: PlantedFeatures, made_up: LabelledImages
    ) -> None:
        train(project, FEATURES)
        model = InterestModel.objects.get()
        job = select(project, model)
        assert job.state == JobState.DONE, job.error
        assert encoder.used == IMAGES, "the features of training are used again"
        assert FeatureSet.objects.get().count == IMAGES
        network = load_network(Path(settings.MEDIA_ROOT) / model.path, sha256=model.weights["sha256"])
        expected = network_scores(network, encoder.vectors, made_up.counts)
        stored = dict(InterestScore.objects.values_list("image_id", "score"))
        assert [stored[image.pk] for image in images] == pytest.approx(expected.tolist(), abs=1e-6)

    def test_select_interesting_changed_encoder_or_file_fails(
        self, project: Project, images: list[Image], encoder: PlantedFeatures
    ) -> None:
        train(project, FEATURES)
        model = InterestModel.objects.get()
        encoder.revision, encoder.used = "2", 0
        assert "was trained with colours 1, but this process has 2" in select(project, model).error
        path = Path(settings.MEDIA_ROOT) / model.path / "weights.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        assert "differs from the file that was stored" in select(project, model).error
        path.unlink()
        assert "cannot be read" in select(project, model).error
        assert not InterestScore.objects.exists()


def test_fit_network_equal_arguments_gives_equal_weights_and_leaves_the_generator_alone(
    made_up: LabelledImages, tmp_path: Path
) -> None:
    import torch

    vectors = np.random.default_rng(2).normal(size=(IMAGES, 4)).astype(np.float32)
    before = torch.random.get_rng_state()
    digests = {
        save_network(fit_network(vectors, made_up.counts, made_up.interesting, NETWORK), tmp_path / name)
        for name in "ab"
    }
    assert len(digests) == 1
    assert torch.equal(before, torch.random.get_rng_state())


def test_fit_network_one_class_is_refused(made_up: LabelledImages) -> None:
    with pytest.raises(InvalidInput, match="all images have the same label"):
        fit_network(np.zeros((3, 2), np.float32), made_up.counts[:3], np.ones(3, bool), NETWORK)
