"""De-duplication ends with a preview: what it shows, setting aside, keeping a group, and undoing."""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from PIL import Image as Pillow

from curation.dedup.cuts import ByDistance
from curation.models import DuplicateRun, DuplicateRunState, LeakReview
from curation.pipelines import deduplicate
from curation.pipelines.deduplicate import deduplicate_images
from curation.selectors import duplicates as read
from curation.selectors.jobs import DEDUPLICATE
from curation.services import dedup as services
from curation.services.dedup import MAX_GROUP_SIZE, DedupOptions, mark_group_as_different, near_copy_distance
from curation.views.forms import DedupForm
from hits.domain.states import JobState
from hits.models import AuditEvent, Image, Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.images.duplicates import (
    add_duplicate_marks,
    replace_duplicate_marks,
    restore_duplicate_marks,
    unmark_duplicate,
)
from tests.curation.services.test_marks import marks, take_down
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


class Turned:
    """Vectors in a plane, one for each photo in turn, at the angles given (degrees)."""

    name = "turned"

    def __init__(self, *angles: float) -> None:
        self.revision = str(angles)
        self.angles = np.radians(angles)

    def encode_images(self, images: Sequence[Pillow.Image]) -> Any:
        assert len(images) == len(self.angles), "one batch"
        return np.stack([np.cos(self.angles), np.sin(self.angles)], axis=1)


@pytest.fixture
def photos(work: Work) -> list[Image]:
    return [work.image(seed) for seed in range(6)]


@pytest.fixture
def keys(photos: list[Image]) -> list[int]:
    return [image.pk for image in photos]


def found(project: Project, *angles: float, **options: Any) -> DuplicateRun:
    """Run a de-duplication on made-up vectors and return its row."""
    options = {"keep": "first"} | options
    made = deduplicate_images(project=project, options=DedupOptions(**options), encoder=Turned(*angles))
    return DuplicateRun.objects.get(pk=made.run)


# two near copies (cosine 0.985), two that are a little less alike (0.94), two that nobody takes for the same
ANGLES = (0, 10, 80, 100, 190, 260)


# -- the default


def test_by_default_only_near_copies_are_found_and_no_photo_is_touched(work: Work, keys: list[int]) -> None:
    a, b, c, d, *_ = keys
    run = found(work.project, *ANGLES)
    assert marks(work.project) == {}, "a run touches nothing"
    groups = read.preview_run(run).groups
    assert [(group.kept, list(group.members), group.pair) for group in groups] == [
        (c, [d], (c, d)),
        (a, [b], (a, b)),
    ]
    assert [round(group.cosine or 0, 3) for group in groups] == [0.94, 0.985], (
        "the least alike group comes first"
    )
    far = found(work.project, 0, 60, 120, 180, 240, 300)
    assert read.preview_run(far).to_set_aside == 0, "no share of a collection has to go"


@pytest.mark.parametrize(
    ("encoder", "linkage", "distance"),
    [
        ("", "average", 0.12),
        ("efficientnet-lite0", "complete", 0.12),
        ("clip:openai/clip-vit-base-patch32", "average", 0.05),
        ("clip-openvino:/weights", "single", 0.05),
        ("", "ward", 0.4899),
    ],
)
def test_the_default_distance_follows_encoder_and_linkage(
    encoder: str, linkage: str, distance: float
) -> None:
    assert near_copy_distance(encoder, linkage) == distance
    assert DedupOptions(encoder=encoder, linkage=linkage).cut == ByDistance(distance)


def test_ward_merges_the_same_two_photos_at_its_default(work: Work, photos: list[Image]) -> None:
    for angle, groups in ((28, 1), (29, 0)):  # cosines 0.883 and 0.875, on both sides of 1 - 0.12
        for linkage in ("average", "ward"):
            run = found(work.project, 0, angle, 120, 180, 240, 300, linkage=linkage)
            assert len(run.groups) == groups, (angle, linkage)


def test_the_job_names_the_default_distance(work: Work, photos: list[Image]) -> None:
    job = services.request_deduplication(project=work.project, by=None)
    assert job.args["options"]["distance"] == 0.12
    assert job.args["options"]["fraction"] is None


# -- setting aside and undoing


