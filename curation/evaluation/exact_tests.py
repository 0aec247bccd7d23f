"""Exact tests of counts against chance: the two-sided binomial test against one half, and McNemar's test.

McNemar, Q. (1947). doi:10.1007/BF02295996; its exact form is the binomial test of the discordant pairs.
"""

import numpy as np

CERTAIN = 1.0


def binomial_p(k: int, n: int) -> float:
    """Return the exact two-sided p of k successes in n draws against one half; 1 without draws.

    It sums the outcomes that are no likelier than k: those at least as far from n / 2. Weights are relative to the
    likeliest outcome, so that no term overflows.

    Raises:
        ValueError: k is not between 0 and n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"k is {k}; use a number from 0 to {n}")
    smaller = min(k, n - k)
    if 2 * smaller == n:
        return CERTAIN
    # Below n / 2, outcome i + 1 is (n - i) / (i + 1) times as likely as outcome i.
    index = np.arange(n // 2)
    logs = np.append(0.0, np.cumsum(np.log((n - index) / (index + 1.0))))
    weights = np.exp(logs - logs[-1])
    middle = weights[-1] if n % 2 == 0 else 0.0  # an even number of draws has one middle outcome
    total = 2 * weights.sum() - middle
    return min(CERTAIN, float(2 * weights[: smaller + 1].sum() / total))


def mcnemar_p(first_only: int, second_only: int) -> float:
    """Return the exact p that two models are right equally often.

    Args:
        first_only, second_only: the items that only the first, or only the second model has right.
    """
    return binomial_p(first_only, first_only + second_only)
