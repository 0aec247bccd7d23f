"""Names of states for the form in which a worker declares their country."""

from django import template

from hits.domain.workers.subdivisions import subdivisions_of
from hits.marketplace.models import Worker

register = template.Library()


@register.simple_tag
def get_states(country: str) -> list[tuple[str, str]]:
    """Return ``(code, name)`` of a country's known states, sorted by name."""
    return sorted(subdivisions_of(country).items(), key=lambda pair: pair[1])


@register.filter
def state_name(worker: Worker) -> str:
    """Return the name of the worker's declared state, or an empty string."""
    return subdivisions_of(worker.country).get(worker.subdivision, "")
