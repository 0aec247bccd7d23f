"""How often live hints are right: ``python -m tests.benchmarks.hints [--data DIR] [--json | --table]``.

The texts are those of the folder that ``DEERSTALKER_DATA`` names: Sherlock's published examples and the captions of
openly licensed COCO photographs. Halves are split by a hash of the photo, so that no photo stands in both; thresholds
are looked for in the first half ("tuning"), and everything is reported on the second ("held out").
"""

import argparse
import hashlib
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hits.domain.answers.pronouns import find_pronouns
from hits.hints.caption import caption_span
from hits.hints.card import Card, HintRule
from hits.hints.find_hints import MIN_COSINES
from hits.hints.rules import LARGE_SHARE, SMALL_SHARE, are_opposed, find_profanity, has_same_words

LABELS = Path(__file__).with_name("hints_labels.json")
GRID = [round(0.5 + step / 100, 2) for step in range(50)]
Z = 1.959964  # two-sided 95 %


@dataclass(frozen=True)
class Text:
    """One sentence. ``photo`` groups what was written about one picture; ``clue`` stands beside an inference."""

    id: str
    photo: str
    text: str
    is_caption: bool
    clue: str = ""

    @property
    def half(self) -> str:
        """Which half its photo falls into."""
        return "tuning" if hashlib.sha256(self.photo.encode()).digest()[0] % 2 == 0 else "held out"


@dataclass(frozen=True)
class Compared:
    """Two texts, whether they say the same, and where they come from."""

    a: Text
    b: Text
    same: bool
    source: str
    cosine: float = 0.0
    by_words: bool = False


def interval(hits: int, n: int) -> list[float] | None:
    """Return Wilson's 95 % interval of a share, or ``None`` where there is nothing to divide."""
    if n == 0:
        return None
    share, spread = hits / n, Z * Z / n
    middle = (share + spread / 2) / (1 + spread)
    reach = Z * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return [round(max(0.0, middle - reach), 3), round(min(1.0, middle + reach), 3)]


def rate(hits: int, n: int) -> dict[str, Any]:
    """Return a share with its numbers and interval."""
    return {"share": round(hits / n, 3) if n else None, "of": [hits, n], "interval": interval(hits, n)}


def verdicts(found: Iterable[tuple[bool, bool]]) -> dict[str, Any]:
    """Return precision, recall and false alarms of (flagged, true) rows."""
    rows = list(found)
    right = sum(flagged and true for flagged, true in rows)
    flagged_all, true_all = sum(flagged for flagged, _ in rows), sum(true for _, true in rows)
    return {
        "n": len(rows),
        "precision": rate(right, flagged_all),
        "recall": rate(right, true_all),
        "false_alarms": rate(flagged_all - right, len(rows) - true_all),
    }


def load(data: Path) -> list[Text]:
    """Return every text: captions, and what people and models wrote as inferences."""
    coco = json.loads((data / "photos" / "coco_cc.json").read_text())
    texts = [
        Text(f"caption/{row['id']}", f"coco/{row['image_id']}", row["caption"].strip(), True)
        for row in coco["captions"]
    ]
    folder = data / "sherlock"
    published = json.loads((folder / "hit_template_examples.json").read_text())
    for example in published["collection_examples"]:
        n = example["example"]
        texts += [
            Text(f"collection/{n}/{o['n']}", f"collection/{n}", o["inference"], False, o["clue"])
            for o in example["observations"]
        ]
    for n, example in enumerate(published["evaluation_examples"], start=1):
        texts.append(Text(f"human/{n}", f"evaluation/{n}", example["human_example"], False))
        texts += [
            Text(f"statement/{n}/{place}", f"evaluation/{n}", row["statement"], False)
            for place, row in enumerate(example["statements"], start=1)
        ]
    for row in json.loads((folder / "corpus_record_val.json").read_text()):
        clue = row["inputs"]["clue"]
        texts.append(Text(f"record/{row['instance_id']}", "record", row["targets"]["inference"], False, clue))
    for row in json.loads((folder / "leaderboard_instance_comparison.json").read_text()):
        texts.append(Text(f"leaderboard/{row['test_id']}", "leaderboard", row["inference"], False))
    return texts


