"""Leaderboards: make them, open them, publish them; the teams that may hand in, and their secret keys."""

import hashlib
import secrets
from dataclasses import asdict, dataclass
from hmac import compare_digest
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils.text import slugify

from curation.leaderboard.models import Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors.boards import BUILD_LEADERBOARD, is_rehearsal, shows_private_figures
from curation.models import DatasetVersion, ProposalRun
from curation.services.splits import check_split
from curation.versions import photos
from hits.models import Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs

MAX_DAILY_LIMIT, MAX_TOTAL_LIMIT = 100, 10_000
MAX_PRIVATE_SHARE = 90  # percent of the photos
MAX_TITLE_LENGTH, MAX_NOTE_LENGTH, MAX_TEAM_LENGTH = 120, 600, 60
_MAX_SLUG_LENGTH = 50  # letters of it, with room for what tells two of the same title apart


@dataclass(frozen=True, slots=True)
class Limits:
    """How many submissions a team may have scored: within 24 hours, and in all."""

    daily: int = 2
    total: int = 50

    def __post_init__(self) -> None:
        if not 1 <= self.daily <= MAX_DAILY_LIMIT:
            raise Refused(f"daily limit: {self.daily} is not within 1 to {MAX_DAILY_LIMIT}")
        if not self.daily <= self.total <= MAX_TOTAL_LIMIT:
            raise Refused(f"total limit: {self.total} is not within the daily limit to {MAX_TOTAL_LIMIT}")


@dataclass(frozen=True, slots=True)
class LeaderboardData:
    """What a leaderboard's data are, for good. passing: which photos teams get as files, of ``photos.CHOICES``.

    private_share: percent of the photos whose figures are kept for the end, since figures that are shown can be
    learned from.
    """

    passing: str = photos.LICENSED_PHOTOS
    private_share: int = 0

    def __post_init__(self) -> None:
        if self.passing not in photos.PHOTO_CHOICES:
            raise Refused(f"photos: {self.passing!r} is not known; use {', '.join(photos.PHOTO_CHOICES)}")
        if not 0 <= self.private_share <= MAX_PRIVATE_SHARE:
            raise Refused(f"private share: {self.private_share} % is not within 0 to {MAX_PRIVATE_SHARE}")


@dataclass(frozen=True, slots=True)
class Wording:
    """What people read of a leaderboard: a title and a note, each one line."""

    title: str
    note: str = ""

    def __post_init__(self) -> None:
        validate_line("title", self.title, MAX_TITLE_LENGTH, is_required=True)
        validate_line("note", self.note, MAX_NOTE_LENGTH)


def validate_line(name: str, text: str, max_length: int, *, is_required: bool = False) -> str:
    """Return a text without space around it.

    Raises:
        Refused: it is empty although needed, too long, or holds line ends or characters that nobody sees.
    """
    text = text.strip()
    if is_required and not text:
        raise Refused(f"{name}: is empty; write one")
    if len(text) > max_length:
        raise Refused(f"{name}: has {len(text)} characters; use at most {max_length}")
    if not text.isprintable():
        raise Refused(f"{name}: holds a line end or a character that cannot be seen; write one plain line")
    return text


def create_leaderboard(
    *,
    version: DatasetVersion,
    split: str,
    wording: Wording,
    by: AbstractBaseUser | None,
    limits: Limits | None = None,
    proposals: ProposalRun | None = None,
    data: LeaderboardData | None = None,
    queue: bool = True,
) -> Leaderboard:
    """Return a new leaderboard and queue the building of its files; it is closed and for members only.

    Args:
        version: a sealed one. split: one of its splits, or nothing for all of its rows.
        proposals: the boxes among which an inference is to be found; without it true boxes alone are asked for.
        data: which photos teams get as files; those whose licence says so, without.

    Raises:
        Refused: the version is a draft, has no such rows, or the proposals are of another project.
    """
    check_split(version, split)
    if proposals is not None and proposals.project_id != version.project_id:
        raise Refused("proposals: they are of another project; choose a run of this one")
    allowed = limits or Limits()
    with transaction.atomic():
        board = Leaderboard.objects.create(
            project=version.project,
            version=version,
            split=split,
            slug=_free_slug(wording.title),
            title=wording.title.strip(),
            note=wording.note.strip(),
            daily_limit=allowed.daily,
            total_limit=allowed.total,
            options={"proposals": proposals.pk if proposals else None, **asdict(data or LeaderboardData())},
            created_by_id=by.pk if by else None,
        )
        board.path = f"leaderboards/{board.pk}"
        board.job = jobs.enqueue(
            task=BUILD_LEADERBOARD,
            title=f"Build leaderboard {wording.title.strip()}"[:160],
            project=version.project,
            by=by,
            exclusive_key=f"leaderboard:{board.pk}",
            resumable=True,
            queue=queue,
            leaderboard=board.pk,
        )
        board.save(update_fields=["path", "job"])
        _record(board, by, "leaderboard.create", version=version.pk, split=split)
    return board


def _free_slug(title: str) -> str:
    """Return a slug of the title; where it is taken, or too short to be one, a few random letters are added."""
    slug = slugify(title)[:_MAX_SLUG_LENGTH].strip("-")
    if slug and not Leaderboard.objects.filter(slug=slug).exists():
        return slug
    return f"{slug or 'leaderboard'}-{secrets.token_hex(4)}"


