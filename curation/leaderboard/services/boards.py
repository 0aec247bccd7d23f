"""Leaderboards: creating, opening and publishing them; their teams and secret keys."""

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
from curation.services.splits import check_split_has_rows
from curation.versions import photos
from curation.versions.families import family_of_version
from hits.models import Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs

MAX_DAILY_LIMIT, MAX_TOTAL_LIMIT = 100, 10_000
MAX_PRIVATE_SHARE = 90  # percent of the photos
MAX_TITLE_LENGTH, MAX_NOTE_LENGTH, MAX_TEAM_LENGTH = 120, 600, 60
_MAX_SLUG_LENGTH = 50  # characters, without the suffix that makes a slug unique


@dataclass(frozen=True, slots=True)
class SubmissionLimits:
    """The numbers of scored submissions that a team may have: within 24 hours, and in total."""

    daily: int = 2
    total: int = 50

    def __post_init__(self) -> None:
        if not 1 <= self.daily <= MAX_DAILY_LIMIT:
            raise Refused(f"daily limit: {self.daily} is not between 1 and {MAX_DAILY_LIMIT}")
        if not self.daily <= self.total <= MAX_TOTAL_LIMIT:
            raise Refused(f"total limit: {self.total} is not between the daily limit and {MAX_TOTAL_LIMIT}")


@dataclass(frozen=True, slots=True)
class LeaderboardDataOptions:
    """Permanent options of a leaderboard's data. passing: which photos teams can download (``photos.PHOTO_CHOICES``).

    private_share: the percentage of photos whose figures are private until the leaderboard is closed, since models
    can be fitted to public figures.
    """

    passing: str = photos.LICENSED_PHOTOS
    private_share: int = 0

    def __post_init__(self) -> None:
        if self.passing not in photos.PHOTO_CHOICES:
            raise Refused(f"photos: {self.passing!r} is not known; use {', '.join(photos.PHOTO_CHOICES)}")
        if not 0 <= self.private_share <= MAX_PRIVATE_SHARE:
            raise Refused(f"private share: {self.private_share}% is not between 0 and {MAX_PRIVATE_SHARE}")


@dataclass(frozen=True, slots=True)
class Wording:
    """A leaderboard's title and note, each one line."""

    title: str
    note: str = ""

    def __post_init__(self) -> None:
        clean_line("title", self.title, MAX_TITLE_LENGTH, is_required=True)
        clean_line("note", self.note, MAX_NOTE_LENGTH)


def clean_line(field_name: str, text: str, max_length: int, *, is_required: bool = False) -> str:
    """Return a stripped text.

    Raises:
        Refused: the text is required but empty, is too long, or has line breaks or invisible characters.
    """
    text = text.strip()
    if is_required and not text:
        raise Refused(f"{field_name}: is empty; enter one")
    if len(text) > max_length:
        raise Refused(f"{field_name}: has {len(text)} characters; use at most {max_length}")
    if not text.isprintable():
        raise Refused(f"{field_name}: has a line break or an invisible character; enter one plain line")
    return text


