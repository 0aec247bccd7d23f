"""Find texts that a person should read: the interface of toxicity scorers, and this platform's word list.

A score orders a queue for people. It removes nothing and decides nothing: of the 150 pairs that the paper's service
scored highest, 89 % were harmless, for instance "a dirty spoon". Source: Hessel et al. 2022, section 3.2 and appendix
A.4, doi:10.1007/978-3-031-20059-5_32.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from curation.texts.words import parse_word_set, word_spans
from hits.hints.word_lists import PROFANITY


class WordGroup(StrEnum):
    """Why a word is on the list."""

    SWEARING = "swearing or slur"
    SEXUAL = "sexual"
    STIGMA = "stigma"
    HARM = "death or harm"
    SOILED = "soiled"


# The weight of a word of each group, 0 to 1, by our judgment: slurs first, everyday words last.
GROUP_WEIGHTS = {
    WordGroup.SWEARING: 0.9,
    WordGroup.SEXUAL: 0.6,
    WordGroup.STIGMA: 0.6,
    WordGroup.HARM: 0.4,
    WordGroup.SOILED: 0.3,
}
HARMLESS_FACTOR = 1 / 3  # of a word's weight, if the text has a word that makes it probably harmless


# Short and curated after what the paper's readers found: sexualised content, stigmas of weight, mind and gender, dark
# remarks about death. It misses most of what a trained model would see, and it cannot tell who is meant.
_WORDS = {
    WordGroup.SWEARING: frozenset(PROFANITY),
    WordGroup.SEXUAL: parse_word_set("""
        boob boobs breasts brothel erotic genitals hooker hookers horny kinky lewd naked nude nudity orgy
        orgasm penis porn porno pornography promiscuous prostitute prostitutes seductive seductively sex
        sexual sexually sexy stripper strippers topless vagina
        """),
    WordGroup.STIGMA: parse_word_set("""
        chubby crazy creepy cripple crippled crossdresser deranged disgusting dumb fat fatso fatty freak
        freaks fugly gross hideous homo idiot idiots imbecile insane lard loser losers lunatic lunatics
        midget midgets obese overweight psycho psychopath pathetic savage savages schizo stupid ugly weirdo
        weirdos
        """),
    WordGroup.HARM: parse_word_set("""
        abuse abused abusive assault assaulted corpse dead deadly death die dies dying execute executed gore
        gory hang hanged hate hates kill killed killer killers killing kills lynch molest molested murder
        murdered murderer rape raped rapist shoot slaughter stab stabbed strangle strangled suicidal suicide
        terrorist terrorists torture tortured
        """),
    WordGroup.SOILED: parse_word_set("""
        dirty drunk drunken dump filthy foul nasty pee poop poor scum sleazy slob slobs smelly stinks stinky
        trash trashy urine vomit
        """),
}
_OBJECT_WORDS = parse_word_set("""
    bathroom bathtub bike boat boots bottle bowl bowls boots bucket building bus car carpet ceiling clothes
    clothing couch counter cup cups dish dishes dog door fabric feet floor fork glass glasses glove gloves
    grill hair hands house jacket jeans kitchen knife laundry mirror mop mud oven pan pans pants paws plate
    plates pot pots river road rug shirt shoe shoes sidewalk sink snow sock socks spoon spoons stove street
    table tile tiles tire tires toilet towel towels train truck van vehicle wall walls water wheel wheels
    window windows
    """)
_PLANT_WORDS = parse_word_set(
    "battery branch branches end flower flowers garden grass ground leaf leaves limbs phone plant plants tree trees"
)
# A word of the list is probably harmless in a text with one of these: "a dirty spoon", "a dead tree".
HARMLESS_NEIGHBOURS = {
    "dirty": _OBJECT_WORDS,
    "filthy": _OBJECT_WORDS,
    "nasty": _OBJECT_WORDS | parse_word_set("fall rain storm weather wind"),
    "trash": parse_word_set(
        "bag bags bin bins can cans collected collection container containers day garbage recycling truck"
    ),
    "dump": parse_word_set("bed load truck trucks"),
    "poor": parse_word_set("condition light lighting quality reception service soil visibility weather"),
    "pee": parse_word_set("dog dogs puppy"),
    "poop": parse_word_set("bag bags bird birds dog dogs horse pigeon"),
    "dead": _PLANT_WORDS,
    "die": _PLANT_WORDS | parse_word_set("cast cut dice"),
    "dying": _PLANT_WORDS,
    "hang": parse_word_set(
        "clothes coat coats curtain curtains decorations glider hook hooks laundry out picture pictures"
    ),
    "shoot": parse_word_set(
        "ball basketball basket commercial film hoop hoops movie photo photograph picture pictures video"
    ),
    "kill": parse_word_set("bacteria bug bugs flies germs insects mosquitoes time weeds"),
    "killing": parse_word_set("bacteria bugs germs time weeds"),
    "fat": parse_word_set("content free low meat milk steak"),
    "gross": parse_word_set("weight"),
    "crazy": parse_word_set("colors colours hair hat pattern shirt socks weather"),
    "naked": parse_word_set("branches eye tree trees"),
    "hate": parse_word_set("broccoli rain snow vegetables"),
    "ugly": parse_word_set("sweater sweaters"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A matched word, ``text[start:end]``, its group, and a word that makes it probably harmless, if any."""

    start: int
    end: int
    group: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class TextFinding:
    """A text's score, 0 (nothing found) to 1, and the matched words; a model gives none."""

    score: float
    matches: tuple[WordMatch, ...] = ()


class ToxicityScorer(Protocol):
    """Scores texts. ``name`` and ``revision`` identify the scorer and are stored with every score."""

    name: str
    revision: str

    def score(self, texts: Sequence[str]) -> list[TextFinding]:
        """Return one finding per text."""
        ...


class WordList:
    """A list of words with weights. It matches whole words, without regard to spelling variants or meaning.

    A text's score is ``1 - Π(1 - weight)`` over the distinct words found. The weight of a word is a third if the text
    has a word that makes it probably harmless.
    """

    name = "word list"

    def __init__(self) -> None:
        self._groups = {word: group for group in reversed(WordGroup) for word in _WORDS[group]}
        listed = sorted(
            (word, group.value, sorted(HARMLESS_NEIGHBOURS.get(word, ())))
            for word, group in self._groups.items()
        )
        # Stored results name the digest of exactly this text, "Group" included.
        weights = ", ".join(
            f"(<Group.{g.name}: {g.value!r}>, {w!r})" for g, w in sorted(GROUP_WEIGHTS.items())
        )
        rules = f"({listed!r}, [{weights}], {HARMLESS_FACTOR!r})"
        digest = hashlib.sha256(rules.encode()).hexdigest()
        self.revision = f"{len(listed)} words, {digest[:12]}"

    def score(self, texts: Sequence[str]) -> list[TextFinding]:
        """Return one finding per text."""
        return [self._find(text) for text in texts]

    def _find(self, text: str) -> TextFinding:
        spans = list(word_spans(text))
        present = {word for word, _, _ in spans}
        matches, harmless_share, counted = [], 1.0, set[str]()
        for word, start, end in spans:
            group = self._groups.get(word)
            if group is None:
                continue
            beside = min(HARMLESS_NEIGHBOURS.get(word, frozenset()) & present, default="")
            matches.append(WordMatch(start, end, group.value, beside))
            if word not in counted:
                harmless_share *= 1 - GROUP_WEIGHTS[group] * (HARMLESS_FACTOR if beside else 1)
                counted.add(word)
        return TextFinding(round(1 - harmless_share, 6), tuple(matches))