@transaction.atomic
def complete_leaderboard(
    *, board: Leaderboard, tasks: dict[str, int], sha256: str, facts: dict[str, Any]
) -> None:
    """Write down that a leaderboard's files are there. ``facts`` are added to its options."""
    row = Leaderboard.objects.select_for_update().get(pk=board.pk)
    row.tasks, row.sha256, row.options = tasks, sha256, row.options | facts
    row.save(update_fields=["tasks", "sha256", "options"])
    board.refresh_from_db()


@transaction.atomic
def change_leaderboard(
    *, board: Leaderboard, wording: Wording, limits: Limits, by: AbstractBaseUser | None
) -> None:
    """Change the words and the limits; its address stays."""
    Leaderboard.objects.filter(pk=board.pk).update(
        title=wording.title.strip(),
        note=wording.note.strip(),
        daily_limit=limits.daily,
        total_limit=limits.total,
    )
    board.refresh_from_db()
    _record(board, by, "leaderboard.change", daily=limits.daily, total=limits.total)


@transaction.atomic
def set_open(*, board: Leaderboard, is_open: bool, by: AbstractBaseUser | None) -> None:
    """Begin or end the taking of submissions.

    Raises:
        Conflict: its files are not built yet, or figures over what was kept for the end were shown already.
    """
    if is_open:
        _check_built(board)
        if shows_private_figures(board):
            raise Conflict(
                f"{board.title}: the photos kept for the end were shown when it was closed; "
                "make another leaderboard"
            )
    Leaderboard.objects.filter(pk=board.pk).update(is_open=is_open)
    board.refresh_from_db()
    _record(board, by, "leaderboard.open" if is_open else "leaderboard.close")


@transaction.atomic
def set_public(*, board: Leaderboard, is_public: bool, by: AbstractBaseUser | None) -> None:
    """Show a leaderboard to everybody, or to members alone.

    Raises:
        Conflict: its files are not built yet, or it rests on a rehearsal.
    """
    if is_public:
        _check_built(board)
        if is_rehearsal(board):
            raise Conflict(f"{board.title}: rests on a rehearsal, which can never be shown as real")
    Leaderboard.objects.filter(pk=board.pk).update(is_public=is_public)
    board.refresh_from_db()
    _record(board, by, "leaderboard.publish" if is_public else "leaderboard.withdraw")


def _check_built(board: Leaderboard) -> None:
    if not Leaderboard.objects.filter(pk=board.pk).exclude(sha256="").exists():
        raise Conflict(f"{board.title}: its files are not built yet; wait for the job to end")


def add_team(*, board: Leaderboard, name: str, by: AbstractBaseUser | None) -> tuple[LeaderboardTeam, str]:
    """Return a new team and its key, which is known at this moment only: its hash alone is kept.

    Raises:
        Refused: the name is empty, too long or taken.
    """
    name = validate_line("team", name, MAX_TEAM_LENGTH, is_required=True)
    key = _new_key()
    try:
        with transaction.atomic():
            team = LeaderboardTeam.objects.create(
                leaderboard=board, name=name, token_sha256=_hash(key), created_by_id=by.pk if by else None
            )
            _record(board, by, "leaderboard.team", team=team.pk)
    except IntegrityError as error:
        raise Refused(f"team: there is a team {name} already; choose another name") from error
    return team, key


@transaction.atomic
def renew_key(*, team: LeaderboardTeam, by: AbstractBaseUser | None) -> str:
    """Return a new key of a team; the old one opens nothing from now on."""
    key = _new_key()
    LeaderboardTeam.objects.filter(pk=team.pk).update(token_sha256=_hash(key))
    _record(team.leaderboard, by, "leaderboard.renew_key", team=team.pk)
    return key


@transaction.atomic
def set_active(*, team: LeaderboardTeam, is_active: bool, by: AbstractBaseUser | None) -> None:
    """Let a team hand in, or not; what it handed in stays."""
    LeaderboardTeam.objects.filter(pk=team.pk).update(is_active=is_active)
    team.refresh_from_db()
    action = "leaderboard.activate_team" if is_active else "leaderboard.deactivate_team"
    _record(team.leaderboard, by, action, team=team.pk)


def find_team_by_key(*, board: Leaderboard | None, key: str) -> LeaderboardTeam | None:
    """Return the team whose key this is, active or not; each hash is compared, whether one was found or not.

    A leaderboard that does not exist takes as long as one that does, and answers the same.
    """
    digest, found = _hash(key), None
    teams = list(LeaderboardTeam.objects.filter(leaderboard=board)) if board else []
    for team in teams:
        if compare_digest(team.token_sha256, digest):
            found = team
    return found


@transaction.atomic
def set_hidden(*, entry: LeaderboardEntry, is_hidden: bool, by: AbstractBaseUser | None) -> None:
    """Take an entry out of the table, or put it back; it counts against its team's limits either way."""
    LeaderboardEntry.objects.filter(pk=entry.pk).update(is_hidden=is_hidden)
    entry.refresh_from_db()
    action = "leaderboard.hide_entry" if is_hidden else "leaderboard.show_entry"
    _record(entry.team.leaderboard, by, action, entry=entry.pk, team=entry.team_id)


def _new_key() -> str:
    return secrets.token_urlsafe(32)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _record(board: Leaderboard, by: AbstractBaseUser | None, action: str, **data: Any) -> None:
    project: Project = board.project
    audit.record(project=project, actor=by, action=action, subject=board.slug, **data)
