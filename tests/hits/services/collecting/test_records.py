"""Records of any type and number of images; an unreadable answer stops nothing else."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits import registry
from hits.domain.answers.records import Record as PlainRecord
from hits.domain.hashing import instance_id
from hits.kind import Schema
from hits.kinds.sherlock_observation.kind import SherlockObservation
from hits.models import Assignment, AuditEvent, Batch, Hit, Project, Record, RecordImage
from hits.models.base import AppendOnlyError
from hits.selectors import records as selectors
from hits.services.collecting.records import reread_records
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support.answers import observations
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


class Note(Schema):
    text: str


class TwoTypes(SherlockObservation):
    """Gives a pair's clue and inference as records of two types, one of them with two images."""

    record_types: ClassVar[Mapping[str, type[Schema]]] = {"seen": Note, "thought": Note}
    other_image: ClassVar[int] = 0

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        return [unit["image"], *([self.other_image] if self.other_image else [])]

    def records(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[PlainRecord]:
        first = answer["observations"][0]
        return [
            PlainRecord("seen", 1, tuple(self.image_ids(unit)), {"text": first["clue"]}),
            PlainRecord("thought", 2, (), {"text": first["inference"]}),
        ]


@pytest.fixture
def work(project: Project) -> Work:
    return Work(project)


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> TwoTypes:
    """Let ``sherlock_observation`` give records of two types."""
    made = TwoTypes()
    real = registry.get_kind
    monkeypatch.setattr(registry, "get_kind", lambda name: made if name == made.name else real(name))
    return made


def batch_of(work: Work, photos: int) -> Batch:
    images = [work.image(number) for number in range(1, photos + 1)]
    units = [PlannedUnit(f"image-{image.pk}", {"image": image.pk}) for image in images]
    batch, _ = launch_batch(
        project=work.project,
        kind_name="sherlock_observation",
        name="B",
        units=units,
        by=None,
        terms=LaunchTerms(),
    )
    work.publish(batch)
    return batch


def test_records_have_types_images_and_unique_indices(work: Work, kind: TwoTypes) -> None:
    batch = batch_of(work, 1)
    kind.other_image = work.image(9).pk
    hit = Hit.objects.get(unit__batch=batch)
    hit.unit.images.add(kind.other_image)
    submission = work.answered(hit, "W1", observations(3))
    seen, thought = Record.objects.order_by("index")
    assert (seen.type, seen.index, seen.fields) == (
        "seen",
        1,
        {"text": observations(3)["observations"][0]["clue"]},
    )
    assert (thought.type, thought.index, thought.image_id) == ("thought", 2, None)
    assert seen.instance_id == instance_id(str(submission.pk), 1)
    assert selectors.image_ids_by_record([seen, thought]) == {
        seen.pk: (hit.unit.payload["image"], kind.other_image),
        thought.pk: (),
    }
    assert [row.position for row in RecordImage.objects.all()] == [0, 1]


def test_records_may_be_generated(work: Work, kind: TwoTypes, monkeypatch: pytest.MonkeyPatch) -> None:
    real = kind.records
    monkeypatch.setattr(kind, "records", lambda unit, answer: (record for record in real(unit, answer)))
    work.answered(Hit.objects.get(unit__batch=batch_of(work, 1)), "W1", observations(3))
    assert Record.objects.count() == 2


def test_too_long_record_type_is_a_system_check_error(kind: TwoTypes) -> None:
    kind.record_types = {"t" * 41: Note}  # type: ignore[misc]
    assert kind.find_problems() == [f"record type {'t' * 41!r} has 41 characters; use at most 40"]


def test_record_of_taken_down_image_is_excluded(work: Work, kind: TwoTypes) -> None:
    batch = batch_of(work, 1)
    second = work.image(9)
    kind.other_image = second.pk
    work.answered(Hit.objects.get(unit__batch=batch), "W1", observations(3))
    assert selectors.approved_records(work.project, "seen").count() == 1
    type(second).objects.filter(pk=second.pk).update(taken_down_at=timezone.now())
    assert selectors.approved_records(work.project, "seen").count() == 0
    assert selectors.approved_records_on_taken_down_images(work.project, "seen").count() == 1
    assert selectors.approved_records(work.project, "thought").count() == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda unit: 1 / 0, "ZeroDivisionError"),
        (lambda unit: [PlainRecord("dreamt", 1)], "type 'dreamt' is not one of"),
        (lambda unit: [PlainRecord("seen", 1, (), {"text": 5})], "record 1, text: "),
        (lambda unit: [PlainRecord("seen", 1, (), {})], "record 1, text: "),
        (lambda unit: [PlainRecord("seen", 2, (), {"text": "a"})] * 2, "record 2: use each number from 1"),
        (lambda unit: [PlainRecord("seen", 40_000, (), {"text": "a"})], "use each number from 1 to 32,767"),
        (lambda unit: [PlainRecord("seen", 1, (), {"text": "a\0"})], "record 1, text: contains the control"),
        (lambda unit: [PlainRecord("seen", 1.2, (), {"text": "a"})], "record 1.2: use each number from 1"),  # type: ignore[arg-type]
        (lambda unit: [PlainRecord("seen", True, (), {"text": "a"})], "use each number from 1"),
        (lambda unit: [PlainRecord("seen", 1, (), {"text": "a"}, None)], "record 1: bonus None"),  # type: ignore[arg-type]
        (lambda unit: int("a\0"), "ValueError: invalid literal"),
        (lambda unit: None, "TypeError"),
        (lambda unit: ["seen"], "records: str is not a Record"),
        (
            lambda unit: [PlainRecord("seen", 1, (10**9,), {"text": "a"})],
            "image 1000000000 is not one of its unit",
        ),
    ],
)
def test_unreadable_answer_is_marked_and_stops_nothing(
    work: Work, kind: TwoTypes, monkeypatch: pytest.MonkeyPatch, wrong: Any, words: str
) -> None:
    batch = batch_of(work, 2)
    first, second = Hit.objects.filter(unit__batch=batch)
    real = TwoTypes.records
    monkeypatch.setattr(
        TwoTypes,
        "records",
        lambda self, unit, answer: (
            wrong(unit) if unit["image"] == first.unit.payload["image"] else real(self, unit, answer)
        ),
    )
    work.answered(first, "W1", observations(3))
    work.answered(second, "W2", observations(3))
    marked, fine = Assignment.objects.order_by("pk")
    assert words in str(marked.record_error)
    assert fine.record_error is None
    assert Record.objects.filter(submission=fine.submission).count() == 2
    assert list(selectors.unreadable_assignments(batch)) == [marked]


