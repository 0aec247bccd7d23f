"""Submissions to a leaderboard: accepting them within a team's limits, and recording their results."""

import hashlib
import hmac
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction
from django.utils import timezone

from curation.evaluation.submission_zip import ZIP_NAME, is_zip_name
from curation.files import sync_to_disk
from curation.leaderboard import models
from curation.leaderboard.selectors.boards import ENTRIES, SCORE_ENTRY, board_folder, team_usage
from curation.leaderboard.services.boards import clean_line, find_team_by_key, record_action
from hits.services.errors import ContentTooLarge, Refused, StorageFull
from hits.services.jobs import jobs

MAX_REFUSED_PER_DAY = 20
MAX_WRONG_KEYS, WRONG_KEYS_SECONDS = 20, 900
MAX_MODEL_LENGTH, MAX_DESCRIPTION_LENGTH, MAX_URL_LENGTH, MAX_FILE_NAME_LENGTH = 80, 400, 200, 120
MAX_DEFECT_LENGTH = 1000
UNKNOWN_KEY_MESSAGE = "key: this key is not valid here; check it, or ask the organisers for a new one"
_FORBIDDEN_URL_CHARACTERS = frozenset("<>\"'`\\^{|} ")  # RFC 3986 forbids them, except for the apostrophe
_validate_url = URLValidator(schemes=["http", "https"])


class UnknownTeamKey(Refused):
    """A key is not valid for this leaderboard. The message does not reveal whether the leaderboard exists."""


class LimitReached(Refused):
    """A team or a client's address has reached a limit and must wait."""


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """A team's description of its model."""

    model: str
    description: str = ""
    url: str = ""

    def __post_init__(self) -> None:
        clean_line("model", self.model, MAX_MODEL_LENGTH, is_required=True)
        clean_line("description", self.description, MAX_DESCRIPTION_LENGTH)
        url = clean_line("url", self.url, MAX_URL_LENGTH)
        if url:
            try:
                _validate_url(url)
            except ValidationError as error:
                raise Refused("url: is not a web address; begin it with https:// or http://") from error
            if not _FORBIDDEN_URL_CHARACTERS.isdisjoint(url):
                raise Refused("url: is not a web address; write quotation marks and brackets as %22, %3C, …")


@dataclass(frozen=True, slots=True)
class UploadedZip:
    """An uploaded zip: the pieces of its content, and its file name."""

    pieces: Iterable[bytes]
    file_name: str


def authenticate_team(*, board: models.Leaderboard | None, key: str, address: str) -> models.LeaderboardTeam:
    """Return the team with a key.

    Args:
        address: the client's address; an address that sent many wrong keys must wait.

    Raises:
        UnknownTeamKey: no team of this leaderboard has that key, or there is no such leaderboard.
        LimitReached: too many wrong keys came from that address.
    """
    subject = f"wrong-key:{address}".encode()
    digest = hmac.new(settings.SECRET_KEY.encode(), subject, hashlib.sha256).hexdigest()
    since = timezone.now() - timedelta(seconds=WRONG_KEYS_SECONDS)
    if models.WrongKey.objects.filter(address=digest, at__gte=since).count() >= MAX_WRONG_KEYS:
        raise LimitReached("key: too many wrong keys from your address; wait 15 minutes")
    team = find_team_by_key(board=board, key=key)
    if team is None:
        models.WrongKey.objects.filter(at__lt=since).delete()
        models.WrongKey.objects.create(
            address=digest
        )  # in the database, so that the number of guesses is limited even if the cache fails
        raise UnknownTeamKey(UNKNOWN_KEY_MESSAGE)
    return team


def submit_entry(
    *, team: models.LeaderboardTeam, description: ModelDescription, upload: UploadedZip, queue: bool = True
) -> tuple[models.LeaderboardEntry, bool]:
    """Return the entry of a zip and whether it is new. If the team sent the zip before, return the existing entry.

    The team's row is locked while its limits are checked, so that concurrent submissions cannot exceed them.

    Raises:
        Refused: the leaderboard is closed, the team is inactive, or the zip has the wrong name. Nothing is stored, so
            the same bytes can be sent again under the right name.
        ContentTooLarge: the zip has more than ``max_upload_bytes``.
        LimitReached: the team has reached its limits, or had too many refusals within 24 hours.
        StorageFull: the disk is full.
    """
    folder = board_folder(team.leaderboard) / ENTRIES
    partial = folder / f".{uuid.uuid4().hex}.partial"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sha256 = _write_upload_and_hash(upload.pieces, partial, max_upload_bytes(team.leaderboard))
        return _get_or_create_entry(team, description, upload.file_name, partial, sha256, queue=queue)
    except OSError as error:
        raise StorageFull.from_os_error(error, "file: was not stored, and counts against no limit") from error
    finally:
        partial.unlink(missing_ok=True)


def max_upload_bytes(board: models.Leaderboard) -> int:
    """Return the maximum size of a zip: the size that all scores can need, or the server's limit if that is less."""
    return min(settings.LEADERBOARD_MAX_BYTES, board.options.get("largest", settings.LEADERBOARD_MAX_BYTES))


def _write_upload_and_hash(pieces: Iterable[bytes], path: Path, max_bytes: int) -> str:
    """Write an upload to ``path`` piece by piece and return its SHA-256."""
    size, digest = 0, hashlib.sha256()
    with path.open("xb") as file:
        for piece in pieces:
            size += len(piece)
            if size > max_bytes:
                raise ContentTooLarge(
                    f"file: is larger than {max_bytes} bytes; include only the predictions, and compress the zip"
                )
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    if not size:
        raise Refused("file: is empty; send the zip with your predictions")
    return digest.hexdigest()


