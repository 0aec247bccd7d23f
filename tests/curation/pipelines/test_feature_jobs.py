"""Feature sets as jobs: split into shards, sealed, cancelled, resumed; the same from the command and the page."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from celery import current_app
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.shards import open_features
from curation.models import FeatureSet
from curation.pipelines import features
from curation.pipelines.deduplicate import deduplicate_images
from curation.services.dedup import DedupOptions
from curation.services.features import FeatureOptions, request_features
from hits.domain.images.region_drawing import RegionMode
from hits.domain.states import JobState
from hits.models import Image, Job
from hits.selectors.jobs import job_done_and_total
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support.curation.fakes import Colours
from tests.support.curation.features import features_folder
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db(transaction=True)


class Pixels(Colours):
    """Colours with regions and texts, and a name for each precision."""

    is_clip = False
    dim = 192
    region_modes = frozenset(RegionMode) - {RegionMode.POSITION_ONLY}

    def __init__(self) -> None:
        super().__init__()
        self.preprocessing = {"precision": "fp32"}

    def encode_regions(self, pictures: Sequence[Pillow.Image], regions: Any, mode: RegionMode) -> Any:
        return self.encode_images(pictures) + [[len(mode) + boxes[0].left] for boxes in regions]

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        return np.array([[len(text), sum(map(ord, text))] for text in texts], dtype=np.float32)


@pytest.fixture
def pixels(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pixels]:
    """Let every encoder's name stand for one small encoder."""
    encoder = Pixels()
    monkeypatch.setattr(features, "get_feature_encoder", lambda name, **more: encoder)
    features._load_encoder.cache_clear()
    yield encoder
    features._load_encoder.cache_clear()


@pytest.fixture
def photos_of(work: Work) -> Callable[[int], list[Image]]:
    return lambda count: [work.image(seed) for seed in range(count)]


def run(work: Work, **options: Any) -> Job:
    return jobs.run_in_process(
        job=request_features(project=work.project, by=None, options=FeatureOptions(**options), queue=False)
    )


def stored() -> tuple[FeatureSet, Any]:
    row = FeatureSet.objects.get()
    return row, open_features(features_folder(row), manifest_sha256=row.sha256)


def test_images_are_encoded_shard_by_shard(work: Work, pixels: Pixels, photos_of: Any) -> None:
    images = photos_of(5)
    job = run(work, shard_rows=2)
    assert (job.state, job.done, job.total) == (JobState.DONE, 5, 5)
    assert [part.title for part in job.subjobs.order_by("pk")] == [
        "Shard 1 of 3",
        "Shard 2 of 3",
        "Shard 3 of 3",
    ]
    row, found = stored()
    assert (row.is_complete, row.count, row.dim, row.shards) == (True, 5, 192, 3)
    assert job.result["sha256"] == row.sha256
    assert found.ids() == [str(image.pk) for image in images]
    expected = pixels.encode_images([features.open_image(image) for image in images])
    np.testing.assert_array_equal(found[:], expected)


def test_complete_set_is_reused_and_damaged_set_is_remade(work: Work, pixels: Pixels, photos_of: Any) -> None:
    photos_of(4)
    first = run(work, shard_rows=2)
    again = run(work, shard_rows=2)
    assert pixels.pictures == 4
    assert again.result["feature_set"] == first.result["feature_set"]
    row, _ = stored()
    torn = features_folder(row) / "shard-00001.npy"
    torn.write_bytes(torn.read_bytes()[:-1])
    run(work, shard_rows=2)
    assert pixels.pictures == 6  # the whole shard stays
    stored()


def test_deduplication_uses_the_set_of_a_job(work: Work, pixels: Pixels, photos_of: Any) -> None:
    photos_of(3)
    run(work)
    deduplicate_images(project=work.project, options=DedupOptions(set_aside=True, clusters=2), encoder=pixels)
    assert pixels.pictures == 3


