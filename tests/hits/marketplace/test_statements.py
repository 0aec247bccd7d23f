"""Statements: running balances across periods, on pages and as CSV."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from hits.marketplace.models import Clock, EntryKind, LedgerEntry, Requester, Worker
from hits.marketplace.selectors import statements
from hits.marketplace.selectors.statements import DateRange
from hits.marketplace.services import accounts, payouts
from tests.hits.marketplace.support import FUNDS, hit_params, work

pytestmark = pytest.mark.clock
Browser = Callable[[Worker], Client]


def rows_of(reply: Any) -> list[dict[str, str]]:
    """Return the rows of a streamed CSV."""
    return list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode())))


def earned(worker: Worker, cents: int, at: datetime) -> None:
    """Write a correction of that day, the one entry that needs no HIT."""
    LedgerEntry.objects.create(
        kind=EntryKind.ADJUSTMENT, worker=worker, worker_cents=cents, note="=1+1", created_at=at
    )


def test_month_opens_with_closing_balance_of_previous_month(worker: Worker, browser: Browser) -> None:
    for moment, cents in (
        (datetime(2026, 9, 30, 23, 59, 59, tzinfo=UTC), 100),
        (datetime(2026, 10, 1, tzinfo=UTC), 20),
        (datetime(2026, 10, 31, 23, 59, 59, tzinfo=UTC), -5),
        (datetime(2026, 11, 1, tzinfo=UTC), 7),
    ):
        earned(worker, cents, moment)
    found = [
        (month.first_day, month.corrected, month.entry_count) for month in statements.list_months(worker)
    ]
    assert found == [(date(2026, 11, 1), 7, 1), (date(2026, 10, 1), 15, 2), (date(2026, 9, 1), 100, 1)]
    opening, lines = statements.worker_owed_and_rows(worker, DateRange.for_month(date(2026, 10, 1)))
    assert (opening, [line.owed for line in lines]) == (100, [120, 115])
    opening, lines = statements.worker_owed_and_rows(worker, DateRange.for_month(date(2026, 11, 1)))
    assert (opening, [line.owed for line in lines]) == (115, [122])
    client = browser(worker)
    page = client.get("/work/earnings/2026/10").content.decode()
    assert "1.00" in page
    assert "1.15" in page
    rows = rows_of(client.get("/work/earnings/2026/10.csv"))
    assert [(row["amount"], row["owed"]) for row in rows] == [("0.20", "1.20"), ("-0.05", "1.15")]
    assert {row["for"] for row in rows} == {"'=1+1"}, "a spreadsheet must not run what somebody typed"
    assert client.get("/work/earnings/2026/13").status_code == 404
    today = Clock.now().date()
    following = (today.replace(day=28) + timedelta(days=4)).replace(day=1)
    assert client.get(f"/work/earnings/{today:%Y}/{today.month}").status_code == 200
    for ending in ("", ".csv"):
        assert client.get(f"/work/earnings/{following:%Y}/{following.month}{ending}").status_code == 404


def test_worker_reads_only_own_statement(workers: list[Worker], browser: Browser) -> None:
    earned(workers[0], 4321, datetime(2026, 10, 1, tzinfo=UTC))
    assert b"43.21" in browser(workers[0]).get("/work/earnings/2026/10").content
    assert b"43.21" not in browser(workers[1]).get("/work/earnings/2026/10").content
    assert Client().get("/work/earnings/2026/10").status_code == 302
    assert Client().get("/work/earnings/2026/10.csv").status_code == 302


def test_requester_statement_adds_up_to_balances(
    local_client: Any, worker: Worker, requester: accounts.KeyPair, amazon_fees: None
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=2))["HIT"]
    local_client.approve_assignment(AssignmentId=work(worker, hit).assignment_id)
    local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    local_client.delete_hit(HITId=hit["HITId"])
    root = User.objects.create_superuser("root", password="a long pass phrase")
    admin_client = Client()
    admin_client.force_login(root)
    owner = Requester.objects.get(pk=requester.requester.pk)
    url = f"/marketplace/accounts/{owner.pk}/statement"
    rows = rows_of(admin_client.get(f"{url}.csv"))
    assert [row["entry"] for row in rows] == ["deposit", "hold", "reward", "fee", "release"]
    assert rows[-1]["available_balance"] == "9998.68"  # 10,000.00 less a reward of 1.10 and its fee of 0.22
    assert (rows[-1]["on_hold_balance"], owner.available_cents) == ("0.00", FUNDS - 132)
    assert (rows[2]["worker_id"], rows[2]["hit_id"]) == (worker.worker_id, hit["HITId"])
    today = payouts.Clock.now().date()
    past = (today - timedelta(days=1)).isoformat()
    assert rows_of(admin_client.get(f"{url}.csv?to={past}")) == []
    assert len(rows_of(admin_client.get(f"{url}.csv?from={today}"))) == 5
    page = admin_client.get(f"{url}?from={today}")
    assert "9,998.68" in page.content.decode()
    assert page.context["page"][0].available_after == owner.available_cents
    for slip in ("?from=yesterday", f"?from={today}&to={past}"):
        assert admin_client.get(url + slip).status_code == 400
        assert admin_client.get(f"{url}.csv{slip}").status_code == 400


def test_page_balances_continue_from_earlier_entries(requester: accounts.KeyPair) -> None:
    owner = requester.requester
    first = datetime(2030, 1, 1, tzinfo=UTC)
    for day in range(5):
        LedgerEntry.objects.create(
            kind=EntryKind.DEPOSIT,
            requester=owner,
            available_cents=10,
            created_at=first + timedelta(days=day),
        )
    found = statements.list_requester_entries(owner, DateRange(date(2030, 1, 3), date(2030, 1, 4)))
    assert [row.available_after for row in found] == [FUNDS + 40, FUNDS + 30]
    assert [row.available_after for row in found[1:2]] == [FUNDS + 30], "a later page alone"
    _, lines = statements.requester_balances_and_rows(owner, DateRange(date(2030, 1, 3), date(2030, 1, 4)))
    assert [line.available for line in lines] == [FUNDS + 30, FUNDS + 40]
