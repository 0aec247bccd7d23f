"""Accounts of requesters, with keys and deposits, and of workers, with their sign-in."""

from dataclasses import dataclass, field

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.db import DEFAULT_DB_ALIAS, transaction

from hits.domain.money.usd import format_dollars
from hits.domain.mturk_formats.access_keys import derive_secret, new_access_key_id
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import AccessKey, Clock, Requester, Worker

from . import countries, ledger, system_qualifications

PLATFORM_NAME = "Deerstalker"
ANNOTATOR_GROUP = "annotator"
MAX_NAME_LENGTH = 100
MAX_ACCOUNT_CENTS = 99_999_999_999  # our own client reads at most nine digits of dollars


@dataclass(frozen=True)
class KeyPair:
    """A requester with a new key pair. The secret is shown once; the server can derive it again."""

    requester: Requester
    access_key_id: str
    secret_access_key: str = field(repr=False)


@transaction.atomic
def create_key_pair(*, name: str, funds_cents: int | None = None, initial_funds_cents: int = 0) -> KeyPair:
    """Return a new key pair for the account ``name``; create the account if it is missing.

    ``funds_cents`` is deposited whenever given, ``initial_funds_cents`` only for a new account without
    ``funds_cents``. Raises ActionRefused for an invalid name or a negative sum.
    """
    clean_name = name.strip()
    if not clean_name or len(clean_name) > MAX_NAME_LENGTH or not clean_name.isprintable():
        raise ActionRefused(f"A requester's name has 1 to {MAX_NAME_LENGTH} printable characters.")
    if (funds_cents or 0) < 0:
        raise ActionRefused("Funds must be whole cents and not negative.")
    requester, created = Requester.objects.get_or_create(name=clean_name)
    funds = funds_cents if funds_cents is not None else (initial_funds_cents if created else 0)
    if funds:
        deposit(requester=requester, cents=funds, note="create_requester")
    key = AccessKey.objects.create(requester=requester, access_key_id=new_access_key_id())
    requester.refresh_from_db()
    return KeyPair(
        requester=requester,
        access_key_id=key.access_key_id,
        secret_access_key=derive_secret(settings.MTURK_KEYS_SECRET, key.access_key_id),
    )


def ensure_platform_requester(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Create the platform's own account, access key and system types if missing (run after each migration)."""
    access_key_id = settings.MTURK_PLATFORM_ACCESS_KEY_ID
    with transaction.atomic(using=using):
        requester, _ = Requester.objects.using(using).get_or_create(name=PLATFORM_NAME)
        AccessKey.objects.using(using).get_or_create(
            access_key_id=access_key_id, defaults={"requester": requester}
        )
        system_qualifications.ensure_system_types(owner=requester, using=using)


@transaction.atomic
def deposit(*, requester: Requester, cents: int, note: str = "") -> None:
    """Deposit a positive number of cents into a requester's account. Raises ActionRefused otherwise."""
    if cents <= 0:
        raise ActionRefused("Deposit at least one cent.")
    requester.refresh_from_db()
    if requester.available_cents + requester.held_cents + cents > MAX_ACCOUNT_CENTS:
        raise ActionRefused(
            f"Funds of more than {format_dollars(MAX_ACCOUNT_CENTS)} are too large for an account."
        )
    ledger.deposit(requester=requester, cents=cents, at=Clock.now(), note=note)


@transaction.atomic
def create_worker_account(*, username: str, password: str, country: str = "US") -> Worker:
    """Create a user in group annotator and link a marketplace worker to it.

    ``country`` is declared for the worker; if it is "", the worker enters it before the first task. Raises
    ActionRefused for a taken name or an unknown country code.
    """
    users = get_user_model()
    if users.objects.filter(username=username).exists():
        raise ActionRefused(f"There is already an account named {username!r}.")
    user = users.objects.create_user(username=username, password=password)
    worker = ensure_worker(user=user)
    if country:
        countries.declare_country(worker=worker, country=country, now=Clock.now())
    return worker


@transaction.atomic
def ensure_worker(*, user: User) -> Worker:
    """Return the marketplace worker of a user; create it and the group membership if missing."""
    group, _ = Group.objects.get_or_create(name=ANNOTATOR_GROUP)
    user.groups.add(group)
    worker, _ = Worker.objects.get_or_create(user=user)
    return worker
