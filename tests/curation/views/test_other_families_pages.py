"""What version and scorer pages, and the export, say of a family that is not Sherlock: all its parts, no tasks."""

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.models import DatasetVersion
from curation.services import versions as services
from curation.versions.difference import compare_rows
from hits.models import Hit, Image, Project
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def tiny(project: Project, work: Work) -> Project:
    """Return a project of the tiny family with one likeness, one difference and two words, all approved."""
    Project.objects.filter(pk=project.pk).update(family="tiny")
    project.refresh_from_db()
    work.project = project
    photos = [work.image(seed).pk for seed in (1, 2)]
    words = {"first": "rain", "second": "wind"}
    answered(work, "word_list", {"topic": "weather"}, words)
    answered(work, "two_photos", {"left": photos[0], "right": photos[1]}, PAIR)
    return project


PAIR = {"same": "a street", "different": "a dog"}


def answered(work: Work, kind: str, unit: dict[str, object], answer: dict[str, object]) -> None:
    """Launch one unit of a kind and let one worker answer it."""
    batch, _ = launch_batch(
        project=work.project,
        kind_name=kind,
        name=kind,
        units=[PlannedUnit(kind, unit)],
        by=None,
        terms=LaunchTerms(),
    )
    work.publish(batch)
    work.answered(Hit.objects.get(unit__batch=batch), "W1", answer)


def taken_down() -> None:
    """Take one photo down: its likeness and its difference are left out from now on."""
    from django.utils import timezone

    Image.objects.filter(pk=Image.objects.order_by("pk").values("pk")[:1]).update(
        taken_down_at=timezone.now()
    )


def test_difference_shows_rows_of_each_part() -> None:
    change = compare_rows(
        {("mood", "1"): "a", ("object", "2"): "b"}, {("object", "2"): "c", ("object", "3"): "d"}
    )
    assert change.removed == (("mood", "1"),)
    assert change.changed == (("object", "2"),)
    assert change.added == (("object", "3"),)
    assert change.parts == {"mood": (1, 0), "object": (1, 2)}


def test_empty_versions_page_names_all_parts(client: Client, tiny: Project, researcher: User) -> None:
    client.force_login(researcher)
    text = client.get(reverse("versions", args=[tiny.slug])).content.decode()
    assert "the differences, likenesss and words that are approved when" in text


def test_draft_and_sealed_version_show_changes_of_every_part(
    client: Client, tiny: Project, admin: User
) -> None:
    client.force_login(admin)
    first = services.create_sealed_version(project=tiny, name="v1", by=None)
    taken_down()
    draft = services.create_version(project=tiny, name="v2", note="", by=admin)
    text = squeezed(client.get(reverse("version", args=[draft.pk])))
    assert "Seal v2 with 0 differences, 0 likenesss, 2 words?" in text
    assert "1 → 0 differences, 1 → 0 likenesss, 2 → 2 words" in text
    assert "1 difference, 1 likeness, 2 words" in text  # of v1, beside
    sealed = services.seal_version(version=draft, by=None)
    text = client.get(reverse("version", args=[sealed.pk])).content.decode()
    assert "−</b>Removed" in text
    assert len(sealed.provenance["removed"]) == 2
    assert first.rows.count() == 4


def test_export_names_every_part_and_refuses_regions_of_a_family_without_any(
    tiny: Project, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match="--regions: tiny has no regions; leave it out"):
        call_command("export_version", "v1", "--out", str(tmp_path / "no"), "--regions")
    assert not DatasetVersion.objects.exists()
    out = StringIO()
    call_command("export_version", "v1", "--out", str(tmp_path / "out"), stdout=out)
    assert "1 difference, 1 likeness, 2 words in" in out.getvalue()


@pytest.mark.parametrize("page", ["scorer-train", "leaderboards", "ablations", "evaluations"])
def test_versions_of_a_family_without_tasks_are_not_offered(
    client: Client, tiny: Project, admin: User, page: str
) -> None:
    services.create_sealed_version(project=tiny, name="v-nothing-to-score", by=None)
    client.force_login(admin)
    reply = client.get(reverse(page, args=[tiny.slug]))
    assert reply.status_code == 200
    assert "v-nothing-to-score" not in reply.content.decode()
