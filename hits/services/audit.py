"""Record actions in the project's history."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from hits.models import AuditEvent, Project


def record(
    *, project: Project | None, actor: AbstractBaseUser | None, action: str, subject: object = "", **data: Any
) -> None:
    """Append one audit event. ``data`` holds ids and counts only, never worker ids or answers."""
    AuditEvent.objects.create(
        project=project,
        actor_id=actor.pk if actor else None,
        action=action,
        subject=str(subject)[:80],
        data=data,
    )
