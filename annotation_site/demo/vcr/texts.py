"""Simulated triplets about a unit's objects: phrases drawn from lists, which no person wrote or judged."""

import random
from collections.abc import Sequence
from typing import Any

from hits.domain.images.detections import is_person
from hits.domain.tagged_text import Segment, normalize_segments

TRIPLETS_PER_UNIT = 3
PRONOUNS = (("she", "her", "her"), ("he", "him", "his"), ("they", "them", "their"))
QUESTIONS: tuple[tuple[str | int, ...], ...] = (
    ("Why does ", 0, " stand so close to ", 2, "?"),
    ("What is ", 0, " going to say to ", 1, "?"),
    ("Where did ", 0, " come from before this?"),
    ("How does ", 1, " feel about ", 0, "?"),
    ("Who asked ", 1, " to look after ", 2, "?"),
    ("What will happen to ", 2, " when ", 0, " leaves?"),
)
PLANS = (
    "wants to repair it before the rain starts",
    "has waited here since the early morning",
    "plans a surprise for the evening",
    "must explain a mistake from yesterday",
    "hopes to borrow it for the journey",
    "is about to sell it to a neighbour",
    "came straight from a long shift at work",
    "has promised to bring it back today",
    "is going to ask for directions again",
    "lost a bet and has to pay for dinner",
    "is too shy to start the conversation",
    "has just heard the good news",
)
GROUNDS = (
    "turns away as people do when a talk is over",
    "stands still while everybody else moves on",
    "keeps both arms down and looks straight ahead",
    "wears the clothes of somebody who works outside",
    "has left a lot of space between the two of them",
    "faces the thing that somebody else brought along",
)
KNOWLEDGE = (
    "people only wait like this for somebody whom they know",
    "nobody would bring such a thing without a reason",
    "friends usually greet each other before they talk",
    "a stranger would have walked past by now",
    "such things are borrowed more often than bought",
    "somebody in a hurry would not stand there",
)
LIKELIHOODS = ("likely", "possible", "unlikely")


def write_triplets(unit: dict[str, Any], seed: str) -> dict[str, Any]:
    """Return an answer to a writing task with three triplets; the same seed gives the same answer.

    Args:
        unit: the unit as its page shows it, with ``objects`` and ``objects_sha256``.
    """
    generator = random.Random(seed)  # noqa: S311 - phrases of simulated texts
    names = [found["name"] for found in unit["objects"]]
    triplets = [write_triplet(names, generator, number) for number in range(TRIPLETS_PER_UNIT)]
    return {
        "triplets": triplets,
        "interest": generator.choice((-1, 0, 1, 1)),
        "objects_sha256": unit["objects_sha256"],
    }


def write_triplet(names: Sequence[str], generator: random.Random, number: int) -> dict[str, Any]:
    """Return one triplet about objects of these classes; at least two must be people."""
    people = [index for index, name in enumerate(names) if is_person(name)]
    others = [index for index, name in enumerate(names) if not is_person(name)]
    first, second = generator.sample(people, 2)
    objects_by_slot = {0: first, 1: second, 2: generator.choice(others)}
    subject, _, possessive = generator.choice(PRONOUNS)
    plan = generator.choice(PLANS)
    answer = [_tag(first), f" {plan}, and {possessive} friend ", _tag(second), " knows it."]
    ground, known = generator.choice(GROUNDS), generator.choice(KNOWLEDGE)
    rationale = [
        *(_tag(first), f" {ground}, near ", _tag(objects_by_slot[2])),
        f", so {subject} cannot be here by chance; {known}.",
    ]
    question = [
        part if isinstance(part, str) else _tag(objects_by_slot[part]) for part in generator.choice(QUESTIONS)
    ]
    return {
        "question": normalize_segments(question),
        "answer": normalize_segments(answer),
        "rationale": normalize_segments(rationale),
        "likelihood": LIKELIHOODS[(number + generator.randrange(2)) % len(LIKELIHOODS)],
    }


def _tag(index: int) -> Segment:
    return {"objects": [index]}
