"""Create audits, record labels, settle disagreements, and close audits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from curation.audits.answers import SETTLEMENT_KEY, parse_answers
from curation.audits.codebook import Codebook
from curation.audits.labels import ItemLabels, ItemState, ReaderLabel
from curation.audits.sampling import Sample, SampleRecipe, SamplingMethod, draw_sample
from curation.models import Audit, AuditItem, AuditLabel, AuditState, TextAnalysis
from curation.selectors import audits
from curation.services.refusals import refuse_invalid_input
from hits.models import Project
from hits.services import audit as audit_trail
from hits.services.errors import Conflict, Refused

MAX_READERS = 5
MAX_NAME_LENGTH = 120
MAX_NOTE_LENGTH = 1000
_INSERT_BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """The sample of a planned audit, and the number of pairs it was drawn from."""

    sample: Sample
    available: int
    analysis: TextAnalysis | None = None


def plan_audit(*, project: Project, recipe: SampleRecipe) -> AuditPlan:
    """Return the sample that a recipe draws from the project's accepted pairs now. Reads only.

    Raises:
        Refused: there is no such analysis, or no pair to read.
    """
    analysis = None
    if recipe.method is SamplingMethod.TOP:
        analysis = next(
            (row for row in audits.finished_toxicity_analyses(project) if row.pk == recipe.analysis), None
        )
        if analysis is None:
            raise Refused("analysis: this project has no such toxicity analysis; choose another one")
    pairs = audits.auditable_pairs(project, recipe.analysis)
    with refuse_invalid_input():
        return AuditPlan(draw_sample(pairs, recipe), len(pairs), analysis)


def create_audit(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    name: str,
    codebook: Codebook,
    recipe: SampleRecipe,
    readers: int = 2,
) -> Audit:
    """Create an audit: its codebook, recipe and pairs are frozen. Atomic.

    If there are fewer pairs than requested, the audit takes all of them; ``sample`` stores how many are missing.

    Raises:
        Refused: an empty or used name, too many readers, or no pair to read.
    """
    name = " ".join(name.split())
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise Refused(f"name: use 1 to {MAX_NAME_LENGTH} characters")
    if not 1 <= readers <= MAX_READERS:
        raise Refused(f"readers: {readers} is out of range; use 1 to {MAX_READERS}")
    plan = plan_audit(project=project, recipe=recipe)
    try:
        with transaction.atomic():
            found = _create_audit(project, by, name, codebook, recipe, plan, readers)
    except IntegrityError as error:
        raise Refused(f"name: an audit named {name} exists already; choose another name") from error
    return found


def _create_audit(  # noqa: PLR0917 - private
    project: Project,
    by: AbstractBaseUser | None,
    name: str,
    codebook: Codebook,
    recipe: SampleRecipe,
    plan: AuditPlan,
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
                audit=found,
                observation_id=pair.key,
                position=position,
                split=pair.split[:12],
                score=pair.score,
            )
            for position, pair in enumerate(plan.sample.pairs, start=1)
        ],
        batch_size=_INSERT_BATCH_SIZE,
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


def _sample_row(recipe: SampleRecipe, plan: AuditPlan) -> dict[str, Any]:
    row = recipe.as_row() | {"available": plan.available, "missing": plan.sample.missing}
    if plan.analysis is not None:
        row["analysis_options"] = plan.analysis.options
        row["analysis_made"] = plan.analysis.created_at.isoformat()
    return row


@dataclass(frozen=True, slots=True)
class SavedLabel:
    """A stored label. ``is_surplus``: the pair had all its readers before, so it does not count."""

    label: AuditLabel
    is_surplus: bool


@transaction.atomic
def record_label(
    *, audit: Audit, position: int, by: AbstractBaseUser, posted: Mapping[str, Sequence[str]], note: str = ""
) -> SavedLabel:
    """Store a reader's answers for one pair; a reader's newest label is current.

    A label for a pair that has all its readers is stored as surplus, so that concurrent readers lose nothing and no
    figure counts a pair twice. Repeating the same answers writes nothing.

    Raises:
        Refused: an answer is missing or unknown, the note is too long, or there is no such pair.
        Conflict: the audit is closed.
    """
    _lock_open_audit(audit)
    item = _get_item(audit, position)
    answers = _validate_answers(audits.audit_codebook(audit), posted)
    note = _validate_note(note)
    label = audits.newest_label(item, by)
    if label is None or (label.answers, label.note) != (answers, note):
        label = AuditLabel.objects.create(item=item, reader_id=by.pk, answers=answers, note=note)
    return SavedLabel(label, by.pk in _item_labels(item, audit.readers).surplus)


@transaction.atomic
def settle_disagreement(
    *, audit: Audit, position: int, by: AbstractBaseUser, posted: Mapping[str, Sequence[str]], note: str = ""
) -> AuditLabel:
    """Store the agreed answers for a pair on which readers disagree; the newest settlement is current.

    Raises:
        Refused: as in ``record_label``.
        Conflict: the audit is closed, the pair is not complete, or its readers agree.
    """
    _lock_open_audit(audit)
    item = _get_item(audit, position)
    codebook = audits.audit_codebook(audit)
    state = _item_labels(item, audit.readers).state(codebook)
    if state not in {ItemState.DIFFERS, ItemState.SETTLED}:
        raise Conflict(f"pair {position}: nothing to settle; its readers agree or are not done")
    answers = _validate_answers(codebook, posted)
    return AuditLabel.objects.create(
        item=item, reader_id=by.pk, answers=answers | {SETTLEMENT_KEY: True}, note=_validate_note(note)
    )


def close_audit(*, audit: Audit, by: AbstractBaseUser | None) -> None:
    """Close an audit permanently; it accepts no more labels. Idempotent."""
    with transaction.atomic():
        if_open = Audit.objects.filter(pk=audit.pk, state=AuditState.OPEN)
        if if_open.update(state=AuditState.CLOSED, closed_at=timezone.now()):
            audit_trail.record(project=audit.project, actor=by, action="audit.close", subject=audit.pk)
    audit.refresh_from_db(fields=["state", "closed_at"])


def _lock_open_audit(audit: Audit) -> None:
    """Lock the audit's row until the label is written, and refuse if it is closed."""
    state = Audit.objects.select_for_update().values_list("state", flat=True).get(pk=audit.pk)
    if state != AuditState.OPEN:
        raise Conflict(f"{audit.name} is closed and accepts no more labels")


def _get_item(audit: Audit, position: int) -> AuditItem:
    item = audits.get_item(audit, position)
    if item is None:
        raise Refused(f"pair {position}: it is not in this audit, or its photo was taken down")
    return item


def _validate_answers(codebook: Codebook, posted: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    found = parse_answers(codebook, posted)
    if found.errors:
        code, problem = next(iter(found.errors.items()))
        raise Refused(f"{code}: {problem}")
    return dict(found.answers)


def _validate_note(text: str) -> str:
    note = text.strip()
    if len(note) > MAX_NOTE_LENGTH:
        raise Refused(f"note: has {len(note)} characters; use {MAX_NOTE_LENGTH} or fewer")
    return note


def _item_labels(item: AuditItem, readers: int) -> ItemLabels:
    rows = AuditLabel.objects.filter(item=item).order_by("pk")
    labels = (ReaderLabel(row.reader_id, row.answers, row.note) for row in rows)
    return ItemLabels.from_labels(labels, readers)
