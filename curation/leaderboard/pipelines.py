"""Jobs of leaderboards: write their files from a sealed version, and score submissions with the private keys."""

import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation import answer_keys
from curation.evaluation.figures import comparison_figures_without_model
from curation.evaluation.localization import LocalizationKey, chance_shares
from curation.evaluation.retrieval import RetrievalKey, retrieval_chance_figures
from curation.evaluation.submission import Submission, max_submission_bytes, read_submission, score_subsets
from curation.families.sherlock.evaluation_sets import WrittenSets, write_evaluation_sets
from curation.files import file_sha256, partial_folder, rename_folder_durably
from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry
from curation.leaderboard.selectors import boards
from curation.leaderboard.services.boards import mark_leaderboard_built
from curation.leaderboard.services.entries import entry_zip_path, record_entry_figures, record_entry_refusal
from curation.models import ProposalRun
from curation.records import InvalidInput
from curation.services.refusals import refuse_invalid_input
from curation.versions import photos
from curation.versions.export import pretty_json
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress


class AnswerKeyFault(Refused):
    """An answer key is missing or damaged. This is a server fault, which does not refuse a submission."""


class BoardAnswerKeys:
    """A leaderboard's answer keys. A defect of a key raises AnswerKeyFault; no submission is refused for it."""

    def __init__(self, board: Leaderboard) -> None:
        self._board = board
        self._held = answer_keys.AnswerKeyFolder(boards.board_folder(board) / boards.HELD)

    def raw_key(self, name: str) -> Mapping[str, Any]:
        """Return the key of one file. Raises AnswerKeyFault if it is missing, unreadable or incomplete."""
        try:
            raw = self._held.raw_key(name)
            ids = len(raw["test_id_map"] if name == answer_keys.COMPARISON else raw)
        except (ValueError, LookupError, TypeError, OSError) as error:  # InvalidInput is a ValueError
            raise self.answer_key_fault(f"the answer key of {name} is missing or damaged", error) from error
        if ids != self._board.tasks[name]:
            raise self.answer_key_fault(
                f"the answer key of {name} has {ids} test ids, but {self._board.tasks[name]} were written"
            )
        return raw

    def public_and_private_subsets(self) -> list[answer_keys.Subset]:
        """Return the subset of public photos and pairs, and the subset of private ones, if there are any.

        Raises:
            AnswerKeyFault: the list of private photos is missing or damaged.
        """
        try:
            kept = self._held.held_out_names()
        except (ValueError, LookupError, TypeError, OSError) as error:
            raise self.answer_key_fault("the list of private photos is damaged", error) from error
        if bool(kept) != bool(self._board.options.get("private_share")):
            raise self.answer_key_fault("the list of private photos is missing")
        return answer_keys.make_subsets(kept)

    def answer_key_fault(self, message: str, error: Exception | None = None) -> AnswerKeyFault:
        """Return the error for a defect of a key. Its one-line message for the organisers has no server paths."""
        found = str(error).replace(str(boards.board_folder(self._board)), self._board.path).partition(";")[0]
        detail = f" ({found})" if error else ""
        return AnswerKeyFault(
            f"{message}{detail}; restore {self._board.path}/{boards.HELD} in the media folder, then resume this job"
        )


def build_leaderboard(board: Leaderboard, progress: Progress) -> dict[str, Any]:
    """Write a leaderboard's instances, ids and keys into its folder atomically, and return the job's result.

    Idempotent: a leaderboard that is already built is left unchanged.

    Raises:
        Refused: the version has no usable tasks, or the run of proposals no longer exists.
    """
    if board.sha256:
        return {"files": len(board.tasks)}
    folder = boards.board_folder(board)
    with refuse_invalid_input(), partial_folder(folder) as partial:
        written = _write_board_evaluation_sets(board, partial, progress)
        counts = _write_photo_list(board, partial, written)
        facts = _key_facts(partial, written) | {"photos": counts}
        _pack_public_files(partial)
        if folder.exists():  # from a run that died before the leaderboard was complete, so nobody has seen it
            shutil.rmtree(folder)
        rename_folder_durably(partial, folder)
    tasks = dict(written.expected_counts)
    mark_leaderboard_built(board=board, tasks=tasks, sha256=written.manifest_sha256, facts=facts)
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
    keys = BoardAnswerKeys(board)
    try:
        submission = read_submission(path, file_name=entry.file_name, expected=board.tasks, keys=keys)
    except InvalidInput as defect:
        record_entry_refusal(entry=entry, defect=_hide_server_paths(str(defect), entry))
        return {"state": entry.state}
    progress.advance(1)
    record_entry_figures(entry=entry, figures=_score_subsets_of_submission(submission, keys, board))
    progress.advance(2)
    return {"state": entry.state, "notes": list(submission.notes)}


def _check_stored_zip(entry: LeaderboardEntry, path: Path) -> None:
    """Check that the stored zip is intact: a loss on the server must not count against the team."""
    try:
        is_unchanged = file_sha256(path) == entry.sha256
    except OSError as error:
        raise Refused(f"entry {entry.pk}: its zip is missing; restore the media folder") from error
    if not is_unchanged:
        raise Refused(f"entry {entry.pk}: its zip has changed since submission; restore the media folder")


