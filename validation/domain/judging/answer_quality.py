"""Evidence about a worker's answers: haste, long runs of one answer, quality checks. People draw the conclusions.

*Haste* compares the logarithm of an answer's active seconds with all answers of the kind, by median and median
absolute deviation, which are robust to outliers (Leys et al. 2013, doi:10.1016/j.jesp.2013.03.013; three scaled
deviations are their conservative choice). *Straight-lining* is a run of one answer that is too long for how often all
others give that answer (Johnson 2005, doi:10.1016/j.jrp.2004.09.009, counts such runs by their length only).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp
from typing import Any

import numpy as np

from validation.domain.judging.quality_check_types import CheckRole, ExpectedLabels, LabelMatch
from validation.domain.judging.quality_checks import compare_answers, compare_with_expected
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import Dimension, JudgingSpec, Scale

MAD_SCALE = 1.4826  # makes the median absolute deviation a standard deviation if times are log-normal
MAX_DEVIATIONS = 3.0
MAX_MEDIAN_SHARE = 0.5  # no answer slower than this share of the median is hasty, even if all times are close
MIN_TIMED_ANSWERS = 20  # to estimate the usual time
MIN_OTHER_ANSWERS = 20  # by other workers, to estimate how often a label is given
MAX_EXPECTED_RUNS = 0.001  # a run is too long if fewer such runs are expected by chance
MAX_LISTED = 20  # newest assignments listed for each sort of evidence
ALL_QUESTIONS = "all questions"
ALL_STATEMENTS = "all statements"


@dataclass(frozen=True, slots=True)
class LabelRun:
    """``length`` answers in a row with one label, from position ``start`` of a worker's answers.

    ``share`` is how often the label is given, 0 to 1; ``expected`` is the number of such runs expected by chance.
    """

    dimension: str
    label: str
    start: int
    length: int
    share: float
    expected: float


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one quality check. ``original_assignment`` is the one that a repeat is compared with."""

    role: CheckRole
    assignment: int | None
    match: LabelMatch
    original_assignment: int | None = None
    at: datetime | None = None


def compute_pace_limit(seconds: Sequence[float], floor_seconds: float) -> float:
    """Return the active seconds below which an answer is far faster than the usual answer.

    Args:
        seconds: of all answers of one kind; only values above 0 count. floor_seconds: nobody can read the task in
            less; the result is never lower.
    """
    times = np.asarray(seconds, np.float64)
    logs = np.log(times[times > 0])
    if logs.size < MIN_TIMED_ANSWERS:
        return floor_seconds
    median = float(np.median(logs))
    deviation = MAD_SCALE * float(np.median(np.abs(logs - median)))
    return max(floor_seconds, min(exp(median - MAX_DEVIATIONS * deviation), MAX_MEDIAN_SHARE * exp(median)))


def extract_run_labels(answer: Mapping[str, Any], spec: JudgingSpec) -> dict[str, str | None]:
    """Return the labels of an answer that can form a run, by dimension; ``None`` ends a run.

    A judgment with several questions has one more dimension: all its labels together. An answer that judges several
    parts has one label if all parts got the same one, else ``None``. Labels that come with each unit differ from unit
    to unit, and repeated free text is a copy: neither forms a run.
    """
    dimensions = [dimension for dimension in spec.dimensions if dimension.has_fixed_labels]
    if not dimensions:
        return {}
    labels: dict[str, list[Any]] = {dimension.name: [] for dimension in dimensions}
    for name, _, label in spec.labels(answer):
        if name in labels:
            labels[name].append(label)
    if spec.has_parts:
        return {
            _all_statements_name(dimension, dimensions): _unanimous_label(labels[dimension.name])
            for dimension in dimensions
        }
    single = {dimension.name: _first_label(dimension, labels[dimension.name]) for dimension in dimensions}
    if len(single) == 1:
        return single
    joined = [label for label in single.values() if label is not None]
    return single | {ALL_QUESTIONS: ", ".join(joined) if len(joined) == len(single) else None}


def _all_statements_name(dimension: Dimension, dimensions: Sequence[Dimension]) -> str:
    return ALL_STATEMENTS if len(dimensions) == 1 else f"{ALL_STATEMENTS}: {dimension.name}"


def _unanimous_label(labels: Sequence[Any]) -> str | None:
    distinct = {str(label) for label in labels}
    return distinct.pop() if len(distinct) == 1 else None


