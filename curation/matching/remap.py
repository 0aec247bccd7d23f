"""Give a response that was written for another image tags of this image's objects.

A tag goes to an object of the same class: with the probability ``share`` to one of the *preferred* objects, which the
query or its right response tags, and otherwise to any. The draws of a pair depend only on a secret and on both ids,
not on the share, the round or the other choices. So the holder of the secret gets the same text every time, a share
can be fitted on unchanged draws, and nobody else can recognise the right response as the one that fits no draw.
Sources: Zellers et al. 2019, appendix C, "Aligning Detections"; it states neither the probability nor the rule for
classes.
"""

import hmac
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hits.domain.hashing import canonical_json
from hits.domain.tagged_text import Segment, Segments, mentions, normalize_segments

DRAWS_PER_DIGEST = 2  # a digest has four numbers of 64 bits; a tag takes two
MANTISSA_BITS = 53


@dataclass(frozen=True, slots=True)
class TagDraw:
    """Two numbers in [0, 1): a preferred object is chosen if ``threshold`` is below the share; ``position`` chooses.

    Both are independent of each other and of other tags.
    """

    threshold: float
    position: float


@dataclass(frozen=True, slots=True)
class Remapped:
    """A response for another image. mapping: pairs of old and new object. words: classes that stand as words."""

    segments: tuple[Segment, ...]
    mapping: tuple[tuple[int, int], ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What a response is remapped to.

    objects: the class of each object of the image. preferred: those that the query or its right response tags.
    distinct: different objects of the response stay different where the image has enough of the class.
    """

    objects: Sequence[str]
    preferred: Collection[int]
    distinct: bool = True


def draw_tags(secret: bytes, query_id: str, response_id: str, count: int) -> list[TagDraw]:
    """Return the draws for the distinct tagged objects of a response, in order of mention.

    Args:
        secret: of the question set.
        query_id, response_id: of the triplets whose query, and whose response, they are.
        count: the number of objects; a longer list begins with a shorter one.
    """
    draws: list[TagDraw] = []
    while len(draws) < count:
        message = canonical_json([query_id, response_id, len(draws) // DRAWS_PER_DIGEST])
        digest = hmac.digest(secret, message, "sha256")
        numbers = [
            (int.from_bytes(digest[start : start + 8]) >> (64 - MANTISSA_BITS)) / 2**MANTISSA_BITS
            for start in range(0, 32, 8)
        ]
        draws += [TagDraw(*numbers[:2]), TagDraw(*numbers[2:])]
    return draws[:count]


def remap_response(
    response: Segments, names: Sequence[str], target: Target, draws: Sequence[TagDraw], share: float
) -> Remapped:
    """Return a response with tags of another image's objects.

    A tag whose class the image lacks becomes words, such as "the car".

    Args:
        response: the text. names: the class of each object of the image that it was written for.
        target: the other image.
        draws: at least one for each distinct object that the response tags.
        share: probability of a preferred object, from 0 to 1.
    """
    mapping = map_objects(response, names, target, draws, share)
    tagged = dict.fromkeys(mentions(response))
    words = tuple(dict.fromkeys(names[index] for index in tagged if index not in mapping))
    segments = [
        item
        for segment in response
        for item in (
            [segment] if isinstance(segment, str) else _replace_tag(segment["objects"], names, mapping)
        )
    ]
    found = normalize_segments(segments)
    if response and not isinstance(response[0], str) and isinstance(found[0], str):
        found[0] = found[0][:1].upper() + found[0][1:]  # words at the start of the sentence
    return Remapped(tuple(found), tuple(mapping.items()), words)


def map_objects(
    response: Segments, names: Sequence[str], target: Target, draws: Sequence[TagDraw], share: float
) -> dict[int, int]:
    """Return the new object of each tagged object, in order of mention; objects of missing classes are left out.

    Arguments as for ``remap_response``.
    """
    mapping: dict[int, int] = {}
    for index, draw in zip(dict.fromkeys(mentions(response)), draws, strict=False):
        pool = [other for other, name in enumerate(target.objects) if name == names[index]]
        if target.distinct:
            pool = [other for other in pool if other not in mapping.values()] or pool
        if draw.threshold < share:
            pool = [other for other in pool if other in target.preferred] or pool
        if pool:
            mapping[index] = pool[int(draw.position * len(pool))]
    return mapping


def _replace_tag(
    objects: Sequence[int], names: Sequence[str], mapping: Mapping[int, int]
) -> Iterator[Segment]:
    """Yield the segments of a tag: the new objects, then the classes that stand as words."""
    known = [mapping[index] for index in objects if index in mapping]
    words = dict.fromkeys(f"the {names[index]}" for index in objects if index not in mapping)
    if known:
        yield {"objects": known}
    if words:
        yield (" and " if known else "") + " and ".join(words)
