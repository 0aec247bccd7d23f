"""Collect the findings of one pass over a collection's files: progress, omitted and missing images, problems.

The readers of all collections use it, so that they reject and count in the same way.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from curation.records import InvalidInput
from curation.sources.path_sandbox import PathSandbox
from curation.sources.records import (
    PROGRESS_EVERY,
    MissingImagePolicy,
    ProgressCallback,
    SourceImage,
    SourcePlan,
    SourceRegion,
)

MAX_PROBLEMS_NAMED = 5  # in an error message; the others are counted


class SourceScan:
    """The findings of one pass.

    Args:
        missing: what to do about missing images.
        within: the folder that must contain all files; empty allows all folders.
        report_progress: called regularly with the number of records read.
    """

    def __init__(
        self, *, missing: MissingImagePolicy, within: str, report_progress: ProgressCallback
    ) -> None:
        self._when_missing = missing
        self._sandbox = PathSandbox(within)
        self._report_progress = report_progress
        self._records_read = 0
        self._left_out: Counter[str] = Counter()
        self._missing: list[str] = []
        self._problems: list[str] = []
        self._problem_count = 0

    def count_record(self) -> None:
        """Count a record, and report progress regularly."""
        self._records_read += 1
        if self._records_read % PROGRESS_EVERY == 0:
            self._report_progress(self._records_read)

    @contextmanager
    def collect_problem(self) -> Iterator[None]:
        """Collect a record's error, so that later records are read too: see ``raise_problems``."""
        try:
            yield
        except InvalidInput as error:
            self._problem_count += 1
            if len(self._problems) < MAX_PROBLEMS_NAMED:
                self._problems.append(str(error))

    @contextmanager
    def raise_problems(self) -> Iterator[None]:
        """Raise the problems of all records together, at the end of the file.

        Raises:
            InvalidInput: the first five problems, and the number of further ones.
        """
        with self.collect_problem():
            yield
        if self._problem_count:
            more = self._problem_count - len(self._problems)
            rest = [f"and {more} more such problems"] if more else []
            raise InvalidInput("; ".join([*self._problems, *rest]))

    def check_inside(self, paths: Iterable[str | Path]) -> None:
        """Check that files are in the allowed folder.

        Raises:
            InvalidInput: a file is outside; the message names it.
        """
        for path in paths:
            self._sandbox.check(Path(path))

    def count_left_out(self, reason: str, count: int = 1) -> None:
        """Count omitted images."""
        self._left_out[reason] += count

    def note_missing(self, location: str) -> None:
        """Record a missing image."""
        self._missing.append(location)

    def reject_or_count_missing(self, *, problem: str, hint: str, reason: str) -> None:
        """Reject missing images, or count them.

        Raises:
            InvalidInput: the first location, the problem, such as "is not in the folder", and the hint.
        """
        if self._missing and self._when_missing is MissingImagePolicy.REFUSE:
            raise InvalidInput(
                f"{self._missing[0]} {problem} ({len(self._missing)} missing in all); "
                f"{hint}, or skip missing images"
            )
        self.count_left_out(reason, len(self._missing))

    def refuse_or_count_unknown(
        self, names: set[str], *, message_start: str, problem: str, hint: str, left_out_reason: str
    ) -> None:
        """Refuse names in lists that the collection does not have, or count them.

        Raises:
            InvalidInput: ``message_start``, such as "the lists name", the first name, the problem and the hint.
        """
        if names and self._when_missing is MissingImagePolicy.REFUSE:
            raise InvalidInput(
                f"{message_start} {min(names)}, which {problem} ({len(names)} such in all); {hint}"
            )
        self.count_left_out(left_out_reason, len(names))

    def make_plan(
        self,
        images: Sequence[SourceImage],
        regions: Callable[[SourceImage], Sequence[SourceRegion]],
        *,
        notes: Sequence[str] = (),
        warning: str = "",
    ) -> SourcePlan:
        """Return the plan of the import, with all findings."""
        skipped = [f"{location} is missing; skipped" for location in self._missing]
        return SourcePlan(images, +self._left_out, [*skipped, *notes], regions, warning)
