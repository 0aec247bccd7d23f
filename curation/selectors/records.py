"""Queries on collected records that a version cannot contain."""

from collections.abc import Collection

from django.db.models import Count

from hits import registry
from hits.domain.states import AssignmentStatus, Purpose, SubmissionMatch
from hits.models import Assignment, Project


def describe_unversioned_records(project: Project, record_types: Collection[str]) -> list[str]:
    """Describe what is collected but in no version: submissions waiting for review, and records of other types."""
    rows = Assignment.objects.filter(hit__unit__batch__project=project, match=SubmissionMatch.MATCHED)
    counts: dict[tuple[str, str], int] = {
        (kind, status): count
        for kind, status, count in rows.order_by()
        .values_list("hit__unit__batch__kind", "status")
        .annotate(Count("pk"))
    }
    found = []
    for name in registry.kinds_with_purpose(Purpose.COLLECTING):
        approved = counts.get((name, AssignmentStatus.APPROVED), 0)
        waiting = counts.get((name, AssignmentStatus.SUBMITTED), 0)
        foreign = sorted(set(registry.get_kind(name).record_types) - set(record_types))
        if waiting:
            found.append(f"{waiting} submissions of {name} wait for review")
        if approved and foreign:
            found.append(
                f"{approved} approved submissions of {name} give records of type {', '.join(foreign)}, "
                f"but versions of this project contain only {', '.join(record_types)}"
            )
    return found
