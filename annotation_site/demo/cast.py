"""The people of the rehearsal: an admin, a researcher, annotators, and money in the account."""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum
from django.utils.module_loading import import_string

from hits.domain.states import Role
from hits.models import Project
from hits.services import projects

ANNOTATORS = ("walter", "wendy", "wilma", "wolfgang", "wanda")
PROJECT = "Sample photos"
FUNDS_CENTS = 500_000
_ACCOUNTS = "hits.marketplace.services.accounts"


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who can sign in."""

    username: str
    password: str
    role: str


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody, and the project they meet in."""

    project: Project
    researcher: User
    accounts: list[Account]

    def password_of(self, username: str) -> str:
        """Return an account's password."""
        return next(account.password for account in self.accounts if account.username == username)


def assemble() -> Cast:
    """Make the cast, or give known members new passwords so that they can be printed again."""
    accounts = [Account("admin", _password(), "admin"), Account("rosa", _password(), "researcher")]
    admin = _staff(accounts[0], is_superuser=True, is_staff=True)
    researcher = _staff(accounts[1])
    project = Project.objects.filter(name=PROJECT).first() or projects.create_project(
        name=PROJECT, by=admin, is_rehearsal=True
    )
    if not project.memberships.filter(user=researcher).exists():
        projects.set_role(project=project, user=researcher, role=Role.RESEARCHER, by=admin)
    for name in ANNOTATORS:
        accounts.append(Account(name, _password(), "annotator"))
        _annotator(accounts[-1])
    _fund()
    return Cast(project, researcher, accounts)


def deposited_cents() -> int:
    """Return all that was ever deposited on the platform's account."""
    entries = import_string("hits.marketplace.models.LedgerEntry").objects.filter(
        requester__access_keys__access_key_id=settings.MTURK_PLATFORM_ACCESS_KEY_ID, kind="deposit"
    )
    return int(entries.aggregate(sum=Sum("available_cents"))["sum"] or 0)


def _password() -> str:
    return secrets.token_urlsafe(9)


def _staff(account: Account, **more: bool) -> User:
    user, _ = User.objects.get_or_create(username=account.username, defaults=more)
    user.set_password(account.password)
    user.save()
    return user


def _annotator(account: Account) -> None:
    user = User.objects.filter(username=account.username).first()
    if user is None:
        import_string(f"{_ACCOUNTS}.create_worker_account")(
            username=account.username, password=account.password
        )
        return
    user.set_password(account.password)
    user.save()


def _fund() -> None:
    requester = import_string("hits.marketplace.models.Requester").objects.get(
        access_keys__access_key_id=settings.MTURK_PLATFORM_ACCESS_KEY_ID
    )
    if requester.available_cents < FUNDS_CENTS:
        import_string(f"{_ACCOUNTS}.deposit")(
            requester=requester, cents=FUNDS_CENTS - requester.available_cents, note="rehearsal"
        )
