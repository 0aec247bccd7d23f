"""What a researcher chooses when a comparison round is launched, and what of it reaches the judges."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import ComparisonRound, Pair
from curation.services import comparison as services
from curation.services.comparison import JudgePageOptions
from curation.tasks import build_comparison_round
from hits.models import AuditEvent, Unit
from hits.services.errors import Conflict, Refused
from tests.support import market
from tests.support.judging.work import Work
from tests.support.pages import squeezed
from validation.domain.judging.quality_check_types import CheckRates
from validation.models import JudgingRound, QualityCheck

pytestmark = pytest.mark.django_db
VALUES = {"name": "", "reward": "0.55", "assignments": "2", "units": "2"}


@pytest.fixture
def pairs(work: Work) -> list[Pair]:
    """Return twelve pairs of four authors on four photos."""
    found = [work.observed(work.image(n), worker=f"W{n}") for n in range(4)]
    return [pair for some in found for pair in some]


@pytest.fixture
def built(work: Work, pairs: list[Pair]) -> ComparisonRound:
    """Return a round of two sets of three, the first about W0's pair with candidates of W1."""
    ids = [pair.instance_id for pair in pairs]
    return services.store_round(
        project=work.project,
        options=services.RoundOptions(min_candidates=2),
        built=services.BuiltRound(
            encoder="made up",
            provenance={"code": "test"},
            instances=12,
            inferences=12,
            sets=[
                services.BuiltSet(pairs[0].pk, ids[3:6], 1, {"available": 30}),
                services.BuiltSet(pairs[6].pk, ids[9:12], 2, {"available": 30}),
            ],
            skipped={},
        ),
    )


def _payloads(built: ComparisonRound) -> list[dict[str, Any]]:
    built.refresh_from_db()
    assert built.batch is not None
    return [unit.payload for unit in built.batch.units.filter(quality_check=None)]


def test_judges_see_neither_clue_nor_reference_unless_asked(built: ComparisonRound) -> None:
    batch, _ = services.launch_comparison_batch(round=built, by=None)
    assert [(p["clue"], p["reference"], p["per_page"]) for p in _payloads(built)] == [(None, None, 10)] * 2
    assert batch.provenance["judges_see"] == {"clue": False, "reference": False, "per_page": 10}


def test_judge_page_options_are_stored_in_every_unit(built: ComparisonRound, pairs: list[Pair]) -> None:
    page = JudgePageOptions(clue=True, reference=True, per_page=5)
    batch, _ = services.launch_comparison_batch(round=built, by=None, page=page)
    first, second = _payloads(built)
    assert (first["clue"], first["reference"]) == (pairs[0].clue, pairs[0].inference)
    assert (second["clue"], second["reference"]) == (pairs[6].clue, pairs[6].inference)
    assert {first["per_page"], second["per_page"]} == {5}
    assert batch.provenance["judges_see"] == {"clue": True, "reference": True, "per_page": 5}


def test_a_page_of_seven_is_refused() -> None:
    with pytest.raises(Refused, match="per_page: 7 is not offered; use 5 or 10"):
        JudgePageOptions(per_page=7)


def test_confirmation_shows_and_keeps_judge_page_options(
    client: Client, built: ComparisonRound, pairs: list[Pair], researcher: User
) -> None:
    market.fund()
    client.force_login(researcher)
    url = reverse("comparison-round", args=[built.project.slug, built.pk])
    asked = client.post(url, VALUES | {"show_reference": "on", "per_page": "5", "step": "estimate"})
    page = squeezed(asked)
    assert "Judges see the region, the reference inference and 5 candidates at a time." in page
    carried = {
        name: asked.context["form"][name].value() for name in ("show_clue", "show_reference", "per_page")
    }
    for name, value in carried.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in page
    assert client.post(url, VALUES | carried | {"step": "launch"}).status_code == 302
    assert [(p["clue"], p["reference"], p["per_page"]) for p in _payloads(built)] == [
        (None, pairs[0].inference, 5),
        (None, pairs[6].inference, 5),
    ]


def test_changing_after_cost_keeps_choices(client: Client, built: ComparisonRound, researcher: User) -> None:
    client.force_login(researcher)
    url = reverse("comparison-round", args=[built.project.slug, built.pk])
    carried = {"show_clue": "True", "show_reference": "False", "per_page": "5", "step": "change"}
    page = client.post(url, VALUES | carried).content.decode()
    assert 'name="show_clue" aria-describedby="id_show_clue_helptext" id="id_show_clue" checked' in page
    assert (
        'name="show_reference" aria-describedby="id_show_reference_helptext" id="id_show_reference">' in page
    )
    assert '<option value="5" selected>5</option>' in page


def test_another_number_of_statements_is_named_at_its_field(
    client: Client, built: ComparisonRound, researcher: User
) -> None:
    client.force_login(researcher)
    url = reverse("comparison-round", args=[built.project.slug, built.pk])
    reply = client.post(url, VALUES | {"per_page": "7", "step": "estimate"})
    assert reply.status_code == 400
    assert "7 is not one of the available choices" in reply.content.decode()