def test_a_preview_is_set_aside_once_and_undone_in_one_act(
    work: Work, keys: list[int], researcher: User
) -> None:
    a, b, c, d, e, f = keys
    replace_duplicate_marks(project=work.project, groups={e: [f, b]})  # of an earlier release
    run = found(work.project, *ANGLES)
    preview = read.preview_run(run)
    assert (preview.to_set_aside, preview.already_set_aside, preview.to_reoffer) == (2, 1, 1)
    counted = services.set_aside_duplicates(run=run, by=researcher)
    assert marks(work.project) == {b: a, d: c}
    assert services.set_aside_duplicates(run=run, by=researcher) == counted, "a second click does nothing"
    services.undo_duplicates(run=run, by=researcher)
    assert marks(work.project) == {f: e, b: e}, "as before the run"
    assert services.undo_duplicates(run=run, by=researcher) == 0
    assert AuditEvent.objects.filter(action="images.duplicates_undone", actor=researcher).count() == 1
    with pytest.raises(Conflict, match="this run was undone; run the de-duplication again"):
        services.set_aside_duplicates(run=run, by=researcher)


def test_later_decisions_survive_undo(work: Work, keys: list[int], researcher: User) -> None:
    a, b, _, d, e, f = keys
    replace_duplicate_marks(project=work.project, groups={a: [b], e: [f]})
    run = found(work.project, 0, 90, 130, 100, 190, 260)
    services.set_aside_duplicates(run=run)
    assert marks(work.project) == {d: b}
    add_duplicate_marks(project=work.project, retained=f, duplicates=[e], by=researcher)
    unmark_duplicate(project=work.project, image=d, by=researcher)
    services.undo_duplicates(run=run)
    assert marks(work.project) == {b: a, e: f}, "b is back, what people said of d, e and f stays"


def test_only_the_newest_preview_can_be_set_aside(work: Work, photos: list[Image]) -> None:
    old = found(work.project, *ANGLES)
    services.set_aside_duplicates(run=old)
    new = found(work.project, *ANGLES)
    with pytest.raises(Conflict, match="there is a newer de-duplication; use that preview"):
        services.set_aside_duplicates(run=old)
    with pytest.raises(Conflict, match="the photos of this run were not set aside yet"):
        services.undo_duplicates(run=new)
    services.set_aside_duplicates(run=new)
    with pytest.raises(Conflict, match="undo that run first"):
        services.undo_duplicates(run=old)


def test_earlier_previews_are_emptied_and_runs_that_acted_stay(work: Work, photos: list[Image]) -> None:
    acted = found(work.project, *ANGLES, set_aside=True)
    assert acted.state == DuplicateRunState.SET_ASIDE
    emptied, newest = found(work.project, *ANGLES), found(work.project, *ANGLES)
    sizes = {run.pk: len(run.groups) for run in DuplicateRun.objects.all()}
    assert sizes == {acted.pk: 2, emptied.pk: 0, newest.pk: 2}


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_restored_no_mark_points_at_a_photo_that_is_not_offered(
    project: Project, keys: list[int], seed: int
) -> None:
    draw = np.random.default_rng(seed)
    replace_duplicate_marks(project=project, groups={keys[0]: keys[1:3], keys[3]: keys[4:5]})
    take_down(*draw.choice(keys, 2, replace=False).tolist())
    restored = {
        image: None if draw.random() < 0.3 else int(draw.choice([key for key in keys if key != image]))
        for image in draw.permutation(keys).tolist()
    }
    restore_duplicate_marks(project=project, marks=restored)
    after = marks(project)
    gone = set(Image.objects.filter(taken_down_at__isnull=False).values_list("pk", flat=True))
    assert not set(after.values()) & set(after), "a mark points at a photo that is marked"
    assert not {kept for image, kept in after.items() if image not in gone} & gone, "or was taken down"


def test_marks_of_another_project_are_not_restored(project: Project, rehearsal: Project, work: Work) -> None:
    foreign = Work(rehearsal).image(9)
    with pytest.raises(Refused, match=f"image {foreign.pk} is not in this project"):
        restore_duplicate_marks(project=project, marks={foreign.pk: None})


# -- keeping a group