def create_leaderboard(
    *,
    version: DatasetVersion,
    split: str,
    wording: Wording,
    by: AbstractBaseUser | None,
    limits: SubmissionLimits | None = None,
    proposals: ProposalRun | None = None,
    data: LeaderboardDataOptions | None = None,
    queue: bool = True,
) -> Leaderboard:
    """Create a leaderboard and queue the job that builds its files. It is closed and visible to members only.

    Args:
        version: a sealed version. split: one of its splits, or empty for all rows.
        proposals: the proposed boxes of localization; without it, only the annotators' boxes are used.
        data: options of the data; by default, teams can download the photos whose licence allows copies.

    Raises:
        Refused: the version is a draft, has no such split, or the proposals are of another project; or its family has
            no leaderboards, or none with proposed boxes.
    """
    _check_version(version, split, proposals)
    allowed = limits or SubmissionLimits()
    with transaction.atomic():
        board = Leaderboard.objects.create(
            project=version.project,
            version=version,
            split=split,
            slug=_unused_slug(wording.title),
            title=wording.title.strip(),
            note=wording.note.strip(),
            daily_limit=allowed.daily,
            total_limit=allowed.total,
            options={
                "proposals": proposals.pk if proposals else None,
                **asdict(data or LeaderboardDataOptions()),
            },
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
        record_action(board, by, "leaderboard.create", version=version.pk, split=split)
    return board


def _check_version(version: DatasetVersion, split: str, proposals: ProposalRun | None) -> None:
    family = family_of_version(version)
    if family.board is None:
        raise Refused(f"version: {version.name} is of the family {family.title}, which has no leaderboards")
    noun = next(part.nouns[0] for part in family.parts if part.name == family.board.part)
    check_split_has_rows(version, split, part=family.board.part, noun=noun)
    if proposals is None:
        return
    if not family.board.has_proposals:
        raise Refused(f"proposals: leaderboards of the family {family.title} have none; leave them out")
    if proposals.project_id != version.project_id:
        raise Refused("proposals: they are of another project; choose a run of this one")


def _unused_slug(title: str) -> str:
    """Return a slug of the title; if it is taken or too short, random letters are added."""
    slug = slugify(title)[:_MAX_SLUG_LENGTH].strip("-")
    if slug and not Leaderboard.objects.filter(slug=slug).exists():
        return slug
    return f"{slug or 'leaderboard'}-{secrets.token_hex(4)}"


@transaction.atomic
def mark_leaderboard_built(
    *, board: Leaderboard, tasks: dict[str, int], sha256: str, facts: dict[str, Any]
) -> None:
    """Mark a leaderboard as built: store its tasks and hash, and add ``facts`` to its options."""
    row = Leaderboard.objects.select_for_update().get(pk=board.pk)
    row.tasks, row.sha256, row.options = tasks, sha256, row.options | facts
    row.save(update_fields=["tasks", "sha256", "options"])
    board.refresh_from_db()


@transaction.atomic
def change_leaderboard(
    *, board: Leaderboard, wording: Wording, limits: SubmissionLimits, by: AbstractBaseUser | None
) -> None:
    """Change a leaderboard's title, note and limits. Its address stays the same."""
    Leaderboard.objects.filter(pk=board.pk).update(
        title=wording.title.strip(),
        note=wording.note.strip(),
        daily_limit=limits.daily,
        total_limit=limits.total,
    )
    board.refresh_from_db()
    record_action(board, by, "leaderboard.change", daily=limits.daily, total=limits.total)


@transaction.atomic
def set_board_is_open(*, board: Leaderboard, is_open: bool, by: AbstractBaseUser | None) -> None:
    """Open or close a leaderboard for submissions.

    Raises:
        Conflict: the files are not built yet, or the figures for the private photos have already been shown.
    """
    if is_open:
        _check_built(board)
        if shows_private_figures(board):
            raise Conflict(
                f"{board.title}: figures for the private photos were shown when it was closed; "
                "create another leaderboard"
            )
    Leaderboard.objects.filter(pk=board.pk).update(is_open=is_open)
    board.refresh_from_db()
    record_action(board, by, "leaderboard.open" if is_open else "leaderboard.close")


@transaction.atomic
def set_board_is_public(*, board: Leaderboard, is_public: bool, by: AbstractBaseUser | None) -> None:
    """Make a leaderboard public, or visible to members only.

    Raises:
        Conflict: the files are not built yet, or the leaderboard is based on a rehearsal.
    """
    if is_public:
        _check_built(board)
        if is_rehearsal(board):
            raise Conflict(f"{board.title}: is based on a rehearsal, which can never be public")
    Leaderboard.objects.filter(pk=board.pk).update(is_public=is_public)
    board.refresh_from_db()
    record_action(board, by, "leaderboard.publish" if is_public else "leaderboard.withdraw")


def _check_built(board: Leaderboard) -> None:
    if not Leaderboard.objects.filter(pk=board.pk).exclude(sha256="").exists():
        raise Conflict(f"{board.title}: its files are not built yet; wait for the job to end")


def add_team(*, board: Leaderboard, name: str, by: AbstractBaseUser | None) -> tuple[LeaderboardTeam, str]:
    """Create a team, and return it with its key, of which only the hash is stored.

    Raises:
        Refused: the name is empty, too long or taken.
    """
    name = clean_line("team", name, MAX_TEAM_LENGTH, is_required=True)
    key = _generate_team_key()
    try:
        with transaction.atomic():
            team = LeaderboardTeam.objects.create(
                leaderboard=board,
                name=name,
                token_sha256=_hash_team_key(key),
                created_by_id=by.pk if by else None,
            )
            record_action(board, by, "leaderboard.team", team=team.pk)
    except IntegrityError as error:
        raise Refused(f"team: a team named {name} exists already; choose another name") from error
    return team, key


@transaction.atomic
def renew_team_key(*, team: LeaderboardTeam, by: AbstractBaseUser | None) -> str:
    """Create and return a new key of a team; the old one stops working."""
    key = _generate_team_key()
    LeaderboardTeam.objects.filter(pk=team.pk).update(token_sha256=_hash_team_key(key))
    record_action(team.leaderboard, by, "leaderboard.renew_key", team=team.pk)
    return key


@transaction.atomic
def set_team_is_active(*, team: LeaderboardTeam, is_active: bool, by: AbstractBaseUser | None) -> None:
    """Activate or deactivate a team; its submissions are kept."""
    LeaderboardTeam.objects.filter(pk=team.pk).update(is_active=is_active)
    team.refresh_from_db()
    action = "leaderboard.activate_team" if is_active else "leaderboard.deactivate_team"
    record_action(team.leaderboard, by, action, team=team.pk)


def find_team_by_key(*, board: Leaderboard | None, key: str) -> LeaderboardTeam | None:
    """Return the team with this key, active or not. A missing leaderboard has no teams.

    All hashes are compared, even after a match, so that the time does not reveal the position of a match.
    """
    digest, found = _hash_team_key(key), None
    teams = list(LeaderboardTeam.objects.filter(leaderboard=board)) if board else []
    for team in teams:
        if compare_digest(team.token_sha256, digest):
            found = team
    return found


@transaction.atomic
def set_entry_is_hidden(*, entry: LeaderboardEntry, is_hidden: bool, by: AbstractBaseUser | None) -> None:
    """Hide an entry from the table, or show it again. It counts against its team's limits in both cases."""
    LeaderboardEntry.objects.filter(pk=entry.pk).update(is_hidden=is_hidden)
    entry.refresh_from_db()
    action = "leaderboard.hide_entry" if is_hidden else "leaderboard.show_entry"
    record_action(entry.team.leaderboard, by, action, entry=entry.pk, team=entry.team_id)


def _generate_team_key() -> str:
    return secrets.token_urlsafe(32)


def _hash_team_key(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def record_action(board: Leaderboard, by: AbstractBaseUser | None, action: str, **data: Any) -> None:
    """Record an action on a leaderboard in its project's audit trail."""
    project: Project = board.project
    audit.record(project=project, actor=by, action=action, subject=board.slug, **data)
