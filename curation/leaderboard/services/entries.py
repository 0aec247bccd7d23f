"""Submissions to a leaderboard: take them in within a team's limits, and write down what came of them."""

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

from curation.evaluation.submission import ZIP_NAME, is_zip_name
from curation.files import sync
from curation.leaderboard.models import (
    EntryState,
    EntryWithdrawal,
    Leaderboard,
    LeaderboardEntry,
    LeaderboardTeam,
    WrongKey,
)
from curation.leaderboard.selectors.boards import ENTRIES, SCORE_ENTRY, board_folder, used
from curation.leaderboard.services.boards import checked_line, team_with_key
from hits.services import audit
from hits.services.errors import NoRoom, Refused, TooLarge
from hits.services.jobs import jobs

REFUSED_A_DAY = 20
WRONG_KEYS, WRONG_KEYS_SECONDS = 20, 900
LONGEST_MODEL, LONGEST_DESCRIPTION, LONGEST_URL, LONGEST_FILE_NAME = 80, 400, 200, 120
LONGEST_DEFECT = 1000
UNKNOWN_KEY = "key: it is not known here; check it, or ask the organisers for a new one"
_NOT_IN_ADDRESSES = frozenset("<>\"'`\\^{|} ")  # RFC 3986 has none of them, and the apostrophe is no loss
_is_web_address = URLValidator(schemes=["http", "https"])


class UnknownKey(Refused):
    """A key that opens nothing at this leaderboard; it does not say whether there is such a leaderboard."""


class LimitReached(Refused):
    """A team, or an address, has to wait."""


@dataclass(frozen=True, slots=True)
class About:
    """What a team says about its model."""

    model: str
    description: str = ""
    url: str = ""

    def __post_init__(self) -> None:
        checked_line("model", self.model, LONGEST_MODEL, needed=True)
        checked_line("description", self.description, LONGEST_DESCRIPTION)
        url = checked_line("url", self.url, LONGEST_URL)
        if url:
            try:
                _is_web_address(url)
            except ValidationError as error:
                raise Refused("url: is no web address; begin it with https:// or http://") from error
            if not _NOT_IN_ADDRESSES.isdisjoint(url):
                raise Refused("url: is no web address; write its quotation marks and brackets as %22, %3C, …")


@dataclass(frozen=True, slots=True)
class Upload:
    """A zip as it comes in: pieces of its content, and what the team calls it."""

    pieces: Iterable[bytes]
    file_name: str


def enter(*, board: Leaderboard | None, key: str, address: str) -> LeaderboardTeam:
    """Return the team that a key belongs to.

    Args:
        address: where the request comes from; one that sent many wrong keys has to wait.

    Raises:
        UnknownKey: no team of this leaderboard has that key. The same whether or not there is a leaderboard.
        LimitReached: too many wrong keys came from that address.
    """
    digest = hmac.new(
        settings.SECRET_KEY.encode(), f"wrong-key:{address}".encode(), hashlib.sha256
    ).hexdigest()
    since = timezone.now() - timedelta(seconds=WRONG_KEYS_SECONDS)
    if WrongKey.objects.filter(address=digest, at__gte=since).count() >= WRONG_KEYS:
        raise LimitReached("key: too many wrong ones came from your address; wait a quarter of an hour")
    team = team_with_key(board=board, key=key)
    if team is None:
        WrongKey.objects.filter(at__lt=since).delete()
        WrongKey.objects.create(address=digest)  # a row, so that no outage of a cache lets anybody guess
        raise UnknownKey(UNKNOWN_KEY)
    return team


def submit(
    *, team: LeaderboardTeam, about: About, upload: Upload, queue: bool = True
) -> tuple[LeaderboardEntry, bool]:
    """Return the entry of a zip and whether it is new; a zip that this team sent before is that entry again.

    The team's row is held while its limits are looked at, so that two submissions at once cannot both be the last.

    Raises:
        Refused: the leaderboard is closed, the team is not active, or the zip is not called as the layout has it.
            Nothing is kept of it, so that the same bytes can be sent again under the right name.
        TooLarge: more bytes than ``largest`` says.
        LimitReached: the team has used up what it may hand in, or too much of it was refused today.
        NoRoom: the disk takes no more.
    """
    folder = board_folder(team.leaderboard) / ENTRIES
    partial = folder / f".{uuid.uuid4().hex}.partial"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sha256 = _store(upload.pieces, partial, largest(team.leaderboard))
        return _enter(team, about, upload.file_name, partial, sha256, queue=queue)
    except OSError as error:
        raise NoRoom.after(error, "file: was not stored, and counts against no limit") from error
    finally:
        partial.unlink(missing_ok=True)


def largest(board: Leaderboard) -> int:
    """Return how many bytes a zip may have: what all scores take up at most, and what the server takes."""
    return min(settings.LEADERBOARD_MAX_BYTES, board.options.get("largest", settings.LEADERBOARD_MAX_BYTES))


