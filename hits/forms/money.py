"""Budget forms of projects and batches."""

from typing import Any

from hits.domain.money.usd import format_dollars
from hits.forms.fields import BudgetField, PageForm
from hits.models import Batch, Project
from hits.services.money.budget import MAX_TARGET_CENTS_PER_HOUR


class ProjectMoneyForm(PageForm):
    """A project's hourly target, budget cap and confirmation threshold."""

    target = BudgetField(
        max_cents=MAX_TARGET_CENTS_PER_HOUR,
        label="Target per hour",
        help_text="Target pay in US dollars per hour of work.",
    )
    cap = BudgetField(
        required=False,
        label="Budget cap",
        help_text="Maximum total cost of all batches in US dollars. Empty: no cap.",
    )
    threshold = BudgetField(
        max_cents=2**31 - 1,
        label="Confirmation threshold",
        help_text="US dollars. If a launch, extension or top-up can cost more, you must type its exact cost.",
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
    """A batch's budget cap."""

    cap = BudgetField(required=False, label="Budget cap")

    def __init__(self, batch: Batch, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"batch-{batch.pk}-%s", **kwargs)
        self.batch = batch

    @property
    def error_message(self) -> str:
        """The error for a message."""
        return f"{self.batch.name}: {self.errors['cap'][0]}" if "cap" in self.errors else ""


def cap_label(cents: int | None) -> str:
    """Return the label of a cap."""
    return "no cap" if cents is None else format_dollars(cents)
