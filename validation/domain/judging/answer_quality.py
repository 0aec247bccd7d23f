"""Evidence about how answers were given: haste, long runs of one answer, controls. Numbers for people, no verdicts.

*Haste* is measured on the logarithm of active seconds against everybody's of the same kind, by median and median
absolute deviation, since neither minds a few odd times (Leys et al. 2013, doi:10.1016/j.jesp.2013.03.013; three
scaled deviations, their conservative choice). *Straight-lining* is a run of one answer that is too long for how
often everybody else gives it (Johnson 2005, doi:10.1016/j.jrp.2004.09.009, counts such runs by their length alone).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp
from typing import Any

import numpy as np

from validation.domain.judging.quality_check_types import Checked, ControlRole, Expected
from validation.domain.judging.quality_checks import alike, check
from validation.domain.judging.ratings import Judged
from validation.domain.judging.spec import Dimension, JudgingSpec, Scale

SCALED = 1.4826  # makes the median absolute deviation a standard deviation where times are log-normal
DEVIATIONS = 3.0
AT_MOST = 0.5  # of the median: who is only a little faster than even a very steady crowd is not hasty
TIMES_NEEDED = 20  # fewer say nothing about what is usual
OTHERS_NEEDED = 20  # answers of others, to know how often a label is given
CHANCE = 0.001  # expected number of such runs in as many answers
SHOWN = 20  # assignments listed for each sort of evidence, the newest
ALL_QUESTIONS = "all questions"
ALL_STATEMENTS = "all statements"


@dataclass(frozen=True, slots=True)
class Run:
    """``length`` answers in a row with one label, from position ``start`` of a worker's answers.

    ``share`` is how often the label is given, ``expected`` how many such runs so many answers would have by
    chance.
    """

    dimension: str
    label: str
    start: int
    length: int
    share: float
    expected: float


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """What one worker's answer to a control came to. ``first`` is the assignment that a repeat is compared with."""

    role: ControlRole
    assignment: int | None
    checked: Checked
    first: int | None = None
    at: datetime | None = None


def pace_limit(seconds: Sequence[float], floor: float) -> float:
    """Return the active seconds under which an answer is far faster than everybody's.

    Args:
        seconds: of all answers of one kind; those that are not above 0 are no times. floor: seconds under which
            nobody can have read the task, whatever is usual.
    """
    times = np.asarray(seconds, np.float64)
    logs = np.log(times[times > 0])
    if logs.size < TIMES_NEEDED:
        return floor
    median = float(np.median(logs))
    deviation = SCALED * float(np.median(np.abs(logs - median)))
    return max(floor, min(exp(median - DEVIATIONS * deviation), AT_MOST * exp(median)))


def sequences(answer: Mapping[str, Any], spec: JudgingSpec) -> dict[str, str | None]:
    """Return an answer's labels in which a run would show, by dimension; ``None`` continues no run.

    One judgment may answer several questions, so all of them together are a dimension too. Where an answer judges
    several parts, it is one label if all parts got the same one, and none otherwise. Labels that come with each unit
    differ from unit to unit, and free text repeats by copying: neither has anything to run on.
    """
    countable = [one for one in spec.dimensions if one.is_fixed]
    if not countable:
        return {}
    given: dict[str, list[Any]] = {one.name: [] for one in countable}
    for name, _, label in spec.labels(answer):
        if name in given:
            given[name].append(label)
    if spec.has_parts:
        return {_of_all_parts(one, countable): _same(given[one.name]) for one in countable}
    single = {one.name: _run_label(one, given[one.name]) for one in countable}
    if len(single) == 1:
        return single
    together = [label for label in single.values() if label is not None]
    return single | {ALL_QUESTIONS: ", ".join(together) if len(together) == len(single) else None}


def _of_all_parts(dimension: Dimension, countable: Sequence[Dimension]) -> str:
    return ALL_STATEMENTS if len(countable) == 1 else f"{ALL_STATEMENTS}: {dimension.name}"


def _same(labels: Sequence[Any]) -> str | None:
    found = {str(label) for label in labels}
    return found.pop() if len(found) == 1 else None


