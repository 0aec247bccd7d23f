"""Answers of the scripted workers to the tasks of VCR, derived from the page's config."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from annotation_site.demo.vcr.texts import write_triplets
from hits.domain.hashing import canonical_json
from hits.kinds.vcr_exam.questions import QUESTIONS

Config = dict[str, Any]
AnswerFunction = Callable[[Config], dict[str, Any]]
RIGHT_SHARE = 0.9  # of a scripted worker's choices that are right
ADVICE = "Your reasons name what the picture shows. Name the knowledge too: why does it lead to your answer?"


def exam_answer(config: Config) -> dict[str, Any]:
    """Answer all questions of the exam correctly, and write one triplet."""
    right = {question["id"]: question["right"] for question in QUESTIONS}
    written = write_triplets(config["unit"], "exam")
    return {
        "exam": [
            {"question": question["id"], "choice": right[question["id"]]}
            for question in config["unit"]["questions"]
        ],
        "triplet": written["triplets"][0],
        "objects_sha256": config["unit"]["objects_sha256"],
    }


def writing_answer(config: Config) -> dict[str, Any]:
    """Write three triplets about a frame."""
    return write_triplets(config["unit"], f"image {config['unit']['image']['id']}")


def review_answer(config: Config) -> dict[str, Any]:
    """Review another worker's triplets."""
    return {
        "triplets": [
            {
                "triplet": triplet["number"],
                "question": "good",
                "answer": "reasonable",
                "rationale": "explains",
                "tags": "right",
            }
            for triplet in config["unit"]["triplets"]
        ],
        "advice": ADVICE,
        "overall": "keep_advice",
    }


def choice_answer_function(name: str, right_texts: Mapping[bytes, Sequence[Any]]) -> AnswerFunction:
    """Return a function that answers a choice task: nine in ten of its choices are right.

    right_texts: the right responses of each question, by ``choice_key``.
    """

    def answer(config: Config) -> dict[str, Any]:
        unit = config["unit"]
        right = right_texts[choice_key(unit["image"]["id"], unit["question"], unit["answer"])]
        draw = _random_share(f"{name} {unit['question']} {unit['stage']}")
        matching = [row["index"] for row in unit["choices"] if (row["text"] in right) == (draw < RIGHT_SHARE)]
        return {"choice": matching[0], "several": False}

    return answer


def choice_key(image: int, question: Sequence[Any], answer: Sequence[Any] | None) -> bytes:
    """Return the key of a question about an image. answer: the right answer if workers choose a rationale."""
    return canonical_json([image, question, answer])


def _random_share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32
