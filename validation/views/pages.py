"""What the pages of this app share: kinds in addresses, and the values that a confirmation page carries."""

from collections.abc import Collection

from django.http import Http404, QueryDict

_NOT_CARRIED = {"csrfmiddlewaretoken", "step", "idempotency_key", "typed_cost", "found"}


def kind_or_404(name: str, kinds: Collection[str]) -> str:
    """Return the kind of that name, or raise Http404 if it is not one of ``kinds``."""
    if name not in kinds:
        raise Http404("There is no such page.")
    return name


def hidden_form_fields(data: QueryDict) -> list[tuple[str, str]]:
    """Return a form's values as hidden fields of the confirmation step."""
    return [(name, value) for name, values in data.lists() if name not in _NOT_CARRIED for value in values]