def _run_label(dimension: Dimension, labels: Sequence[Any]) -> str | None:
    if not labels:
        return None
    if dimension.scale is Scale.MULTIPLE:
        return "+".join(str(label) for label in labels[0]) or "none"
    return str(labels[0])


def long_runs(answers: Mapping[int, Sequence[Mapping[str, Any]]], spec: JudgingSpec) -> dict[int, list[Run]]:
    """Return each worker's runs that are too long for chance: fewer than ``CHANCE`` expected.

    Args:
        answers: each worker's, in the order in which they were given.

    With ``n`` answers and a label that is given with probability ``p``, a run of ``L`` starts at ``n * p**L`` places
    on average, or fewer. ``p`` is the others' share, smoothed by one answer for each label seen, or everybody's where
    that is larger: the few others of a small round do not know what is usual.
    """
    labels = {worker: [sequences(answer, spec) for answer in given] for worker, given in answers.items()}
    counts: dict[str, dict[int, Counter[str | None]]] = defaultdict(dict)
    for worker, given in labels.items():
        for dimension in given[0] if given else ():
            counts[dimension][worker] = Counter(row[dimension] for row in given)
    found: dict[int, list[Run]] = defaultdict(list)
    for dimension, by_worker in counts.items():
        everybody: Counter[str | None] = Counter()
        for own in by_worker.values():
            everybody.update(own)
        for worker, own in by_worker.items():
            others = everybody.total() - own.total()
            if others < OTHERS_NEEDED:
                continue
            shares = {
                label: max(
                    (everybody[label] - own[label] + 1) / (others + len(everybody)),
                    everybody[label] / everybody.total(),
                )
                for label in own
            }
            row = [answer[dimension] for answer in labels[worker]]
            found[worker].extend(_too_long(row, shares, dimension))
    return dict(found)


def _too_long(row: Sequence[str | None], shares: Mapping[str | None, float], dimension: str) -> Iterator[Run]:
    start = 0
    for at in range(1, len(row) + 1):
        if at < len(row) and row[at] == row[start]:
            continue
        label, length = row[start], at - start
        if label is not None:
            expected = len(row) * shares[label] ** length
            if expected < CHANCE:
                yield Run(dimension, label, start, length, shares[label], expected)
        start = at


def in_runs(runs: Iterable[Run], size: int) -> list[bool]:
    """Return for each of ``size`` answers whether it is part of one of the runs."""
    marks = [False] * size
    for run in runs:
        marks[run.start : run.start + run.length] = [True] * run.length
    return marks


def checked(
    rows: Iterable[Judged], *, expected: Mapping[int, Expected], of: Mapping[int, int], spec: JudgingSpec
) -> dict[int, list[ControlAnswer]]:
    """Return what each worker's answers to controls came to, in the order in which they were handed in.

    Args:
        rows: answers to controls and to the units that repeats repeat. expected: by unit. of: the original's unit by
            the repeat's. A repeat whose original the same worker did not answer says nothing.
    """
    found: dict[int, list[ControlAnswer]] = defaultdict(list)
    rows = [row for row in rows if row.worker is not None and row.unit is not None]
    originals = set(of.values())
    first: dict[tuple[int | None, int | None], Judged] = {
        (row.worker, row.unit): row for row in rows if row.unit in originals
    }
    for row in rows:
        if row.role is None or row.worker is None or row.unit is None:
            continue
        if row.role is ControlRole.REPEAT:
            earlier = first.get((row.worker, of.get(row.unit)))
            if earlier is not None:
                same = alike(earlier.answer, row.answer, spec)
                found[row.worker].append(
                    ControlAnswer(row.role, row.assignment, same, earlier.assignment, row.at)
                )
        elif expected.get(row.unit):
            right = check(row.answer, expected[row.unit], spec)
            found[row.worker].append(ControlAnswer(row.role, row.assignment, right, at=row.at))
    return dict(found)


