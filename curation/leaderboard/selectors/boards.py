"""Queries on leaderboards: their visibility, public files, teams and entries."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.models import DatasetVersion, VersionImage
from curation.selectors.versions import sealed_versions, version_splits
from curation.versions.board import PUBLIC, BoardTexts
from curation.versions.families import family_of, family_of_version
from curation.versions.photos import PHOTOS
from hits.domain.states import STOPPED_JOB_STATES, Role
from hits.models import Image, Project
from hits.selectors.images.stored_files import StoredFile
from hits.selectors.roles import has_role, researcher_projects

# Names of Celery tasks.
BUILD_LEADERBOARD = "curation.build_leaderboard"
SCORE_ENTRY = "curation.score_entry"

ENTRIES = "entries"  # subfolder of a leaderboard, beside PUBLIC and HELD
ARCHIVE = "instances.zip"
PHOTO_LIST = "photos.json"  # the list of photos
PRIVATE_FIGURES = "kept"  # in an entry's figures and a leaderboard's options: figures for the private photos
DAY = timedelta(hours=24)
COUNTED_STATES = (EntryState.QUEUED.value, EntryState.SCORED.value)


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A public file; ``name`` is its path in the leaderboard's public folder."""

    name: str
    bytes: int
    path: Path


@dataclass(frozen=True, slots=True)
class TeamUsage:
    """A team's submissions that count against its limits, and its refused ones, which do not.

    ``next_free_at`` is when the oldest of those within 24 hours no longer counts against the daily limit.
    """

    within_24_hours: int
    total: int
    refused_within_24_hours: int
    next_free_at: datetime | None


def project_boards(project: Project) -> "QuerySet[Leaderboard]":
    """Return a project's leaderboards, newest first."""
    return Leaderboard.objects.filter(project=project).select_related("version", "job")


def project_boards_with_counts(project: Project) -> "QuerySet[Leaderboard]":
    """Return a project's leaderboards with ``team_count`` and ``scored_count``."""
    return project_boards(project).annotate(
        team_count=Count("teams", distinct=True),
        scored_count=Count(
            "teams__entries", filter=Q(teams__entries__state=EntryState.SCORED), distinct=True
        ),
    )


def visible_boards(user: AbstractBaseUser | AnonymousUser) -> "QuerySet[Leaderboard]":
    """Return the built leaderboards that a user may see: public ones, and those of the user's projects."""
    mine = Q(project__in=researcher_projects(user))
    found = Leaderboard.objects.filter(Q(is_public=True) | mine).exclude(sha256="")
    return found.select_related("version", "project").distinct()


def visible_board(user: AbstractBaseUser | AnonymousUser, slug: str) -> Leaderboard | None:
    """Return a built leaderboard if it is visible to a user."""
    board = built_board(slug)
    return board if board and (board.is_public or is_project_researcher(user, board)) else None


def built_board(slug: str) -> Leaderboard | None:
    """Return a built leaderboard, regardless of visibility."""
    rows = Leaderboard.objects.select_related("version", "project").exclude(sha256="")
    return rows.filter(slug=slug).first()


def is_project_researcher(user: AbstractBaseUser | AnonymousUser, board: Leaderboard) -> bool:
    """Whether a user is a researcher of the leaderboard's project."""
    return has_role(user, board.project, Role.RESEARCHER)


def is_rehearsal(board: Leaderboard) -> bool:
    """Whether a leaderboard is based on a rehearsal, so that it may never be public."""
    return board.version.rehearsal or board.project.is_rehearsal


def public_seal(board: Leaderboard) -> str:
    """Return the version's checksum; empty if the version holds its answers back, since its rows could be guessed."""
    private = family_of_version(board.version).folders(board.version)[1]
    return "" if private else board.version.manifest_sha256


def shows_private_figures(board: Leaderboard) -> bool:
    """Whether figures for the private photos are shown: the leaderboard is closed and has scored entries."""
    return bool(board.options.get("private_share")) and not board.is_open and has_scored_entries(board)


def has_scored_entries(board: Leaderboard) -> bool:
    """Whether any entry has figures."""
    return board_entries(board).filter(state=EntryState.SCORED).exists()


def board_folder(board: Leaderboard) -> Path:
    """Return the folder of a leaderboard's files, which may not exist yet."""
    return Path(settings.MEDIA_ROOT) / board.path


def entry_files() -> Iterator[StoredFile]:
    """Yield the stored zip of every entry; the zips of refused entries were removed."""
    for entry in LeaderboardEntry.objects.exclude(state=EntryState.REFUSED).iterator():
        yield StoredFile("leaderboard entry", f"{entry.pk}", entry.path, entry.sha256)


def public_files(board: Leaderboard) -> list[PublicFile]:
    """Return the public files, first the archive of all files. Links in the public folder are left out."""
    folder = board_folder(board)
    archive = folder / ARCHIVE
    found = [PublicFile(ARCHIVE, archive.stat().st_size, archive)] if _is_plain_file(archive) else []
    for path in sorted((folder / PUBLIC).rglob("*")):
        if _is_plain_file(path):
            found.append(PublicFile(path.relative_to(folder / PUBLIC).as_posix(), path.stat().st_size, path))
    return found


