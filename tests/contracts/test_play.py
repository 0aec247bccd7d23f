"""Every kind is played from launch to pay, and where it is judged or sealed, to the end; new folders too."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.services.versions import create_sealed_version
from curation.versions.export import export_version
from curation.versions.families import get_family
from hits import registry
from hits.domain.states import AssignmentStatus, Purpose
from hits.kind import HitKind, InvalidInput, UnitBox
from hits.models import Assignment, Batch, Hit, Image, Project, Record, Unit
from hits.selectors.images.images import image_facts_by_id
from hits.services.collecting import submit
from hits.services.launching import template_launch
from tests.support import market
from tests.support.box_editor import task_address
from tests.support.loop import approve, collected, page_key
from tests.support.play import WORKERS, Play
from validation.domain.judging.quality_check_types import CheckRates, RoundUnit
from validation.domain.judging.quality_checks import compare_with_expected, labels_by_name, plan_round_units
from validation.domain.judging.spec import Scale
from validation.registry import spec_of
from validation.selectors.decisions import default_rules_of_kind
from validation.services.decisions import decide_items
from validation.services.quality_checks import add_gold_item
from validation.services.report import compute_report

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST_KEY = 80
PAGE = """<html><body><form><p>${question}</p><input name="chairs"></form></body></html>"""


# What a kind and a spec may bring of their own; each is named when it breaks.
KIND_METHODS = (
    "image_ids",
    "subject",
    "unit_for_page",
    "shown",
    "check_answer",
    "bonus_items",
    "records",
    "marks",
    "unit_rows",
    "answer_rows",
    "evidence",
    "checks",
    "unit_key",
    "plan_units",
    "region",
    "hint_cards",
    "own_hints",
    "gradable_items",
    "exam_score",
)
SPEC_METHODS = (
    "item_id",
    "key",
    "item_view",
    "labels",
    "build_answer",
    "allowed_labels",
    "build_attention_check",
    "summary",
)


class ContractBroken(AssertionError):
    """A method of the contract that raises; the message names it."""


def named(owner: Any, names: tuple[str, ...], patch: pytest.MonkeyPatch) -> None:
    """Let whatever a method of the contract raises say which method it was."""
    for name in names:
        patch.setattr(owner, name, _named(owner, name, getattr(owner, name)))


def _named(owner: Any, name: str, real: Any) -> Any:
    def call(*given: Any, **more: Any) -> Any:
        try:
            found = real(*given, **more)
            return list(found) if name == "labels" else found
        except (ContractBroken, InvalidInput):
            raise
        except Exception as error:
            raise ContractBroken(f"{owner.name}.{name} broke: {error!r}") from error

    return call


@pytest.fixture
def begin(
    project: Project, make_image: Callable[..., Image], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Play]:
    """Return a function that makes a kind ready to be played."""
    return lambda name: _begun(registry.get_kind(name), project, make_image, monkeypatch)


def _begun(
    kind: HitKind, project: Project, make_image: Callable[..., Image], patch: pytest.MonkeyPatch
) -> Play:
    market.fund()
    named(kind, KIND_METHODS, patch)
    if kind.purpose is Purpose.JUDGING:
        named(spec_of(kind.name), SPEC_METHODS, patch)
    template_launch.save_template(project=project, name="Chairs", html=PAGE, by=None)
    for name in registry.family_names():
        if set(kind.record_types) & set(get_family(name).used_types):
            Project.objects.filter(pk=project.pk).update(family=name)
            project.refresh_from_db()
    return Play(kind, project, [make_image(seed) for seed in (1, 2, 3, 4)])


@pytest.mark.parametrize("name", registry.kind_names())
def test_every_kind_plays_to_the_end(
    name: str, begin: Callable[[str], Play], client: Client, researcher: User, tmp_path: Path
) -> None:
    played(begin(name), client, researcher, tmp_path)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *(("two_photos", name) for name in KIND_METHODS if name != "subject"),
        *(("photo_verdict", name) for name in ("subject", *SPEC_METHODS)),
    ],
)
def test_broken_method_is_named(
    kind: str,
    method: str,
    begin: Callable[[str], Play],
    client: Client,
    researcher: User,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner = registry.get_kind(kind) if method in KIND_METHODS else spec_of(kind)

    def broken(*given: Any, **more: Any) -> Any:
        raise RuntimeError("broken on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(type(owner), method, broken)
        with pytest.raises(AssertionError, match=rf"{kind}\.{method} broke"):
            played(begin(kind), client, researcher, tmp_path)


def played(play: Play, client: Client, researcher: User, tmp_path: Path) -> None:
    """Play a kind from launch to pay, and on to where its purpose leads."""
    kind, project = play.kind, play.project
    _check_page_methods(play)
    batch = play.launched()
    hit = Hit.objects.get(unit__batch=batch)
    for name in WORKERS:
        _work(play, hit, market.market_worker(name), client)
    rows = collected(batch)
    assert len(rows) == len(WORKERS)
    unreadable = [row.record_error for row in rows if row.record_error]
    assert not unreadable, unreadable[0]
    client.force_login(researcher)
    _console_shows(client, batch, rows)
    for row in rows:
        approve(row)
    assert {row.status for row in collected(batch)} == {AssignmentStatus.APPROVED}
    _worker_page_shows(client, project, rows)
    if kind.purpose is Purpose.JUDGING:
        _is_judged(play, batch, client)
    if kind.purpose is Purpose.COLLECTING and kind.record_types:
        _is_sealed(play, rows, tmp_path)


def _check_page_methods(play: Play) -> None:
    """Check the methods for pages that only some kinds have: photos, hints, grading, the exam."""
    kind, unit, answer = play.kind, play.unit, play.sample["answer"]
    images = kind.page_images(unit, image_facts_by_id(kind.image_ids(unit)))
    assert not any(image.name for image in images.values()), "a page is never told a file's name"
    photos = [image.pk for image in Image.objects.filter(project=play.project)]
    planned = [kind.parse_unit(one) for one in kind.plan_units(photos)]
    assert bool(planned) == kind.takes_photos, f"{kind.name}.plan_units and takes_photos"
    keys = {kind.unit_key(one) for one in planned}
    assert len(keys) == len(planned), f"{kind.name}.unit_key: two units have one key"
    assert all(len(key) <= LONGEST_KEY for key in keys), f"{kind.name}.unit_key"
    assert all(isinstance(box, UnitBox) for box in kind.region(unit)), f"{kind.name}.region"
    assert isinstance(kind.hint_cards(unit, images, answer), list), f"{kind.name}.hint_cards"
    assert isinstance(kind.own_hints(unit, images, answer), list), f"{kind.name}.own_hints"
    assert isinstance(kind.gradable_items(unit, answer), list), f"{kind.name}.gradable"
    assert kind.exam_score(unit, answer).total >= 0, f"{kind.name}.exam_score"


def _work(play: Play, hit: Hit, worker: Any, client: Client) -> None:
    """Accept, see the page in both languages, save a draft, and hand the answer in."""
    task = market.accept(hit, worker)
    key = page_key(hit, task.slot.assignment_id, worker.worker_id)
    address = task_address(task)
    for language in ("en", "de"):
        page = client.get(address, HTTP_HOST=address.split("/")[2], HTTP_ACCEPT_LANGUAGE=language)
        assert page.status_code == 200, f"{play.kind.name}.unit_for_page or its template ({language})"
    submit.record_consent(key=key, version=1, country="US")
    submit.open_attempt(key)
    submit.save_draft(key=key, content=play.sample["answer"], revision=0)
    submission, _ = submit.store_submission(
        key=key, client_uuid=uuid.uuid4(), answer=play.sample["answer"], active_seconds=80.0
    )
    market.submit_form(task, submission)


def _console_shows(client: Client, batch: Batch, rows: list[Assignment]) -> None:
    for name, args in (
        ("batch-detail", [batch.pk]),
        ("batch-review", [batch.pk]),
        ("assignment-detail", [rows[0].pk]),
    ):
        reply = client.get(reverse(name, args=args))
        assert reply.status_code == 200, f"{batch.kind}: the page {name}"
        assert b"No answer of ours" not in reply.content


def _worker_page_shows(client: Client, project: Project, rows: list[Assignment]) -> None:
    for row in rows:
        reply = client.get(reverse("worker-detail", args=[project.slug, row.worker_id]))
        assert reply.status_code == 200, "the worker's page"


def _is_judged(play: Play, batch: Batch, client: Client) -> None:
    """Report, decide, make gold of it, and mix an attention check in, as far as the spec says so."""
    spec, project = spec_of(play.kind.name), play.project
    answer = play.sample["answer"]
    given = {(row.dimension, row.part): row.label for row in spec.labels(answer)}
    assert given, f"{spec.name}: SPEC.labels finds nothing in the sample's answer"
    assert spec.build_answer(given) == {**answer, **spec.build_answer(given)}, (
        f"{spec.name}: SPEC.build_answer"
    )
    figures = compute_report(project=project, kind=spec.name).figures
    assert set(figures["dimensions"]) == set(spec.dimensions_by_name)
    for dimension in spec.dimensions:
        found = figures["dimensions"][dimension.name]["coefficients"]
        assert ("alpha_ordinal" in found) == (dimension.scale is Scale.ORDINAL), dimension.name
    for address in (
        f"{reverse('judging-report', args=[project.slug])}?kind={spec.name}",
        reverse("judging-item", args=[project.slug, spec.name, spec.item_id(play.unit)]),
        reverse("judging", args=[project.slug]),
        *(
            reverse("judging-texts", args=[project.slug, spec.name, one.name])
            for one in spec.dimensions
            if one.scale is Scale.TEXT
        ),
    ):
        assert client.get(address).status_code == 200, address
    if spec.deciding_dimensions:
        run = decide_items(
            project=project, kind=spec.name, rules=default_rules_of_kind(spec.name), by=None
        ).run
        assert run.decisions.exists()
        assert client.get(f"{reverse('decisions', args=[project.slug])}?kind={spec.name}").status_code == 200
    if spec.can_be_gold:
        unit = Unit.objects.get(batch=batch)
        right = {
            name: [label]
            for name, label in labels_by_name(answer, spec).items()
            if name in spec.allowed_labels(unit.payload)
        }
        gold = add_gold_item(unit=unit, expected=right, by=None)
        assert compare_with_expected(answer, gold.expected, spec).passed
        for name in ("gold", "gold-choose"):
            assert client.get(f"{reverse(name, args=[project.slug])}?kind={spec.name}").status_code == 200
    if spec.has_attention_checks:
        others = [play.kind.parse_unit(unit) for unit in play.sample.get("others", ())]
        assert others, f"{spec.name}: sample.json needs others, so that an attention check can borrow"
        own = [RoundUnit(spec.key(unit), unit) for unit in (play.unit, *others)]
        mixed = plan_round_units(own, [], CheckRates(attention=50), np.random.default_rng(1), spec)
        assert any(unit.key not in {one.key for one in own} for unit in mixed)


def _is_sealed(play: Play, rows: list[Assignment], tmp_path: Path) -> None:
    """Every record of the answers is a row of a sealed version, which proves itself."""
    family = get_family(play.project.family)
    assert set(play.kind.record_types) <= set(family.used_types), "a family takes the kind's records"
    if not set(play.kind.record_types) & set(family.record_types):
        return  # rows of other tables hold these records' content
    version = create_sealed_version(project=play.project, name="v1", by=None)
    records = Record.objects.filter(submission__assignment__in=rows, type__in=family.record_types)
    kept = set(records.values_list("instance_id", flat=True))
    assert kept
    parts = [part.name for part in family.parts if part.record_type]
    assert {row.instance_id for row in version.rows.filter(part__in=parts)} == kept
    folder = tmp_path / "export"
    export_version(version, folder)
    main = version.rows.filter(part=family.main_part.name).count()
    assert family.check(folder) == main
    assert json.loads((folder / family.private_folder / "manifest.json").read_text())["family"] == family.name
