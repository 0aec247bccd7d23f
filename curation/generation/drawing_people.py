"""People that test drawings show, and what a prompt says about them."""

import re
from collections.abc import Mapping

from curation.generation.drawing_canvas import BLACK, Colour, Frame, HashNumbers, Palette, mix

_PEOPLE_PATTERN = re.compile(
    r"\b(man|woman|person|boy|girl|child|kid|baby|he|she|someone|somebody|student|teacher|doctor|nurse|worker|player|"
    r"father|mother|friend|passenger|driver|cook|chef|farmer|guest|customer|runner|cyclist|waiter|singer|bride|groom)\b"
)
_GROUPS_PATTERN = re.compile(
    r"\b(men|women|people|children|kids|friends|couple|family|crowd|students|players|guests|parents|they|both|team)\b"
)
_COUNTS: Mapping[str, int] = {
    "two": 2,
    "three": 3,
    "four": 4,
    "couple": 2,
    "both": 2,
    "family": 3,
    "crowd": 4,
    "team": 4,
}
_MOODS: Mapping[str, str] = {
    "happy": r"happy|smil\w*|laugh\w*|celebrat\w*|danc\w*|cheer\w*|joy\w*|proud|wav\w+|hug\w*",
    "sad": r"sad|cry\w*|cries|tears?|upset|angry|hurt|worried|scared|afraid|lonely|sick|ill|tired",
}
_CHILDREN_PATTERN = re.compile(r"\b(child|children|kids?|boys?|girls?|baby|son|daughter|pupils?|toddlers?)\b")
MAX_PEOPLE = 4


def draw_person(
    frame: Frame, palette: Palette, numbers: HashNumbers, name: str, mood: str, shadow: Colour
) -> None:
    """Draw a person. name: gives their looks, which stay the same for the same numbers. mood: happy, sad or calm."""
    clothes = palette.clothes[numbers.pick(f"{name} top", len(palette.clothes))]
    trousers = mix(palette.clothes[numbers.pick(f"{name} legs", len(palette.clothes))], BLACK, 0.45)
    skin = palette.skin[numbers.pick(f"{name} skin", len(palette.skin))]
    hair = palette.hair[numbers.pick(f"{name} hair", len(palette.hair))]
    frame.ellipse(0, 0.005, 0.2, 0.025, shadow)
    for side in (-1, 1):
        frame.line([(side * 0.05, 0.42), (side * 0.065, 0.05)], 0.085, trousers)
        frame.ellipse(side * 0.085, 0.03, 0.06, 0.03, BLACK)
    raised = 0.16 if mood == "happy" else 0.0
    for side in (-1, 1):
        lift = raised * (side > 0)
        hand = (side * 0.215, 0.4 + 2 * lift)
        arm = [(side * 0.115, 0.66), (side * 0.19, 0.52 + lift), hand]
        frame.line(arm, 0.062, mix(clothes, BLACK, 0.12))
        frame.ellipse(*hand, 0.034, 0.034, skin)
    frame.box(-0.14, 0.38, 0.14, 0.715, clothes, 0.06)
    frame.box(-0.035, 0.69, 0.035, 0.76, skin)
    _draw_head(
        frame.part(0, 0.845, 0.115), skin, hair, mood, has_long_hair=numbers.pick(f"{name} long", 2) == 0
    )


def _draw_head(head: Frame, skin: Colour, hair: Colour, mood: str, *, has_long_hair: bool) -> None:
    if has_long_hair:
        head.box(-1.08, -1.35, 1.08, 0.6, hair, 0.5)
    head.ellipse(0, 0.22, 1.08, 1.05, hair)
    head.ellipse(0, -0.08, 0.92, 0.98, skin)
    head.polygon([(-0.9, 0.3), (-0.2, 0.42), (0.9, 0.3), (0.7, 0.86), (0, 1.1), (-0.7, 0.86)], hair)
    for side in (-1, 1):
        head.ellipse(side * 0.36, 0.05, 0.1, 0.14, BLACK)
    mouth = mix(skin, (120, 30, 40), 0.7)
    if mood == "happy":
        head.arc(0, -0.3, 0.4, 0.32, (15, 165), 0.12, mouth)
    elif mood == "sad":
        head.arc(0, -0.72, 0.36, 0.3, (200, 340), 0.12, mouth)
        head.ellipse(0.42, -0.28, 0.09, 0.16, (110, 170, 220))
    else:
        head.line([(-0.25, -0.5), (0.25, -0.5)], 0.1, mouth)


def count_people(words: str) -> int:
    """Return how many people a text in small letters names, at most 4."""
    named = len(set(_PEOPLE_PATTERN.findall(words)) - {"he", "she"}) or (
        1 if re.search(r"\b(he|she)\b", words) else 0
    )
    if _GROUPS_PATTERN.search(words):
        counts = [count for word, count in _COUNTS.items() if re.search(rf"\b{word}\b", words)]
        named = max(named, counts[0] if counts else 2)
    return min(named, MAX_PEOPLE)


def names_children(words: str) -> bool:
    """Return whether a text in small letters names children."""
    return _CHILDREN_PATTERN.search(words) is not None


def find_mood(words: str) -> str:
    """Return the mood that a text in small letters names: happy, sad or calm."""
    for mood, pattern in _MOODS.items():
        if re.search(rf"\b({pattern})\b", words):
            return mood
    return "calm"
