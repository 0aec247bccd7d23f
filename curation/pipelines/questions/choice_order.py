"""The order of the four choices of a question, drawn from the set's secret.

Anybody can compute a hash of public ids, so an order that depends only on them would reveal the right choice.
"""

import hmac
from itertools import permutations

CHOICES = 4
ORDERS = tuple(permutations(range(CHOICES)))


def choice_order(secret: bytes, annot_id: str, stage: str) -> tuple[int, ...]:
    """Return the round at each position, with 0 for the right choice; each of the 24 orders is equally likely.

    Args:
        secret: of the question set.
        annot_id: the published id. stage: the choices of both stages are ordered independently.
    """
    digest = hmac.digest(secret, f"{stage}\0{annot_id}".encode(), "sha256")
    return ORDERS[int.from_bytes(digest) % len(ORDERS)]
