"""Pay one worker for work that did not reach the marketplace."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from hits.domain.states import Purpose
from hits.kind import HitKind, ImagesById, Payload, Schema


class Unit(Schema):
    """The stored answer to pay for: its submission id, its task's title, and its time as text."""

    submission: str = Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    task: str = Field(min_length=1, max_length=128)
    stored: str = Field(min_length=1, max_length=40)


class Answer(Schema):
    """The worker confirms that the work is theirs."""

    mine: Literal[True]


class Compensation(HitKind):
    """One worker confirms one lost submission. Each launch sets the reward to what the lost work would have paid."""

    name: ClassVar[str] = "compensation"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Get paid for lost work"
    description: ClassVar[str] = (
        "You did a task, but its submission was lost. Submit this task to get paid for it."
    )
    keywords: ClassVar[str] = "compensation, payment"
    paper: ClassVar[str] = "No paper: a remedy for work whose submission was lost"
    purpose: ClassVar[Purpose] = Purpose.COMPENSATING
    reward_cents: ClassVar[int] = 100
    expected_seconds: ClassVar[int] = 20
    duration_seconds: ClassVar[int] = 60 * 60
    lifetime_seconds: ClassVar[int] = 60 * 24 * 3600
    auto_approval_seconds: ClassVar[int] = 24 * 3600
    unit_word: ClassVar[tuple[str, str]] = ("payment", "payments")
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Payload) -> list[int]:
        """Return an empty list: there is no image."""
        return []

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the task and the time of the lost work."""
        return {"task": unit["task"], "stored": unit["stored"]}


KIND = Compensation()
