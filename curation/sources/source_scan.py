"""What one pass over a collection's files notes: how much was read, what is left out, what is not there.

The readers of all collections keep it, so that they refuse and count in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from curation.records import InvalidInput
from curation.sources.path_sandbox import PathSandbox
from curation.sources.records import (
    PROGRESS_EVERY,
    MissingPolicy,
    ProgressCallback,
    SourceImage,
    SourcePlan,
    SourceRegion,
)

MAX_PROBLEMS_NAMED = 5  # of those that a refusal names one by one; the others are counted


class SourceScan:
    """The notes of one pass.

    Args:
        missing: what to do about what a file names and is not there.
        within: the folder that all files must lie in; anywhere when empty.
        tick: told now and then how many records were read.
    """

    def __init__(self, *, missing: MissingPolicy, within: str, report_progress: ProgressCallback) -> None:
        self._when_missing = missing
        self._sandbox = PathSandbox(within)
        self._report_progress = report_progress
        self._records_read = 0
        self._left_out: Counter[str] = Counter()
        self._missing: list[str] = []
        self._problems: list[str] = []
        self._problem_count = 0

    def count_record(self) -> None:
        """Count a record; tells now and then how many there were."""
        self._records_read += 1
        if self._records_read % PROGRESS_EVERY == 0:
            self._report_progress(self._records_read)

    @contextmanager
    def collect_problem(self) -> Iterator[None]:
        """Note what is wrong with one record, so that the records behind it are read too: see ``atomic_file``."""
        try:
            yield
        except InvalidInput as error:
            self._problem_count += 1
            if len(self._problems) < MAX_PROBLEMS_NAMED:
                self._problems.append(str(error))

    @contextmanager
    def raise_problems(self) -> Iterator[None]:
        """Refuse the problems that records had, together, once all were read or the file broke off.

        Raises:
            InvalidInput: the first five problems, and how many more there are.
        """
        with self.collect_problem():
            yield
        if self._problem_count:
            more = self._problem_count - len(self._problems)
            raise InvalidInput(
                "; ".join([*self._problems, *([f"and {more} more such problems"] if more else [])])
            )

    def check_inside(self, paths: Iterable[str | Path]) -> None:
        """Refuse files that lie elsewhere than they may.

        Raises:
            InvalidInput: names the file.
        """
        for path in paths:
            self._sandbox.check(Path(path))

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count pictures that are not taken."""
        self._left_out[reason] += count

    def note_missing(self, location: str) -> None:
        """Note a picture that is not there."""
        self._missing.append(location)

    def handle_missing(self, *, problem: str, hint: str, reason: str) -> None:
        """Refuse what is missing, or count it.

        Raises:
            InvalidInput: the first place, then the complaint, such as "is not in the folder", and the mend.
        """
        if self._missing and self._when_missing is MissingPolicy.REFUSE:
            raise InvalidInput(
                f"{self._missing[0]} {problem} ({len(self._missing)} missing in all); "
                f"{hint}, or skip what is missing"
            )
        self.leave_out(reason, len(self._missing))

    def handle_unknown(self, names: set[str], *, named: str, problem: str, hint: str, reason: str) -> None:
        """Refuse names in lists that the collection does not know, or count them.

        Raises:
            InvalidInput: what ``named``, such as "the lists name", then the first name, the complaint and the mend.
        """
        if names and self._when_missing is MissingPolicy.REFUSE:
            raise InvalidInput(f"{named} {min(names)}, which {problem} ({len(names)} such); {hint}")
        self.leave_out(reason, len(names))

    def make_plan(
        self,
        images: Sequence[SourceImage],
        regions: Callable[[SourceImage], Sequence[SourceRegion]],
        *,
        notes: Sequence[str] = (),
        warning: str = "",
    ) -> SourcePlan:
        """Return what is to be imported, with all that was noted."""
        skipped = [f"{location} is missing; skipped" for location in self._missing]
        return SourcePlan(images, +self._left_out, [*skipped, *notes], regions, warning)
