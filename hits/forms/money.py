"""Forms about what a project and its batches may cost."""

from typing import Any

from hits.domain.money.usd import format_dollars
from hits.forms.parts import PageForm, SumField
from hits.models import Batch, Project
from hits.services.money.budget import MAX_TARGET_CENTS


class ProjectMoneyForm(PageForm):
    """What a project aims to pay, may cost, and has typed by hand."""

    target = SumField(
        most=MAX_TARGET_CENTS, label="Target per hour", help_text="US dollars for an hour of work."
    )
    cap = SumField(
        required=False,
        label="Budget cap",
        help_text="The most, in US dollars, that all batches together may cost. Left empty, there is no cap.",
    )
    threshold = SumField(
        most=2**31 - 1,
        label="Have the sum typed above",
        help_text="US dollars. Whoever launches, extends or tops up for more types the exact sum.",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault(
            "initial",
            {
                "target": project.target_cents_per_hour,
                "cap": project.budget_cap_cents,
                "threshold": project.confirm_above_cents,
            },
        )
        super().__init__(*args, **kwargs)


class BatchCapForm(PageForm):
    """The most that one batch may cost."""

    cap = SumField(required=False, label="Budget cap")

    def __init__(self, batch: Batch, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"batch-{batch.pk}-%s", **kwargs)
        self.batch = batch

    @property
    def slip(self) -> str:
        """What was wrong with it, for a message."""
        return f"{self.batch.name}: {self.errors['cap'][0]}" if "cap" in self.errors else ""


def capped(cents: int | None) -> str:
    """Return a cap in words."""
    return "no cap" if cents is None else format_dollars(cents)
