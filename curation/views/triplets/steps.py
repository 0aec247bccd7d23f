"""The line above a page of image triplets that names the next step, and what blocks it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """Something that waits: "4 scenes wait for prompts", and the page where it is done.

    ``action`` is the label of the link, or of the button if ``is_post``; without one, the step is information alone.
    """

    text: str
    action: str = ""
    url: str = ""
    is_post: bool = False


def count_words(count: int, one: str, many: str = "") -> str:
    """Return ``1 scene`` or ``1,204 scenes``."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
