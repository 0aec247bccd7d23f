"""Which objects a model looks at, and their classes. No torch.

As published (Zellers et al. 2019 §E; ``dataloaders/vcr.py`` of rowanz/r2c): a model gets the objects that the query
or a response mentions. "Everyone" mentions all people; and if nothing is mentioned, all people are used. The whole
image is one more object, at position 0, and every word that is not a tag looks at it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from curation.chooser.questions import ChoiceQuestion
from curation.evaluation.choice_items import Text, tagged_objects
from hits.domain.images.detections import is_person

WHOLE_IMAGE = 0
"""The position of the whole image among a model's objects."""
BACKGROUND = "background"
EVERYONE = frozenset({"everyone", "everyones"})
_COCO_NAMES = (
    "person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign, "
    "parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella, "
    "handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, "
    "surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, "
    "broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, "
    "laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, "
    "scissors, teddy bear, hair drier, toothbrush"
)
COCO_CLASSES = tuple(_COCO_NAMES.split(", "))
"""The 80 classes of COCO (Lin et al. 2014, doi:10.1007/978-3-319-10602-1_48) in their published order."""


@dataclass(frozen=True, slots=True)
class ClassVocabulary:
    """The classes that a model distinguishes; number 0 is the background: the whole image, and unknown classes."""

    names: tuple[str, ...] = (BACKGROUND, *COCO_CLASSES)

    def __len__(self) -> int:
        """Number of classes, with the background."""
        return len(self.names)

    def numbers(self, classes: Sequence[str]) -> list[int]:
        """Return each class's number; spaces, hyphens and case do not matter ("pottedplant")."""
        return [_class_numbers(self.names).get(_plain_name(name), 0) for name in classes]


@lru_cache(maxsize=8)
def _class_numbers(names: tuple[str, ...]) -> Mapping[str, int]:
    return {_plain_name(name): number for number, name in enumerate(names)}


@lru_cache(maxsize=10_000)
def _plain_name(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def mentioned_objects(question: ChoiceQuestion) -> tuple[int, ...]:
    """Return the objects that the query or a response mentions, sorted; all people if none is mentioned."""
    texts = (question.query, *question.responses)
    found = set().union(*map(tagged_objects, texts))
    people = {index for index, name in enumerate(question.objects) if is_person(name)}
    if not found or any(_mentions_everyone(text) for text in texts):
        found |= people
    return tuple(sorted(found))


def _mentions_everyone(text: Text) -> bool:
    return any(isinstance(token, str) and token.lower() in EVERYONE for token in text)


def model_positions(objects: Sequence[int]) -> dict[int, int]:
    """Return the position of each object among a model's objects, which begin with the whole image."""
    return {index: position for position, index in enumerate(objects, start=WHOLE_IMAGE + 1)}


def place_words(
    text: Text, names: Mapping[int, str], positions: Mapping[int, int]
) -> tuple[list[str], list[int]]:
    """Return a text's words, and the position of the object that each word looks at.

    A tag becomes one word for each of its objects, its name; other words look at the whole image.
    """
    words: list[str] = []
    places: list[int] = []
    for token in text:
        if isinstance(token, str):
            words.append(token)
            places.append(WHOLE_IMAGE)
        else:
            words += [names[index] for index in token]
            places += [positions[index] for index in token]
    return words, places