def _first_label(dimension: Dimension, labels: Sequence[Any]) -> str | None:
    if not labels:
        return None
    if dimension.scale is Scale.MULTIPLE:
        return "+".join(str(label) for label in labels[0]) or "none"
    return str(labels[0])


def find_long_runs(
    answers: Mapping[int, Sequence[Mapping[str, Any]]], spec: JudgingSpec
) -> dict[int, list[LabelRun]]:
    """Return each worker's runs that are too long to be chance: fewer than ``MAX_EXPECTED_RUNS`` are expected.

    Args:
        answers: each worker's answers in the order of submission.

    With ``n`` answers and a label of probability ``p``, at most ``n * p**L`` runs of length ``L`` are expected. ``p``
    is the share of the label among the other workers' answers, smoothed by one answer for each label seen, or its
    share among all answers if that is larger: a small round has too few other workers for a good estimate.
    """
    labels = {
        worker: [extract_run_labels(answer, spec) for answer in sequence]
        for worker, sequence in answers.items()
    }
    counts: dict[str, dict[int, Counter[str | None]]] = defaultdict(dict)
    for worker, sequence in labels.items():
        for dimension in sequence[0] if sequence else ():
            counts[dimension][worker] = Counter(answer[dimension] for answer in sequence)
    runs: dict[int, list[LabelRun]] = defaultdict(list)
    for dimension, by_worker in counts.items():
        all_counts: Counter[str | None] = Counter()
        for own_counts in by_worker.values():
            all_counts.update(own_counts)
        for worker, own_counts in by_worker.items():
            other_count = all_counts.total() - own_counts.total()
            if other_count < MIN_OTHER_ANSWERS:
                continue
            shares = {
                label: max(
                    (all_counts[label] - own_counts[label] + 1) / (other_count + len(all_counts)),
                    all_counts[label] / all_counts.total(),
                )
                for label in own_counts
            }
            own_labels = [answer[dimension] for answer in labels[worker]]
            runs[worker].extend(_find_runs(own_labels, shares, dimension))
    return dict(runs)


def _find_runs(
    sequence: Sequence[str | None], shares: Mapping[str | None, float], dimension: str
) -> Iterator[LabelRun]:
    start = 0
    for position in range(1, len(sequence) + 1):
        if position < len(sequence) and sequence[position] == sequence[start]:
            continue
        label, length = sequence[start], position - start
        if label is not None:
            expected = len(sequence) * shares[label] ** length
            if expected < MAX_EXPECTED_RUNS:
                yield LabelRun(dimension, label, start, length, shares[label], expected)
        start = position


def mark_answers_in_runs(runs: Iterable[LabelRun], size: int) -> list[bool]:
    """Return for each of ``size`` answers whether it is part of one of the runs."""
    marks = [False] * size
    for run in runs:
        marks[run.start : run.start + run.length] = [True] * run.length
    return marks


def score_quality_checks(
    rows: Iterable[JudgmentRow],
    *,
    expected: Mapping[int, ExpectedLabels],
    originals: Mapping[int, int],
    spec: JudgingSpec,
) -> dict[int, list[CheckResult]]:
    """Return the results of each worker's quality checks in the order of submission.

    Args:
        rows: answers to quality checks and to the originals of repeats. expected: by unit. originals: the original's
            unit by the repeat's. A repeat whose original the same worker did not answer is left out.
    """
    results: dict[int, list[CheckResult]] = defaultdict(list)
    rows = [row for row in rows if row.worker is not None and row.unit is not None]
    original_units = set(originals.values())
    first_answers: dict[tuple[int | None, int | None], JudgmentRow] = {
        (row.worker, row.unit): row for row in rows if row.unit in original_units
    }
    for row in rows:
        if row.role is None or row.worker is None or row.unit is None:
            continue
        if row.role is CheckRole.REPEAT:
            earlier = first_answers.get((row.worker, originals.get(row.unit)))
            if earlier is not None:
                match = compare_answers(earlier.answer, row.answer, spec)
                results[row.worker].append(
                    CheckResult(row.role, row.assignment, match, earlier.assignment, row.at)
                )
        elif expected.get(row.unit):
            match = compare_with_expected(row.answer, expected[row.unit], spec)
            results[row.worker].append(CheckResult(row.role, row.assignment, match, at=row.at))
    return dict(results)


