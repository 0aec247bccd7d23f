"""Regular expressions of requesters, matched in time that grows with text and pattern and never explodes.

Amazon's site checks AnswerFormatRegex with JavaScript in the worker's browser, so the dialect is JavaScript's and a
match anywhere is enough. Here the server checks, too. Python's ``re`` tries one way after the other, and a pattern
such as ``(a+)+$`` keeps it busy for years; so all ways are followed at once, as in Thompson's construction. What that
cannot do (look-ahead, look-behind, back-references) is refused when the form is made.

Many patterns over long texts would still add up, so all patterns of a form share one limit of work for each time that
it is handed in (``Work``). It is counted as it is done: an ordinary pattern looks at a few of its steps at each
character, and only what was made to be slow comes near the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from .pattern_reader import PatternReader
from .pattern_steps import Instruction, PatternError, Step, is_word, to_upper

__all__ = ["BudgetExceeded", "Pattern", "PatternError", "WorkBudget", "compile_pattern"]
MAX_PATTERN_LENGTH = 500
MAX_WORK = 500_000  # steps looked at: a fraction of a second
CHARACTER_COST = 4  # what moving on by a character costs beside the steps, in the same measure


class BudgetExceeded(Exception):
    """Matching would take longer than what the form's patterns may take together."""


class WorkBudget:
    """What the patterns of one form may cost, each time that it is handed in.

    A text of at most ``always`` characters is matched whatever else was: all patterns of the form at such texts stay
    within MAX_WORK. Longer texts have as much again between them, in the order in which they are looked at.
    """

    def __init__(self, steps: int) -> None:
        """``steps`` is the sum of the steps of all patterns of the form."""
        self.guaranteed_length = MAX_WORK // max(steps, 1)
        self.remaining = MAX_WORK

    def budget_for(self, text: str) -> WorkBudget | None:
        """Return what pays for a text: nothing needs to, where it is short."""
        return None if len(text) <= self.guaranteed_length else self

    def spend(self, steps: int) -> None:
        """Take a piece of work from what is left. Raises BudgetExceeded, also at every later call."""
        self.remaining -= steps
        if self.remaining < 0:
            raise BudgetExceeded


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern."""

    source: str
    ignores_case: bool
    program: tuple[Instruction, ...]

    @property
    def steps(self) -> int:
        """The most steps that are looked at for a character."""
        return len(self.program)

    def search(self, text: str, budget: WorkBudget | None = None) -> bool:
        """Return whether the pattern matches anywhere in ``text``.

        Raises BudgetExceeded when that takes more than is left of ``budget``.
        """
        if self.ignores_case:
            if budget is not None:
                budget.spend(len(text))
            text = "".join(to_upper(character) for character in text)
        threads: set[int] = set()
        for index in range(len(text) + 1):
            threads = self._epsilon_closure({0, *threads}, text, index)
            if budget is not None:
                budget.spend(CHARACTER_COST + len(threads))
            if len(self.program) - 1 in threads:
                return True
            if index < len(text):
                threads = {way for at in threads for way in self._advance(at, text[index])}
        return False

    def _advance(self, at: int, character: str) -> tuple[int, ...]:
        instruction = self.program[at]
        accepts = instruction.accepts
        return instruction.next_steps if accepts is not None and accepts(character) else ()

    def _epsilon_closure(self, starts: set[int], text: str, index: int) -> set[int]:
        reached: set[int] = set()
        waiting = list(starts)
        while waiting:
            at = waiting.pop()
            if at in reached:
                continue
            reached.add(at)
            instruction = self.program[at]
            is_open = instruction.step is Step.SPLIT or (
                instruction.step is Step.CHECK and _anchor_matches(instruction.anchor, text, index)
            )
            if is_open:
                waiting.extend(instruction.next_steps)
        return reached


def compile_pattern(source: str, *, ignores_case: bool = False) -> Pattern:
    """Return the pattern ready for use. Raises PatternError."""
    if len(source) > MAX_PATTERN_LENGTH:
        raise PatternError(f"it has {len(source)} characters; at most {MAX_PATTERN_LENGTH} are taken")
    reader = PatternReader(source, ignores_case)
    tree = reader.read_alternatives()
    if reader.remaining():
        raise PatternError(f"“)” at character {reader.position + 1} closes nothing")
    program: list[Instruction] = []
    tree(program)
    program.append(Instruction(Step.MATCH))
    return Pattern(source, ignores_case, tuple(program))


def _anchor_matches(anchor: str, text: str, index: int) -> bool:
    if anchor == "^":
        return index == 0
    if anchor == "$":
        return index == len(text)
    before = index > 0 and is_word(text[index - 1])
    after = index < len(text) and is_word(text[index])
    return (before != after) is (anchor == "b")
