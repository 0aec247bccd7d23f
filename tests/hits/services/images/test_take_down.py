"""Taking a photo down: nobody sees it, submitted work stays, and it can be put back."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from curation.models import Pair
from hits.domain.states import HitState
from hits.marketplace.models import Message
from hits.models import Assignment, AuditEvent, Draft, Hit, Image, OutgoingCall, Project
from hits.mturk.boto import marketplace
from hits.selectors.images.images import image_url, list_usable_images, unused_images
from hits.selectors.take_down import count_take_down_effects
from hits.services.collecting import submit
from hits.services.errors import Conflict, Refused
from hits.services.images import take_down
from hits.services.images.import_image import import_image
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.tasks import sync_live_batches
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, collected, launched, page_key, published, store

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
HIT_HOST = settings.HIT_ORIGIN.removeprefix("http://")


@pytest.fixture
def image(project: Project, make_image: MakeImage) -> Image:
    market.fund()
    return make_image(1)


@pytest.fixture
def frame() -> Client:
    return Client(HTTP_HOST=HIT_HOST)


def served(image: Image) -> int:
    return Client(HTTP_HOST=HIT_HOST).get(image_url(image).removeprefix(settings.HIT_ORIGIN)).status_code


def test_file_of_a_photo_that_is_taken_down_is_sent_to_nobody_until_it_is_back(image: Image) -> None:
    assert served(image) == 200
    take_down.take_down_image(image=image, reason="its owner asked", by=None)
    assert served(image) == 410
    public = Client(HTTP_HOST=settings.PUBLIC_URL.removeprefix("http://"))
    assert public.get(f"/media/{image.file.name}").status_code == 404
    take_down.put_back_image(image=image, reason="a mistake", by=None)
    assert served(image) == 200


def test_file_without_a_row_is_not_served(image: Image) -> None:
    stray = Path(settings.MEDIA_ROOT) / "images" / "ab" / f"{'ab' * 32}.png"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(Path(settings.MEDIA_ROOT, image.file.name).read_bytes())
    assert Client(HTTP_HOST=HIT_HOST).get(f"/media/images/ab/{'ab' * 32}.png").status_code == 404


def test_file_that_another_project_shows_too_is_still_sent(image: Image) -> None:
    other = Project.objects.create(name="Other", slug="other")
    data = Path(settings.MEDIA_ROOT, image.file.name).read_bytes()
    twin, _ = import_image(project=other, name="twin.png", data=data)
    assert twin.file.name == image.file.name
    take_down.take_down_image(image=image, reason="not here", by=None)
    assert served(twin) == 200
    take_down.take_down_image(image=twin, reason="nor there", by=None)
    assert served(twin) == 410


def test_open_hits_end_and_planned_ones_are_cancelled(
    project: Project, image: Image, make_image: Any
) -> None:
    live = published(project, [image, make_image(2)])
    planned = launched(project, [make_image(3)])
    planned.units.get().images.set([image])
    assert take_down.take_down_image(image=image, reason="asked", by=None) == 1
    sync_live_batches()
    ours = Hit.objects.get(unit__batch=live, unit__images=image)
    assert market_state(ours) == "Unassignable or reviewable"
    other = Hit.objects.get(unit__batch=live, unit__images__name="photo-2.png")
    assert market_state(other) == "Assignable"
    assert Hit.objects.get(unit__batch=planned).state == HitState.CANCELLED


def market_state(hit: Hit) -> str:
    found = marketplace().get_hit(str(hit.hit_id)).status
    return found if found == "Assignable" else "Unassignable or reviewable"


def test_hit_that_goes_live_after_the_take_down_is_ended_by_the_next_sweep(
    project: Project, image: Image
) -> None:
    batch = launched(project, [image])
    take_down.take_down_image(image=image, reason="asked", by=None)
    Hit.objects.update(state=HitState.PLANNED)  # as if its creation had been under way
    publish.publish_batch(batch=batch, marketplace=marketplace())
    assert market_state(Hit.objects.get()) == "Assignable"
    sync_live_batches()
    assert market_state(Hit.objects.get()) != "Assignable"
    before = OutgoingCall.objects.count()
    sync_live_batches()
    assert OutgoingCall.objects.count() == before, "planned once"


def test_take_down_pays_submitted_work_and_notifies_workers_with_open_work(
    project: Project, make_image: MakeImage, frame: Client
) -> None:
    market.fund()
    image = make_image(1)
    batch = published(project, [image, make_image(2)], terms=LaunchTerms(redundancy=2))
    hit, before = (Hit.objects.get(unit__images__name=f"photo-{n}.png") for n in (1, 2))
    wilma, walter = market.market_worker("wilma"), market.market_worker("walter")
    market.work(hit, wilma)
    market.work(before, walter)
    for row in collected(batch):
        approve(row)  # a requester may write only to those whose work was decided about
    task = market.accept(hit, walter)
    key = page_key(hit, task.slot.assignment_id, walter.worker_id)
    submit.record_consent(key=key, version=1, country="US")
    submit.open_attempt(key=key)
    submit.save_draft(key=key, content={"half": "written"}, revision=1)
    assert (count_take_down_effects(image).workers_with_task, count_take_down_effects(image).open_hits) == (
        1,
        1,
    )

    take_down.take_down_image(image=image, reason="asked", by=None)
    assert take_down.notify_workers(image=image, marketplace=marketplace()) == 1
    assert Message.objects.get().worker == walter
    page = frame.get(
        reverse("hit-page", args=[hit.unit.public_id]),
        {
            "assignmentId": task.slot.assignment_id,
            "hitId": hit.hit_id,
            "workerId": walter.worker_id,
            "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{task.secret}",
        },
    )
    assert page.status_code == 403
    assert "What you submitted is paid as agreed" in page.content.decode()
    assert Draft.objects.get().content == {"half": "written"}
    # Their page was open all the time: what they wrote is taken in, confirmed and paid all the same.
    market.submit_form(task, store(key, observations()))
    sync_live_batches()
    approve(next(row for row in collected(batch) if row.status == "Submitted"))
    assert set(Assignment.objects.values_list("status", flat=True)) == {"Approved"}
    assert Pair.objects.filter(image=image).exists()


def test_new_work_leaves_the_photo_out_until_it_is_back(project: Project, image: Image) -> None:
    launched(project, [image])
    take_down.take_down_image(image=image, reason="asked", by=None)
    assert list_usable_images(project) == []
    take_down.put_back_image(image=image, reason="mistake", by=None)
    assert list_usable_images(project) == [image]
    assert list(unused_images(project, "sherlock_observation")) == [image], (
        "its planned task was shown to nobody"
    )


def test_take_down_twice_is_a_conflict_and_leaves_one_event(image: Image, researcher: User) -> None:
    take_down.take_down_image(image=image, reason="  its\nowner   asked ", by=researcher)
    with pytest.raises(Conflict, match="is taken down already"):
        take_down.take_down_image(image=image, reason="again", by=researcher)
    event = AuditEvent.objects.get(action="image.take_down")
    assert (event.actor, event.data["reason"], event.subject) == (
        researcher,
        "its owner asked",
        str(image.pk),
    )
    with pytest.raises(Conflict, match="is not taken down"):
        take_down.put_back_image(image=type(image).objects.create(**fields(image)), reason="x", by=None)


def fields(image: Image) -> dict[str, Any]:
    return {
        "project": image.project,
        "name": "twin",
        "file": image.file.name,
        "sha256": image.sha256,
        "original_sha256": "1" * 64,
        "width": 1,
        "height": 1,
        "bytes": image.bytes,
    }


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * 401])
def test_take_down_without_a_usable_reason_is_refused_and_changes_nothing(image: Image, reason: str) -> None:
    with pytest.raises(Refused, match=r"^reason: "):
        take_down.take_down_image(image=image, reason=reason, by=None)
    image.refresh_from_db()
    assert image.taken_down_at is None


def test_page_shows_the_consequences_and_takes_the_photo_down_and_back(
    client: Client, researcher: User, project: Project, image: Image
) -> None:
    published(project, [image])
    client.force_login(researcher)
    address = reverse("project-image", args=[project.slug, image.pk])
    assert "Open tasks that end" in client.get(address).content.decode()
    down = client.post(
        reverse("image-take-down", args=[project.slug, image.pk]), {"reason": "asked"}, follow=True
    )
    text = down.content.decode()
    assert "is taken down. 1 open task will end within a minute" in text
    assert "Nobody sees this photo" in text
    assert image_url(image) not in text
    assert image_url(image) not in client.get(reverse("project-images", args=[project.slug])).content.decode()
    back = client.post(
        reverse("image-put-back", args=[project.slug, image.pk]), {"reason": "ok"}, follow=True
    )
    assert "is back" in back.content.decode()


def test_page_changes_the_description_and_writes_each_change_down(
    client: Client, researcher: User, project: Project, image: Image
) -> None:
    client.force_login(researcher)
    address = reverse("project-image", args=[project.slug, image.pk])
    data = {"credit": "Ann", "licence": "CC BY 2.0", "alt": "A bench", "split": "val"}
    client.post(address, data)
    image.refresh_from_db()
    assert (image.credit, image.licence, image.alt, image.split) == ("Ann", "CC BY 2.0", "A bench", "val")
    event = AuditEvent.objects.get(action="image.describe")
    assert event.data["changed"] == ["credit", "licence", "alt", "split"]
    client.post(address, data)
    assert AuditEvent.objects.filter(action="image.describe").count() == 1
    refused = client.post(address, data | {"split": "holdout"})
    assert refused.status_code == 400
    assert 'value="Ann"' in refused.content.decode()


def test_command_takes_a_photo_down_by_number_name_or_hash(project: Project, image: Image) -> None:
    for name in (str(image.pk), image.name, image.sha256):
        out = StringIO()
        call_command("take_down", name, "--project", project.slug, "--reason", "asked", "--json", stdout=out)
        assert json.loads(out.getvalue())["withdrawn"] is True
        call_command("take_down", name, "--project", project.slug, "--reason", "oops", "--undo", stdout=out)
    image.refresh_from_db()
    assert image.taken_down_at is None


@pytest.mark.parametrize("name", ["99999999", "nothing.png", "0" * 64, "9" * 40])
def test_command_refuses_an_unknown_photo(project: Project, image: Image, name: str) -> None:
    with pytest.raises(CommandError, match="has no such photo") as error:
        call_command("take_down", name, "--project", project.slug, "--reason", "asked")
    assert error.value.returncode == 2
