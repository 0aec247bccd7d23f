"""A day of a batch on the built-in marketplace: workers take tasks, return some, let some lapse, hand in others."""

import random
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hits.domain.mturk_formats.notification_events import EventDocument, MarketEvent
from hits.marketplace.models import Assignment as Slot
from hits.marketplace.models import Clock, Outcome, SlotState
from hits.marketplace.services import attempts, lifecycle
from hits.marketplace.services.attempts import ActionRefused as MarketRefused
from hits.models import Batch, Hit
from hits.services.collecting import notifications, submit
from tests.support import market
from tests.support.loop import page_key


@dataclass
class MarketplaceDay:
    """Eight of 24 workers at a time take tasks, return a tenth, let a tenth lapse, and hand in the others.

    ``answer_for`` answers a HIT. Half of the notices about returned and lapsed tasks come late or never.
    """

    batch: Batch
    seed: int
    answer_for: Callable[[Hit], dict[str, Any]]
    notices: list[tuple[int, EventDocument]] = field(default_factory=list)
    events: int = 0
    consented: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.people = [market.market_worker(f"worker-{self.seed}-{n}") for n in range(24)]

    def play(self, clock: Any) -> None:
        """Play until every slot is handed in."""
        in_hand: list[tuple[market.Accepted, Any]] = []
        while not self.is_done(in_hand):
            clock.shift(timedelta(seconds=20))
            self.events += 1
            self.deliver_due()
            lifecycle.apply_all_due_changes(now=Clock.now())  # tasks whose time ran out are offered again
            busy = {task.worker.pk for task, _ in in_hand}
            if len(in_hand) < 8 and (taken := self.take(busy)) is not None:
                in_hand.append(taken)
            else:
                task, key = in_hand.pop(self.rng.randrange(len(in_hand)))
                self.end(task, key, clock)

    def is_done(self, in_hand: list[Any]) -> bool:
        hits = Hit.objects.filter(unit__batch=self.batch).values_list("hit_id")
        unfinished = Slot.objects.filter(hit__hit_id__in=hits, state__in=[SlotState.OPEN, SlotState.PENDING])
        return not in_hand and not unfinished.exists()

    def take(self, busy: set[int]) -> tuple[market.Accepted, Any] | None:
        """Let somebody who is free accept any HIT that has room, and open its page."""
        free = [worker for worker in self.people if worker.pk not in busy]
        self.rng.shuffle(free)
        hits = list(Hit.objects.filter(unit__batch=self.batch).select_related("unit__batch"))
        self.rng.shuffle(hits)
        open_slots = set(Slot.objects.filter(worker=None).values_list("hit__hit_id", flat=True))
        for hit in [one for one in hits if one.hit_id in open_slots][:3]:
            for worker in free[:6]:
                try:
                    task = market.accept(hit, worker)
                except MarketRefused:
                    continue  # has this one already
                key = page_key(hit, task.slot.assignment_id, worker.worker_id)
                if worker.pk not in self.consented:
                    submit.record_consent(key=key, version=1, country="US")
                    self.consented.add(worker.pk)
                submit.open_attempt(key)
                if self.rng.random() < 0.3:
                    submit.open_attempt(key)  # the page is loaded anew
                return task, key
        return None

    def end(self, task: market.Accepted, key: Any, clock: Any) -> None:
        """Return every fifth task or let it lapse, and hand in the others."""
        chance = self.rng.random()
        slot = Slot.objects.get(pk=task.slot.pk)
        is_overdue = slot.worker_id != task.worker.pk or slot.state != SlotState.PENDING
        if chance < 0.2 and is_overdue:
            self.notice("AssignmentAbandoned", task)
        elif chance < 0.1:
            attempts.return_task(worker=task.worker, assignment_id=task.slot.assignment_id, now=Clock.now())
            self.notice("AssignmentReturned", task)
        elif chance < 0.2:
            assert slot.deadline is not None
            lifecycle.end_attempt_if_open(
                slot_pk=slot.pk, outcome=Outcome.ABANDONED, at=Clock.now(), deadline=slot.deadline
            )
            self.notice("AssignmentAbandoned", task)
        else:
            stored, _ = submit.store_submission(
                key=key, client_uuid=uuid.uuid4(), answer=self.answer_for(task.hit), active_seconds=9.0
            )
            with suppress(MarketRefused):  # its time ran out meanwhile: somebody else has the slot
                market.submit_form(task, stored)

    def notice(self, kind: str, task: market.Accepted) -> None:
        """Tell half of them at once, a quarter three events later, and a quarter never."""
        chance = self.rng.random()
        if chance < 0.25:
            return
        event = MarketEvent(kind, Clock.now(), str(task.hit.hit_id), task.slot.assignment_id)
        due = self.events + (3 if chance < 0.5 else 0)
        self.notices.append((due, EventDocument(uuid.uuid4().hex, (event,))))
        self.deliver_due()

    def deliver_due(self) -> None:
        for row in [row for row in self.notices if row[0] <= self.events]:
            self.notices.remove(row)
            notifications.store_notification(environment="local", document=row[1])
