"""Change a project's settings for image triplets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.generation.names import parse_generator
from curation.generation.prices import parse_prices
from curation.image_triplets.quotas import check_targets
from curation.models import TripletSettings
from curation.models.scenes import MAX_READERS
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.triplets import lock_settings
from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import has_role
from hits.services import audit
from hits.services.errors import Refused

MAX_DOMAINS, MAX_DOMAIN = 40, 60  # more, no task of the writing kind offers
MAX_LICENCE, MAX_PRICES = 120, 20_000


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What changes; ``None`` leaves a setting as it is. ``licences`` are added to those that are stored."""

    readers: int | None = None
    domains: Sequence[str] | None = None
    targets: Mapping[str, Mapping[str, int]] | None = None
    prices: str | None = None
    licences: Mapping[str, str] = field(default_factory=dict)
    holds_answers: bool | None = None
    allows_unknown_licence: bool | None = None


@transaction.atomic
def change_settings(
    *, project: Project, change: SettingsChange, by: AbstractBaseUser | None
) -> TripletSettings:
    """Change settings, and return them; without a change, nothing is recorded.

    Raises:
        Refused: a value is wrong; the message names the setting.
    """
    row = lock_settings(project)
    values = _checked(change, row, by)
    changed = sorted(name for name, value in values.items() if getattr(row, name) != value)
    for name in changed:
        setattr(row, name, values[name])
    if changed:
        row.save(update_fields=changed)
        audit.record(project=project, actor=by, action="triplets.settings", changed=changed)
    return row


def _checked(change: SettingsChange, row: TripletSettings, by: AbstractBaseUser | None) -> dict[str, object]:
    """Return the new values by field, checked."""
    values: dict[str, object] = {}
    if change.readers is not None:
        if not 1 <= change.readers <= MAX_READERS:
            raise Refused(f"readers: {change.readers}; use 1 or {MAX_READERS}")
        values["readers"] = change.readers
    if change.domains is not None:
        values["domains"] = _domains(change.domains)
    if change.holds_answers is not None:
        values["holds_answers"] = change.holds_answers
    if change.allows_unknown_licence is not None:
        values["unknown_licence_allowed_by_id"] = _admin(row, by) if change.allows_unknown_licence else None
    if change.licences:
        values["licences"] = {**row.licences, **_licences(change.licences)}
    with refuse_invalid_input():
        if change.targets is not None:
            values["targets"] = check_targets(change.targets)
        if change.prices is not None:
            values["prices"] = _prices(change.prices)
    return values


def _admin(row: TripletSettings, by: AbstractBaseUser | None) -> int:
    """Return the key of the admin who allows images of unknown licence."""
    if by is None or not has_role(by, row.project, Role.ADMIN):
        raise Refused(
            "unknown licences: an admin of the project allows them; ask one, or give an admin's account (--by)"
        )
    return int(by.pk)


def _prices(text: str) -> str:
    if len(text) > MAX_PRICES:
        raise Refused(f"prices: use at most {MAX_PRICES:,} characters")
    parse_prices(text)
    return text


def _licences(given: Mapping[str, str]) -> dict[str, str]:
    found = {name: licence.strip() for name, licence in given.items()}
    for name, licence in found.items():
        with refuse_invalid_input():
            parse_generator(name)
        if not licence or len(licence) > MAX_LICENCE:
            raise Refused(f"licence of {name}: write 1 to {MAX_LICENCE} characters, or unknown")
    return found


def _domains(given: Sequence[str]) -> list[str]:
    domains = list(dict.fromkeys(" ".join(name.split()) for name in given if name.strip()))
    if len(domains) > MAX_DOMAINS or any(len(name) > MAX_DOMAIN for name in domains):
        raise Refused(f"domains: use at most {MAX_DOMAINS} names of at most {MAX_DOMAIN} characters")
    return domains
