"""Who wrote a triplet, in its export; and a rehearsal's export, which never becomes data."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from curation.models import ImageTriplet, TripletExplanation
from curation.versions.plan import worker_hash
from hits.models import Image, Project, Worker
from hits.services import projects
from tests.support.nleye_stored import explain, judge, store_triplets

pytestmark = pytest.mark.django_db
CHOICES = ("right", "right", "wrong")


def export(project: Project, out: Path) -> Path:
    """Seal and export; the command verifies the files."""
    call_command("export_version", "v1", "--project", project.slug, "--format", "nleye", "--out", out)
    return out


def test_export_of_what_two_workers_wrote_is_verified(
    project: Project, researcher: User, tmp_path: Path
) -> None:
    writer, explainer = (Worker.objects.create(environment="local", worker_id=f"A{n}") for n in range(2))
    triplets = store_triplets(project, 1, researcher, author=writer)
    explain(triplets, researcher)
    TripletExplanation.objects.create(
        triplet=triplets[0], text="It hit the lamp.", source="gold", worker=explainer
    )
    judge(project, {triplets[0].public_id: CHOICES}, researcher)
    (line,) = (export(project, tmp_path / "D") / "annotators.jsonl").read_text().splitlines()
    found = json.loads(line)
    assert (found["writer"], found["explainer"]) == (worker_hash(writer), worker_hash(explainer))


def test_rehearsal_is_imported_into_rehearsals_alone(
    rehearsal: Project, project: Project, admin: User, tmp_path: Path
) -> None:
    triplets = store_triplets(rehearsal, 1, admin)
    explain(triplets, admin)
    judge(rehearsal, {triplets[0].public_id: CHOICES}, admin)
    out = export(rehearsal, tmp_path / "D")
    real = projects.create_project(name="Real", by=admin, family="nleye")
    with pytest.raises(CommandError, match=r"D: has REHEARSAL\.txt, so it is an export of a rehearsal"):
        call_command("import_nleye", out, "--project", real.slug)
    assert not Image.objects.filter(project=real).exists()
    other = projects.create_project(name="Practice", by=admin, family="nleye", is_rehearsal=True)
    call_command("import_nleye", out, "--project", other.slug)
    assert ImageTriplet.objects.filter(project=other).count() == 1
