"""Answers of the scripted workers, derived deterministically from the page's config."""

import hashlib
from typing import Any

from annotation_site.demo.sample_observations import sample_observations

Config = dict[str, Any]
REASONABLE = ("highly", "relatively", "highly", "un")
INTERESTING = ("very", "interesting", "interesting", "caption_like")
BOXES = ("appropriate", "appropriate", "mostly", "appropriate")


def observation_answer_function(worker_index: int, names: dict[int, str]) -> Any:
    """Return an answering function for the observation task; ``names`` maps image ids to file names."""

    def answer(config: Config) -> dict[str, Any]:
        image = config["unit"]["image"]
        observations = sample_observations(names[image["id"]], image["id"], worker_index)
        return {
            "observations": [
                {
                    "index": index,
                    "clue": observation.clue,
                    "inference": observation.inference,
                    "confidence": 1 + _hash_number(observation.inference) % 3,
                    "boxes": [_box_in_pixels(observation.box, image["width"], image["height"])],
                }
                for index, observation in enumerate(observations, start=1)
            ]
        }

    return answer


def qualification_answer_function(
    worker_index: int, names: dict[int, str], descriptions: dict[int, str], *, caption_count: int = 0
) -> Any:
    """Return an answering function for the qualification task.

    The first ``caption_count`` pairs only describe the photo, so that the grader has something to decide.
    """

    def answer(config: Config) -> dict[str, Any]:
        photos, captions_left = [], caption_count
        for image in config["unit"]["photos"]:
            pairs = []
            for observation in sample_observations(names[image["id"]], image["id"], worker_index)[:3]:
                inference = f"There is {observation.clue}." if captions_left > 0 else observation.inference
                pairs.append(
                    {
                        "clue": observation.clue,
                        "inference": inference,
                        "confidence": 1 + _hash_number(observation.inference) % 3,
                    }
                )
                captions_left -= 1
            photos.append(
                {"image": image["id"], "description": descriptions[image["id"]] + ".", "pairs": pairs}
            )
        exam = [{"question": question["id"], "choice": 0} for question in config["unit"]["questions"]]
        return {"images": photos, "exam": exam}

    return answer


def pair_judging_answer_function(salt: str) -> Any:
    """Return an answering function for the observation review."""

    def answer(config: Config) -> dict[str, Any]:
        draw = _hash_number(salt + config["unit"]["inference"])
        return {
            "boxes": BOXES[draw % 4],
            "reasonable": REASONABLE[draw // 4 % 4],
            "interesting": INTERESTING[draw // 16 % 4],
        }

    return answer


def candidate_rating_answer_function(salt: str) -> Any:
    """Return an answering function for the Likert comparison."""

    def answer(config: Config) -> dict[str, Any]:
        return {
            "ratings": [
                {"candidate": item["id"], "rating": _rating(item["inference"], salt)}
                for item in config["unit"]["candidates"]
            ]
        }

    return answer


def region_matching_answer_function(salt: str, names: dict[int, str]) -> Any:
    """Return an answering function for the localization task: correct except on about every third photo.

    In such a photo two regions are swapped, as in people's answers.
    """

    def answer(config: Config) -> dict[str, Any]:
        unit = config["unit"]
        image = unit["image"]
        boxes = {
            observation.inference: _box_in_pixels(observation.box, image["width"], image["height"])
            for worker in (0, 1)
            for observation in sample_observations(names[image["id"]], image["id"], worker)
        }
        regions = [(region["id"], region["boxes"]) for region in unit["regions"]]
        matches = []
        for row in unit["inferences"]:
            index = next((n for n, (_, drawn) in enumerate(regions) if drawn == [boxes.get(row["text"])]), 0)
            matches.append({"inference": row["id"], "region": regions.pop(index)[0]})
        if _hash_number(salt + str(image["id"])) % 3 == 0:
            matches[0]["region"], matches[1]["region"] = matches[1]["region"], matches[0]["region"]
        return {"matches": matches}

    return answer


def _rating(text: str, salt: str) -> int:
    # Judges agree mostly: one in four ratings depends on the judge.
    own = _hash_number(salt + text)
    return 1 + (own if own % 4 == 0 else _hash_number(text)) % 3


def _box_in_pixels(box: tuple[float, float, float, float], width: int, height: int) -> dict[str, int]:
    left, top = int(box[0] * width), int(box[1] * height)
    return {
        "left": left,
        "top": top,
        "width": max(1, min(int(box[2] * width), width - left)),
        "height": max(1, min(int(box[3] * height), height - top)),
    }


def _hash_number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
