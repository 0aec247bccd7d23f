"""Regular expressions of requesters, matched in time proportional to text times pattern.

Amazon's site checks AnswerFormatRegex with JavaScript in the worker's browser, so the dialect is JavaScript's and a
match anywhere is enough. Here the server checks too. Python's ``re`` backtracks, and a pattern such as ``(a+)+$`` can
block it for years. So all states are followed in parallel, as in Thompson's construction. Look-ahead, look-behind and
back-references are impossible this way and are refused when the form is created.

Many patterns over long texts would still add up, so all patterns of a form share one budget per submission
(``MatchBudget``). Ordinary patterns use few steps per character; only deliberately slow ones come near the limit.
"""

from dataclasses import dataclass

from .pattern_reader import PatternReader
from .pattern_steps import PatternError, PatternStep, StepKind, is_word_character, to_upper_if_one_character

__all__ = ["BudgetExceeded", "MatchBudget", "Pattern", "PatternError", "compile_pattern"]
MAX_PATTERN_LENGTH = 500
MAX_WORK = 500_000  # steps: a fraction of a second
CHARACTER_COST = 4  # cost of one character besides its steps, in steps


class BudgetExceeded(Exception):
    """Matching would exceed the budget that the form's patterns share."""


class MatchBudget:
    """The work that the patterns of one form may take per submission.

    A text of at most ``guaranteed_length`` characters is always matched: all patterns of the form together stay
    within MAX_WORK for such texts. Longer texts share another MAX_WORK, in the order of the questions.
    """

    def __init__(self, steps: int) -> None:
        """Set the budget; ``steps`` is the sum of the steps of all patterns of the form."""
        self.guaranteed_length = MAX_WORK // max(steps, 1)
        self.remaining = MAX_WORK

    def budget_unless_short(self, text: str) -> "MatchBudget | None":
        """Return the budget for a text, or None for a short text, which is always matched."""
        return None if len(text) <= self.guaranteed_length else self

    def spend(self, steps: int) -> None:
        """Deduct steps from the budget. Raises BudgetExceeded if it is used up, and at each later call."""
        self.remaining -= steps
        if self.remaining < 0:
            raise BudgetExceeded


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern."""

    ignores_case: bool
    program: tuple[PatternStep, ...]

    @property
    def step_count(self) -> int:
        """The maximum number of steps per character."""
        return len(self.program)

    def search(self, text: str, budget: MatchBudget | None = None) -> bool:
        """Return whether the pattern matches anywhere in ``text``. Raises BudgetExceeded."""
        if self.ignores_case:
            if budget is not None:
                budget.spend(len(text))
            text = "".join(to_upper_if_one_character(character) for character in text)
        threads: set[int] = set()
        for index in range(len(text) + 1):
            threads = self._epsilon_closure({0, *threads}, text, index)
            if budget is not None:
                budget.spend(CHARACTER_COST + len(threads))
            if len(self.program) - 1 in threads:
                return True
            if index < len(text):
                threads = {following for step in threads for following in self._advance(step, text[index])}
        return False

    def _advance(self, step: int, character: str) -> tuple[int, ...]:
        instruction = self.program[step]
        accepts = instruction.accepts
        return instruction.next_steps if accepts is not None and accepts(character) else ()

    def _epsilon_closure(self, starts: set[int], text: str, index: int) -> set[int]:
        reached: set[int] = set()
        waiting = list(starts)
        while waiting:
            step = waiting.pop()
            if step in reached:
                continue
            reached.add(step)
            instruction = self.program[step]
            is_open = instruction.kind is StepKind.SPLIT or (
                instruction.kind is StepKind.CHECK and _anchor_matches(instruction.anchor, text, index)
            )
            if is_open:
                waiting.extend(instruction.next_steps)
        return reached


def compile_pattern(source: str, *, ignores_case: bool = False) -> Pattern:
    """Compile a pattern. Raises PatternError."""
    if len(source) > MAX_PATTERN_LENGTH:
        raise PatternError(f"it has {len(source)} characters; at most {MAX_PATTERN_LENGTH} are allowed")
    reader = PatternReader(source, ignores_case)
    fragment = reader.read_alternatives()
    if reader.unread_text():
        raise PatternError(f"“)” at character {reader.position + 1} closes nothing")
    program: list[PatternStep] = []
    fragment(program)
    program.append(PatternStep(StepKind.MATCH))
    return Pattern(ignores_case, tuple(program))


def _anchor_matches(anchor: str, text: str, index: int) -> bool:
    if anchor == "^":
        return index == 0
    if anchor == "$":
        return index == len(text)
    before = index > 0 and is_word_character(text[index - 1])
    after = index < len(text) and is_word_character(text[index])
    return (before != after) is (anchor == "b")