def _get_or_create_entry(
    team: models.LeaderboardTeam,
    description: ModelDescription,
    file_name: str,
    partial: Path,
    sha256: str,
    *,
    queue: bool,
) -> tuple[models.LeaderboardEntry, bool]:
    path = partial.with_name(f"{team.pk}-{sha256}.zip")
    with transaction.atomic():
        locked_team = models.LeaderboardTeam.objects.select_for_update().get(pk=team.pk)
        known = models.LeaderboardEntry.objects.filter(team=locked_team, sha256=sha256).first()
        if known is not None:
            return known, False
        _check_can_submit(locked_team, timezone.now())
        name = _clean_zip_name(file_name)
        entry = models.LeaderboardEntry.objects.create(
            team=locked_team,
            model=description.model.strip(),
            description=description.description.strip(),
            url=description.url.strip(),
            file_name=name,
            path=str(PurePosixPath(locked_team.leaderboard.path) / ENTRIES / path.name),
            sha256=sha256,
        )
        entry.job = jobs.enqueue(
            task=SCORE_ENTRY,
            title=f"Score {entry.model} of {locked_team.name}"[:160],
            project=locked_team.leaderboard.project,
            exclusive_key=f"leaderboard-entry:{entry.pk}",
            resumable=True,
            queue=queue,
            entry=entry.pk,
        )
        entry.save(update_fields=["job"])
        partial.replace(path)  # the name has the content's hash, so a repeated call writes the same file
        sync_to_disk(path.parent)
    return entry, True


def clean_file_name(name: str) -> str:
    """Return a file's name without folders or invisible characters."""
    base_name = name.replace("\\", "/").rpartition("/")[2]
    return "".join(letter for letter in base_name if letter.isprintable())[:MAX_FILE_NAME_LENGTH] or "unnamed"


def _clean_zip_name(file_name: str) -> str:
    """Check and return a zip's name. Entries are identified by their bytes, so wrong names are not stored."""
    name = clean_file_name(file_name)
    if not is_zip_name(name):
        raise Refused(f"file: its name is {name}; rename it to {ZIP_NAME} and send it again")
    return name


def _check_can_submit(team: models.LeaderboardTeam, now: datetime) -> None:
    board = team.leaderboard
    if not board.is_open:
        raise Refused("leaderboard: it is closed and does not accept submissions")
    if not team.is_active:
        raise Refused("team: it cannot submit at present; ask the organisers")
    usage = team_usage(team, now)
    if usage.refused_within_24_hours >= MAX_REFUSED_PER_DAY:
        raise LimitReached(
            f"limit: {usage.refused_within_24_hours} submissions of your team were refused within 24 hours; "
            "check the zip against the layout, and wait"
        )
    if usage.total >= board.total_limit:
        raise LimitReached(f"limit: your team has used all of its {board.total_limit} submissions")
    if usage.within_24_hours >= board.daily_limit:
        next_time = f"{usage.next_free_at:%d %b %H:%M} UTC" if usage.next_free_at else "tomorrow"
        raise LimitReached(
            f"limit: your team has used {usage.within_24_hours} of {board.daily_limit} submissions within 24 hours; "
            f"the next is possible from {next_time}"
        )


def withdraw_entry(*, team: models.LeaderboardTeam, entry: models.LeaderboardEntry) -> models.EntryWithdrawal:
    """Withdraw a team's own entry permanently; a repeated call returns the first withdrawal.

    Raises:
        Refused: the entry is another team's, or the team is inactive.
    """
    if entry.team_id != team.pk:
        raise Refused("entry: it is not your team's")
    if not team.is_active:
        raise Refused("team: it cannot change its submissions at present; ask the organisers")
    with transaction.atomic():
        found, is_new = models.EntryWithdrawal.objects.get_or_create(entry=entry)
        if is_new:
            record_action(team.leaderboard, None, "leaderboard.withdraw_entry", entry=entry.pk, team=team.pk)
    entry.withdrawal = found
    return found


def record_entry_figures(*, entry: models.LeaderboardEntry, figures: dict[str, Any]) -> None:
    """Record an entry's figures; processed entries are left unchanged."""
    waiting = models.LeaderboardEntry.objects.filter(pk=entry.pk, state=models.EntryState.QUEUED)
    waiting.update(state=models.EntryState.SCORED, figures=figures, defect="", scored_at=timezone.now())
    entry.refresh_from_db()


def record_entry_refusal(*, entry: models.LeaderboardEntry, defect: str) -> None:
    """Record why an entry cannot be scored, and remove its zip; it counts against no limit."""
    waiting = models.LeaderboardEntry.objects.filter(pk=entry.pk, state=models.EntryState.QUEUED)
    message = " ".join(defect.split())[:MAX_DEFECT_LENGTH]
    if waiting.update(state=models.EntryState.REFUSED, defect=message, scored_at=timezone.now()):
        entry_zip_path(entry).unlink(missing_ok=True)
    entry.refresh_from_db()


def entry_zip_path(entry: models.LeaderboardEntry) -> Path:
    """Return the path of an entry's zip while it is stored."""
    return Path(settings.MEDIA_ROOT) / entry.path
