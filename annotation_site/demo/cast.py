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
from hits.services.errors import Refused

ANNOTATORS = ("walter", "wendy", "wilma", "wolfgang", "wanda")
STAFF = ("admin", "rosa")
PROJECT = "Sample photos"
PLAYED = "Played loop"
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


def assemble(*, played: bool = False) -> Cast:
    """Make the cast, or give known members new passwords so that they can be printed again.

    A loop that scripts play gets a project of its own each time: what people clicked together in the
    rehearsal stays theirs, and the figures of a run are of that run alone.

    Raises:
        Refused: the database holds more than a rehearsal.
    """
    _refuse_real_work()
    accounts = [
        Account(name, _password(), role) for name, role in zip(STAFF, ("admin", "researcher"), strict=True)
    ]
    admin = _staff(accounts[0], is_superuser=True, is_staff=True)
    researcher = _staff(accounts[1])
    name = f"{PLAYED} {Project.objects.filter(name__startswith=PLAYED).count() + 1}" if played else PROJECT
    project = Project.objects.filter(name=name).first() or projects.create_project(
        name=name, by=admin, is_rehearsal=True
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


def _refuse_real_work() -> None:
    """The demo sets passwords and prints them; that must never happen to somebody's own accounts."""
    rehearsals = Project.objects.filter(is_rehearsal=True)
    strangers = User.objects.exclude(username__in=[*STAFF, *ANNOTATORS])
    if Project.objects.filter(is_rehearsal=False).exists() or (
        strangers.exists() and not rehearsals.exists()
    ):
        raise Refused(
            "this database holds real work, and the demo sets passwords; "
            "give it a folder of its own: DEERSTALKER_VAR=var/demo, without DATABASE_URL"
        )


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
            username=account.username, password=account.password, country="US"
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
