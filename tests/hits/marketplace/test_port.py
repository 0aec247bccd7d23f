"""The platform's own client for qualifications and blocks, against the in-process marketplace."""

from typing import Any

import pytest

from hits.domain.workers.requirements import LOCALE, SYSTEM_HELD, Comparator, GuardedActions, Requirement
from hits.marketplace.models import HITType, Qualification, QualificationType, Worker, WorkerBlock
from hits.mturk.boto import BotoMarketplace, marketplace
from hits.mturk.port import Failure, HitTypeSpec, MarketplaceError
from tests.support.market import list_blocks, list_holders

NOBODY = "A" + "Z" * 13
MADE = QualificationType.objects.exclude(type_id__in=SYSTEM_HELD)


@pytest.fixture
def port(transactional_db: None) -> BotoMarketplace:
    """The platform's client."""
    return marketplace()


def test_type_is_created_once_and_found_by_exact_name(port: BotoMarketplace) -> None:
    assert port.find_qualification_type("Trained") is None
    made = port.get_or_create_qualification_type("Trained", "Finish the round.")
    port.get_or_create_qualification_type("Trained 2", "Finish the second round.")
    assert port.get_or_create_qualification_type("Trained", "Another text.") == made
    assert port.find_qualification_type("Trained") == made
    assert port.find_qualification_type("trained") is None
    assert MADE.count() == 2


def test_type_beyond_first_page_is_found(port: BotoMarketplace) -> None:
    first = port.get_or_create_qualification_type("First", "d")
    owner = MADE.get().requester
    now = MADE.get().created_at
    QualificationType.objects.bulk_create(
        QualificationType(requester=owner, name=f"n{number}", description="d", created_at=now)
        for number in range(150)
    )
    assert port.find_qualification_type("First") == first


def test_grant_holders_and_revoke(port: BotoMarketplace, workers: list[Worker]) -> None:
    trained = port.get_or_create_qualification_type("Trained", "d")
    for value, person in enumerate(workers):
        port.grant(trained, person.worker_id, value)
    port.grant(trained, workers[0].worker_id, 7)
    port.revoke(trained, workers[1].worker_id, "No work for a year.")
    assert list_holders(port, trained) == [(workers[0].worker_id, 7), (workers[2].worker_id, 2)]
    port.revoke(trained, workers[1].worker_id, "Again.")
    assert Qualification.objects.get(worker=workers[1]).reason == "No work for a year."


def test_revoking_qualification_never_held_is_no_error(port: BotoMarketplace, worker: Worker) -> None:
    port.revoke(port.get_or_create_qualification_type("Trained", "d"), worker.worker_id, "")
    assert not Qualification.objects.exists()


def test_missing_type_or_worker_is_reported(port: BotoMarketplace, worker: Worker) -> None:
    trained = port.get_or_create_qualification_type("Trained", "d")
    calls: list[Any] = [
        lambda: port.grant(trained, NOBODY, 1),
        lambda: port.revoke(trained, NOBODY, "r"),
        lambda: port.revoke("3NOSUCHTYPE", worker.worker_id, "r"),
        lambda: list_holders(port, "3NOSUCHTYPE"),
        lambda: port.block(NOBODY, "r"),
        lambda: port.unblock(NOBODY, "r"),
    ]
    for call in calls:
        with pytest.raises(MarketplaceError) as failure:
            call()
        assert failure.value.failure is Failure.NOT_FOUND


def test_block_and_unblock(port: BotoMarketplace, worker: Worker, other: Worker) -> None:
    port.block(worker.worker_id, "Copied.")
    port.block(other.worker_id, "Copied, too.")
    port.unblock(worker.worker_id, "Explained.")
    port.unblock(worker.worker_id, "")
    assert list_blocks(port) == [(other.worker_id, "Copied, too.")]
    assert WorkerBlock.objects.count() == 2


def test_requirements_round_trip_through_api(port: BotoMarketplace) -> None:
    trained = port.get_or_create_qualification_type("Trained", "d")
    asked = (
        Requirement(trained, Comparator.GREATER_THAN_OR_EQUAL_TO, (2,), guards=GuardedActions.DISCOVER),
        Requirement(LOCALE, Comparator.IN, locales=("US", "CA")),
        Requirement(trained, Comparator.NOT_EQUAL_TO, (0,), guards=GuardedActions.PREVIEW),
    )
    spec = HitTypeSpec("Title", "Description", "", 55, 600, 3600, asked)
    kept = HITType.objects.get(hit_type_id=port.create_hit_type(spec))
    assert set(kept.requirements) == set(asked)
    open_to_all = HitTypeSpec("Title", "Description", "", 55, 600, 3600)
    assert port.create_hit_type(open_to_all) != kept.hit_type_id
