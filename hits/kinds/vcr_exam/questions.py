"""The built-in questions of the exam. They are about the drawing ``bus.svg`` and about the rules of the task."""

from collections.abc import Mapping
from typing import Any

DRAWING = "bus"
# What each drawing shows, for people who cannot see it.
DRAWINGS: Mapping[str, str] = {
    DRAWING: "A drawing of a bus stop in the rain, with five numbered objects: person 1 runs with a raised arm, "
    "handbag 2 lies on the ground behind person 1, person 3 stands under umbrella 4 and looks at person 1, and the "
    "door of bus 5 is closed.",
}

QUESTIONS: tuple[Mapping[str, Any], ...] = (
    {
        "id": "question-why",
        "text": "Which is the best question about the drawing?",
        "choices": [
            "What is person 1 wearing?",
            "Why does person 1 raise an arm?",
            "How many people are there?",
            "What colour is umbrella 4?",
        ],
        "right": 1,
        "picture": DRAWING,
    },
    {
        "id": "question-specific",
        "text": "Which question is about this drawing alone, and not about any picture?",
        "choices": [
            "What are they thinking?",
            "What will happen next?",
            "Will bus 5 wait for person 1?",
            "Where are these people?",
        ],
        "right": 2,
        "picture": DRAWING,
    },
    {
        "id": "answer-reasonable",
        "text": "“Why does person 1 raise an arm?” Which answer is reasonable?",
        "choices": [
            "Person 1 wants the driver of bus 5 to wait.",
            "Person 1 has an arm that is raised.",
            "Person 1 sends a signal to a ship at sea.",
            "Because of person 3.",
        ],
        "right": 0,
        "picture": DRAWING,
    },
    {
        "id": "rationale-explains",
        "text": "“Person 1 wants the driver of bus 5 to wait.” Which reason explains it?",
        "choices": [
            "Person 1 would like bus 5 to wait for a moment.",
            "It is obvious when one looks at the drawing.",
            "Person 1 runs towards the closed door of bus 5, and people wave to drivers whom they want to stop.",
            "Person 1 and person 3 met at school many years ago.",
        ],
        "right": 2,
        "picture": DRAWING,
    },
    {
        "id": "tag-bag",
        "text": "“Person 1 will soon notice that ___ is gone.” Which object is meant?",
        "choices": ["handbag 2", "person 3", "umbrella 4", "bus 5"],
        "right": 0,
        "picture": DRAWING,
    },
    {
        "id": "tag-person",
        "text": "How do you mention the person under the umbrella?",
        "choices": [
            "“the woman on the right”",
            "“she”",
            "“person 3”, by typing 3 and Space",
            "by the name of the actor",
        ],
        "right": 2,
        "picture": DRAWING,
    },
    {
        "id": "likelihood",
        "text": "“Person 3 is a detective who follows person 1.” How likely is this answer?",
        "choices": ["Likely, over 75 %", "Possible, 25 to 75 %", "Unlikely, under 25 %"],
        "right": 2,
        "picture": DRAWING,
    },
    {
        "id": "rationale-parts",
        "text": "What belongs in a reason?",
        "choices": [
            "The answer once more, in other words",
            "What the photo shows, and what people know about such situations",
            "How sure you are",
            "The name of the film",
        ],
        "right": 1,
        "picture": "",
    },
    {
        "id": "tag-number",
        "text": "You want to write “3 o’clock”, and the page suggests “person 3”. What do you do?",
        "choices": [
            "Press Escape, so that the number stays text",
            "Press Space, and delete the rest",
            "Write about another time",
            "Mention person 3, too",
        ],
        "right": 0,
        "picture": "",
    },
    {
        "id": "mentions",
        "text": "You write three questions with answers and reasons. How many objects must they mention together?",
        "choices": ["None", "At least one", "At least three", "All objects of the photo"],
        "right": 2,
        "picture": "",
    },
)