def _score_subsets_of_submission(
    submission: Submission, keys: BoardAnswerKeys, board: Leaderboard
) -> dict[str, Any]:
    """Return the figures of a valid submission. Its scores are already checked, so any failure is due to a key."""
    try:
        public, *private = score_subsets(
            submission, keys, rng=_interval_generator(board.sha256), subsets=keys.public_and_private_subsets()
        )
    except InvalidInput as error:
        raise keys.answer_key_fault("an answer key is damaged", error) from error
    return public | {boards.PRIVATE_FIGURES: private[0]} if private else public


def _write_board_evaluation_sets(board: Leaderboard, out: Path, progress: Progress) -> WrittenSets:
    """Write the evaluation sets. Progress counts one more step, for the archive and the figures of the keys."""
    proposals = None
    if board.options.get("proposals"):
        proposals = ProposalRun.objects.filter(pk=board.options["proposals"]).first()
        if proposals is None:
            raise Refused("proposals: the run no longer exists; create another leaderboard")

    def report_progress(done: int, total: int) -> None:
        progress.advance(done, total=total + 1)

    return write_evaluation_sets(
        board.version,
        split=board.split,
        out=out,
        proposals=proposals,
        private_percent=board.options.get("private_share", 0),
        report_progress=report_progress,
    )


def _write_photo_list(board: Leaderboard, folder: Path, written: WrittenSets) -> dict[str, int]:
    """Write the list of photos next to the instances, and return the numbers of photos.

    Photos are served from the media folder: they are not stored twice, and photos taken down are no longer served.
    """
    passing = board.options.get("passing", photos.LICENSED_PHOTOS)
    rows = list(photos.photo_rows(board.version, written.photo_urls, photo_choice=passing))
    (folder / boards.PUBLIC / boards.PHOTO_LIST).write_bytes(pretty_json(rows))
    return photos.count_photos_by_availability(rows)


def _pack_public_files(folder: Path) -> None:
    """Pack the public files into one archive in advance."""
    public = folder / boards.PUBLIC
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


def _interval_generator(sha256: str) -> np.random.Generator:
    """Return the generator for intervals, with a fixed seed so that equal scores have equal intervals."""
    return np.random.default_rng(int(sha256[:15], 16))


def _key_facts(folder: Path, written: WrittenSets) -> dict[str, Any]:
    """Return the facts that follow from the keys: human agreement, chance levels, and sample sizes."""
    key_folder = answer_keys.AnswerKeyFolder(folder / boards.HELD)
    public, *private = answer_keys.make_subsets(key_folder.held_out_names())
    facts = _subset_facts(key_folder, written, public)
    return {
        **facts,
        **({boards.PRIVATE_FIGURES: _subset_facts(key_folder, written, private[0])} if private else {}),
        "without": [name for name, count in facts["counts"].items() if not count],
        "largest": max_submission_bytes(written.expected_counts),
    }


def _subset_facts(
    key_folder: answer_keys.AnswerKeyFolder, written: WrittenSets, subset: answer_keys.Subset
) -> dict[str, Any]:
    people: dict[str, Any] = {}
    chance: dict[str, Any] = {}
    counts: dict[str, int] = {}
    sizes: list[tuple[int, int]] = []  # of a chunk, and of its part in the subset
    for name in written.expected_counts:
        key = answer_keys.parse_answer_key(name, key_folder.raw_key(name))
        if isinstance(key, RetrievalKey):
            sizes.append((len(key.ids), int(subset(key.ids).sum())))
        elif isinstance(key, LocalizationKey):
            given, proposed = subset(list(key.true_pairs)), subset(key.proposals.names)
            chance |= {
                "gt_accuracy": _figure_without_interval(_chance_gt_accuracy(key, given)),
                "auto_accuracy": _figure_without_interval(_chance_auto_accuracy(key, proposed)),
            }
            counts |= {"gt_accuracy": int(given.sum()), "auto_accuracy": int(proposed.sum())}
        else:
            counted = subset([instance.instance for instance in key.instances])
            instances = tuple(item for item, is_in in zip(key.instances, counted, strict=True) if is_in)
            known = comparison_figures_without_model(
                replace(key, instances=instances), rng=_interval_generator(written.manifest_sha256)
            )
            people["comparison"], chance["comparison"] = known["human"], known["random"]
            counts["comparison"] = known["images"]
    if chunk_sizes := [size for size, part in sizes if part]:
        chance |= {
            name: _figure_without_interval(value)
            for name, value in retrieval_chance_figures(chunk_sizes).items()
        }
    if sizes:
        counts |= dict.fromkeys(("p_at_1", "im2txt", "txt2im"), sum(part for _, part in sizes))
    return {"references": {"human": people, "random": chance}, "counts": counts}


def _chance_gt_accuracy(key: LocalizationKey, is_counted: NDArray[np.bool_]) -> float | None:
    """Return the expected accuracy of a random assignment, in which each pair matches with probability 1/n."""
    shares = np.array([pairs.correct.mean() for pairs in key.true_pairs.values()])[is_counted]
    return float(100 * shares.mean()) if shares.size else None


def _chance_auto_accuracy(key: LocalizationKey, is_counted: NDArray[np.bool_]) -> float | None:
    """Return the expected accuracy of choosing a proposed box at random."""
    shares = chance_shares(key.proposals)[is_counted]
    return float(100 * shares.mean()) if shares.size else None


def _figure_without_interval(value: float | None) -> dict[str, float | None]:
    return {"value": value, "low": None, "high": None}
