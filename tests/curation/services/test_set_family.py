"""A project's dataset family: chosen when it is made, and fixed once it has a version."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.services.families import set_family
from curation.services.versions import create_version
from hits.models import AuditEvent, Project
from hits.services.errors import Conflict, Refused

pytestmark = pytest.mark.django_db


def test_it_is_changed_while_there_is_no_version(project: Project, admin: User) -> None:
    assert set_family(project=project, family="tiny", by=admin).family == "tiny"
    project.refresh_from_db()
    assert project.family == "tiny"
    event = AuditEvent.objects.get(action="project.family")
    assert (event.data["before"], event.data["after"]) == ("sherlock", "tiny")


def test_a_version_even_a_draft_fixes_it(project: Project, admin: User) -> None:
    create_version(project=project, name="v1", by=admin)
    with pytest.raises(Conflict, match="has the version v1, so its family stays sherlock"):
        set_family(project=project, family="tiny", by=admin)
    assert set_family(project=project, family="sherlock", by=admin) == project


def test_an_unknown_family_is_refused_by_name(project: Project) -> None:
    with pytest.raises(Refused, match="'cluedo' is not known; use nleye, sherlock, tiny"):
        set_family(project=project, family="cluedo", by=None)
    with pytest.raises(CommandError, match="'cluedo' is not known"):
        call_command("set_family", project.slug, "cluedo")


def test_a_new_project_takes_the_family_that_was_chosen(client: Client, make_user: object) -> None:
    owner = make_user("sue", is_superuser=True, is_staff=True)  # type: ignore[operator]
    client.force_login(owner)
    page = client.get(reverse("project-new")).content.decode()
    assert "Dataset family" in page
    client.post(reverse("project-new"), {"name": "Words", "family": "tiny"})
    client.post(reverse("project-new"), {"name": "Streets"})
    assert dict(Project.objects.values_list("slug", "family")) == {"words": "tiny", "streets": "sherlock"}