def find_public_file_or_photo(board: Leaderboard, name: str) -> PublicFile | None:
    """Return a public file, or a redistributable photo, by its name; ``None`` for any other path."""
    if is_photo_name(name):
        return _find_photo(board, name)
    return next((file for file in public_files(board) if file.name == name), None)


def is_photo_name(name: str) -> bool:
    """Whether a name is that of a photo, existing or not."""
    return name.startswith(f"{PHOTOS}/")


def _find_photo(board: Leaderboard, name: str) -> PublicFile | None:
    """Return the file of a photo on the leaderboard's list, if it was not taken down."""
    path = board_folder(board) / PUBLIC / PHOTO_LIST
    listed = _photo_hashes_by_name(path) if _is_plain_file(path) else {}
    if name not in listed:
        return None
    images = Image.objects.filter(project=board.project_id, taken_down_at__isnull=True, sha256=listed[name])
    image = images.first()
    if image is None:
        return None
    file_path = Path(settings.MEDIA_ROOT) / str(image.file.name)
    return PublicFile(name, image.bytes, file_path) if _is_plain_file(file_path) else None


@lru_cache(maxsize=8)
def _photo_hashes_by_name(path: Path) -> dict[str, str]:
    """Return the sha256 of each redistributable photo by name; cached, since a leaderboard's list never changes."""
    return {row["file"]: row["sha256"] for row in json.loads(path.read_bytes()) if row["file"]}


def download_name(board: Leaderboard, file: PublicFile) -> str:
    """Return the name of a downloaded file; the archive is named after its leaderboard."""
    return f"{board.slug}-{ARCHIVE}" if file.name == ARCHIVE else file.path.name


def count_taken_down_photos(board: Leaderboard) -> int:
    """Return the number of photos that were taken down after the leaderboard was built, which its files still use.

    A photo is not counted if another image with the same bytes is available.
    """
    job = board.job
    since = job.started_at if job is not None and job.started_at is not None else board.created_at
    images = Image.objects.filter(project=board.project_id)
    available = images.filter(taken_down_at__isnull=True)
    taken_down = images.filter(taken_down_at__gt=since).exclude(sha256__in=available.values("sha256"))
    found = VersionImage.objects.filter(version=board.version_id, sha256__in=taken_down.values("sha256"))
    return found.filter(facts__split=board.split).count() if board.split else found.count()


def board_teams(board: Leaderboard) -> "QuerySet[LeaderboardTeam]":
    """Return a leaderboard's teams with ``scored_count`` and ``refused_count``."""
    return LeaderboardTeam.objects.filter(leaderboard=board).annotate(
        scored_count=Count("entries", filter=Q(entries__state=EntryState.SCORED)),
        refused_count=Count("entries", filter=Q(entries__state=EntryState.REFUSED)),
    )


def board_entries(board: Leaderboard) -> "QuerySet[LeaderboardEntry]":
    """Return all entries, newest first."""
    rows = LeaderboardEntry.objects.filter(team__leaderboard=board)
    return rows.select_related("team", "job", "withdrawal")


def shown_entries(board: Leaderboard) -> list[LeaderboardEntry]:
    """Return the entries in the table: scored, neither hidden nor withdrawn, oldest first."""
    rows = board_entries(board).filter(state=EntryState.SCORED, is_hidden=False, withdrawal=None)
    return list(rows.order_by("created_at", "pk"))


def team_entries(team: LeaderboardTeam) -> "QuerySet[LeaderboardEntry]":
    """Return a team's entries, newest first."""
    return LeaderboardEntry.objects.filter(team=team).select_related("job", "team__leaderboard", "withdrawal")


def is_stuck(entry: LeaderboardEntry) -> bool:
    """Whether scoring failed because of a server fault or was cancelled, so that it must be resumed."""
    return entry.state == EntryState.QUEUED and (entry.job is None or entry.job.state in STOPPED_JOB_STATES)


def entry_notes(entry: LeaderboardEntry) -> list[str]:
    """Return notes for the team about what was unusual in an accepted submission."""
    return list(entry.job.result.get("notes", [])) if entry.job else []


def team_usage(team: LeaderboardTeam, now: datetime | None = None) -> TeamUsage:
    """Return a team's usage of its limits; refused submissions are counted separately."""
    since = (now or timezone.now()) - DAY
    rows = LeaderboardEntry.objects.filter(team=team)
    counted = rows.filter(state__in=COUNTED_STATES)
    recent = counted.filter(created_at__gt=since)
    oldest = recent.order_by("created_at").values_list("created_at", flat=True).first()
    return TeamUsage(
        within_24_hours=recent.count(),
        total=counted.count(),
        refused_within_24_hours=rows.filter(state=EntryState.REFUSED, created_at__gt=since).count(),
        next_free_at=oldest + DAY if oldest else None,
    )


def sealed_versions_with_splits(project: Project) -> list[tuple[DatasetVersion, Sequence[str]]]:
    """Return the project's sealed versions that can have leaderboards, newest first, each with its splits."""
    texts = family_of(project).board
    if texts is None:
        return []
    found = [(version, version_splits(version, texts.part)) for version in sealed_versions(project)]
    return [(version, list(filter(None, splits))) for version, splits in found if splits]


def board_texts(board: Leaderboard) -> BoardTexts:
    """Return what pages say about a leaderboard of this family."""
    texts = family_of_version(board.version).board
    assert texts is not None, "a leaderboard is created only if its family has some"
    return texts


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
