"""The people of the rehearsal: an admin, a researcher, annotators, and money in the account."""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum
from django.utils.module_loading import import_string

from hits.domain.files.atomic_files import whole_file
from hits.domain.states import Role
from hits.models import Project
from hits.services import projects
from hits.services.errors import Refused

ANNOTATORS = ("walter", "wendy", "wilma", "wolfgang", "wanda")
STAFF = ("admin", "rosa")
PROJECT = "Sample photos"
PLAYED = "Played loop"
FUNDS_CENTS = 500_000
CHANGED = "(changed since: “manage.py changepassword” sets a new one)"
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
    """Make the cast, or find it again; the demo's own passwords stay what they were when it first printed them.

    A loop that scripts play gets a project of its own each time: what people clicked together in the
    rehearsal stays theirs, and the figures of a run are of that run alone.

    Raises:
        Refused: the database holds real work, and no demo ever ran in it.
    """
    _refuse_real_work()
    known = _read_passwords()
    accounts = [
        _account(name, role, known) for name, role in zip(STAFF, ("admin", "researcher"), strict=True)
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
        accounts.append(_account(name, "annotator", known))
        _annotator(accounts[-1])
    _write_passwords(accounts)
    _fund()
    return Cast(project, researcher, accounts)


def deposited_cents() -> int:
    """Return all that was ever deposited on the platform's account."""
    entries = import_string("hits.marketplace.models.LedgerEntry").objects.filter(
        requester__access_keys__access_key_id=settings.MTURK_PLATFORM_ACCESS_KEY_ID, kind="deposit"
    )
    return int(entries.aggregate(sum=Sum("available_cents"))["sum"] or 0)


def _refuse_real_work() -> None:
    """The demo makes accounts and prints their passwords; that must never happen among somebody's real work.

    Where a demo ran before, what people made there since is theirs to go on with.
    """
    if Project.objects.filter(is_rehearsal=True, name__in=[PROJECT, f"{PLAYED} 1"]).exists():
        return
    strangers = User.objects.exclude(username__in=[*STAFF, *ANNOTATORS])
    if Project.objects.exists() or strangers.exists():
        raise Refused(
            f"{settings.VAR_DIR}: its database holds real work, and no demo ran here before; serve it with "
            "“manage.py serve”, or give the demo a folder of its own, such as DEERSTALKER_VAR=var/demo-2, "
            "without DATABASE_URL"
        )


def _account(name: str, role: str, known: dict[str, str]) -> Account:
    """A new name gets a new password; one that is there keeps the one it has, printed while it is still that."""
    user = User.objects.filter(username=name).first()
    if user is None:
        return Account(name, secrets.token_urlsafe(9), role)
    kept = known.get(name, "")
    return Account(name, kept if kept and user.check_password(kept) else CHANGED, role)


def _passwords_file() -> Path:
    return Path(settings.VAR_DIR) / "secrets" / "demo-passwords.json"


def _read_passwords() -> dict[str, str]:
    try:
        found = json.loads(_passwords_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(word) for name, word in found.items()} if isinstance(found, dict) else {}


def _write_passwords(accounts: list[Account]) -> None:
    path = _passwords_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = {account.username: account.password for account in accounts if account.password != CHANGED}
    with whole_file(path) as file:
        file.write(json.dumps(kept, indent=1).encode())
    path.chmod(0o600)


def _staff(account: Account, **more: bool) -> User:
    user, created = User.objects.get_or_create(username=account.username, defaults=more)
    if created:
        user.set_password(account.password)
        user.save()
    return user


def _annotator(account: Account) -> None:
    if not User.objects.filter(username=account.username).exists():
        import_string(f"{_ACCOUNTS}.create_worker_account")(
            username=account.username, password=account.password, country="US"
        )


def _fund() -> None:
    requester = import_string("hits.marketplace.models.Requester").objects.get(
        access_keys__access_key_id=settings.MTURK_PLATFORM_ACCESS_KEY_ID
    )
    if requester.available_cents < FUNDS_CENTS:
        import_string(f"{_ACCOUNTS}.deposit")(
            requester=requester, cents=FUNDS_CENTS - requester.available_cents, note="rehearsal"
        )
