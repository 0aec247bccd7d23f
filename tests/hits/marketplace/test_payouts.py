"""Payouts: single, from a file, corrected, and never above the amount owed."""

import csv
import io
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from hits.marketplace.models import EntryKind, LedgerEntry, Payout, Worker
from hits.marketplace.selectors.accounts import find_unbalanced_requesters
from hits.marketplace.selectors.worker import compute_earnings
from hits.marketplace.services import payouts
from hits.marketplace.services.payouts import PayoutFieldError, Transfer
from tests.hits.marketplace.support import hit_params, work

Browser = Callable[[Worker], Client]
HEADER = "worker_id,amount,date,means,reference"


def pay(local_client: Any, *people: Worker) -> None:
    """Let each of them earn $1.10."""
    hit = local_client.create_hit(**hit_params(MaxAssignments=len(people)))["HIT"]
    for person in people:
        local_client.approve_assignment(AssignmentId=work(person, hit).assignment_id)


def transfer(worker: Worker, cents: int = 60, **changes: Any) -> Transfer:
    """Return a transfer of today."""
    fields = {"paid_on": payouts.today(), "means": "bank transfer", "reference": "T-1"} | changes
    return Transfer(worker=worker, cents=cents, **fields)


@pytest.fixture
def root(transactional_db: None) -> User:
    """A platform admin."""
    return User.objects.create_superuser("root", password="a long pass phrase")


@pytest.fixture
def admin_client(root: User) -> Client:
    """Their browser."""
    client = Client()
    client.force_login(root)
    return client


def upload(admin_client: Client, text: str) -> Any:
    """Choose a file on the import page."""
    file = SimpleUploadedFile("payouts.csv", text.encode())
    return admin_client.post("/marketplace/payouts/import", {"file": file})


def record_shown(admin_client: Client, page: Any) -> Any:
    """Press the button of the import's confirming page."""
    found = page.context["upload"]
    return admin_client.post(
        "/marketplace/payouts/import",
        {"step": "record", "idempotency_key": found["idempotency_key"], "text": found["text"]},
    )


def test_payout_is_confirmed_recorded_once_and_shown_to_worker(
    local_client: Any, worker: Worker, admin_client: Client, root: User, browser: Browser
) -> None:
    pay(local_client, worker)
    assert "1.10 owed" in admin_client.get("/marketplace/payouts/").content.decode()
    url = f"/marketplace/payouts/workers/{worker.pk}"
    typed = {
        "amount": "0.60",
        "paid_on": str(payouts.today()),
        "means": "Bank  transfer",
        "reference": "TX 17",
    }
    look = admin_client.post(url, typed | {"step": "look"})
    assert "Record $0.60 as paid" in " ".join(look.text.split())
    assert not Payout.objects.exists()
    press = {"idempotency_key": look.context["idempotency_key"], "step": "record"}
    assert admin_client.post(url, typed | press).status_code == 302
    assert admin_client.post(url, typed | press).status_code == 302, "a second press of the same button"
    (row,) = Payout.objects.all()
    assert (row.amount_cents, row.means, row.reference, row.recorded_by) == (
        60,
        "Bank transfer",
        "TX 17",
        root,
    )
    money = compute_earnings(worker)
    assert (money.earned, money.paid_out, money.owed) == (110, 60, 50)
    page = browser(worker).get("/work/earnings").content.decode()
    assert "Bank transfer" in page
    assert "TX 17" in page
    assert find_unbalanced_requesters() == []


