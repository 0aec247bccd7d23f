"""Texts that a person should read: a scorer's contract, and a word list of our own.

A score orders a queue for people. It removes nothing and decides nothing: of the 150 pairs that the paper's service
scored highest, 89 % were harmless, for instance "a dirty spoon". Source: Hessel et al. 2022, section 3.2 and appendix
A.4, doi:10.1007/978-3-031-20059-5_32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from curation.texts.words import spans_of
from hits.hints.words import PROFANITY


class Group(StrEnum):
    """Why a word is on the list."""

    SWEARING = "swearing or slur"
    SEXUAL = "sexual"
    STIGMA = "stigma"
    HARM = "death or harm"
    SOILED = "soiled"


# How much one word of a group counts, 0 to 1. The order is a judgment: slurs first, everyday words last.
GRADES = {Group.SWEARING: 0.9, Group.SEXUAL: 0.6, Group.STIGMA: 0.6, Group.HARM: 0.4, Group.SOILED: 0.3}
EXCUSED = 1 / 3  # of its grade is left to a word beside one that makes it harmless


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Short and curated after what the paper's readers found: sexualised content, stigmas of weight, mind and gender, dark
# remarks about death. It misses most of what a trained model would see, and it cannot tell who is meant.
_WORDS = {
    Group.SWEARING: frozenset(PROFANITY),
    Group.SEXUAL: _set("""
        boob boobs breasts brothel erotic genitals hooker hookers horny kinky lewd naked nude nudity orgy
        orgasm penis porn porno pornography promiscuous prostitute prostitutes seductive seductively sex
        sexual sexually sexy stripper strippers topless vagina
        """),
    Group.STIGMA: _set("""
        chubby crazy creepy cripple crippled crossdresser deranged disgusting dumb fat fatso fatty freak
        freaks fugly gross hideous homo idiot idiots imbecile insane lard loser losers lunatic lunatics
        midget midgets obese overweight psycho psychopath pathetic savage savages schizo stupid ugly weirdo
        weirdos
        """),
    Group.HARM: _set("""
        abuse abused abusive assault assaulted corpse dead deadly death die dies dying execute executed gore
        gory hang hanged hate hates kill killed killer killers killing kills lynch molest molested murder
        murdered murderer rape raped rapist shoot slaughter stab stabbed strangle strangled suicidal suicide
        terrorist terrorists torture tortured
        """),
    Group.SOILED: _set("""
        dirty drunk drunken dump filthy foul nasty pee poop poor scum sleazy slob slobs smelly stinks stinky
        trash trashy urine vomit
        """),
}
_THINGS = _set("""
    bathroom bathtub bike boat boots bottle bowl bowls boots bucket building bus car carpet ceiling clothes
    clothing couch counter cup cups dish dishes dog door fabric feet floor fork glass glasses glove gloves
    grill hair hands house jacket jeans kitchen knife laundry mirror mop mud oven pan pans pants paws plate
    plates pot pots river road rug shirt shoe shoes sidewalk sink snow sock socks spoon spoons stove street
    table tile tiles tire tires toilet towel towels train truck van vehicle wall walls water wheel wheels
    window windows
    """)
_PLANTS = _set(
    "battery branch branches end flower flowers garden grass ground leaf leaves limbs phone plant plants tree trees"
)
# A word of the list is likely harmless in a text that holds one of these: "a dirty spoon", "a dead tree".
BESIDE = {
    "dirty": _THINGS,
    "filthy": _THINGS,
    "nasty": _THINGS | _set("fall rain storm weather wind"),
    "trash": _set("bag bags bin bins can cans collected collection container containers day garbage recycling truck"),
    "dump": _set("bed load truck trucks"),
    "poor": _set("condition light lighting quality reception service soil visibility weather"),
    "pee": _set("dog dogs puppy"),
    "poop": _set("bag bags bird birds dog dogs horse pigeon"),
    "dead": _PLANTS,
    "die": _PLANTS | _set("cast cut dice"),
    "dying": _PLANTS,
    "hang": _set("clothes coat coats curtain curtains decorations glider hook hooks laundry out picture pictures"),
    "shoot": _set("ball basketball basket commercial film hoop hoops movie photo photograph picture pictures video"),
    "kill": _set("bacteria bug bugs flies germs insects mosquitoes time weeds"),
    "killing": _set("bacteria bugs germs time weeds"),
    "fat": _set("content free low meat milk steak"),
    "gross": _set("weight"),
    "crazy": _set("colors colours hair hat pattern shirt socks weather"),
    "naked": _set("branches eye tree trees"),
    "hate": _set("broccoli rain snow vegetables"),
    "ugly": _set("sweater sweaters"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Match:
    """A word that counted: ``text[start:end]``, why, and the word beside it that makes it likely harmless, if any."""

    start: int
    end: int
    group: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A text's score, 0 (nothing seen) to 1, and the words that it rests on; a model names none."""

    score: float
    matches: tuple[Match, ...] = ()


class ToxicityScorer(Protocol):
    """Scores texts. ``name`` and ``revision`` say by what; both stand beside every score."""

    name: str
    revision: str

    def score(self, texts: Sequence[str]) -> list[Finding]:
        """Return one finding per text."""
        ...


class WordList:
    """A list of words with grades. It is no model: it sees whole words, and neither spelling nor meaning.

    A text's score is ``1 - Π(1 - grade)`` over the different words found. A word beside one that makes it harmless
    counts a third.
    """

    name = "word list"

    def __init__(self) -> None:
        self._groups = {word: group for group in reversed(Group) for word in _WORDS[group]}
        listed = sorted(
            (word, group.value, sorted(BESIDE.get(word, ()))) for word, group in self._groups.items()
        )
        digest = hashlib.sha256(repr((listed, sorted(GRADES.items()), EXCUSED)).encode()).hexdigest()
        self.revision = f"{len(listed)} words, {digest[:12]}"

    def score(self, texts: Sequence[str]) -> list[Finding]:
        """Return one finding per text."""
        return [self._find(text) for text in texts]

    def _find(self, text: str) -> Finding:
        spans = list(spans_of(text))
        said = {word for word, _, _ in spans}
        matches, left, counted = [], 1.0, set[str]()
        for word, start, end in spans:
            group = self._groups.get(word)
            if group is None:
                continue
            beside = min(BESIDE.get(word, frozenset()) & said, default="")
            matches.append(Match(start, end, group.value, beside))
            if word not in counted:
                left *= 1 - GRADES[group] * (EXCUSED if beside else 1)
                counted.add(word)
        return Finding(round(1 - left, 6), tuple(matches))
