"""Regular expressions of requesters, matched in time that grows with text and pattern and never explodes.

Amazon's site checks AnswerFormatRegex with JavaScript in the worker's browser, so the dialect is JavaScript's and a
match anywhere is enough. Here the server checks, too. Python's ``re`` tries one way after the other, and a pattern
such as ``(a+)+$`` keeps it busy for years; so all ways are followed at once, as in Thompson's construction. What that
cannot do (look-ahead, look-behind, back-references) is refused when the form is made.
"""

from __future__ import annotations

from dataclasses import dataclass

from .pattern_reader import PatternReader
from .pattern_steps import Instruction, PatternError, Step, capital, is_word

__all__ = ["Pattern", "PatternError", "compile_pattern"]
MAX_PATTERN = 500
MAX_WORK = 400_000  # steps times characters: a fraction of a second


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern, and the longest text that it is matched against."""

    source: str
    ignores_case: bool
    program: tuple[Instruction, ...]

    @property
    def longest(self) -> int:
        """The number of characters above which a text is not looked at."""
        return MAX_WORK // len(self.program)

    def found_in(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in ``text``."""
        if self.ignores_case:
            text = "".join(capital(character) for character in text)
        threads: set[int] = set()
        for index in range(len(text) + 1):
            threads = self._closed({0, *threads}, text, index)
            if len(self.program) - 1 in threads:
                return True
            if index < len(text):
                threads = {way for at in threads for way in self._after(at, text[index])}
        return False

    def _after(self, at: int, character: str) -> tuple[int, ...]:
        instruction = self.program[at]
        accepts = instruction.accepts
        return instruction.ways if accepts is not None and accepts(character) else ()

    def _closed(self, starts: set[int], text: str, index: int) -> set[int]:
        reached: set[int] = set()
        waiting = list(starts)
        while waiting:
            at = waiting.pop()
            if at in reached:
                continue
            reached.add(at)
            instruction = self.program[at]
            is_open = instruction.step is Step.SPLIT or (
                instruction.step is Step.CHECK and _holds(instruction.place, text, index)
            )
            if is_open:
                waiting.extend(instruction.ways)
        return reached


def compile_pattern(source: str, *, ignores_case: bool = False) -> Pattern:
    """Return the pattern ready for use. Raises PatternError."""
    if len(source) > MAX_PATTERN:
        raise PatternError(f"it has {len(source)} characters; at most {MAX_PATTERN} are taken")
    reader = PatternReader(source, ignores_case)
    tree = reader.alternatives()
    if reader.rest():
        raise PatternError(f"“)” at character {reader.at + 1} closes nothing")
    program: list[Instruction] = []
    tree(program)
    program.append(Instruction(Step.MATCH))
    return Pattern(source, ignores_case, tuple(program))


def _holds(place: str, text: str, index: int) -> bool:
    if place == "^":
        return index == 0
    if place == "$":
        return index == len(text)
    before = index > 0 and is_word(text[index - 1])
    after = index < len(text) and is_word(text[index])
    return (before != after) is (place == "b")
