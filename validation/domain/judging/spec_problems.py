"""Find mistakes in a JudgingSpec at start, before anybody works on a kind whose answers cannot be read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from validation.domain.judging.spec import LABEL_SEPARATOR, Dimension, JudgingSpec, Scale

MAX_NAME_LENGTH = 20  # characters; the length of ItemDecision.dimension


def find_problems(spec: JudgingSpec) -> list[str]:
    """Return the mistakes in a spec as messages: repeated names, labels that its kind's schema refuses."""
    messages = [
        f"dimension {name!r} is listed twice"
        for name in _duplicates(dimension.name for dimension in spec.dimensions)
    ]
    if not spec.dimensions:
        messages.append("it has no dimension")
    for dimension in spec.dimensions:
        messages += [f"dimension {dimension.name!r}: {problem}" for problem in _dimension_problems(dimension)]
    return messages or _refused_label_problems(spec)


def _duplicates(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _dimension_problems(dimension: Dimension) -> Iterator[str]:
    if len(dimension.name) > MAX_NAME_LENGTH:
        yield f"its name has {len(dimension.name)} characters; use at most {MAX_NAME_LENGTH}"
    labels = set(dimension.labels)
    foreign = sorted(str(label) for label in dimension.favourable - labels)
    if foreign:
        yield f"favourable label {foreign[0]!r} is not one of its labels"
    if dimension.page_order and set(dimension.page_order) != labels:
        yield "page_order does not list exactly its labels"
    needs_labels = dimension.scale in {Scale.ORDINAL, Scale.INTERVAL, Scale.MULTIPLE}
    if needs_labels and not labels:
        yield f"a scale of level {dimension.scale.value} needs labels"
    if dimension.scale is Scale.INTERVAL and labels and not dimension.is_numeric:
        yield "labels of an interval scale are numbers"
    if dimension.scale in {Scale.TEXT, Scale.MULTIPLE} and dimension.favourable:
        yield f"a dimension of level {dimension.scale.value} decides nothing: leave favourable out"
    if any(LABEL_SEPARATOR in str(label) for label in labels):
        yield f"a label must not contain {LABEL_SEPARATOR!r}"


def _refused_label_problems(spec: JudgingSpec) -> list[str]:
    """Return a message for each label of the spec that the kind's answer schema refuses."""
    part = spec.example_part if spec.has_parts else ""
    parts = {dimension.name: "" if dimension.is_whole else part for dimension in spec.dimensions}
    example_answer = {
        (dimension.name, parts[dimension.name]): _example_label(dimension) for dimension in spec.dimensions
    }
    messages = []
    for dimension in spec.dimensions:
        for label in dimension.labels or (_example_label(dimension),):
            value = [label] if dimension.scale is Scale.MULTIPLE else label
            given = example_answer | {(dimension.name, parts[dimension.name]): value}
            if not _is_accepted(spec, given):
                messages.append(f"dimension {dimension.name!r}: the answer schema refuses label {label!r}")
    return messages


def _example_label(dimension: Dimension) -> Any:
    if dimension.scale is Scale.MULTIPLE:
        return [dimension.labels[0]]
    return dimension.labels[0] if dimension.labels else "0" * 16


def _is_accepted(spec: JudgingSpec, labels: Mapping[tuple[str, str], Any]) -> bool:
    """Return whether the schema accepts the labels; errors about missing fields or free text do not count."""

    try:
        spec.kind.Answer.model_validate(spec.build_answer(labels))
    except ValidationError as error:
        texts = {dimension.name for dimension in spec.dimensions if dimension.scale is Scale.TEXT}
        label_errors = [
            row for row in error.errors() if row["type"] != "missing" and not texts & set(row["loc"])
        ]
        return not label_errors
    return True
