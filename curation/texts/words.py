"""Words of a text, and those that say nothing about its topic."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# English words that occur with any topic: function words, and the hedges that inferences are written with.
FUNCTION_WORDS = _set("""
    a about above across after again against ago all almost alone along already also although always am
    among an and another any anybody anyone anything are around as at away back be because been before
    behind being below beside between both but by can cannot could did do does doing done down during each
    either else enough even ever every everybody everyone everything few for from further get gets getting
    go goes going gone got had has have having he her here hers herself him himself his how however i if in
    indeed inside into is it its itself just kind later least less like likely lot lots many may maybe me
    might mine more most much must my myself near need needs neither never next no nobody none nor not
    nothing now of off often on once one only onto or other others our ours ourselves out outside over own
    perhaps possibly probably put puts quite rather really recently same seem seems shall she should since
    so some somebody someone something sometimes soon sort still such suggest suggests than that the their
    theirs them themselves then there these they thing things this those though through to together too
    toward towards under until up upon us very via was way we well were what when where whether which while
    who whom whose why will with within without would yes yet you your yours yourself ain't aren't can't
    couldn't didn't doesn't don't hadn't hasn't haven't he'd he'll he's i'd i'll i'm i've isn't it'll it's
    let's mightn't mustn't she'd she'll she's shouldn't that's there's they'd they'll they're they've wasn't
    we'd we'll we're we've weren't what's who's won't wouldn't you'd you'll you're you've
    """)
SHORTEST = 2  # letters of a word that may name a topic


def spans_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word in lower case with its place, ``text[start:end]``."""
    for match in _WORD.finditer(text):
        yield match.group().casefold().replace("’", "'"), match.start(), match.end()


def topical_words(text: str) -> list[str]:
    """Return the words of a text that may name its topic, in lower case and in their order."""
    return [word for word, _, _ in spans_of(text) if len(word) >= SHORTEST and word not in FUNCTION_WORDS]