def collect_evidence(
    rows: Iterable[JudgmentRow],
    *,
    expected: Mapping[int, ExpectedLabels],
    originals: Mapping[int, int],
    spec: JudgingSpec,
    floor_seconds: float,
) -> dict[int, dict[str, Any]]:
    """Return the evidence about each worker (by primary key) from answers of one kind, as plain data.

    Args:
        rows: judgments and answers to quality checks in the order of submission; imported ones are left out.
            expected, originals: as for ``score_quality_checks``. floor_seconds: see ``compute_pace_limit``.

    ``gold`` and ``attention`` are [passed, total] units; ``repeat`` is [equal, total] labels; ``pace`` and ``varied``
    are [not suspicious, total] judgments. ``shown`` lists the assignments of all others, ``limits`` the limits used.
    """
    own_rows = [row for row in rows if row.worker is not None]
    judgments: dict[int, list[JudgmentRow]] = defaultdict(list)
    for row in own_rows:
        if row.role is None and row.worker is not None:
            judgments[row.worker].append(row)
    limit = compute_pace_limit(
        [row.seconds for row in own_rows if row.role is None and row.seconds], floor_seconds
    )
    runs = find_long_runs(
        {worker: [row.answer for row in worker_rows] for worker, worker_rows in judgments.items()}, spec
    )
    checks = score_quality_checks(own_rows, expected=expected, originals=originals, spec=spec)
    return {
        worker: _count_check_results(checks.get(worker, ()))
        | _pace_counts(judgments[worker], limit)
        | _varied_counts(judgments[worker], runs.get(worker, ()))
        | {
            "shown": _missed_checks(checks.get(worker, ()))
            | {"pace": _fast_assignments(judgments[worker], limit)}
            | {"varied": _longest_runs(judgments[worker], runs.get(worker, ()))},
            "limits": {"pace_seconds": round(limit, 1)},
        }
        for worker in sorted({*judgments, *checks})
    }


def _count_check_results(results: Sequence[CheckResult]) -> dict[str, list[int]]:
    gold, attention = (
        [row.match.passed for row in results if row.role is role]
        for role in (CheckRole.GOLD, CheckRole.ATTENTION)
    )
    repeats = [row.match for row in results if row.role is CheckRole.REPEAT]
    return {
        "gold": [sum(gold), len(gold)],
        "attention": [sum(attention), len(attention)],
        "repeat": [sum(row.correct for row in repeats), sum(row.total for row in repeats)],
    }


def _missed_checks(results: Sequence[CheckResult]) -> dict[str, list[Any]]:
    missed = [row for row in results if not row.match.passed]
    return {
        "gold": [row.assignment for row in missed if row.role is CheckRole.GOLD][-MAX_LISTED:],
        "attention": [row.assignment for row in missed if row.role is CheckRole.ATTENTION][-MAX_LISTED:],
        "repeat": [
            [row.original_assignment, row.assignment] for row in missed if row.role is CheckRole.REPEAT
        ][-MAX_LISTED:],
    }


def _timed_rows(rows: Iterable[JudgmentRow]) -> list[tuple[int | None, float]]:
    return [(row.assignment, row.seconds) for row in rows if row.seconds]


def _pace_counts(rows: Sequence[JudgmentRow], limit: float) -> dict[str, list[int]]:
    timed = _timed_rows(rows)
    return {"pace": [sum(seconds >= limit for _, seconds in timed), len(timed)]}


def _fast_assignments(rows: Sequence[JudgmentRow], limit: float) -> list[list[Any]]:
    fast = [[assignment, round(seconds, 1)] for assignment, seconds in _timed_rows(rows) if seconds < limit]
    return fast[-MAX_LISTED:]


def _varied_counts(rows: Sequence[JudgmentRow], runs: Iterable[LabelRun]) -> dict[str, list[int]]:
    marks = mark_answers_in_runs(runs, len(rows))
    return {"varied": [len(marks) - sum(marks), len(marks)]}


def _longest_runs(rows: Sequence[JudgmentRow], runs: Iterable[LabelRun]) -> list[dict[str, Any]]:
    longest = sorted(runs, key=lambda run: (-run.length, run.start, run.dimension))[:MAX_LISTED]
    return [
        {
            "dimension": run.dimension,
            "label": run.label,
            "length": run.length,
            "share": round(run.share, 4),
            "expected": run.expected,
            "assignments": [row.assignment for row in rows[run.start : run.start + run.length]][:MAX_LISTED],
        }
        for run in longest
    ]
