"""Worker rules: find workers who fall short of a limit over their last items. A person decides about the status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, TypedDict

from validation.domain.qualification.worker_status import Measure

PERCENT = 100
Value = bool | int | None
Series = Mapping[int, Sequence[Value]]


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """Compare a measure of a worker's last ``window`` items with a limit, if these are ``at_least`` items or more.

    A share falls short if it is under ``below`` percent. Pay per hour falls short if its median is over ``below``
    cents: such a rate means that the worker rushed the tasks.
    """

    measure: Measure
    below: int
    window: int
    at_least: int


class RuleFigures(TypedDict):
    """The stored numbers behind a finding. ``items`` is the length of the worker's whole history."""

    measure: str
    below: int
    window: int
    at_least: int
    value: float
    count: int
    n: int
    items: int


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A worker (by primary key) who falls short of a rule's limit, with the figures."""

    worker: int
    figures: RuleFigures


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The findings of a rule. ``workers`` counts those with any item, ``measured`` those with enough."""

    findings: Sequence[RuleFinding]
    measured: int
    workers: int


def evaluate_rule(rule: RuleSettings, series: Series) -> RuleResult:
    """Return the workers who fall short; ``series`` holds each worker's values by primary key, oldest first."""
    measurable = {
        worker: values for worker, values in series.items() if len(values[-rule.window :]) >= rule.at_least
    }
    checked = (_find_shortfall(rule, worker, values) for worker, values in sorted(measurable.items()))
    findings = [finding for finding in checked if finding is not None]
    return RuleResult(
        findings, measured=len(measurable), workers=sum(1 for values in series.values() if values)
    )


def has_new_items(figures: RuleFigures, earlier_figures: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the worker has new items since all earlier findings."""
    return all(figures["items"] > figures_before.get("items", 0) for figures_before in earlier_figures)


def describe_finding(figures: Mapping[str, Any]) -> str:
    """Return the figures of a finding as sentences to the worker."""
    measure, n, count = Measure(figures["measure"]), figures["n"], figures["count"]
    limit = figures["below"]
    if measure is Measure.CENTS_PER_HOUR:
        tasks = f"median pay of your last {n} tasks" if n > 1 else "pay of your last task"
        return (
            f"The {tasks} is ${figures['value'] / 100:.2f} per hour of active time, over ${limit / 100:.2f}: "
            "careful work takes longer."
        )
    verb = "was" if count == 1 else "were"
    description = {
        Measure.ACCEPTABLE_SHARE: f"Most judges found {count} of your last {n} judged pairs acceptable",
        Measure.BOXES_SHARE: f"Most judges found the boxes of {count} of your last {n} judged pairs appropriate",
        Measure.APPROVED_SHARE: f"{count} of your last {n} decided submissions {verb} approved",
        Measure.REVIEWED_SHARE: (
            f"Other workers found no wrong answer and no wrong object in {count} of your last {n} reviewed questions"
        ),
        Measure.GOLD_SHARE: f"{count} of your last {n} answers to tasks with a known answer {verb} right",
        Measure.ATTENTION_SHARE: f"{count} of your last {n} answers to tasks with an obvious answer {verb} right",
        Measure.REPEAT_SHARE: (
            f"{count} of your last {n} answers to questions that you saw twice {verb} the same both times"
        ),
        Measure.PACE_SHARE: (
            f"{count} of your last {n} judgments took long enough to look and read, compared with all workers’ times"
        ),
        Measure.VARIED_SHARE: f"{count} of your last {n} judgments {verb} outside long runs of the same answer",
        Measure.ORIGINAL_SHARE: f"{count} of your last {n} pairs {verb} new, not a copy of another pair",
    }[measure]
    return f"{description} ({_percent_below(count, n, limit)}). This project requires at least {limit}%."


def summarise_finding(figures: Mapping[str, Any]) -> str:
    """Return the figures of a finding as a short phrase for a list."""
    if figures["measure"] == Measure.CENTS_PER_HOUR:
        return f"${figures['value'] / 100:.2f} an hour over the last {figures['n']}"
    share = _percent_below(figures["count"], figures["n"], figures["below"])
    return f"{figures['count']} of the last {figures['n']} ({share})"


def _percent_below(count: int, total: int, limit: int) -> str:
    """Return a share to one decimal, never rounded up to a limit that it misses."""
    tenths = round(PERCENT * 10 * count / total)
    if tenths >= 10 * limit and PERCENT * count < limit * total:
        tenths = 10 * limit - 1
    return f"{tenths // 10}%" if tenths % 10 == 0 else f"{tenths / 10:.1f}%"


def _find_shortfall(rule: RuleSettings, worker: int, values: Sequence[Value]) -> RuleFinding | None:
    last = values[-rule.window :]
    if rule.measure is Measure.CENTS_PER_HOUR:
        cents = [value for value in last if value is not None]
        if not cents or median(cents) <= rule.below:
            return None
        value, count = float(median(cents)), len(cents)
    else:
        count = sum(value is True for value in last)  # undecided items stay in the total
        if PERCENT * count >= rule.below * len(last):
            return None
        value = PERCENT * count / len(last)
    settings = asdict(rule) | {"measure": rule.measure.value}
    figures = RuleFigures(**settings, value=value, count=count, n=len(last), items=len(values))  # type: ignore[typeddict-item]
    return RuleFinding(worker, figures)
