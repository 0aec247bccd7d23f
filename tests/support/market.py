"""Move the in-process marketplace from its own side: funds, workers, submissions."""

from dataclasses import dataclass
from typing import Any

from hits.marketplace.models import HIT, Attempt, Clock, Requester, Worker
from hits.marketplace.models import Assignment as Slot
from hits.marketplace.services import accounts, attempts, ledger
from hits.models import Hit, Submission
from tests.support.answers import observations
from tests.support.loop import page_key, store


def fund(cents: int = 1_000_000) -> Requester:
    """Deposit money for the platform's own requester."""
    requester = Requester.objects.get(name=accounts.PLATFORM_NAME)
    accounts.deposit(requester=requester, cents=cents)
    return requester


def ledger_adjust(requester: Requester, cents: int) -> None:
    """Change the account's free balance from outside, as another use of it would."""
    ledger.adjust_requester_balance(requester=requester, cents=cents, at=Clock.now(), note="test")


def market_worker(name: str = "wilma") -> Worker:
    """Return a new marketplace worker with an account."""
    return accounts.create_worker_account(username=name, password="a long pass phrase")


@dataclass(frozen=True)
class Accepted:
    """A task in hand, seen from both sides."""

    hit: Hit
    slot: Slot
    worker: Worker

    @property
    def secret(self) -> str:
        """The attempt's secret, as turkSubmitTo carries it."""
        attempt = Attempt.objects.filter(assignment=self.slot, worker=self.worker).order_by("-pk").first()
        assert attempt is not None
        return attempts.attempt_secret(attempt)


def accept(hit: Hit, worker: Worker) -> Accepted:
    """Take a slot of a published HIT."""
    slot = attempts.accept_hit(worker=worker, hit=HIT.objects.get(hit_id=hit.hit_id), now=Clock.now())
    return Accepted(hit, slot, worker)


def asks_nobody(**_: object) -> tuple[list[str], bool]:
    """Let everybody take everything: a marketplace that does not ask us."""
    return [], False


def submit_form(task: Accepted, submission: Submission, **changes: str) -> None:
    """Post what the page's form posts."""
    fields = {
        "submission_id": str(submission.pk),
        "sha256": submission.sha256,
        "schema_version": submission.schema_version,
    } | changes
    attempts.submit_with_secret(
        secret=task.secret,
        assignment_id=task.slot.assignment_id,
        fields=list(fields.items()),
        now=Clock.now(),
    )


def work(hit: Hit, worker: Worker, answer: dict[str, Any] | None = None, **more: Any) -> Submission:
    """Accept, answer and submit one HIT."""
    task = accept(hit, worker)
    key = page_key(hit, task.slot.assignment_id, worker.worker_id)
    submission = store(key, answer or observations(), **more)
    submit_form(task, submission)
    return submission


def list_holders(port: Any, type_id: str) -> list[tuple[str, int]]:
    """Return worker id and value of each holder of a qualification, as the marketplace lists them."""
    rows = port._iterate_all_rows(
        port._client.list_workers_with_qualification_type,
        "Qualifications",
        QualificationTypeId=type_id,
        Status="Granted",
    )
    return [(row["WorkerId"], row["IntegerValue"]) for row in rows]


def list_blocks(port: Any) -> list[tuple[str, str]]:
    """Return worker id and reason of each block, as the marketplace lists them."""
    return [
        (row["WorkerId"], row["Reason"])
        for row in port._iterate_all_rows(port._client.list_worker_blocks, "WorkerBlocks")
    ]
