"""Find the specs of judging kinds: the ``SPEC`` in ``judging.py`` beside each judging kind's ``kind.py``."""

from functools import cache
from importlib import import_module

from hits import registry
from hits.domain.states import Purpose
from validation.domain.judging.spec import JudgingSpec, Material
from validation.domain.judging.spec_problems import find_problems


class SpecError(LookupError):
    """A judging kind has no valid spec; the message names the kind and how to correct it."""


def judging_kinds() -> tuple[str, ...]:
    """Return the names of all judging kinds in the order of pages."""
    return tuple(
        sorted(registry.kinds_with_purpose(Purpose.JUDGING), key=lambda name: (spec_of(name).order, name))
    )


def specs() -> list[JudgingSpec]:
    """Return the specs of all judging kinds in the order of pages."""
    return [spec_of(name) for name in judging_kinds()]


@cache
def spec_of(name: str) -> JudgingSpec:
    """Return the spec of a judging kind.

    Raises:
        SpecError: the kind has no ``judging.py`` with a ``SPEC`` of its own.
        LookupError: there is no such kind.
    """
    kind = registry.get_kind(name)
    if kind.purpose is not Purpose.JUDGING:
        raise SpecError(f"kind {name}: is not a judging kind; use one of {', '.join(judging_kinds())}")
    module = f"{registry.kind_module(name)}.judging"
    try:
        spec = import_module(module).SPEC
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise SpecError(
            f"kind {name}: {module.replace('.', '/')}.py is missing; write a SPEC there"
        ) from error
    except AttributeError as error:
        raise SpecError(f"kind {name}: {module.replace('.', '/')}.py has no SPEC; add it") from error
    if not isinstance(spec, JudgingSpec) or spec.kind is not kind:
        raise SpecError(f"kind {name}: SPEC has to be a JudgingSpec of this kind")
    return spec


def record_types_of_kind(name: str) -> tuple[str, ...]:
    """Return the types of the records that a kind collects or judges; empty if the kind no longer exists."""
    if name not in registry.kind_names():
        return ()
    judged = spec_of(name).record_type if is_judging_kind(name) else None
    return (*registry.get_kind(name).record_types, *([judged] if judged else ()))


def is_judging_kind(name: str) -> bool:
    """Return whether ``name`` is a judging kind."""
    return name in registry.kinds_with_purpose(Purpose.JUDGING)


def decidable_kinds() -> tuple[str, ...]:
    """Return the names of the kinds whose items are accepted or rejected."""
    return tuple(spec.name for spec in specs() if spec.deciding_dimensions)


def spec_for_material(material: Material) -> JudgingSpec:
    """Return the first spec whose rounds use ``material``.

    Raises:
        LookupError: no judging kind uses it.
    """
    for spec in specs():
        if spec.material is material:
            return spec
    raise LookupError(f"no judging kind uses {material.value.replace('_', ' ')}")


def spec_for_record_type(record_type: str) -> JudgingSpec:
    """Return the first spec that judges records of a type one by one.

    Raises:
        LookupError: no judging kind judges that type.
    """
    for spec in specs():
        if spec.material is Material.RECORDS and spec.record_type == record_type:
            return spec
    raise LookupError(f"no judging kind judges records of type {record_type!r}")


def find_spec_errors() -> list[str]:
    """Return the mistakes in all specs as messages with the kind's name."""
    found: list[str] = []
    for name in registry.kinds_with_purpose(Purpose.JUDGING):
        try:
            spec = spec_of(name)
        except SpecError as error:
            found.append(str(error))
            continue
        found += [f"kind {name}: {problem}" for problem in find_problems(spec)]
    return found
