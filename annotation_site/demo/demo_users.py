"""The users of the demo: an admin, a researcher and workers, with money in the account."""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum

from hits.domain.files.atomic_files import atomic_file
from hits.domain.states import Role
from hits.marketplace.models import LedgerEntry, Requester
from hits.marketplace.services import accounts as marketplace_accounts
from hits.models import Project
from hits.services import projects
from hits.services.errors import Refused

WORKER_NAMES = ("walter", "wendy", "wilma", "wolfgang", "wanda")
# Of scripted runs, in which two stages and the reviewer of texts need different people.
FURTHER_WORKER_NAMES = ("wade", "winona", "wyatt")
STAFF_NAMES = ("admin", "rosa")
PROJECT_NAME = "Sample photos"
PLAYED_PREFIX = "Played loop"
FUNDS_CENTS = 500_000
CHANGED_PASSWORD = "(changed: “manage.py changepassword” sets a new one)"  # noqa: S105 - a note, no password


@dataclass(frozen=True, slots=True)
class Account:
    """A user name with its password and role."""

    username: str
    password: str
    role: str


@dataclass(frozen=True, slots=True)
class DemoUsers:
    """The demo's accounts, its project and the researcher who runs it."""

    project: Project
    researcher: User
    accounts: list[Account]

    def password_of(self, username: str) -> str:
        """Return an account's password."""
        return next(account.password for account in self.accounts if account.username == username)


def ensure_demo_users(*, is_scripted: bool = False) -> DemoUsers:
    """Create the users and the project, or reuse those of an earlier demo with the same passwords.

    A scripted run (``is_scripted``) gets a new project each time, so that its figures contain no other work.

    Raises:
        Refused: the database has real work and no earlier demo.
    """
    _refuse_database_with_real_work()
    known_passwords = _read_passwords()
    accounts = [
        _account_with_password(name, role, known_passwords)
        for name, role in zip(STAFF_NAMES, ("admin", "researcher"), strict=True)
    ]
    admin = _get_or_create_staff_user(accounts[0], is_superuser=True, is_staff=True)
    researcher = _get_or_create_staff_user(accounts[1])
    name = (
        f"{PLAYED_PREFIX} {Project.objects.filter(name__startswith=PLAYED_PREFIX).count() + 1}"
        if is_scripted
        else PROJECT_NAME
    )
    project = Project.objects.filter(name=name).first() or projects.create_project(
        name=name, by=admin, is_rehearsal=True
    )
    if not project.memberships.filter(user=researcher).exists():
        projects.set_role(project=project, user=researcher, role=Role.RESEARCHER, by=admin)
    for name in WORKER_NAMES + (FURTHER_WORKER_NAMES if is_scripted else ()):
        accounts.append(_account_with_password(name, "worker", known_passwords))
        _create_worker_if_missing(accounts[-1])
    _write_passwords(accounts)
    _deposit_missing_funds()
    return DemoUsers(project, researcher, accounts)


def platform_deposits_cents() -> int:
    """Return the sum of all deposits to the platform's account."""
    entries = LedgerEntry.objects.filter(
        requester__access_keys__access_key_id=settings.MTURK_PLATFORM_ACCESS_KEY_ID, kind="deposit"
    )
    return int(entries.aggregate(sum=Sum("available_cents"))["sum"] or 0)


def _refuse_database_with_real_work() -> None:
    """Refuse a database with real work, because the demo creates accounts and prints their passwords.

    A database in which a demo ran before is accepted with everything that people added since.
    """
    if Project.objects.filter(is_rehearsal=True, name__in=[PROJECT_NAME, f"{PLAYED_PREFIX} 1"]).exists():
        return
    other_users = User.objects.exclude(username__in=[*STAFF_NAMES, *WORKER_NAMES, *FURTHER_WORKER_NAMES])
    if Project.objects.exists() or other_users.exists():
        raise Refused(
            f"{settings.VAR_DIR}: its database has real work, and no demo ran here before; serve it with "
            "“manage.py serve”, or give the demo its own folder, such as DEERSTALKER_VAR=var/demo-2, "
            "without DATABASE_URL"
        )


def _account_with_password(name: str, role: str, known_passwords: dict[str, str]) -> Account:
    """Return a new user with a new password, or an existing one with its password if that is unchanged."""
    user = User.objects.filter(username=name).first()
    if user is None:
        return Account(name, secrets.token_urlsafe(9), role)
    password = known_passwords.get(name, "")
    is_current = password and user.check_password(password)
    return Account(name, password if is_current else CHANGED_PASSWORD, role)


def _passwords_file() -> Path:
    return Path(settings.VAR_DIR) / "secrets" / "demo-passwords.json"


def _read_passwords() -> dict[str, str]:
    try:
        found = json.loads(_passwords_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}


def _write_passwords(accounts: list[Account]) -> None:
    path = _passwords_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = {
        account.username: account.password for account in accounts if account.password != CHANGED_PASSWORD
    }
    with atomic_file(path) as file:
        file.write(json.dumps(known, indent=1).encode())
    path.chmod(0o600)


def _get_or_create_staff_user(account: Account, **more: bool) -> User:
    user, created = User.objects.get_or_create(username=account.username, defaults=more)
    if created:
        user.set_password(account.password)
        user.save()
    return user


def _create_worker_if_missing(account: Account) -> None:
    if not User.objects.filter(username=account.username).exists():
        marketplace_accounts.create_worker_account(
            username=account.username, password=account.password, country="US"
        )


def _deposit_missing_funds() -> None:
    requester = Requester.objects.get(access_keys__access_key_id=settings.MTURK_PLATFORM_ACCESS_KEY_ID)
    if requester.available_cents < FUNDS_CENTS:
        missing_cents = FUNDS_CENTS - requester.available_cents
        marketplace_accounts.deposit(requester=requester, cents=missing_cents, note="Rehearsal deposit")
