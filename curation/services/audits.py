"""Audits: begin one, keep what readers say, settle what they differ on, close it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from curation.audits.answers import SETTLES, check
from curation.audits.codebook import Codebook
from curation.audits.readings import ItemReadings, ItemState, Reading
from curation.audits.sampling import How, Recipe, Sample, draw
from curation.models import Audit, AuditItem, AuditReading, AuditState, TextAnalysis
from curation.records import InvalidInput
from curation.selectors.audits import codebook_of, item_at, my_reading, pairs_to_read, toxicity_analyses
from hits.models import Project
from hits.services import audit as audit_trail
from hits.services.errors import Conflict, Refused

MOST_READERS = 5
MOST_NAME = 120
MOST_NOTE = 1000
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """What an audit would be: its sample, and from how many pairs it was drawn."""

    sample: Sample
    available: int
    analysis: TextAnalysis | None = None


def plan_audit(*, project: Project, recipe: Recipe) -> Plan:
    """Return what a recipe takes from the project's accepted pairs now; nothing is written.

    Raises:
        Refused: there is no such analysis, or no pair to read.
    """
    analysis = None
    if recipe.how is How.TOP:
        analysis = next((row for row in toxicity_analyses(project) if row.pk == recipe.analysis), None)
        if analysis is None:
            raise Refused("analysis: there is no such analysis of toxicity; choose one of the project's")
    pairs = pairs_to_read(project, recipe.analysis)
    try:
        return Plan(draw(pairs, recipe), len(pairs), analysis)
    except InvalidInput as error:
        raise Refused(str(error)) from error


def create_audit(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    name: str,
    codebook: Codebook,
    recipe: Recipe,
    readers: int = 2,
) -> Audit:
    """Begin an audit: the codebook, the recipe and the pairs stay as they are now. All of it or nothing.

    Where there are fewer pairs than asked for, all are taken; ``sample`` keeps how many were missing.

    Raises:
        Refused: no name or one that is taken, too many readers, or nothing to read.
    """
    name = " ".join(name.split())
    if not 0 < len(name) <= MOST_NAME:
        raise Refused(f"name: use 1 to {MOST_NAME} characters")
    if not 1 <= readers <= MOST_READERS:
        raise Refused(f"readers: {readers} is out of range; use 1 to {MOST_READERS}")
    plan = plan_audit(project=project, recipe=recipe)
    try:
        with transaction.atomic():
            found = _store(project, by, name, codebook, recipe, plan, readers)
    except IntegrityError as error:
        raise Refused(f"name: there is an audit {name} already; choose another name") from error
    return found


def _store(  # noqa: PLR0917 - private
    project: Project,
    by: AbstractBaseUser | None,
    name: str,
    codebook: Codebook,
    recipe: Recipe,
    plan: Plan,
    readers: int,
) -> Audit:
    found = Audit.objects.create(
        project=project,
        name=name,
        codebook=codebook.as_row(),
        sample=_sample_row(recipe, plan),
        readers=readers,
        created_by_id=by.pk if by else None,
    )
    AuditItem.objects.bulk_create(
        [
            AuditItem(
                audit=found, observation_id=pair.key, place=place, split=pair.split[:12], score=pair.score
            )
            for place, pair in enumerate(plan.sample.pairs, start=1)
        ],
        batch_size=_BATCH,
    )
    audit_trail.record(
        project=project,
        actor=by,
        action="audit.create",
        subject=found.pk,
        pairs=len(plan.sample.pairs),
        readers=readers,
    )
    return found


def _sample_row(recipe: Recipe, plan: Plan) -> dict[str, Any]:
    row = recipe.as_row() | {"available": plan.available, "missing": plan.sample.missing}
    if plan.analysis is not None:
        row["analysis_options"] = plan.analysis.options
        row["analysis_made"] = plan.analysis.created_at.isoformat()
    return row


@dataclass(frozen=True, slots=True)
class Kept:
    """A reading that was kept. ``surplus`` says that the pair had its readers before: it does not count."""

    reading: AuditReading
    surplus: bool


@transaction.atomic
def record_reading(
    *, audit: Audit, place: int, by: AbstractBaseUser, given: Mapping[str, Sequence[str]], note: str = ""
) -> Kept:
    """Keep one reader's answers for one pair; of a reader's readings the newest stands.

    A reading that comes when the pair has its readers already is kept as surplus: two people at once lose nothing,
    and no figure counts a pair twice. The same answers again write nothing.

    Raises:
        Refused: an answer is missing or unknown, the note is too long, or there is no such pair.
        Conflict: the audit is closed.
    """
    _hold_open(audit)
    item = _item(audit, place)
    answers = _checked(codebook_of(audit), given)
    note = _note(note)
    before = my_reading(item, by)
    if before is None or (before.answers, before.note) != (answers, note):
        before = AuditReading.objects.create(item=item, reader_id=by.pk, answers=answers, note=note)
    return Kept(before, by.pk in _readings(item, audit.readers).surplus)


@transaction.atomic
def settle(
    *, audit: Audit, place: int, by: AbstractBaseUser, given: Mapping[str, Sequence[str]], note: str = ""
) -> AuditReading:
    """Keep the agreed answers for a pair on which readers differ; the newest such reading stands.

    Raises:
        Refused: as in ``record_reading``.
        Conflict: the audit is closed, the pair still waits for readers, or they say the same.
    """
    _hold_open(audit)
    item = _item(audit, place)
    codebook = codebook_of(audit)
    state = _readings(item, audit.readers).state(codebook)
    if state not in {ItemState.DIFFERS, ItemState.SETTLED}:
        raise Conflict(f"pair {place}: there is nothing to settle; its readers agree or are not done")
    answers = _checked(codebook, given)
    return AuditReading.objects.create(
        item=item, reader_id=by.pk, answers=answers | {SETTLES: True}, note=_note(note)
    )


def close_audit(*, audit: Audit, by: AbstractBaseUser | None) -> None:
    """Close an audit for good: it takes no more readings. Closing a closed one changes nothing."""
    with transaction.atomic():
        open_one = Audit.objects.filter(pk=audit.pk, state=AuditState.OPEN)
        if open_one.update(state=AuditState.CLOSED, closed_at=timezone.now()):
            audit_trail.record(project=audit.project, actor=by, action="audit.close", subject=audit.pk)
    audit.refresh_from_db(fields=["state", "closed_at"])


def _hold_open(audit: Audit) -> None:
    """Refuse unless the audit is open, and keep it from being closed until the reading is written."""
    state = Audit.objects.select_for_update().values_list("state", flat=True).get(pk=audit.pk)
    if state != AuditState.OPEN:
        raise Conflict(f"{audit.name} is closed; it takes no more readings")


def _item(audit: Audit, place: int) -> AuditItem:
    item = item_at(audit, place)
    if item is None:
        raise Refused(f"pair {place}: it is not in this audit, or its photo was taken down")
    return item


def _checked(codebook: Codebook, given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    found = check(codebook, given)
    if found.wrong:
        code, problem = next(iter(found.wrong.items()))
        raise Refused(f"{code}: {problem}")
    return dict(found.answers)


def _note(text: str) -> str:
    note = text.strip()
    if len(note) > MOST_NOTE:
        raise Refused(f"note: has {len(note)} characters; use {MOST_NOTE} or fewer")
    return note


def _readings(item: AuditItem, readers: int) -> ItemReadings:
    rows = AuditReading.objects.filter(item=item).order_by("pk")
    return ItemReadings.of((Reading(row.reader_id, row.answers, row.note) for row in rows), readers)
