"""Files of answers about image triplets, their answer key, and submissions to a leaderboard.

Predictions have two lines for each triplet, one a presentation; ``choice`` is a position:

    {"id": "1", "presentation": "as_listed", "choice": 2, "explanation": "…"}
    {"id": "1", "presentation": "swapped", "choice": null, "reason": "refused"}

Pair scores have a line for each hypothesis: ``{"id": "1", "hypothesis": 2, "score": 7.5}``; null is a missing score.
An answer key is ``{"1": {"gold": 2, "category": …, "domain": …, "direction": …, "duration": …}}``. In a submission
each presentation and each pair has an id of its own: ``{"id", "choice"}`` and ``{"pair_id", "score"}``.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.evaluation.inputs import read_json
from curation.evaluation.nleye_key import (
    HYPOTHESES,
    PRESENTATIONS,
    ChoiceCode,
    PairScores,
    TripletKey,
    TripletPredictions,
)
from curation.evaluation.nleye_lines import (
    CODES,
    UNREAD,
    Slot,
    open_lines,
    parse_choice,
    parse_explanation,
    parse_hypothesis,
    parse_presentation,
    parse_score,
    read_slots,
    show_field,
)
from curation.records import InvalidInput
from hits.domain.answers.scene_facets import (
    CATEGORIES,
    DIRECTIONS,
    DURATIONS,
    PARALLEL,
    temporal_cell,
)

KEY_FIELDS = ("gold", "category", "domain", "direction", "duration")
_CHOICES: Mapping[int, Any] = {code: choice for choice, code in CODES.items()}


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """The answers of a file in the order of their key, and the explanations by (id, presentation)."""

    predictions: TripletPredictions
    explanations: Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class SubmittedChoices:
    """The answers of a submission in the order of the expected ids, and the explanations by id."""

    codes: tuple[ChoiceCode, ...]
    explanations: Mapping[str, str]

    def as_predictions(self) -> TripletPredictions:
        """Return the predictions of triplets whose expected ids were those of one presentation after the other."""
        return TripletPredictions.from_codes(zip(self.codes[::2], self.codes[1::2], strict=True))


def read_triplet_key(path: Path) -> TripletKey:
    """Return the answer key of a JSON file.

    Raises:
        InvalidInput: the file is not such a key, or a value is wrong; the message names id and field.
    """
    return parse_triplet_key(read_json(path), str(path))


def parse_triplet_key(raw: Any, name: str) -> TripletKey:
    """Return parsed JSON as an answer key; ``name`` names it in messages. Raises InvalidInput."""
    if not isinstance(raw, dict) or not raw:
        raise InvalidInput(
            f"{name}: holds no triplets; give a JSON object {{id: {{{', '.join(KEY_FIELDS)}}}}}"
        )
    return TripletKey.from_rows(_parse_key_row(key, row, f"{name}: {key!r:.60}") for key, row in raw.items())


def read_triplet_predictions(path: Path, ids: Sequence[str]) -> PredictionFile:
    """Return the answers of a file about the triplets of a key.

    Raises:
        InvalidInput: a line is missing, doubled, or about another triplet, or a value is wrong; the message names
            file, line and field.
    """
    with open_lines(path) as file:
        return parse_triplet_predictions(file, str(path), ids)


def parse_triplet_predictions(file: Iterable[bytes], name: str, ids: Sequence[str]) -> PredictionFile:
    """Return the answers of an open file; see ``read_triplet_predictions``."""
    explanations: dict[Slot, str] = {}

    def parse(record: Mapping[str, Any], location: str, slot: Slot) -> ChoiceCode:
        if text := parse_explanation(record, location):
            explanations[slot] = text
        return parse_choice(record, location)

    slots = [(key, presentation) for key in ids for presentation in PRESENTATIONS]
    found = read_slots(file, name, slots, parse_presentation, parse)
    rows = zip(found[::2], found[1::2], strict=True)
    return PredictionFile(TripletPredictions.from_codes(rows), explanations)


def read_pair_scores(path: Path, ids: Sequence[str]) -> PairScores:
    """Return the scores of a file about the triplets of a key; errors are as in ``read_triplet_predictions``."""
    with open_lines(path) as file:
        return parse_pair_scores(file, str(path), ids)


def parse_pair_scores(file: Iterable[bytes], name: str, ids: Sequence[str]) -> PairScores:
    """Return the scores of an open file; see ``read_pair_scores``."""
    slots = [(key, hypothesis) for key in ids for hypothesis in HYPOTHESES]
    found = read_slots(
        file, name, slots, parse_hypothesis, lambda record, location, _: parse_score(record, location)
    )
    return PairScores.from_rows(zip(found[::2], found[1::2], strict=True))


def parse_submitted_choices(file: Iterable[bytes], name: str, ids: Sequence[str]) -> SubmittedChoices:
    """Return the answers of a submission, ``{"id", "choice", "reason"?, "explanation"?}`` on each line.

    Args:
        ids: the opaque id of each presentation. name: of the file in messages.

    Raises:
        InvalidInput: as ``read_triplet_predictions``.
    """
    explanations: dict[str, str] = {}

    def parse(record: Mapping[str, Any], location: str, slot: Slot) -> ChoiceCode:
        if text := parse_explanation(record, location):
            explanations[slot[0]] = text
        return parse_choice(record, location)

    slots = [(key, None) for key in ids]
    codes = read_slots(file, name, slots, lambda _record, _location: None, parse)
    return SubmittedChoices(tuple(codes), explanations)


def parse_submitted_scores(file: Iterable[bytes], name: str, pair_ids: Sequence[str]) -> list[float | None]:
    """Return the scores of a submission in the order of ``pair_ids``, ``{"pair_id", "score"}`` on each line.

    Raises:
        InvalidInput: as ``read_triplet_predictions``.
    """
    return read_slots(
        file,
        name,
        [(key, None) for key in pair_ids],
        lambda _record, _location: None,
        lambda record, location, _: parse_score(record, location),
        id_field="pair_id",
    )


def prediction_lines(
    ids: Sequence[str],
    predictions: TripletPredictions,
    explanations: Mapping[tuple[str, str], str] | None = None,
) -> Iterator[str]:
    """Yield the lines of a file of predictions; reading them gives equal answers and explanations.

    A presentation that was not asked is null with the reason ``missing``, so that each triplet has both lines.
    """
    for key, row in zip(ids, predictions.codes.tolist(), strict=True):
        for presentation, value in zip(PRESENTATIONS, row, strict=True):
            code = ChoiceCode(value)
            record: dict[str, Any] = {"id": key, "presentation": presentation, "choice": _CHOICES.get(code)}
            if code in UNREAD:
                record["reason"] = code.reason
            if text := (explanations or {}).get((key, presentation)):
                record["explanation"] = text
            yield _line(record)


def pair_score_lines(ids: Sequence[str], scores: PairScores) -> Iterator[str]:
    """Yield the lines of a file of pair scores; reading them gives equal scores."""
    for key, row in zip(ids, scores.values.tolist(), strict=True):
        for hypothesis, score in zip(HYPOTHESES, row, strict=True):
            value = None if math.isnan(score) else score
            yield _line({"id": key, "hypothesis": hypothesis, "score": value})


def triplet_key_json(key: TripletKey) -> dict[str, dict[str, Any]]:
    """Return an answer key as JSON; parsing it gives an equal key."""
    found = {}
    rows = zip(key.ids, key.golds.tolist(), key.categories, key.domains, key.cells, strict=True)
    for name, gold, category, domain, cell in rows:
        direction, _, duration = cell.partition("-")
        facets = {
            "category": category,
            "domain": domain,
            "direction": direction,
            "duration": duration or None,
        }
        found[name] = {"gold": gold, **facets}
    return found


def _parse_key_row(key: str, row: Any, location: str) -> tuple[str, int, str, str, str]:
    if not isinstance(row, dict):
        raise InvalidInput(f"{location}: is not a JSON object; give {', '.join(KEY_FIELDS)}")
    gold = row.get("gold")
    if type(gold) is not int or gold not in HYPOTHESES:
        raise InvalidInput(f"{location}: gold is {show_field(row, 'gold')}; use 1 or 2")
    category, direction = (_known(row, field, location) for field in ("category", "direction"))
    domain, duration = row.get("domain"), row.get("duration") or ""
    if not isinstance(domain, str) or not domain:
        raise InvalidInput(f"{location}: domain is {show_field(row, 'domain')}; name one")
    # Published rows give parallel triplets a duration, too; their temporal cell has none.
    if direction != PARALLEL and duration not in DURATIONS:
        raise InvalidInput(
            f"{location}: duration is {show_field(row, 'duration')}; use {' or '.join(DURATIONS)}"
        )
    return key, gold, category, domain, temporal_cell(direction, duration)


def _known(row: Mapping[str, Any], field: str, location: str) -> str:
    """Return a facet that is one of the known values."""
    known: Sequence[str] = CATEGORIES if field == "category" else DIRECTIONS
    value = row.get(field)
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{location}: {field} is {show_field(row, field)}; use {', '.join(known)}")
    return value


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