def evidence(
    rows: Iterable[Judged],
    *,
    expected: Mapping[int, Expected],
    of: Mapping[int, int],
    spec: JudgingSpec,
    floor_seconds: float,
) -> dict[int, dict[str, Any]]:
    """Return what answers of one kind show about each worker (by row key), as plain data.

    Args:
        rows: judgments and answers to controls, in the order in which they were handed in; imported ones are left
            out. expected, of: as for ``checked``. floor_seconds: as for ``pace_limit``.

    Each of ``gold``, ``attention``, ``repeat``, ``pace`` and ``varied`` is ``[so many, of so many]``: units, units,
    labels, judgments, judgments. ``shown`` lists the assignments behind what is missing, ``limits`` what was compared
    with.
    """
    kept = [row for row in rows if row.worker is not None]
    mine: dict[int, list[Judged]] = defaultdict(list)
    for row in kept:
        if row.role is None and row.worker is not None:
            mine[row.worker].append(row)
    limit = pace_limit([row.seconds for row in kept if row.role is None and row.seconds], floor_seconds)
    runs = long_runs({worker: [row.answer for row in given] for worker, given in mine.items()}, spec)
    controls = checked(kept, expected=expected, of=of, spec=spec)
    return {
        worker: _controls(controls.get(worker, ()))
        | _pace(mine[worker], limit)
        | _varied(mine[worker], runs.get(worker, ()))
        | {
            "shown": _controls_shown(controls.get(worker, ()))
            | {"pace": _pace_shown(mine[worker], limit)}
            | {"varied": _runs_shown(mine[worker], runs.get(worker, ()))},
            "limits": {"pace_seconds": round(limit, 1)},
        }
        for worker in sorted({*mine, *controls})
    }


def _controls(answers: Sequence[ControlAnswer]) -> dict[str, list[int]]:
    gold, attention = (
        [row.checked.passed for row in answers if row.role is role]
        for role in (ControlRole.GOLD, ControlRole.ATTENTION)
    )
    repeats = [row.checked for row in answers if row.role is ControlRole.REPEAT]
    return {
        "gold": [sum(gold), len(gold)],
        "attention": [sum(attention), len(attention)],
        "repeat": [sum(row.right for row in repeats), sum(row.of for row in repeats)],
    }


def _controls_shown(answers: Sequence[ControlAnswer]) -> dict[str, list[Any]]:
    missed = [row for row in answers if not row.checked.passed]
    return {
        "gold": [row.assignment for row in missed if row.role is ControlRole.GOLD][-SHOWN:],
        "attention": [row.assignment for row in missed if row.role is ControlRole.ATTENTION][-SHOWN:],
        "repeat": [[row.first, row.assignment] for row in missed if row.role is ControlRole.REPEAT][-SHOWN:],
    }


def _timed(rows: Iterable[Judged]) -> list[tuple[int | None, float]]:
    return [(row.assignment, row.seconds) for row in rows if row.seconds]


def _pace(rows: Sequence[Judged], limit: float) -> dict[str, list[int]]:
    timed = _timed(rows)
    return {"pace": [sum(seconds >= limit for _, seconds in timed), len(timed)]}


def _pace_shown(rows: Sequence[Judged], limit: float) -> list[list[Any]]:
    fast = [[assignment, round(seconds, 1)] for assignment, seconds in _timed(rows) if seconds < limit]
    return fast[-SHOWN:]


def _varied(rows: Sequence[Judged], runs: Iterable[Run]) -> dict[str, list[int]]:
    marks = in_runs(runs, len(rows))
    return {"varied": [len(marks) - sum(marks), len(marks)]}


def _runs_shown(rows: Sequence[Judged], runs: Iterable[Run]) -> list[dict[str, Any]]:
    longest = sorted(runs, key=lambda run: (-run.length, run.start, run.dimension))[:SHOWN]
    return [
        {
            "dimension": run.dimension,
            "label": run.label,
            "length": run.length,
            "share": round(run.share, 4),
            "expected": run.expected,
            "assignments": [row.assignment for row in rows[run.start : run.start + run.length]][:SHOWN],
        }
        for run in longest
    ]
