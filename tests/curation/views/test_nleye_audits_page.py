"""The page of audits of image triplets: figures beside their limits, flags, and what a version repeats of them."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.evaluation.nleye_audits import audit_hypotheses_only
from curation.image_triplets.audit_titles import TITLES, audit_title
from curation.models import DatasetVersion, ImageTriplet
from curation.selectors.jobs import AUDIT_TRIPLETS
from curation.views.triplets.audit_labels import LABELS
from hits.models import Job, Project
from tests.support.nleye_evaluations import found_audits, store_audit
from tests.support.nleye_stored import nleye_project, store_triplets
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
COUNT = 12


@pytest.fixture
def triplets(project: Project, researcher: User) -> list[ImageTriplet]:
    return store_triplets(project, COUNT, researcher)


def page_of(client: Client, user: User, project: Project) -> str:
    client.force_login(user)
    reply = client.get(reverse("triplet-audits", args=[project.slug]))
    assert reply.status_code == 200
    return squeezed(reply)


def test_a_project_without_triplets_has_nothing_to_audit(
    client: Client, researcher: User, project: Project
) -> None:
    nleye_project(project)
    page = page_of(client, researcher, project)
    assert "There are no triplets to audit yet" in page
    assert f'href="{reverse("image-triplets", args=[project.slug])}"' in page
    reply = client.post(reverse("triplet-audit-start", args=[project.slug]), follow=True)
    assert "Not started: triplets: there are none to audit; build triplets first" in squeezed(reply)
    assert not Job.objects.exists()


def test_audits_are_started_once(client: Client, researcher: User, triplets: list[ImageTriplet]) -> None:
    project = triplets[0].project
    assert "Nothing audited yet" in page_of(client, researcher, project)
    address = reverse("triplet-audit-start", args=[project.slug])
    assert client.get(address).status_code == 405
    assert client.post(address).status_code == 302
    job = Job.objects.get(task=AUDIT_TRIPLETS)
    page = page_of(client, researcher, project)
    assert f'action="{reverse("job-cancel", args=[job.pk])}"' in page
    assert "Audit the triplets" not in page
    assert "Not started" in squeezed(client.post(address, follow=True))
    assert Job.objects.filter(task=AUDIT_TRIPLETS).count() == 1


def test_figures_stand_beside_their_limits_with_the_worst_triplets(
    client: Client, researcher: User, triplets: list[ImageTriplet]
) -> None:
    project = triplets[0].project
    audits = found_audits(triplets)
    store_audit(project, audits)
    page = page_of(client, researcher, project)
    for audit in audits:
        assert f'<data value="{json.dumps(audit.figure)}">' in page, audit.name
        is_line = audit.name.startswith(
            ("label_balance: ", "agreement: ")
        )  # of a table, without its sentence
        assert is_line or audit.why in page, audit.name
    length = audits[0]
    assert (length.flagged, length.figure) == (True, pytest.approx(100 * (COUNT - 1) / COUNT))
    assert page.count("Flagged</span>") == 1
    head, _, rest = page.partition("No flag</h2>")
    assert "Length of the texts" in head
    assert "Balance of gold" in rest
    low, high = f"{length.low:.1f}", f"{length.high:.1f}"
    assert f'aria-label="91.7 percent, interval {low} to {high}, limit 40 and 60"' in page
    worst = next(row for row in triplets if row.public_id == length.worst[0])
    assert f'href="{reverse("image-triplet", args=[project.slug, worst.pk])}"' in head
    assert "1 audit raised a flag" in page
    for missing in (
        "No one was asked to choose without the premise",
        "No model was asked",
        "at least two countries",
    ):
        assert missing in page


def test_every_audit_has_a_title_and_a_meaning() -> None:
    assert set(LABELS) == set(TITLES)
    assert audit_title("label_balance: social") == "Balance of gold, social"
    assert audit_title("text: length") == "Length of the texts"
    assert audit_title("new_audit: x") == "New audit, x"


def test_audits_that_were_measured_are_not_missing(
    client: Client, researcher: User, triplets: list[ImageTriplet]
) -> None:
    project = triplets[0].project
    ids = [row.public_id for row in triplets]
    right = [True] * 10 + [False] * 2
    audits = [
        audit_hypotheses_only("people_without_premise", ids, right),
        audit_hypotheses_only("model_without_premise: openai:tiny", ids, [True, False] * 6),
    ]
    store_audit(project, audits)
    page = page_of(client, researcher, project)
    assert "to choose without the premise" not in page
    assert "Nobody has judged the triplets" in page
    assert 'Model without the premise <span class="muted">openai:tiny</span>' in page
    assert "83.3" in page


def test_page_needs_a_constant_number_of_queries(
    client: Client, researcher: User, triplets: list[ImageTriplet], django_assert_max_num_queries: Any
) -> None:
    project = triplets[0].project
    store_audit(project, found_audits(triplets) * 3)
    client.force_login(researcher)
    with django_assert_max_num_queries(14):
        assert client.get(reverse("triplet-audits", args=[project.slug])).status_code == 200


def test_a_version_repeats_the_flags(client: Client, admin: User, triplets: list[ImageTriplet]) -> None:
    project = triplets[0].project
    draft = DatasetVersion.objects.create(project=project, name="v1")
    client.force_login(admin)

    def page() -> str:
        return squeezed(client.get(reverse("version", args=[draft.pk])))

    assert "Nobody has audited the triplets for shortcuts" in page()
    audits = found_audits(triplets)
    store_audit(project, audits)
    found = page()
    assert f"Length of the texts: {audits[0].why}" in found
    assert f'href="{reverse("triplet-audits", args=[project.slug])}"' in found
    assert "Balance of gold" not in found
    store_audit(project, audits[1:2])
    assert "No audit raised a flag" in page()
    DatasetVersion.objects.filter(pk=draft.pk).update(
        state="sealed",
        sealed_at="2026-11-27T00:00Z",
        manifest_sha256="0" * 64,
        provenance={"audits": [audit.as_json() for audit in audits]},
    )
    assert f"Length of the texts: {audits[0].why}" in page()
