"""What the scripted workers answer. Deterministic: the page's config is all they look at."""

import hashlib
from typing import Any

from annotation_site.demo.lines import lines_for

Config = dict[str, Any]
REASONABLE = ("highly", "relatively", "highly", "un")
INTERESTING = ("very", "interesting", "interesting", "caption_like")
BOXES = ("appropriate", "appropriate", "mostly", "appropriate")


def writer(part: int, names: dict[int, str]) -> Any:
    """Return an answering function for the observation task; ``names`` maps image ids to file names."""

    def answer(config: Config) -> dict[str, Any]:
        image = config["unit"]["image"]
        lines = lines_for(names[image["id"]], image["id"], part)
        return {
            "observations": [
                {
                    "index": index,
                    "clue": line.clue,
                    "inference": line.inference,
                    "confidence": 1 + _number(line.inference) % 3,
                    "boxes": [_pixels(line.box, image["width"], image["height"])],
                }
                for index, line in enumerate(lines, start=1)
            ]
        }

    return answer


def applicant(part: int, names: dict[int, str], descriptions: dict[int, str], *, captions: int = 0) -> Any:
    """Return an answering function for the qualification task.

    The first ``captions`` pairs only say what is seen, so that whoever grades has something to decide.
    """

    def answer(config: Config) -> dict[str, Any]:
        photos, left = [], captions
        for image in config["unit"]["photos"]:
            pairs = []
            for line in lines_for(names[image["id"]], image["id"], part)[:3]:
                inference = f"There is {line.clue}." if left > 0 else line.inference
                pairs.append(
                    {"clue": line.clue, "inference": inference, "confidence": 1 + _number(line.inference) % 3}
                )
                left -= 1
            photos.append(
                {"image": image["id"], "description": descriptions[image["id"]] + ".", "pairs": pairs}
            )
        exam = [{"question": question["id"], "choice": 0} for question in config["unit"]["questions"]]
        return {"images": photos, "exam": exam}

    return answer


def reviewer(salt: str) -> Any:
    """Return an answering function for the observation review."""

    def answer(config: Config) -> dict[str, Any]:
        draw = _number(salt + config["unit"]["inference"])
        return {
            "boxes": BOXES[draw % 4],
            "reasonable": REASONABLE[draw // 4 % 4],
            "interesting": INTERESTING[draw // 16 % 4],
        }

    return answer


def judge(salt: str) -> Any:
    """Return an answering function for the Likert comparison."""

    def answer(config: Config) -> dict[str, Any]:
        return {
            "ratings": [
                {"candidate": item["id"], "rating": _rating(item["inference"], salt)}
                for item in config["unit"]["candidates"]
            ]
        }

    return answer


def matcher(salt: str, names: dict[int, str]) -> Any:
    """Return an answering function for the localization task: mostly right, since the scripts know the lines.

    About every third photo has two regions mixed up, as people's answers do.
    """

    def answer(config: Config) -> dict[str, Any]:
        unit = config["unit"]
        image = unit["image"]
        boxes = {
            line.inference: _pixels(line.box, image["width"], image["height"])
            for part in (0, 1)
            for line in lines_for(names[image["id"]], image["id"], part)
        }
        left = [(region["id"], region["boxes"]) for region in unit["regions"]]
        found = []
        for row in unit["inferences"]:
            at = next((n for n, (_, drawn) in enumerate(left) if drawn == [boxes.get(row["text"])]), 0)
            found.append({"inference": row["id"], "region": left.pop(at)[0]})
        if _number(salt + str(image["id"])) % 3 == 0:
            found[0]["region"], found[1]["region"] = found[1]["region"], found[0]["region"]
        return {"matches": found}

    return answer


def _rating(text: str, salt: str) -> int:
    # Two judges agree mostly, not always: one in four ratings depends on who is asked.
    own = _number(salt + text)
    return 1 + (own if own % 4 == 0 else _number(text)) % 3


def _pixels(box: tuple[float, float, float, float], width: int, height: int) -> dict[str, int]:
    left, top = int(box[0] * width), int(box[1] * height)
    return {
        "left": left,
        "top": top,
        "width": max(1, min(int(box[2] * width), width - left)),
        "height": max(1, min(int(box[3] * height), height - top)),
    }


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