def test_controls_are_paid_for_mixed_in_and_recorded(
    client: Client, built: ComparisonRound, researcher: User
) -> None:
    market.fund()
    client.force_login(researcher)
    url = reverse("comparison-round", args=[built.project.slug, built.pk])
    fields = VALUES | {"repeat": "50"}
    page = squeezed(client.post(url, fields | {"step": "estimate"}))
    assert '<span class="num">1</span> quality check is mixed in.' in page
    assert "Launch 3 tasks, hold $3.30" in page
    assert client.post(url, fields | {"step": "launch"}).status_code == 302
    built.refresh_from_db()
    assert built.batch is not None
    assert built.batch.units.count() == 3
    check = QualityCheck.objects.get(unit__batch=built.batch)
    assert check.unit.payload in _payloads(built), "a repeat is the same page once more"
    assert JudgingRound.objects.get(batch=built.batch).repeat_percent == 50


def test_an_attention_check_has_the_same_page_as_the_others(built: ComparisonRound) -> None:
    services.launch_comparison_batch(round=built, by=None, rates=CheckRates(attention=50))
    built.refresh_from_db()
    assert built.batch is not None
    shapes = {tuple(sorted(unit.payload)) for unit in Unit.objects.filter(batch=built.batch)}
    assert len(shapes) == 1
    assert {unit.payload["per_page"] for unit in Unit.objects.filter(batch=built.batch)} == {10}


def test_a_set_that_was_left_out_is_not_launched(built: ComparisonRound, researcher: User) -> None:
    first, second = built.sets.order_by("rank")
    services.leave_out_or_restore_set(item=first, reason="  names a\nbrand ", by=researcher)
    services.leave_out_or_restore_set(item=first, reason="names a brand", by=researcher)  # writes nothing
    assert [item.rank for item in services.launchable_sets(built)] == [second.rank]
    services.launch_comparison_batch(round=built, by=None, page=JudgePageOptions(reference=True))
    assert [unit["reference"] for unit in _payloads(built)] == [second.observation.inference]
    event = AuditEvent.objects.get(action="comparison.leave_out")
    assert (event.actor, event.data) == (researcher, {"set": 1})
    with pytest.raises(Conflict, match="launched already"):
        services.leave_out_or_restore_set(item=first, reason="", by=researcher)


def test_sets_may_be_taken_back_and_all_left_out_is_no_launch(built: ComparisonRound) -> None:
    for item in built.sets.all():
        services.leave_out_or_restore_set(item=item, reason="offensive", by=None)
    with pytest.raises(Refused, match="all sets of this round are left out; restore some"):
        services.launch_comparison_batch(round=built, by=None)
    services.leave_out_or_restore_set(item=built.sets.get(rank=2), reason="", by=None)
    services.launch_comparison_batch(round=built, by=None)
    assert len(_payloads(built)) == 1
    with pytest.raises(Refused, match="reason: has 201 characters; use at most 200"):
        services.leave_out_or_restore_set(item=built.sets.get(rank=1), reason="x" * 201, by=None)


def test_a_researcher_leaves_a_set_out_on_the_page(
    client: Client, built: ComparisonRound, researcher: User
) -> None:
    item = built.sets.get(rank=2)
    url = reverse("comparison-set-leave-out", args=[built.project.slug, built.pk, item.pk])
    assert client.post(url).status_code == 302  # to the sign-in page
    item.refresh_from_db()
    assert item.left_out == ""
    client.force_login(researcher)
    page = squeezed(client.post(url, {"why": "offensive"}, follow=True))
    assert "Set 2 will not be launched." in page
    assert "Left out: offensive" in page
    assert "1 set left out" in page
    assert "Set 2 will be launched." in squeezed(client.post(url, {"act": "take-back"}, follow=True))
    assert (
        client.post(reverse("comparison-set-leave-out", args=[built.project.slug, built.pk, 0])).status_code
        == 404
    )


def test_outsiders_leave_nothing_out(client: Client, built: ComparisonRound, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("stranger", password="x"))
    item = built.sets.get(rank=1)
    url = reverse("comparison-set-leave-out", args=[built.project.slug, built.pk, item.pk])
    assert client.post(url, {"why": "no"}).status_code in {403, 404}
    item.refresh_from_db()
    assert item.left_out == ""


def test_a_job_that_is_run_again_finds_its_round(
    work: Work, built: ComparisonRound, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = services.request_comparison_round(project=work.project, by=None, options=services.RoundOptions())
    ComparisonRound.objects.filter(pk=built.pk).update(job=job)
    monkeypatch.setattr("curation.pipelines.comparison.build_comparison_round", None)  # is not called
    build_comparison_round(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["round"]) == ("done", built.pk)
    assert ComparisonRound.objects.count() == 1
