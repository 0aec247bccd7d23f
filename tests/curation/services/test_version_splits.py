"""One rule says which splits of a version can be evaluated, audited, made a table of, or put on a leaderboard."""

import pytest
from django.utils import timezone

from curation.models import DatasetVersion, Part, VersionRow, VersionState
from curation.selectors.versions import version_splits
from curation.services.splits import check_split_has_pairs
from hits.models import Project
from hits.services.errors import Refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(project: Project) -> DatasetVersion:
    """Return a sealed version with a pair in train and one in test."""
    made = DatasetVersion.objects.create(project=project, name="v1")
    for split in ("train", "test"):
        VersionRow.objects.create(
            version=made, part=Part.OBSERVATION, instance_id=split, split=split, row={}, sha256="", workers=[]
        )
    DatasetVersion.objects.filter(pk=made.pk).update(
        state=VersionState.SEALED, sealed_at=timezone.now(), manifest_sha256="ab" * 32
    )
    made.refresh_from_db()
    return made


def test_all_is_a_split_of_a_version_with_others(version: DatasetVersion) -> None:
    assert version_splits(version) == ["test", "train"]
    for split in ("", "train", "test"):
        check_split_has_pairs(version, split)


def test_a_split_without_a_pair_is_refused_with_those_that_there_are(version: DatasetVersion) -> None:
    with pytest.raises(Refused, match="split: v1 has no pair in val; it has test, train"):
        check_split_has_pairs(version, "val")


def test_a_draft_is_refused(version: DatasetVersion) -> None:
    draft = DatasetVersion.objects.create(project=version.project, name="v2")
    with pytest.raises(Refused, match="v2 is a draft"):
        check_split_has_pairs(draft, "test")