def test_a_group_that_is_kept_leaves_the_preview_and_later_runs(
    work: Work, keys: list[int], researcher: User
) -> None:
    a, b, c, d, *_ = keys
    run = found(work.project, *ANGLES)
    mark_group_as_different(project=work.project, images=[c, d], by=researcher)
    mark_group_as_different(project=work.project, images=[d, c], by=researcher)
    assert LeakReview.objects.count() == 1, "the same decision is written once"
    assert [group.kept for group in read.preview_run(run).groups] == [a]
    services.set_aside_duplicates(run=run)
    assert marks(work.project) == {b: a}
    again = found(work.project, *ANGLES, set_aside=True, keep="random", seed=3)
    assert [group["kept"] in (a, b) for group in again.groups] == [True]
    assert len(marks(work.project)) == 1


def test_a_group_that_was_set_aside_is_offered_again_and_stays_so(
    work: Work, keys: list[int], researcher: User
) -> None:
    a, b, c, *_ = keys
    found(work.project, 0, 5, 10, 100, 190, 260, set_aside=True)
    assert marks(work.project) == {b: a, c: a}
    mark_group_as_different(project=work.project, images=[a, b, c], by=researcher)
    assert marks(work.project) == {}
    found(work.project, 0, 5, 10, 100, 190, 260, set_aside=True)
    assert marks(work.project) == {}


def test_one_pair_that_people_call_different_divides_its_group(
    work: Work, keys: list[int], researcher: User
) -> None:
    a, b, c, *_ = keys
    LeakReview.objects.create(first_id=a, second_id=b, verdict="different", by=researcher)
    run = found(work.project, 0, 5, 10, 100, 190, 260)
    assert [(group["kept"], group["members"]) for group in run.groups] == [(a, [c])]
    LeakReview.objects.create(first_id=a, second_id=c, verdict="different", by=researcher)
    assert [(group.kept, group.cosine) for group in read.preview_run(run).groups] == []


def test_groups_that_cannot_be_kept_are_refused(
    work: Work, keys: list[int], researcher: User, rehearsal: Project
) -> None:
    with pytest.raises(Refused, match="a group has two or more"):
        mark_group_as_different(project=work.project, images=keys[:1], by=researcher)
    with pytest.raises(Refused, match="at most 60 can be kept together; run again with a smaller distance"):
        mark_group_as_different(project=work.project, images=list(range(MAX_GROUP_SIZE + 1)), by=researcher)
    foreign = Work(rehearsal).image(9)
    with pytest.raises(Refused, match=f"image {foreign.pk} is not in this project"):
        mark_group_as_different(project=work.project, images=[keys[0], foreign.pk], by=researcher)
    assert not LeakReview.objects.exists()


# -- the page


def page_of(client: Client, project: Project) -> str:
    return re.sub(r"\s+", " ", client.get(reverse("curation", args=[project.slug])).content.decode())


def test_the_page_previews_sets_aside_keeps_and_undoes(
    client: Client, work: Work, keys: list[int], researcher: User
) -> None:
    a, b, c, *_ = keys
    client.force_login(researcher)
    run = found(work.project, *ANGLES)
    page = page_of(client, work.project)
    assert "2 of 6 photos" in page
    assert "cosine 0.940, a distance of 0.060" in page
    assert page.count("Least similar pair</span>") == 2, "both photos are shown"
    keep = reverse("curation-duplicates-keep", args=[work.project.slug])
    assert client.post(keep, {"kept": c, "run": run.pk}).status_code == 302
    assert "1 of 6 photos" in page_of(client, work.project)
    assert marks(work.project) == {}
    client.post(keep, {"kept": keys[5], "run": run.pk})
    assert LeakReview.objects.count() == 1, "no group is of that photo"
    act = reverse("curation-duplicates-set-aside", args=[work.project.slug, run.pk])
    assert client.post(act).status_code == 302
    assert client.post(act, follow=True).status_code == 200
    assert marks(work.project) == {b: a}
    page = page_of(client, work.project)
    assert 'id="preview"' not in page
    assert "Cosine 0.985" in page
    undo = reverse("curation-duplicates-undo", args=[work.project.slug, run.pk])
    assert client.post(undo).status_code == 302
    assert marks(work.project) == {}
    replace_duplicate_marks(project=work.project, groups={a: [b]})
    assert client.post(keep, {"kept": a}).status_code == 302
    assert marks(work.project) == {}


