"""While one process writes a version, others cannot seal or delete what it publishes. PostgreSQL lets them try."""

from collections.abc import Callable
from pathlib import Path

import pytest

from curation.models import DatasetVersion, QuestionSet
from curation.services import versions
from curation.services.questions import delete_question_set, reject_question_set
from curation.versions.plan import Plan
from hits.models import Project, Record
from hits.services.errors import Conflict
from tests.support import children
from tests.support.vcr.question_sets import store_question_set, store_synthetic_set
from tests.support.vcr.synthetic import SyntheticTriplet
from tests.support.waiting import wait_until

FOLDS = {"train-0": 9, "val-0": 9, "test-0": 9}
SECONDS = 3.0  # in which the other process either ends, or waits for the first one

pytestmark = pytest.mark.django_db(transaction=True)
Triplets = list[SyntheticTriplet]


@pytest.fixture
def stored(project: Project) -> tuple[Triplets, list[Record]]:
    """Triplets of three folds, with an accepted question set."""
    stored = store_synthetic_set(project, FOLDS)
    return list(stored.triplets), list(stored.records)


def seal(name: str) -> None:
    versions.create_sealed_version(project=Project.objects.get(), name=name, by=None)


def run_amid_seal(work: Callable[[], object], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run ``work`` in a process while another one has written the rows of v1, but not committed them."""
    written, released = folder / "written", folder / "released"
    write_rows = versions._write_rows

    def write_slowly(version: DatasetVersion, plan: Plan) -> None:
        write_rows(version, plan)
        written.touch()
        wait_until(released.exists)

    with monkeypatch.context() as patch:
        patch.setattr(versions, "_write_rows", write_slowly)
        sealing = children.start(lambda: seal("v1"))
    wait_until(written.exists)
    other = children.start(work)
    try:
        wait_until(lambda: children.has_ended(other), seconds=SECONDS)
    except AssertionError:
        pass  # it waits, as it should
    finally:
        released.touch()
    assert (children.wait(sealing), children.wait(other)) == (0, 0)


def test_second_version_keeps_the_held_questions_of_one_that_is_being_written(
    stored: tuple[Triplets, list[Record]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    triplets, records = stored

    def seal_another_set() -> None:
        store_question_set(Project.objects.get(), triplets[::-1], records[::-1], name="second", seed=7)
        seal("v2")

    run_amid_seal(seal_another_set, tmp_path, monkeypatch)
    for version in DatasetVersion.objects.all():
        held = [row["name"] for row in version.provenance["question_sets"] if "test" in row["splits"]]
        assert held == ["first"], version.name


@pytest.mark.usefixtures("stored")
def test_set_of_a_version_that_is_being_written_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_its_set() -> None:
        question_set = QuestionSet.objects.get()
        reject_question_set(question_set=question_set, by=None)
        with pytest.raises(Conflict, match="version v1 has its questions"):
            delete_question_set(question_set=question_set, by=None)

    run_amid_seal(delete_its_set, tmp_path, monkeypatch)
    assert QuestionSet.objects.filter(name="first").exists()