def pairs(texts: Sequence[Text], labels: dict[str, Any]) -> dict[HintRule, list[Compared]]:
    """Return what the two rules of repetition are measured on; both texts of a pair lie in one half."""
    captions = [text for text in texts if text.is_caption]
    real = [text for text in texts if not text.is_caption]
    shared = [
        Compared(a, b, a.photo == b.photo, "one photo" if a.photo == b.photo else "two photos")
        for a, b in combinations(captions, 2)
        if a.half == b.half
    ]
    others = [
        Compared(a, b, f"{a.id} {b.id}" in labels["same"], "real")
        for a, b in combinations(real, 2)
        if a.photo == b.photo
    ]
    clues = [
        Compared(Text(f"{text.id}/clue", text.photo, text.clue, False), text, False, "real")
        for text in real
        if text.clue
    ]
    return {HintRule.REPEATS_CLUE: shared + clues, HintRule.REPEATS_OTHER: shared + others}


def scored(rows: Sequence[Compared], vectors: dict[str, NDArray[np.float32]]) -> list[Compared]:
    """Return the pairs with their cosines and what the words alone say."""
    return [
        Compared(
            row.a,
            row.b,
            row.same,
            row.source,
            # What is denied is not asked about: see hits.hints.find_hints.
            -1.0 if are_opposed(row.a.text, row.b.text) else float(vectors[row.a.text] @ vectors[row.b.text]),
            has_same_words(row.a.text, row.b.text),
        )
        for row in rows
    ]


def lowest_cosine(rows: Sequence[Compared], min_precision: float) -> float | None:
    """Return the lowest cosine of the grid with at least ``min_precision`` and no false alarm on real pairs."""
    for cosine in GRID:
        flagged = [row for row in rows if row.cosine >= cosine]
        right = sum(row.same for row in flagged)
        false_real = any(row.source == "real" and not row.same for row in flagged)
        if flagged and right / len(flagged) >= min_precision and not false_real:
            return cosine
    return None


def repetition(rule: HintRule, rows: Sequence[Compared]) -> dict[str, Any]:
    """Return where the threshold comes from and how the rule does on the held-out half."""
    tuning = [row for row in rows if row.a.half == "tuning"]
    held = [row for row in rows if row.a.half == "held out"]
    cosine = MIN_COSINES[rule]
    real = [row for row in held if row.source == "real"]
    return {
        "threshold": cosine,
        "lowest_in_tuning_with_precision_0.9": lowest_cosine(tuning, 0.9),
        "lowest_in_tuning_without_false_alarm": lowest_cosine(tuning, 1.0),
        "tuning": verdicts((row.cosine >= cosine, row.same) for row in tuning),
        "held_out": verdicts((row.cosine >= cosine or row.by_words, row.same) for row in held),
        "held_out_by_words": verdicts((row.by_words, row.same) for row in held),
        "held_out_real": verdicts((row.cosine >= cosine or row.by_words, row.same) for row in real),
        "all_real": verdicts(
            (row.cosine >= cosine or row.by_words, row.same) for row in rows if row.source == "real"
        ),
        "highest_real_different": round(
            max(row.cosine for row in rows if row.source == "real" and not row.same), 3
        ),
    }


def boxes(data: Path) -> dict[str, Any]:
    """Return what share of boxes drawn round things the two rules about sizes would remark on."""
    coco = json.loads((data / "photos" / "coco_cc.json").read_text())
    areas = {row["id"]: row["width"] * row["height"] for row in coco["images"]}
    shares: dict[str, list[float]] = {"tuning": [], "held out": []}
    for row in coco["annotations"]:
        half = Text("", f"coco/{row['image_id']}", "", True).half
        shares[half].append(row["bbox"][2] * row["bbox"][3] / areas[row["image_id"]])
    tuning, held = shares["tuning"], shares["held out"]
    return {
        "first_percentile_in_tuning": round(float(np.quantile(tuning, 0.01)), 6),
        "small_share": SMALL_SHARE,
        "held_out_too_small": rate(sum(share < SMALL_SHARE for share in held), len(held)),
        "large_share": LARGE_SHARE,
        "held_out_too_large": rate(sum(share >= LARGE_SHARE for share in held), len(held)),
    }


def captions(texts: Sequence[Text]) -> dict[str, Any]:
    """Return how the rule about captions does: captions are positives, real inferences negatives."""
    rows = {
        half: [
            (caption_span(text.text) is not None, text.is_caption)
            for text in texts
            if half in {text.half, "all"}
        ]
        for half in ("tuning", "held out", "all")
    }
    return {name.replace(" ", "_"): verdicts(found) for name, found in rows.items()}