def test_a_run_of_another_project_is_not_touched(
    client: Client, work: Work, photos: list[Image], admin: User, rehearsal: Project
) -> None:
    run = found(work.project, *ANGLES)
    client.force_login(admin)
    for name in ("set-aside", "undo"):
        url = reverse(f"curation-duplicates-{name}", args=[rehearsal.slug, run.pk])
        assert client.post(url).status_code == 404
    keep = reverse("curation-duplicates-keep", args=[rehearsal.slug])
    client.post(keep, {"kept": photos[0].pk, "run": run.pk})
    assert not LeakReview.objects.exists()
    run.refresh_from_db()
    assert run.state == DuplicateRunState.PREVIEW
    assert marks(work.project) == {}


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({}, ("distance", None)),
        ({"distance": 0.03, "linkage": "ward", "keep": "medoid", "seed": 7}, ("distance", 0.03)),
        ({"fraction": 0.95, "encoder": "clip:openai/clip-vit-base-patch32"}, ("share", 95)),
        ({"clusters": 2}, ("clusters", 2)),
    ],
)
def test_the_form_keeps_the_values_of_the_last_run(
    client: Client,
    work: Work,
    photos: list[Image],
    researcher: User,
    asked: dict[str, Any],
    shown: tuple[str, Any],
) -> None:
    job = services.request_deduplication(project=work.project, by=None, **asked)
    client.force_login(researcher)
    form = client.get(reverse("curation", args=[work.project.slug])).context["form"]
    cut, value = shown
    assert form.chosen_cut == cut
    assert form[cut].value() == value
    for name in ("linkage", "keep", "seed", "encoder"):
        if name in asked:
            assert form[name].value() == asked[name]
    again = DedupForm(
        {name: "" if (value := form[name].value()) is None else value for name in form.fields} | {"cut": cut}
    )
    assert again.is_valid(), again.errors
    Job.objects.update(state=JobState.DONE)
    second = services.request_deduplication(project=work.project, by=None, **again.options)
    encoders = ({"encoder": ""}, {"encoder": "efficientnet-lite0"})
    assert job.args["options"] | encoders[0] == second.args["options"] | encoders[0]


# -- the command


@pytest.fixture
def turned(monkeypatch: pytest.MonkeyPatch, photos: list[Image]) -> None:
    monkeypatch.setattr(deduplicate, "get_image_encoder", lambda name: Turned(*ANGLES))


def test_the_command_previews_applies_and_undoes(
    work: Work, keys: list[int], turned: None, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, c, d, *_ = keys
    call_command("deduplicate_photos", "--project", work.project.slug, "--keep", "first")
    run = DuplicateRun.objects.get()
    assert f"manage.py deduplicate_photos --apply {run.pk}" in capsys.readouterr().out
    assert marks(work.project) == {}
    call_command("deduplicate_photos", "--apply", str(run.pk))
    assert "2 photos are set aside; undo it with --undo" in capsys.readouterr().out
    assert marks(work.project) == {b: a, d: c}
    call_command("deduplicate_photos", "--undo", str(run.pk), "--json")
    assert json.loads(capsys.readouterr().out) == {"undone": 2}
    assert marks(work.project) == {}


def test_the_command_sets_aside_at_once_where_that_is_asked_for(
    work: Work, turned: None, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("deduplicate_photos", "--project", work.project.slug, "--set-aside", "--json")
    assert json.loads(capsys.readouterr().out)["marked"] == 2
    assert Job.objects.get(task=DEDUPLICATE).args["options"]["set_aside"] is True


def test_job_page_labels_its_facts(
    client: Client, work: Work, photos: list[Image], admin: User, turned: None
) -> None:
    call_command("deduplicate_photos", "--project", work.project.slug)
    job = Job.objects.get(task=DEDUPLICATE)
    client.force_login(admin)
    page = client.get(reverse("job-detail", args=[job.pk])).content.decode()
    labels = re.findall(r"<dt>([^<]+)</dt>", page)
    assert "Photos to set aside" in labels
    assert "Lowest cosine within a group" in labels
    assert "Memory limit, MiB" in labels
    assert not [label for label in labels if "_" in label or label.startswith("Options")]


def test_the_command_refuses_a_run_that_is_not_there(work: Work) -> None:
    with pytest.raises(CommandError, match="run 7: does not exist"):
        call_command("deduplicate_photos", "--apply", "7")
