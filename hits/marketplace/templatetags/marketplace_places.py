"""Names of states for the form in which a worker says where they work from."""

from __future__ import annotations

from django import template

from hits.domain.workers.subdivisions import subdivisions_of
from hits.marketplace.models import Worker

register = template.Library()


@register.simple_tag
def states_of(country: str) -> list[tuple[str, str]]:
    """Return ``(code, name)`` of a country's parts that can be told apart, by name."""
    return sorted(subdivisions_of(country).items(), key=lambda pair: pair[1])


@register.filter
def state_name(worker: Worker) -> str:
    """Return the name of the state that a worker declared, or nothing."""
    return subdivisions_of(worker.country).get(worker.subdivision, "")
