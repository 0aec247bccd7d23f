"""Stand-ins for what the marketplace says of an attempt, for tests without one behind their pages."""

SECRET = "5ec2e7" * 10 + "abcd"


def always(secret: str, *, hit_id: str, assignment_id: str, worker_id: str) -> bool:
    """Take the one secret for every attempt's."""
    return secret == SECRET
