"""Rules about workers: which of them fall short of a figure over their last items. They find; people decide."""

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
    """Compare a measure over a worker's last ``window`` items with a limit; fewer than ``at_least`` say nothing.

    Shares are found when they are under ``below`` percent. Pay per hour is found when its median is over ``below``
    cents: so much an hour means that the tasks were rushed.
    """

    measure: Measure
    below: int
    window: int
    at_least: int


class RuleFigures(TypedDict):
    """The numbers that a rule saw, as they are stored. ``items`` is the length of the whole history."""

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
    """A worker (by row key) whom a rule found, with what it saw."""

    worker: int
    figures: RuleFigures


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What a rule finds now: among ``workers`` with any item at all, ``measured`` have enough of them."""

    findings: Sequence[RuleFinding]
    measured: int
    workers: int


def evaluate_rule(rule: RuleSettings, series: Series) -> RuleResult:
    """Return the workers whom the rule finds, by row key; ``series`` holds each one's values, oldest first."""
    measurable = {
        worker: values
        for worker, values in series.items()
        if len(_window_values(rule, values)) >= rule.at_least
    }
    checked = (_find_shortfall(rule, worker, values) for worker, values in sorted(measurable.items()))
    findings = [finding for finding in checked if finding is not None]
    return RuleResult(
        findings, measured=len(measurable), workers=sum(1 for values in series.values() if values)
    )


def has_new_items(figures: RuleFigures, earlier_figures: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether items came in since the findings that somebody decided about already."""
    return all(figures["items"] > figures_before.get("items", 0) for figures_before in earlier_figures)


def describe_finding(figures: Mapping[str, Any]) -> str:
    """Return what a rule saw, in words to the worker."""
    measure, n, count = Measure(figures["measure"]), figures["n"], figures["count"]
    limit = figures["below"]
    if measure is Measure.CENTS_PER_HOUR:
        tasks = f"median of your last {n} tasks" if n > 1 else "pay of your last task"
        return (
            f"The {tasks} comes to ${figures['value'] / 100:.2f} an hour of active time, over "
            f"${limit / 100:.2f}: that is faster than can be done with care."
        )
    verb = "was" if count == 1 else "were"
    description = {
        Measure.ACCEPTABLE_SHARE: f"Of your last {n} validated pairs, most judges found {count} reasonable",
        Measure.BOXES_SHARE: f"Of your last {n} validated pairs, most judges found the boxes of {count} appropriate",
        Measure.APPROVED_SHARE: f"Of your last {n} decided submissions, {count} {verb} approved",
        Measure.GOLD_SHARE: f"Of your last {n} tasks whose answer is known, {count} {verb} answered so",
        Measure.ATTENTION_SHARE: (
            f"Of your last {n} tasks that everybody who looks at the photo answers alike, {count} {verb} answered so"
        ),
        Measure.REPEAT_SHARE: (
            f"Of your last {n} answers to questions that came to you twice, {count} {verb} the same both times"
        ),
        Measure.PACE_SHARE: (
            f"Of your last {n} judgments, {count} took long enough to look and read, going by everybody’s times"
        ),
        Measure.VARIED_SHARE: (
            f"Of your last {n} judgments, {count} {verb} outside long runs of one and the same answer"
        ),
        Measure.ORIGINAL_SHARE: f"Of your last {n} pairs, {count} {verb} written anew, not as a copy of another",
    }[measure]
    return f"{description} ({_percent(count, n, limit)}). This project asks for at least {limit}%."


def summarise_finding(figures: Mapping[str, Any]) -> str:
    """Return what a rule saw, in as few words as a list has room for."""
    if figures["measure"] == Measure.CENTS_PER_HOUR:
        return f"${figures['value'] / 100:.2f} an hour over the last {figures['n']}"
    share = _percent(figures["count"], figures["n"], figures["below"])
    return f"{figures['count']} of the last {figures['n']} ({share})"


def _percent(count: int, of: int, limit: int) -> str:
    """Return a share to one decimal, never rounded up to a limit that it does not reach."""
    tenths = round(PERCENT * 10 * count / of)
    if tenths >= 10 * limit and PERCENT * count < limit * of:
        tenths = 10 * limit - 1
    return f"{tenths // 10}%" if tenths % 10 == 0 else f"{tenths / 10:.1f}%"


def _window_values(rule: RuleSettings, values: Sequence[Value]) -> Sequence[Value]:
    return values[-rule.window :]


def _find_shortfall(rule: RuleSettings, worker: int, values: Sequence[Value]) -> RuleFinding | None:
    last = _window_values(rule, values)
    if rule.measure is Measure.CENTS_PER_HOUR:
        cents = [value for value in last if value is not None]
        if not cents or median(cents) <= rule.below:
            return None
        value, count = float(median(cents)), len(cents)
    else:
        count = sum(value is True for value in last)  # the undecided stay in the whole
        if PERCENT * count >= rule.below * len(last):
            return None
        value = PERCENT * count / len(last)
    settings = asdict(rule) | {"measure": rule.measure.value}
    figures = RuleFigures(**settings, value=value, count=count, n=len(last), items=len(values))  # type: ignore[typeddict-item]
    return RuleFinding(worker, figures)
