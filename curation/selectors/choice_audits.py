"""Queries on the audits of question sets: whether a set may be used, and the reasons given for using it anyway."""

from curation.models import AuditWaiver, QuestionSet
from hits.domain.hashing import content_sha256

OVER = "over"  # in a set's audits: the names of those that are over a limit


def audits_sha256(question_set: QuestionSet) -> str:
    """Return the hash of a set's audits, which a waiver names: it counts for these results alone."""
    return content_sha256(question_set.audits)


def audits_over_limit(question_set: QuestionSet) -> list[str]:
    """Return the audits that are over a limit, such as ``tag_overlap (answer)``."""
    return list(question_set.audits.get(OVER, []))


def current_waiver(question_set: QuestionSet) -> AuditWaiver | None:
    """Return the newest reason that a person wrote for the set's present audits, if any."""
    rows = AuditWaiver.objects.filter(question_set=question_set, audits_sha256=audits_sha256(question_set))
    return rows.select_related("by").order_by("-pk").first()


def launch_refusal(question_set: QuestionSet) -> str | None:
    """Return why questions of a set may not be given to people, or None if they may.

    A set must have been audited. If an audit is over its limit, a person must have written why it is used anyway.
    """
    if not question_set.audits:
        return f"set {question_set.name}: it is not audited yet; run audit_choices first"
    over = audits_over_limit(question_set)
    if over and current_waiver(question_set) is None:
        return (
            f"set {question_set.name}: over the limit: {', '.join(over)}; build another set, or write on its page "
            "why it is used anyway"
        )
    return None
