"""The steps of a compiled pattern and how its parts write them. (Read in pattern_reader, matched in patterns.)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

MAX_STEPS = 2_000
ANY_NUMBER = -1


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
    place: str = ""
    ways: tuple[int, ...] = ()


# A part of a pattern writes its steps at the end of a program; the way through it ends one step behind.
Part = Callable[[list[Instruction]], None]
Test = Callable[[str], bool]


def write(program: list[Instruction], instruction: Instruction) -> None:
    """Add a step. Raises PatternError when the program is too long."""
    if len(program) >= MAX_STEPS:
        raise PatternError("its repetitions make it too long; use fewer or smaller ones")
    program.append(instruction)


def character_step(test: Test) -> Part:
    """Return a part that takes one character which passes the test."""

    def part(program: list[Instruction]) -> None:
        write(program, Instruction(Step.CHARACTER, accepts=test, ways=(len(program) + 1,)))

    return part


def place_step(place: str) -> Part:
    """Return a part that asks where it stands: ``^``, ``$``, ``b`` or ``B``."""

    def part(program: list[Instruction]) -> None:
        write(program, Instruction(Step.CHECK, place=place, ways=(len(program) + 1,)))

    return part


def sequence(parts: list[Part]) -> Part:
    """Return the parts one behind the other."""

    def part(program: list[Instruction]) -> None:
        for one in parts:
            one(program)

    return part


def either(parts: list[Part]) -> Part:
    """Return a part that is any of the parts."""
    if len(parts) == 1:
        return parts[0]

    def part(program: list[Instruction]) -> None:
        fork = len(program)
        write(program, Instruction(Step.SPLIT))
        starts, ends = [], []
        for one in parts:
            starts.append(len(program))
            one(program)
            ends.append(len(program))
            write(program, Instruction(Step.SPLIT))
        program[fork] = Instruction(Step.SPLIT, ways=tuple(starts))
        for end in ends:
            program[end] = Instruction(Step.SPLIT, ways=(len(program),))

    return part


def repeated(one: Part, low: int, high: int) -> Part:
    """Return a part ``low`` to ``high`` times, or from ``low`` on for ANY_NUMBER."""

    def part(program: list[Instruction]) -> None:
        for _ in range(low):
            before = len(program)
            one(program)
            if len(program) == before:
                return  # repeating nothing is nothing, and "((){500}){500}" would say so for ever
        if high == ANY_NUMBER:
            fork = len(program)
            write(program, Instruction(Step.SPLIT))
            one(program)
            write(program, Instruction(Step.SPLIT, ways=(fork,)))
            program[fork] = Instruction(Step.SPLIT, ways=(fork + 1, len(program)))
            return
        forks = []
        for _ in range(high - low):
            forks.append(len(program))
            write(program, Instruction(Step.SPLIT))
            one(program)
        for fork in forks:
            program[fork] = Instruction(Step.SPLIT, ways=(fork + 1, len(program)))

    return part


def capital(character: str) -> str:
    """Return a character as a capital, where that is one character."""
    capital = character.upper()
    return capital if len(capital) == 1 else character  # "ß" stays one character


def is_word(character: str) -> bool:
    """Return whether JavaScript's ``\\w`` takes a character."""
    return character.isascii() and (character.isalnum() or character == "_")


def is_digit(character: str) -> bool:
    """Return whether JavaScript's ``\\d`` takes a character."""
    return character.isascii() and character.isdigit()