def test_failed_shard_fails_the_job_and_resuming_makes_missing_shards(
    work: Work, pixels: Pixels, photos_of: Any
) -> None:
    images = photos_of(6)
    storage, name = images[3].file.storage, images[3].file.name
    kept = images[3].file.read()
    storage.delete(name)
    job = run(work, shard_rows=2)
    assert job.state == JobState.FAILED
    assert "photo-3.png: its file is missing" in job.error
    assert not FeatureSet.objects.get().is_complete
    made = pixels.pictures
    with storage.open(name, "wb") as file:
        file.write(kept)
    job = jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    assert (job.state, job_done_and_total(job)) == (JobState.DONE, (6, 6))
    assert pixels.pictures == made + 2
    stored()


def test_cancelling_keeps_finished_shards(
    work: Work, pixels: Pixels, photos_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos_of(40)
    progress: list[int] = []
    asked: list[int] = []

    def cancel_in_the_second(job: Job, line: str) -> None:
        progress.append(job.done)
        if job.parent is not None and job.args["shard"] == 1 and not asked:
            asked.append(job.done)
            jobs.cancel_job(job=job.parent)

    request = request_features(
        project=work.project, by=None, options=FeatureOptions(shard_rows=20), queue=False
    )
    job = jobs.run_in_process(job=request, listener=cancel_in_the_second)
    assert job.state == JobState.CANCELLED
    assert 16 in progress  # the progress counts images within a shard
    folder = features_folder(FeatureSet.objects.get())
    assert sorted(path.name for path in folder.glob("*.npy")) == ["shard-00000.npy"]
    assert jobs.run_in_process(job=jobs.resume_job(job=job, queue=False)).state == JobState.DONE
    stored()


@pytest.mark.parametrize("mode", sorted(Pixels.region_modes))
def test_regions_of_accepted_pairs_are_encoded_in_each_mode(work: Work, pixels: Pixels, mode: str) -> None:
    pairs = work.observed(work.image(1))
    job = run(work, subject="regions", region_mode=mode)
    assert job.state == JobState.DONE, job.error
    row, found = stored()
    assert (row.region_mode, found.ids()) == (mode, [pair.instance_id for pair in pairs])
    assert found.manifest["region_mode"] == mode


def test_unsupported_region_mode_is_refused(work: Work, pixels: Pixels) -> None:
    work.observed(work.image(1))
    job = run(work, subject="regions", region_mode="position_only")
    assert job.state == JobState.FAILED
    assert "does not support position_only; use" in job.error
    assert not FeatureSet.objects.exists()


@pytest.mark.parametrize("text", ["inference", "clue"])
def test_texts_are_encoded(work: Work, pixels: Pixels, text: str) -> None:
    pairs = work.observed(work.image(1))
    run(work, subject="texts", text=text)
    _, found = stored()
    np.testing.assert_array_equal(found[:], pixels.encode_texts([getattr(pair, text) for pair in pairs]))


def test_taken_down_photo_is_named(work: Work, pixels: Pixels, photos_of: Any) -> None:
    images = photos_of(2)
    job = request_features(project=work.project, by=None, queue=False)
    current_app.loader.import_default_modules()
    current_app.tasks[job.task](job.pk)
    Image.objects.filter(pk=images[1].pk).update(taken_down_at="2026-01-01T00:00Z")
    job.refresh_from_db()
    job = jobs.run_in_process(job=job)
    assert f"photos: {images[1].pk} was changed or taken down meanwhile" in job.error


def test_a_worker_with_another_model_refuses_the_shard(work: Work, pixels: Pixels, photos_of: Any) -> None:
    photos_of(2)
    job = request_features(project=work.project, by=None, queue=False)
    current_app.loader.import_default_modules()
    current_app.tasks[job.task](job.pk)
    pixels.revision = "2"
    job.refresh_from_db()
    assert "this worker process has 2, but the set was begun with 1" in jobs.run_in_process(job=job).error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subject": "sounds"}, "subject: 'sounds' is not known; use images"),
        ({"subject": "regions"}, "region_mode: 'nothing' is not known"),
        ({"region_mode": "hide"}, "region_mode: images have no region"),
        ({"subject": "texts"}, "text: 'nothing' is not known; use inference, clue"),
        ({"precision": "int8"}, "precision: 'int8'"),
        ({"crop": "left"}, "crop: 'left'"),
        ({"shard_rows": 0}, "shard_rows: 0 is too few"),
        ({"subject": "texts", "text": "clue", "encoder": "efficientnet-lite0"}, "encodes images only"),
    ],
)
def test_inconsistent_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        FeatureOptions(**options)