def test_unreadable_answers_are_read_after_the_kind_is_fixed(
    work: Work, kind: TwoTypes, monkeypatch: pytest.MonkeyPatch, client: Client, researcher: User
) -> None:
    batch = batch_of(work, 1)
    with monkeypatch.context() as broken:
        broken.setattr(TwoTypes, "records", lambda self, unit, answer: 1 / 0)
        work.answered(Hit.objects.get(unit__batch=batch), "W1", observations(3))
        assert reread_records(batch=batch, by=None).unreadable == 1
    client.force_login(researcher)
    page = client.get(reverse("batch-detail", args=[batch.pk])).content.decode()
    assert "Records of 1 submission cannot be read" in page
    assert "ZeroDivisionError" in page
    page = client.post(reverse("batch-read-records", args=[batch.pk]), follow=True).content.decode()
    assert "Records of 1 submissions were read." in page
    assert "cannot be read" not in page
    assert Record.objects.count() == 2
    assert AuditEvent.objects.filter(action="batch.read_records").count() == 2
    assert reread_records(batch=batch, by=researcher) == type(reread_records(batch=batch, by=researcher))(
        0, 0
    )


def test_records_are_never_changed(work: Work) -> None:
    row = work.observed(work.image())[0]
    with pytest.raises(AppendOnlyError):
        Record.objects.filter(pk=row.pk).update(bonus=True)
    with pytest.raises(AppendOnlyError):
        row.delete()
    for statement in ("UPDATE hits_record SET bonus = NOT bonus", "DELETE FROM hits_record"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_sync_reports_number_of_unreadable_answers(
    work: Work, kind: TwoTypes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = batch_of(work, 1)
    with monkeypatch.context() as broken:
        broken.setattr(TwoTypes, "records", lambda self, unit, answer: 1 / 0)
        work.answered(Hit.objects.get(unit__batch=batch), "W1", observations(3))
    Hit.objects.filter(unit__batch=batch).update(hit_id=None, state="planned")  # nothing is asked
    call_command("sync_batch", str(batch.pk))
    assert "records of 1 submissions cannot be read" in capsys.readouterr().out
    call_command("sync_batch", str(batch.pk), "--read-records")
    assert "records of 1 submissions could be read on the retry" in capsys.readouterr().out
