"""What console pages show of kinds that are not Sherlock's: their own words, all images, nothing that they lack."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.models import Assignment, Batch, Hit, Project
from hits.services.launch import PlannedUnit, Terms, launch_batch
from tests.validation.factory import Work

pytestmark = pytest.mark.django_db


def launched(project: Project, kind: str, *payloads: dict[str, object]) -> Batch:
    """Return a batch of a kind with a unit for each payload."""
    units = [PlannedUnit(f"unit-{number}", payload) for number, payload in enumerate(payloads)]
    batch, _ = launch_batch(project=project, kind_name=kind, name="Batch", units=units, by=None, terms=Terms())
    Work(project).publish(batch)
    return batch


def text_of(client: Client, name: str, *args: object, query: str = "") -> str:
    """Return a page's text."""
    reply = client.get(reverse(name, args=args) + query)
    assert reply.status_code == 200
    return reply.content.decode()


def test_submission_page_shows_what_was_written_to_the_letter_and_the_order_that_was_shown(
    client: Client, project: Project, researcher: User, work: Work
) -> None:
    batch = launched(project, "three_orders", {"words": ["rain", "wind", "snow"]})
    submission = work.answered(Hit.objects.get(unit__batch=batch), "W1", {"pick": "rain"})
    client.force_login(researcher)
    page = text_of(client, "assignment-detail", Assignment.objects.get().pk)
    assert "<b>rain</b>" in page
    assert f"Words on the page: {', '.join(submission.shown['words'])}" in page
    assert "<th>Shown</th>" in page
    assert "Filled in" not in page