def test_empty_and_duplicate_jobs_are_refused(work: Work) -> None:
    with pytest.raises(Refused, match="images: there are none"):
        request_features(project=work.project, by=None)
    work.image(1)
    request_features(project=work.project, by=None)
    with pytest.raises(Conflict, match="running already"):
        request_features(project=work.project, by=None)
    with pytest.raises(Refused, match="none is approved"):
        request_features(project=work.project, by=None, options=FeatureOptions("texts", text="clue"))


def test_the_command_makes_a_set_and_prints_one_json(
    work: Work, pixels: Pixels, photos_of: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    photos_of(3)
    call_command("make_features", "--project", work.project.slug, "--shard-rows", "2", "--json")
    printed = json.loads(capsys.readouterr().out)
    row, _ = stored()
    assert (printed["state"], printed["count"], printed["sha256"]) == ("done", 3, row.sha256)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--project: name a project"),
        (["--project", "nowhere"], "there is no such project"),
        (["--project", "{}", "--of", "regions"], "none is approved"),
        (["--project", "{}", "--encoder", "resnet"], "encoder 'resnet' is not known"),
    ],
)
def test_bad_input_ends_the_command_with_2(work: Work, flags: list[str], message: str) -> None:
    work.image(1)
    features._load_encoder.cache_clear()
    with pytest.raises(CommandError, match=message) as caught:
        call_command("make_features", *[flag.format(work.project.slug) for flag in flags])
    assert caught.value.returncode == 2


def page_of(client: Client, work: Work) -> str:
    return squeezed(client.get(reverse("curation-features", args=[work.project.slug])))


def test_the_page_shows_sets_and_queues_another(
    work: Work, pixels: Pixels, photos_of: Any, client: Client, researcher: User
) -> None:
    client.force_login(researcher)
    assert "No photo yet" in page_of(client, work)
    photos_of(2)
    assert "No feature set yet" in page_of(client, work)
    run(work)
    shown = page_of(client, work)
    row, _ = stored()
    for text in ("colours", "Complete", row.sha256, row.path, "192"):
        assert text in shown
    address = reverse("curation-features", args=[work.project.slug])
    form = {"subject": "images", "encoder": "label-sentence", "precision": "fp32", "crop": "pad"}
    assert client.post(address, form).status_code == 302
    job = Job.objects.latest("pk")
    assert (job.task, job.args["options"]["crop"]) == ("curation.make_features", "pad")
    reply = client.post(address, form)
    assert reply.status_code == 400
    assert "is running already" in reply.content.decode()


def test_page_explains_invalid_combinations_and_damaged_sets(
    work: Work, pixels: Pixels, photos_of: Any, client: Client, researcher: User
) -> None:
    photos_of(1)
    run(work)
    for path in Path(features_folder(FeatureSet.objects.get())).iterdir():
        path.unlink()
    client.force_login(researcher)
    assert "Files are missing" in page_of(client, work)
    address = reverse("curation-features", args=[work.project.slug])
    form = {"subject": "texts:clue", "encoder": "efficientnet-lite0", "precision": "auto", "crop": "pad"}
    reply = client.post(address, form)
    assert reply.status_code == 400
    assert "encodes images only" in reply.content.decode()
    assert client.post(address, form | {"encoder": "clip:/etc"}).status_code == 400


@pytest.mark.parametrize("who", ["outsider", "annotator"])
def test_page_is_404_for_other_users(
    work: Work, client: Client, who: str, request: pytest.FixtureRequest
) -> None:
    address = reverse("curation-features", args=[work.project.slug])
    assert client.get(address).status_code == 302
    client.force_login(request.getfixturevalue(who))
    assert client.get(address).status_code == 404
    assert client.post(address, {}).status_code == 404


def test_page_requires_a_csrf_token(work: Work, researcher: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(researcher)
    assert client.post(reverse("curation-features", args=[work.project.slug]), {}).status_code == 403
