"""Qualification and training as tests need them: batches that are live, and answers a careful worker would give."""

from typing import Any

from hits.models import Batch, Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish

QUESTIONS = [
    {
        "id": "caption",
        "text": "“There is a book on the bed.” What is wrong with this inference?",
        "choices": ["It is too long", "It says only what a camera records"],
        "right": 1,
    },
    {
        "id": "proof",
        "text": "Must a photo prove an inference?",
        "choices": ["No, but one should follow it", "Yes", "Only when it is certain"],
        "right": 0,
    },
]


def qualification(
    project: Project, images: list[Image], *, questions: list[dict[str, Any]] | None = None
) -> Batch:
    """Return a live batch of one qualification HIT on three images; without ``questions`` the two above are asked."""
    payload = {
        "images": [image.pk for image in images],
        "questions": QUESTIONS if questions is None else questions,
    }
    batch, _ = launch_batch(
        project=project,
        kind_name="sherlock_qualification",
        name="Qualification",
        units=[PlannedUnit(key="set-1", payload=payload)],
        by=None,
        terms=LaunchTerms(),
    )
    publish.publish_batch(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    return batch


def qualification_answer(hit: Hit) -> dict[str, Any]:
    """Return a complete answer to a qualification HIT, all of its exam right."""
    payload = hit.unit.payload
    return {
        "images": [
            {
                "image": image,
                "description": f"Stripes and colours, the picture number {place}.",
                "pairs": [
                    {
                        "clue": f"the {n}. stripe of photo {place}",
                        "inference": f"Somebody painted photo {place} {n} hours ago.",
                        "confidence": n,
                    }
                    for n in (1, 2, 3)
                ],
            }
            for place, image in enumerate(payload["images"], start=1)
        ],
        "exam": [{"question": row["id"], "choice": row["right"]} for row in payload["questions"]],
    }