def _store(pieces: Iterable[bytes], path: Path, most: int) -> str:
    """Write an upload to disk piece by piece and return its sha256."""
    size, digest = 0, hashlib.sha256()
    with path.open("xb") as file:
        for piece in pieces:
            size += len(piece)
            if size > most:
                raise TooLarge(f"file: is larger than {most} bytes; save float32 and compress the zip")
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    if not size:
        raise Refused("file: is empty; send the zip with your predictions")
    return digest.hexdigest()


def _enter(
    team: LeaderboardTeam, about: About, file_name: str, partial: Path, sha256: str, *, queue: bool
) -> tuple[LeaderboardEntry, bool]:
    place = partial.with_name(f"{team.pk}-{sha256}.zip")
    with transaction.atomic():
        held = LeaderboardTeam.objects.select_for_update().get(pk=team.pk)
        known = LeaderboardEntry.objects.filter(team=held, sha256=sha256).first()
        if known is not None:
            return known, False
        _check_may(held, timezone.now())
        name = _checked_name(file_name)
        entry = LeaderboardEntry.objects.create(
            team=held,
            model=about.model.strip(),
            description=about.description.strip(),
            url=about.url.strip(),
            file_name=name,
            path=str(PurePosixPath(held.leaderboard.path) / ENTRIES / place.name),
            sha256=sha256,
        )
        entry.job = jobs.enqueue(
            task=SCORE_ENTRY,
            title=f"Score {entry.model} of {held.name}"[:160],
            project=held.leaderboard.project,
            exclusive_key=f"leaderboard-entry:{entry.pk}",
            resumable=True,
            queue=queue,
            entry=entry.pk,
        )
        entry.save(update_fields=["job"])
        partial.replace(place)  # under the name of its content: whoever repeats this writes the same file
        sync(place.parent)
    return entry, True


def plain_name(name: str) -> str:
    """Return a file's own name as it is kept: no folders, nothing that cannot be seen."""
    own = name.replace("\\", "/").rpartition("/")[2]
    return "".join(letter for letter in own if letter.isprintable())[:LONGEST_FILE_NAME] or "unnamed"


def _checked_name(file_name: str) -> str:
    """Return a zip's name as it is kept; entries are known by their bytes, so none may stand for a wrong name."""
    name = plain_name(file_name)
    if not is_zip_name(name):
        raise Refused(f"file: it is called {name}; rename it to {ZIP_NAME} and send it again")
    return name


def _check_may(team: LeaderboardTeam, now: datetime) -> None:
    board = team.leaderboard
    if not board.is_open:
        raise Refused("leaderboard: it is closed and takes no submissions")
    if not team.is_active:
        raise Refused("team: it may not hand in at present; ask the organisers")
    so_far = used(team, now)
    if so_far.refused_today >= REFUSED_A_DAY:
        raise LimitReached(
            f"limit: {so_far.refused_today} submissions of your team were refused within 24 hours; "
            "check the zip against the layout, and wait"
        )
    if so_far.total >= board.total_limit:
        raise LimitReached(f"limit: your team has handed in all of its {board.total_limit} submissions")
    if so_far.today >= board.daily_limit:
        when = f"{so_far.free_at:%d %b %H:%M} UTC" if so_far.free_at else "tomorrow"
        raise LimitReached(
            f"limit: your team has handed in {so_far.today} of {board.daily_limit} submissions within 24 hours; "
            f"the next is possible from {when}"
        )


def withdraw(*, team: LeaderboardTeam, entry: LeaderboardEntry) -> EntryWithdrawal:
    """Take a team's own entry out of the table for good; repeating it returns the first withdrawal.

    Raises:
        Refused: it is another team's, or the team is not active.
    """
    if entry.team_id != team.pk:
        raise Refused("entry: it is not your team's")
    if not team.is_active:
        raise Refused("team: it may not change what it handed in at present; ask the organisers")
    with transaction.atomic():
        found, is_new = EntryWithdrawal.objects.get_or_create(entry=entry)
        if is_new:
            audit.record(
                project=team.leaderboard.project,
                actor=None,
                action="leaderboard.withdraw_entry",
                subject=team.leaderboard.slug,
                entry=entry.pk,
                team=team.pk,
            )
    entry.withdrawal = found
    return found


def record_scored(*, entry: LeaderboardEntry, figures: dict[str, Any]) -> None:
    """Write down an entry's figures; an entry that was dealt with stays as it is."""
    waiting = LeaderboardEntry.objects.filter(pk=entry.pk, state=EntryState.QUEUED)
    waiting.update(state=EntryState.SCORED, figures=figures, defect="", scored_at=timezone.now())
    entry.refresh_from_db()


def record_refused(*, entry: LeaderboardEntry, defect: str) -> None:
    """Write down why an entry cannot be scored, and remove its zip: it counts against no limit."""
    waiting = LeaderboardEntry.objects.filter(pk=entry.pk, state=EntryState.QUEUED)
    told = " ".join(defect.split())[:LONGEST_DEFECT]
    if waiting.update(state=EntryState.REFUSED, defect=told, scored_at=timezone.now()):
        entry_file(entry).unlink(missing_ok=True)
    entry.refresh_from_db()


def entry_file(entry: LeaderboardEntry) -> Path:
    """Return where an entry's zip lies while it is kept."""
    return Path(settings.MEDIA_ROOT) / entry.path
