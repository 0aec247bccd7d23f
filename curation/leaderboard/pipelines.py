"""Jobs of leaderboards: write their files from a sealed version, and score submissions with the private keys."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

from curation.files import file_sha256, partial_folder, rename_folder_durably
from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry
from curation.leaderboard.selectors import boards
from curation.leaderboard.services.boards import mark_leaderboard_built
from curation.leaderboard.services.entries import entry_zip_path, record_entry_figures, record_entry_refusal
from curation.records import InvalidInput
from curation.services.refusals import refuse_invalid_input
from curation.versions import photos
from curation.versions.board import (
    HELD,
    PUBLIC,
    BrokenKey,
    ScoredSubmission,
    WrittenBoard,
    interval_generator,
)
from curation.versions.export import pretty_json
from curation.versions.families import family_of_version
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress


class AnswerKeyFault(Refused):
    """An answer key is missing or damaged. This is a server fault, which does not refuse a submission."""


def build_leaderboard(board: Leaderboard, progress: Progress) -> dict[str, Any]:
    """Write a leaderboard's instances, ids and keys into its folder atomically, and return the job's result.

    Idempotent: a leaderboard that is already built is left unchanged.

    Raises:
        Refused: the version has no usable tasks, or the run of proposals no longer exists.
    """
    if board.sha256:
        return {"files": len(board.tasks)}
    folder = boards.board_folder(board)
    scoring = family_of_version(board.version).load_board()
    with refuse_invalid_input(), partial_folder(folder) as partial:
        written = scoring.write(
            board.version,
            split=board.split,
            folder=partial,
            options=board.options,
            # One more step for the archive and the figures of the keys.
            report_progress=lambda done, total: progress.advance(done, total=total + 1),
        )
        counts = _write_photo_list(board, partial, written)
        facts = scoring.key_facts(partial, written, boards.PRIVATE_FIGURES) | {"photos": counts}
        _pack_public_files(partial)
        if folder.exists():  # from a run that died before the leaderboard was complete, so nobody has seen it
            shutil.rmtree(folder)
        rename_folder_durably(partial, folder)
    tasks = dict(written.expected)
    mark_leaderboard_built(board=board, tasks=tasks, sha256=written.sha256, facts=facts)
    return {"files": len(tasks), "scores": sum(tasks.values()), "photos": counts, **written.left_out}


def score_submission(entry: LeaderboardEntry, progress: Progress) -> dict[str, Any]:
    """Score a submission, or record its defect. Idempotent: processed submissions are left unchanged.

    If anything but a defect of the zip prevents scoring, the job fails and can be resumed; the entry stays queued.

    Raises:
        Refused: the zip is missing, or has changed since submission.
        AnswerKeyFault: a key is missing or damaged; the zip is kept.
    """
    if entry.state != EntryState.QUEUED:
        return {"state": entry.state}
    board, path = entry.team.leaderboard, entry_zip_path(entry)
    _check_stored_zip(entry, path)
    progress.advance(0, total=2)
    try:
        scored = _score_zip(entry, board, path, progress)
    except InvalidInput as defect:
        record_entry_refusal(entry=entry, defect=_hide_server_paths(str(defect), entry))
        return {"state": entry.state}
    private = {} if scored.private_figures is None else {boards.PRIVATE_FIGURES: scored.private_figures}
    record_entry_figures(entry=entry, figures=scored.figures | private)
    progress.advance(2)
    return {"state": entry.state, "notes": list(scored.notes)}


def _score_zip(
    entry: LeaderboardEntry, board: Leaderboard, path: Path, progress: Progress
) -> ScoredSubmission:
    """Return the figures of a stored zip; a defect of a key is a server fault."""
    scoring = family_of_version(board.version).load_board()
    try:
        return scoring.score(
            path,
            file_name=entry.file_name,
            folder=boards.board_folder(board),
            expected=board.tasks,
            has_private=bool(board.options.get("private_share")),
            rng=interval_generator(board.sha256),
            report_read=lambda: progress.advance(1),
        )
    except BrokenKey as fault:
        raise _answer_key_fault(board, fault) from fault


def _answer_key_fault(board: Leaderboard, fault: BrokenKey) -> AnswerKeyFault:
    """Return the error for a defect of a key. Its one-line message for the organisers has no server paths."""
    detail = ""
    if fault.__cause__ is not None:
        found = str(fault.__cause__).replace(str(boards.board_folder(board)), board.path).partition(";")[0]
        detail = f" ({found})"
    return AnswerKeyFault(
        f"{fault}{detail}; restore {board.path}/{HELD} in the media folder, then resume this job"
    )


def _check_stored_zip(entry: LeaderboardEntry, path: Path) -> None:
    """Check that the stored zip is intact: a loss on the server must not count against the team."""
    try:
        is_unchanged = file_sha256(path) == entry.sha256
    except OSError as error:
        raise Refused(f"entry {entry.pk}: its zip is missing; restore the media folder") from error
    if not is_unchanged:
        raise Refused(f"entry {entry.pk}: its zip has changed since submission; restore the media folder")


def _write_photo_list(board: Leaderboard, folder: Path, written: WrittenBoard) -> dict[str, int]:
    """Write the list of photos next to the instances, and return the numbers of photos.

    Photos are served from the media folder: they are not stored twice, and photos taken down are no longer served.
    """
    passing = board.options.get("passing", photos.LICENSED_PHOTOS)
    rows = list(photos.photo_rows(board.version, written.image_names, photo_choice=passing))
    for row in rows:
        if written.image_names[row["image"]] != row["image"]:
            row["img_fn"] = written.image_names[row["image"]]
    if all("img_fn" in row for row in rows):  # the version's order tells in which order images were made
        rows.sort(key=lambda row: str(row["img_fn"]))
    (folder / PUBLIC / boards.PHOTO_LIST).write_bytes(pretty_json(rows))
    return photos.count_photos_by_availability(rows)


def _pack_public_files(folder: Path) -> None:
    """Pack the public files into one archive in advance."""
    public = folder / PUBLIC
    with zipfile.ZipFile(folder / boards.ARCHIVE, "x", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(public.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(public).as_posix())


def _hide_server_paths(defect: str, entry: LeaderboardEntry) -> str:
    """Return a defect without paths on this server."""
    path = entry_zip_path(entry)
    home = boards.board_folder(entry.team.leaderboard)
    for path_text, replacement in (
        (str(path), entry.file_name),
        (str(home), "leaderboard"),
        (path.name, entry.file_name),
    ):
        defect = defect.replace(path_text, replacement)
    return defect