def measure(data: Path) -> dict[str, Any]:
    """Return every figure of docs/hints.md."""
    from curation.features.sentence import SentenceEncoder

    texts, labels = load(data), json.loads(LABELS.read_text())
    unknown = set(labels["pronoun"]) - {text.id for text in texts}
    assert not unknown, f"labels of texts that are not there: {sorted(unknown)}"
    unique_texts = sorted({text.text for text in texts} | {text.clue for text in texts if text.clue})
    vectors = dict(zip(unique_texts, SentenceEncoder().encode_texts(unique_texts), strict=True))
    compared = {rule: scored(rows, vectors) for rule, rows in pairs(texts, labels).items()}
    consistent = [row for row in compared[HintRule.REPEATS_OTHER] if row.source in {"one photo", "real"}]
    return {
        "texts": {
            "captions": sum(text.is_caption for text in texts),
            "inferences": sum(not text.is_caption for text in texts),
        },
        "pronoun": verdicts((bool(find_pronouns(text.text)), text.id in labels["pronoun"]) for text in texts),
        "profanity": verdicts((bool(find_profanity(Card(1, text.text), None)), False) for text in texts),
        "caption_like": captions(texts),
        "repeats_clue": repetition(HintRule.REPEATS_CLUE, compared[HintRule.REPEATS_CLUE]),
        "repeats_other": repetition(HintRule.REPEATS_OTHER, compared[HintRule.REPEATS_OTHER]),
        "contradicts": verdicts((are_opposed(row.a.text, row.b.text), False) for row in consistent),
        "boxes": boxes(data),
    }


def _lines(figures: Any, path: str = "") -> Iterable[str]:
    if isinstance(figures, dict) and "interval" in figures:
        low, high = figures["interval"] or ("–", "–")
        yield f"{path}: {figures['of'][0]} of {figures['of'][1]} = {figures['share']} ({low} to {high})"
    elif isinstance(figures, dict):
        for name, value in figures.items():
            yield from _lines(value, f"{path}.{name}" if path else name)
    else:
        yield f"{path}: {figures}"


def table(figures: dict[str, Any]) -> Iterable[str]:
    """Return the table of docs/hints.md, line by line."""
    yield "| rule | measured on | n | precision | recall | false alarms |"
    yield "|---|---|---|---|---|---|"
    repeats = [
        (f"`{rule}`", f"{name.replace('_', ' ')}", figures[rule][name])
        for rule in ("repeats_clue", "repeats_other")
        for name in ("tuning", "held_out", "all_real")
    ]
    rows = [
        ("`pronoun`", "all texts", figures["pronoun"]),
        ("`profanity`", "all texts", figures["profanity"]),
        *(
            ("`caption_like`", half.replace("_", " "), figures["caption_like"][half])
            for half in ("tuning", "held_out", "all")
        ),
        *repeats,
        ("`contradicts`", "pairs that are both true", figures["contradicts"]),
    ]
    for rule, where, found in rows:
        shares = " | ".join(_cell(found[name]) for name in ("precision", "recall", "false_alarms"))
        yield f"| {rule} | {where} | {found['n']:,} | {shares} |"


def _cell(found: dict[str, Any]) -> str:
    if found["interval"] is None:
        return "nothing to measure"
    low, high = found["interval"]
    return f"{found['of'][0]:,} of {found['of'][1]:,} = {found['share']:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("DEERSTALKER_DATA") or None)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--table", action="store_true", help="the table of docs/hints.md")
    options = parser.parse_args()
    if options.data is None or not Path(options.data).is_dir():
        sys.stderr.write("hints: DEERSTALKER_DATA names no folder: NOT MEASURED\n")
        figures: dict[str, Any] = {"skipped": "DEERSTALKER_DATA is not set"}
    else:
        figures = measure(Path(options.data))
        if options.table:
            sys.stdout.write("\n".join(table(figures)) + "\n")
            return
    if options.json:
        sys.stdout.write(json.dumps({"benchmark": "hints", **figures}, allow_nan=False) + "\n")
        return
    sys.stdout.write("\n".join(_lines(figures)) + "\n")


if __name__ == "__main__":
    main()