def test_payout_form_shows_all_errors_together(
    local_client: Any, worker: Worker, admin_client: Client
) -> None:
    pay(local_client, worker)
    url = f"/marketplace/payouts/workers/{worker.pk}"
    typed = {"amount": "1.11", "paid_on": "1999-12-31", "means": "", "reference": "TX 17", "step": "look"}
    slip = admin_client.post(url, typed)
    assert slip.status_code == 400
    assert {name: errors[0] for name, errors in slip.context["form"].errors.items()} == {
        "amount": "1.10 is owed; pay that or less.",
        "paid_on": "1999-12-31 is too long ago; write it as 2026-11-30.",
        "means": "This field is required.",
    }
    page = admin_client.post(url, typed | {"amount": "abc", "means": "cash"}).content.decode()
    assert "&#x27;abc&#x27; is not an amount; use whole cents, such as 12.50." in page
    assert 'value="abc"' in page
    assert not Payout.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cents": 0}, "amount"),
        ({"cents": 111}, "amount"),
        ({"paid_on": timedelta(days=1)}, "date"),
        ({"means": " "}, "means"),
        ({"means": "x" * 41}, "means"),
        ({"reference": ""}, "reference"),
        ({"reference": "a\x00b"}, "reference"),
    ],
)
@pytest.mark.clock
def test_invalid_payout_fields_are_refused(
    local_client: Any, worker: Worker, change: dict[str, Any], field: str
) -> None:
    pay(local_client, worker)
    if "paid_on" in change:
        change = {"paid_on": payouts.today() + change["paid_on"]}
    with pytest.raises(PayoutFieldError) as refusal:
        payouts.record_payout(
            transfer=transfer(worker, **({"cents": 60} | change)), idempotency_key="1", by=None
        )
    assert refusal.value.field == field
    assert not Payout.objects.exists()
    assert compute_earnings(worker).owed == 110


def test_concurrent_payouts_cannot_exceed_owed(local_client: Any, worker: Worker) -> None:
    pay(local_client, worker)
    gate = threading.Barrier(4)
    refused: list[PayoutFieldError] = []

    def press(number: int) -> None:
        gate.wait(60)
        try:
            payouts.record_payout(
                transfer=transfer(worker, 110, reference=f"T-{number}"), idempotency_key=str(number), by=None
            )
        except PayoutFieldError as problem:
            refused.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=press, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert [problem.field for problem in refused] == ["amount"] * 3
    assert Payout.objects.count() == LedgerEntry.objects.filter(kind=EntryKind.PAYOUT).count() == 1
    assert compute_earnings(worker).owed == 0


def test_owed_csv_can_be_filled_in_and_imported(
    local_client: Any, workers: list[Worker], admin_client: Client
) -> None:
    pay(local_client, *workers[:2])
    lines = b"".join(admin_client.get("/marketplace/payouts/owed.csv").streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert {(row["worker_id"], row["amount"]) for row in rows} == {
        (person.worker_id, "1.10") for person in workers[:2]
    }
    day = payouts.today()
    filled = [HEADER]
    filled += [f"{row['worker_id']},{row['amount']},{day},transfer,run-{n}" for n, row in enumerate(rows)]
    page = upload(admin_client, "\n".join(filled))
    assert "Record $2.20 as paid" in " ".join(page.text.split())
    assert not Payout.objects.exists()
    record_shown(admin_client, page)
    record_shown(admin_client, page)
    assert Payout.objects.count() == 2
    assert [compute_earnings(person).owed for person in workers[:2]] == [0, 0]
    again = record_shown(admin_client, upload(admin_client, "\n".join(filled)))
    assert again.status_code == 400
    assert "Line 2, reference: A payout of" in again.content.decode()
    assert Payout.objects.count() == 2


def test_import_with_bad_row_records_nothing_and_names_row(
    local_client: Any, workers: list[Worker], admin_client: Client
) -> None:
    pay(local_client, *workers[:2])
    first, second = (person.worker_id for person in workers[:2])
    day, tomorrow = payouts.today(), payouts.today() + timedelta(days=1)
    slips = upload(
        admin_client,
        f"{HEADER}\n{first},1.10,{day},bank,1\n{second},1,10,{day},bank,2\nANOBODY,1.00,{day},bank,3\n"
        f"{first},one,{day},bank,4\n{second},1.00,{tomorrow},bank,5\n",
    )
    assert slips.status_code == 400
    assert [slip.split(":")[0] for slip in slips.context["error"].errors] == [
        "Line 3",
        "Line 4, worker_id",
        "Line 5, amount",
        "Line 6, date",
    ]
    # Each row alone is valid, but together they exceed the amount owed.
    over = upload(
        admin_client,
        f"{HEADER}\n{second},1.10,{day},bank,1\n{first},1.00,{day},bank,2\n{first},0.11,{day},bank,3",
    )
    refused = record_shown(admin_client, over)
    assert refused.status_code == 400
    assert refused.context["error"].errors == ["Line 4, amount: $0.10 is owed; pay that or less."]
    assert not Payout.objects.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The file is empty"),
        (HEADER, "no rows below"),
        ("worker,amount\nA1,1.00", "they must be worker_id, amount"),
        (f'{HEADER}\nA1,"1.00', "this is not valid CSV"),
    ],
)
def test_unreadable_payout_file_is_refused(admin_client: Client, text: str, message: str) -> None:
    page = upload(admin_client, text)
    assert page.status_code == 400
    assert message in page.content.decode()


