"""Steps of a compiled pattern, and fragments that append them (pattern_reader parses, patterns matches)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

MAX_STEPS = 2_000
UNBOUNDED = -1


class PatternError(ValueError):
    """An unusable pattern; the message explains why."""


class StepKind(Enum):
    """The kinds of steps of a compiled pattern."""

    CHARACTER = "character"
    SPLIT = "split"
    CHECK = "check"
    MATCH = "match"


@dataclass(frozen=True)
class PatternStep:
    """One step: a test of a character or an anchor, and the indices of the next steps."""

    kind: StepKind
    accepts: Callable[[str], bool] | None = None
    anchor: str = ""
    next_steps: tuple[int, ...] = ()


# A fragment (Thompson) appends its steps to a program; its exit is the step after its last one.
Fragment = Callable[[list[PatternStep]], None]
CharacterTest = Callable[[str], bool]


def append_step(program: list[PatternStep], step: PatternStep) -> None:
    """Add a step. Raises PatternError when the program is too long."""
    if len(program) >= MAX_STEPS:
        raise PatternError("its repetitions make it too long; use fewer or smaller ones")
    program.append(step)


def character_fragment(test: CharacterTest) -> Fragment:
    """Return a fragment that matches one character accepted by the test."""
    return lambda program: append_step(
        program, PatternStep(StepKind.CHARACTER, accepts=test, next_steps=(len(program) + 1,))
    )


def anchor_fragment(anchor: str) -> Fragment:
    """Return a fragment that matches an anchor: ``^``, ``$``, ``b`` or ``B``."""
    return lambda program: append_step(
        program, PatternStep(StepKind.CHECK, anchor=anchor, next_steps=(len(program) + 1,))
    )


def sequence_fragment(fragments: list[Fragment]) -> Fragment:
    """Return a fragment that matches the fragments in sequence."""

    def append_fragment(program: list[PatternStep]) -> None:
        for append_steps in fragments:
            append_steps(program)

    return append_fragment


def alternation_fragment(fragments: list[Fragment]) -> Fragment:
    """Return a fragment that matches any of the fragments."""
    if len(fragments) == 1:
        return fragments[0]

    def append_fragment(program: list[PatternStep]) -> None:
        fork = len(program)
        append_step(program, PatternStep(StepKind.SPLIT))
        starts, ends = [], []
        for append_steps in fragments:
            starts.append(len(program))
            append_steps(program)
            ends.append(len(program))
            append_step(program, PatternStep(StepKind.SPLIT))
        program[fork] = PatternStep(StepKind.SPLIT, next_steps=tuple(starts))
        for end in ends:
            program[end] = PatternStep(StepKind.SPLIT, next_steps=(len(program),))

    return append_fragment


def repetition_fragment(repeated: Fragment, low: int, high: int) -> Fragment:
    """Return a fragment repeated ``low`` to ``high`` times, or without upper limit for UNBOUNDED."""

    def append_fragment(program: list[PatternStep]) -> None:
        for _ in range(low):
            before = len(program)
            repeated(program)
            if len(program) == before:
                return  # an empty group adds no steps; otherwise "((){500}){500}" would loop too long
        if high == UNBOUNDED:
            fork = len(program)
            append_step(program, PatternStep(StepKind.SPLIT))
            repeated(program)
            append_step(program, PatternStep(StepKind.SPLIT, next_steps=(fork,)))
            program[fork] = PatternStep(StepKind.SPLIT, next_steps=(fork + 1, len(program)))
            return
        forks = []
        for _ in range(high - low):
            forks.append(len(program))
            append_step(program, PatternStep(StepKind.SPLIT))
            repeated(program)
        for fork in forks:
            program[fork] = PatternStep(StepKind.SPLIT, next_steps=(fork + 1, len(program)))

    return append_fragment


def to_upper_if_one_character(character: str) -> str:
    """Return a character in upper case, if that is one character."""
    capital = character.upper()
    return capital if len(capital) == 1 else character  # "ß" stays one character


def is_word_character(character: str) -> bool:
    """Return whether JavaScript's ``\\w`` matches a character."""
    return character.isascii() and (character.isalnum() or character == "_")


def is_digit(character: str) -> bool:
    """Return whether JavaScript's ``\\d`` matches a character."""
    return character.isascii() and character.isdigit()
