"""Draw the submissions that other workers review: about one HIT in fifty (Zellers et al. 2019 §B.3).

The sample is a property of a HIT and a seed. So a later run draws from new submissions only, and adding submissions
never changes whether an earlier one is in the sample.
"""

from hashlib import sha256

DEFAULT_EVERY = 50
MAX_EVERY = 100_000


def is_sampled(seed: int, hit_id: str, every: int) -> bool:
    """Return whether a HIT is in the sample of one in ``every``: sha256("seed/hit") mod every is 0.

    Args:
        seed: from 0. It determines which HITs are reviewed, so it is not shown to workers.
        hit_id: the marketplace's id of the HIT.
        every: from 1, which takes all.
    """
    return int(sha256(f"{seed}/{hit_id}".encode()).hexdigest(), 16) % every == 0
