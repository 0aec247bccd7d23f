"""What is wrong with a JudgingSpec: found at start, so that nobody works on a kind that cannot be read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from validation.domain.judging.spec import SEPARATOR, Dimension, JudgingSpec, Scale

LONGEST_NAME = 20  # what decisions keep


def problems(spec: JudgingSpec) -> list[str]:
    """Return what is wrong with a spec, in sentences: labels that its kind's schema refuses, doubled names."""
    found = [f"dimension {name!r} stands twice" for name in _doubled(one.name for one in spec.dimensions)]
    if not spec.dimensions:
        found.append("it has no dimension")
    for dimension in spec.dimensions:
        found += [f"dimension {dimension.name!r}: {problem}" for problem in _dimension_problems(dimension)]
    return found or _refused_labels(spec)


def _doubled(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _dimension_problems(dimension: Dimension) -> Iterator[str]:
    if len(dimension.name) > LONGEST_NAME:
        yield f"its name has {len(dimension.name)} characters; use at most {LONGEST_NAME}"
    labels = set(dimension.labels)
    foreign = sorted(str(label) for label in dimension.favourable - labels)
    if foreign:
        yield f"favourable label {foreign[0]!r} is none of its labels"
    if dimension.on_page and set(dimension.on_page) != labels:
        yield "on_page does not list its labels"
    needs_labels = dimension.scale in {Scale.ORDINAL, Scale.INTERVAL, Scale.MULTIPLE}
    if needs_labels and not labels:
        yield f"a scale that is {dimension.scale.value} needs labels"
    if dimension.scale is Scale.INTERVAL and labels and not dimension.is_numeric:
        yield "labels of an interval scale are numbers"
    if dimension.scale in {Scale.TEXT, Scale.MULTIPLE} and dimension.favourable:
        yield f"nothing can be decided by {dimension.scale.value}: leave favourable out"
    if any(SEPARATOR in str(label) for label in labels):
        yield f"a label may not have {SEPARATOR!r} in it"


def _refused_labels(spec: JudgingSpec) -> list[str]:
    """Return the labels that the kind's answer schema refuses although the spec names them."""
    part = "x" if spec.has_parts else ""
    usual = {(one.name, part): _usual(one) for one in spec.dimensions}
    found = []
    for dimension in spec.dimensions:
        for label in dimension.labels or (_usual(dimension),):
            value = [label] if dimension.scale is Scale.MULTIPLE else label
            given = usual | {(dimension.name, part): value}
            if not _takes(spec, given):
                found.append(
                    f"dimension {dimension.name!r}: the answer's schema does not know label {label!r}"
                )
    return found


def _usual(dimension: Dimension) -> Any:
    if dimension.scale is Scale.MULTIPLE:
        return [dimension.labels[0]]
    return dimension.labels[0] if dimension.labels else "0" * 16


def _takes(spec: JudgingSpec, given: Mapping[tuple[str, str], Any]) -> bool:
    """Tell whether the schema takes the labels; other fields that an answer needs say nothing about them."""
    try:
        spec.kind.Answer.model_validate(spec.answer(given))
    except ValidationError as error:
        texts = {one.name for one in spec.dimensions if one.scale is Scale.TEXT}
        about = [row for row in error.errors() if row["type"] != "missing" and not texts & set(row["loc"])]
        return not about
    return True
