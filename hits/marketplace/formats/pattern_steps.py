"""The steps of a compiled pattern and how its parts write them. (Read in pattern_reader, matched in patterns.)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

MAX_STEPS = 2_000
UNBOUNDED = -1


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why."""


class Step(Enum):
    """What a step of a compiled pattern does."""

    CHARACTER = "character"
    SPLIT = "split"
    CHECK = "check"
    MATCH = "match"


@dataclass(frozen=True)
class Instruction:
    """A step: a test of one character or of a place, and where the way goes on."""

    step: Step
    accepts: Callable[[str], bool] | None = None
    anchor: str = ""
    next_steps: tuple[int, ...] = ()


# A part of a pattern writes its steps at the end of a program; the way through it ends one step behind.
Fragment = Callable[[list[Instruction]], None]
Test = Callable[[str], bool]


def append_instruction(program: list[Instruction], instruction: Instruction) -> None:
    """Add a step. Raises PatternError when the program is too long."""
    if len(program) >= MAX_STEPS:
        raise PatternError("its repetitions make it too long; use fewer or smaller ones")
    program.append(instruction)


def character_step(test: Test) -> Fragment:
    """Return a part that takes one character which passes the test."""

    def fragment(program: list[Instruction]) -> None:
        append_instruction(program, Instruction(Step.CHARACTER, accepts=test, next_steps=(len(program) + 1,)))

    return fragment


def anchor_step(anchor: str) -> Fragment:
    """Return a part that asks where it stands: ``^``, ``$``, ``b`` or ``B``."""

    def fragment(program: list[Instruction]) -> None:
        append_instruction(program, Instruction(Step.CHECK, anchor=anchor, next_steps=(len(program) + 1,)))

    return fragment


def sequence(fragments: list[Fragment]) -> Fragment:
    """Return the parts one behind the other."""

    def fragment(program: list[Instruction]) -> None:
        for one in fragments:
            one(program)

    return fragment


def alternation(fragments: list[Fragment]) -> Fragment:
    """Return a part that is any of the parts."""
    if len(fragments) == 1:
        return fragments[0]

    def fragment(program: list[Instruction]) -> None:
        fork = len(program)
        append_instruction(program, Instruction(Step.SPLIT))
        starts, ends = [], []
        for one in fragments:
            starts.append(len(program))
            one(program)
            ends.append(len(program))
            append_instruction(program, Instruction(Step.SPLIT))
        program[fork] = Instruction(Step.SPLIT, next_steps=tuple(starts))
        for end in ends:
            program[end] = Instruction(Step.SPLIT, next_steps=(len(program),))

    return fragment


def repetition(repeated: Fragment, low: int, high: int) -> Fragment:
    """Return a part ``low`` to ``high`` times, or from ``low`` on for ANY_NUMBER."""

    def fragment(program: list[Instruction]) -> None:
        for _ in range(low):
            before = len(program)
            repeated(program)
            if len(program) == before:
                return  # repeating nothing is nothing, and "((){500}){500}" would say so for ever
        if high == UNBOUNDED:
            fork = len(program)
            append_instruction(program, Instruction(Step.SPLIT))
            repeated(program)
            append_instruction(program, Instruction(Step.SPLIT, next_steps=(fork,)))
            program[fork] = Instruction(Step.SPLIT, next_steps=(fork + 1, len(program)))
            return
        forks = []
        for _ in range(high - low):
            forks.append(len(program))
            append_instruction(program, Instruction(Step.SPLIT))
            repeated(program)
        for fork in forks:
            program[fork] = Instruction(Step.SPLIT, next_steps=(fork + 1, len(program)))

    return fragment


def to_upper(character: str) -> str:
    """Return a character as a capital, where that is one character."""
    capital = character.upper()
    return capital if len(capital) == 1 else character  # "ß" stays one character


def is_word(character: str) -> bool:
    """Return whether JavaScript's ``\\w`` takes a character."""
    return character.isascii() and (character.isalnum() or character == "_")


def is_digit(character: str) -> bool:
    """Return whether JavaScript's ``\\d`` takes a character."""
    return character.isascii() and character.isdigit()
