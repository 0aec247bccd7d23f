"""How models read tags: as names of people and classes of things, or as coloured boxes. No torch."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from curation.chooser.questions import ChoiceQuestion
from curation.evaluation.choice_items import Text, to_segments
from hits.domain.images.detections import is_person
from hits.domain.images.region_drawing import OBJECT_COLOURS
from hits.domain.tagged_text import class_text

_NEUTRAL_NAMES = (
    "Casey, Riley, Jessie, Jackie, Avery, Jaime, Peyton, Kerry, Jody, Kendall, Skyler, Frankie, Pat, Quinn, Morgan, "
    "Taylor, Jordan, Rowan, Sage, Emerson, Finley, Harper, Dakota, Reese, Robin, Sidney"
)
NEUTRAL_NAMES = tuple(_NEUTRAL_NAMES.split(", "))
"""Gender-neutral names. The published lists have 15, one of them twice (``dataloaders/vcr.py`` of rowanz/r2c)."""


def name_objects(classes: Sequence[str], texts: Sequence[Text]) -> list[str]:
    """Return a name for each object of an image, as a text model reads it (Zellers et al. 2019 §6.1 and §E).

    People get gender-neutral names in order of their first mention in ``texts``, then in the image's order; other
    objects get their class.
    """
    mentioned = (index for text in texts for token in text if not isinstance(token, str) for index in token)
    people = [i for i in dict.fromkeys([*mentioned, *range(len(classes))]) if is_person(classes[i])]
    ranks = {index: rank for rank, index in enumerate(people)}
    return [
        NEUTRAL_NAMES[ranks[index] % len(NEUTRAL_NAMES)] if index in ranks else name
        for index, name in enumerate(classes)
    ]


def named_pair(question: ChoiceQuestion, response: Text) -> tuple[str, str]:
    """Return the query and a response with the names of ``name_objects``, each as one string."""
    names = name_objects(question.objects, (question.query, response))
    return class_text(to_segments(question.query), names), class_text(to_segments(response), names)


def colour_objects(objects: Sequence[int]) -> dict[int, str]:
    """Return the named colour of each of these objects, as ``region_drawing.outline_boxes`` draws them in order."""
    return dict(zip(objects, cycle(OBJECT_COLOURS), strict=False))


def coloured_text(question: ChoiceQuestion, response: Text, colours: Mapping[int, str]) -> str:
    """Return query and response with tags such as "the person in the blue box"."""
    names = [
        f"the {name} in the {colours[index]} box" if index in colours else name
        for index, name in enumerate(question.objects)
    ]
    return class_text(to_segments(question.query + response), names)
