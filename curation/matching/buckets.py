"""Divide the triplets of a fold into buckets, within which responses are exchanged.

Buckets keep the gender of a response's pronouns apart, since a choice with the wrong one gives itself away. Answers
are then divided by the type of their question; large buckets are cut by sentence vectors.
Source: Zellers et al. 2019, appendix C, "Semantic categories"; it leaves responses of both genders open.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from curation.matching.clustering import Vectors, cluster_evenly, mean_direction
from curation.matching.options import DEFAULT_BUCKET_SIZE, ROUNDS
from curation.records import InvalidInput

FEMALE_WORDS = frozenset({"she", "her", "hers", "herself"})
MALE_WORDS = frozenset({"he", "him", "his", "himself"})
QUESTION_WORDS = frozenset({"what", "who", "whom", "whose", "which", "where", "when", "why", "how"})
AUXILIARIES = frozenset(
    {"is", "are", "was", "were", "am", "be", "do", "does", "did", "has", "have", "had"}
    | {"can", "could", "will", "would", "shall", "should", "may", "might", "must"}
)
MIN_BOTH_SIZE = 200
MIN_BUCKET_SIZE = 50
LEAST_SIZE = 2 * (ROUNDS + 1)
WORD_PATTERN = re.compile(r"[^\W_]+")


class PronounGender(StrEnum):
    """The gender of a response's third-person pronouns."""

    FEMALE = "female"
    MALE = "male"
    NEUTRAL = "neutral"
    BOTH = "both"


def pronoun_gender(text: str) -> PronounGender:
    """Return the gender of a text's pronouns. text: tags as class words."""
    words = set(WORD_PATTERN.findall(text.lower()))
    is_female, is_male = bool(words & FEMALE_WORDS), bool(words & MALE_WORDS)
    if is_female and is_male:
        return PronounGender.BOTH
    return PronounGender.FEMALE if is_female else PronounGender.MALE if is_male else PronounGender.NEUTRAL


def question_type(text: str) -> str:
    """Return a question's type: its question word, ``yes-no`` after an auxiliary, else ``other``.

    The first word decides; only if it is neither, the first question word of the text does ("And why ...").
    """
    words = WORD_PATTERN.findall(text.lower())
    if words and words[0] in AUXILIARIES:
        return "yes-no"
    return next((word for word in words if word in QUESTION_WORDS), "other")


@dataclass(frozen=True, slots=True)
class BucketOptions:
    """size: the most triplets of a bucket. min_size: smaller ones are joined with others. seed: of the clusters."""

    size: int = DEFAULT_BUCKET_SIZE
    min_size: int = MIN_BUCKET_SIZE
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < LEAST_SIZE:
            raise InvalidInput(f"bucket size: {self.size} is too small; give at least {LEAST_SIZE}")

    @property
    def join_below(self) -> int:
        """The size below which buckets are joined; half of ``size`` at most, the size of the parts of a cut one."""
        return min(self.min_size, self.size // 2)


@dataclass(frozen=True, slots=True)
class Bucket:
    """name: gender, question type and part, such as ``female-why-2``. members: ascending positions in the fold.

    ``female-why+types`` has questions of rarer types too, and ``neutral+female`` the responses of a rarer gender.
    """

    name: str
    members: tuple[int, ...]


def make_buckets(
    responses: Sequence[str],
    vectors: Vectors,
    options: BucketOptions,
    *,
    questions: Sequence[str] | None = None,
) -> list[Bucket]:
    """Return the buckets of n triplets of a fold, by name; every triplet is in one.

    responses: n texts with class words. vectors: (n, d) unit sentence vectors of the queries. questions: n texts if
    question types divide the buckets, as for answers. The triplets have to be in the order of their ids.
    """
    genders = _gender_buckets([pronoun_gender(text) for text in responses])
    types = ["" if questions is None else question_type(questions[index]) for index in range(len(responses))]
    groups = _join_small(_group(genders, types), vectors, options.join_below)
    buckets: list[Bucket] = []
    for key, members in sorted(groups.items()):
        parts = cluster_evenly(vectors[members], options.size, options.seed)
        for number in range(int(parts.max(initial=-1)) + 1):
            name = key if parts.max() == 0 else f"{key}-{number + 1}"
            buckets.append(Bucket(name, tuple(members[parts == number].tolist())))
    return buckets


def _gender_buckets(genders: Sequence[PronounGender]) -> list[PronounGender]:
    """Return the genders, with both as neutral where it is too rare for a bucket of its own."""
    if Counter(genders)[PronounGender.BOTH] >= MIN_BOTH_SIZE:
        return list(genders)
    return [PronounGender.NEUTRAL if item is PronounGender.BOTH else item for item in genders]


Groups = dict[str, NDArray[np.int64]]


def _group(genders: Sequence[PronounGender], types: Sequence[str]) -> Groups:
    names = [f"{gender}-{kind}" if kind else str(gender) for gender, kind in zip(genders, types, strict=True)]
    return {
        name: np.array([i for i, item in enumerate(names) if item == name]) for name in sorted(set(names))
    }


def _join_small(groups: Groups, vectors: Vectors, min_size: int) -> Groups:
    """Join small groups with the nearest of their gender, then what is left of a gender with the neutral ones."""
    for gender in PronounGender:
        same = {name: members for name, members in groups.items() if _gender(name) == gender}
        rest = {name: members for name, members in groups.items() if name not in same}
        groups = rest | _join_nearest(same, vectors, min_size)
    joinable = {
        name: members
        for name, members in groups.items()
        if len(members) < min_size or _gender(name) == PronounGender.NEUTRAL
    }
    rest = {name: members for name, members in groups.items() if name not in joinable}
    return rest | _join_nearest(joinable, vectors, min_size)


def _join_nearest(groups: Groups, vectors: Vectors, min_size: int) -> Groups:
    """Return the groups after each one that is too small, the smallest first, has joined the nearest other one."""
    groups = dict(groups)
    while len(groups) > 1:
        name = min(groups, key=lambda item: (len(groups[item]), item))
        if len(groups[name]) >= min_size:
            break
        members = groups.pop(name)
        centre = mean_direction(vectors[members])
        nearest = max(groups, key=lambda item: (float(mean_direction(vectors[groups[item]]) @ centre), item))
        merged = np.sort(np.concatenate([groups.pop(nearest), members]))
        groups[_join_names(nearest, name)] = merged
    return groups


def _gender(name: str) -> str:
    return re.split(r"[-+]", name)[0]


def _join_names(target: str, joined: str) -> str:
    genders = [gender for gender in (_gender(joined), *joined.split("+")[1:]) if gender != _gender(target)]
    base, *added = target.split("+")
    extra = ["types"] if _gender(joined) == _gender(target) else []
    return "+".join([base, *sorted({*added, *extra, *genders})])