def test_correction_adds_entry_with_reason(
    local_client: Any, worker: Worker, admin_client: Client, browser: Browser
) -> None:
    pay(local_client, worker)
    payout = payouts.record_payout(transfer=transfer(worker, 110), idempotency_key="1", by=None)
    url = f"/marketplace/payouts/workers/{worker.pk}/correct"
    more = {"sign": "more", "amount": "0.30", "reason": "Only 0.80 was sent", "payout": str(payout.pk)}
    assert admin_client.post(url, more).status_code == 302
    assert compute_earnings(worker).owed == 30
    assert (
        admin_client.post(
            url, more | {"sign": "less", "amount": "0.10", "reason": "0.90, in fact"}
        ).status_code
        == 302
    )
    assert compute_earnings(worker).owed == 20
    refused = admin_client.post(url, more | {"sign": "less", "amount": "0.21"})
    assert refused.status_code == 400
    assert "$0.20 is owed" in refused.content.decode()
    assert admin_client.post(url, more | {"reason": " "}).status_code == 400
    payout.refresh_from_db()
    assert payout.amount_cents == 110
    page = browser(worker).get("/work/earnings").content.decode()
    assert "Only 0.80 was sent" in page
    assert "correction: $0.20" in page
    assert find_unbalanced_requesters() == []


def test_payout_pages_are_for_platform_admins_only(
    worker: Worker, browser: Browser, local_client: Any
) -> None:
    pay(local_client, worker)
    pages = [
        "/marketplace/payouts/",
        "/marketplace/payouts/owed.csv",
        "/marketplace/payouts/import",
        f"/marketplace/payouts/workers/{worker.pk}",
        f"/marketplace/accounts/{LedgerEntry.objects.filter(kind='hold').get().requester_id}/statement",
        f"/marketplace/accounts/{LedgerEntry.objects.filter(kind='hold').get().requester_id}/statement.csv",
    ]
    for page in pages:
        assert browser(worker).get(page).status_code == 403, page
        assert Client().get(page).status_code == 302, page
    acts = [
        (f"/marketplace/payouts/workers/{worker.pk}", {"step": "record", "amount": "1.10"}),
        (f"/marketplace/payouts/workers/{worker.pk}/correct", {"sign": "more", "amount": "9", "reason": "r"}),
        ("/marketplace/payouts/import", {"text": HEADER}),
    ]
    for page, data in acts:
        assert browser(worker).post(page, data).status_code == 403, page
    assert compute_earnings(worker).owed == 110


def test_payouts_need_post_with_csrf_token(worker: Worker, root: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(root)
    for page in ("import", f"workers/{worker.pk}", f"workers/{worker.pk}/correct"):
        assert strict.post(f"/marketplace/payouts/{page}", {"amount": "1"}).status_code == 403, page
