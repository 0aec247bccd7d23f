"""How far two graders agree: the share, and Cohen's kappa with its interval.

Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20(1).
The standard error is the large-sample one of Fleiss, J. L., Cohen, J. and Everitt, B. S. (1969). Large sample
standard errors of kappa and weighted kappa. Psychological Bulletin 72(5), equation 13.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt

NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two graders over the same ``of`` items.

    ``kappa`` is ``None`` where chance alone would agree always: both used one word throughout. ``low`` and ``high``
    bound its 95 % interval, cut off at −1 and 1.
    """

    of: int
    same: int
    kappa: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def percent(self) -> float | None:
        """The share graded alike, or ``None`` of nothing."""
        return 100 * self.same / self.of if self.of else None


def cohen(pairs: Sequence[tuple[Hashable, Hashable]]) -> Agreement:
    """Return the agreement of two graders; each pair is (what the first said, what the second said) of one item."""
    of = len(pairs)
    same = sum(first == second for first, second in pairs)
    if not of:
        return Agreement(0, 0)
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    words = firsts.keys() | seconds.keys()
    observed = same / of
    expected = sum(firsts[word] * seconds[word] for word in words) / of**2
    if expected == 1:
        return Agreement(of, same)
    kappa = (observed - expected) / (1 - expected)
    error = _standard_error(pairs, firsts, seconds, kappa, expected)
    low, high = kappa - NORMAL_95 * error, kappa + NORMAL_95 * error
    return Agreement(of, same, kappa, max(-1.0, low), min(1.0, high))


def _standard_error(
    pairs: Sequence[tuple[Hashable, Hashable]],
    firsts: Counter[Hashable],
    seconds: Counter[Hashable],
    kappa: float,
    expected: float,
) -> float:
    of = len(pairs)
    rest = 1 - kappa
    alike = apart = 0.0
    for (first, second), count in Counter(pairs).items():
        if first == second:
            alike += count / of * (1 - (firsts[first] + seconds[second]) / of * rest) ** 2
        else:
            apart += count / of * (seconds[first] + firsts[second]) ** 2 / of**2
    variance = alike + rest**2 * apart - (kappa - expected * rest) ** 2
    return sqrt(max(0.0, variance) / of) / (1 - expected)
