"""One more candidate from an image: drawn once, and never from an image that was taken down."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from curation.generation.drawing import DrawingGenerator
from curation.generation.images import ImageReply, ImageRequest
from curation.models import GeneratedImage, ModelCall, ModelRun
from curation.services.triplets.generation import EditOptions, request_edit
from hits.models import Image, Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support.nleye_jobs import refusal, run_json
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes

pytestmark = pytest.mark.django_db
SIZE = {"width": 64, "height": 64}


@pytest.fixture
def candidate(project: Project, researcher: User) -> GeneratedImage:
    """Return the only candidate of a premise."""
    rows = store_scenes(nleye_project(project), 1)
    keep_scenes(rows, researcher)
    approve_prompts(rows, researcher)
    run_json("generate_images", project=project.slug, candidates=1, **SIZE)
    return GeneratedImage.objects.get()


def take_down(image: GeneratedImage) -> None:
    """Take down an image's file."""
    Image.objects.filter(pk=image.image_id).update(taken_down_at=timezone.now())


def test_a_double_click_draws_and_pays_once(candidate: GeneratedImage, researcher: User) -> None:
    def edit(way: str = "again") -> Job:
        return request_edit(image=candidate, options=EditOptions(way), by=researcher, queue=False)

    job, runs = edit(), ModelRun.objects.count()
    for way in ("again", "variation"):
        with pytest.raises(Conflict, match=f"is running already as job {job.pk}; wait for it or cancel it"):
            edit(way)
    assert ModelRun.objects.count() == runs
    assert jobs.run_in_process(job=job).state == "done"
    assert jobs.run_in_process(job=edit("variation")).state == "done"
    assert GeneratedImage.objects.filter(parent=candidate).count() == 2


def test_an_image_that_is_taken_down_while_the_job_waits_is_not_sent(
    candidate: GeneratedImage, researcher: User
) -> None:
    options, calls = EditOptions("variation"), ModelCall.objects.count()
    job = request_edit(image=candidate, options=options, by=researcher, queue=False)
    take_down(candidate)
    ended = jobs.run_in_process(job=job)
    assert (ended.state, ModelCall.objects.count()) == ("failed", calls)
    assert "candidate 1: the image was taken down; draw from another one" in ended.error
    with pytest.raises(Refused, match="image: was taken down"):
        request_edit(image=candidate, options=options, by=researcher, queue=False)


def test_a_premise_that_is_taken_down_meanwhile_is_sent_no_more(
    project: Project, candidate: GeneratedImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, sent = DrawingGenerator.generate, []

    def generate(self: DrawingGenerator, request: ImageRequest) -> ImageReply:
        sent.append(request.reference)
        take_down(candidate)
        return real(self, request)

    monkeypatch.setattr(DrawingGenerator, "generate", generate)
    given: dict[str, Any] = {"project": project.slug, "candidates": 1, "unattended": True, **SIZE}
    assert "candidate 1: the image was taken down" in refusal("generate_images", **given)
    assert len(sent) == 1
    assert sent[0] is not None
