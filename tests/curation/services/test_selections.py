"""What a version holds: decisions and audits leave rows out, each with its reason, and the seal says so."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import DatasetVersion, Pair
from curation.pipelines.comparison import _select_pairs
from curation.records import InvalidInput
from curation.services import audits as services_audits
from curation.services.comparison import RoundOptions
from curation.services.versions import create_sealed_version, create_version, plan_version, seal_version
from curation.versions.export import export_version, seal_file_lines
from curation.versions.families import family_of
from curation.versions.seal import seal_sha256
from curation.versions.selection import (
    AuditChoice,
    DecisionChoice,
    ExclusionReason,
    Selection,
    split_main_reason,
)
from hits.domain.states import AssignmentStatus
from hits.models import Hit
from hits.services.errors import Refused
from tests.support.curation.audits import NO, begun, yes
from tests.support.curation.audits import pairs as pairs_of
from tests.support.judging.work import Work, review
from validation.models import DecisionRun
from validation.selectors.decisions import default_rules_of_kind
from validation.services.decisions import decide_items
from validation.services.judging import launch_review

pytestmark = pytest.mark.django_db
KIND = "observation_review"


def judged(work: Work, pairs: list[Pair], words: list[str]) -> DecisionRun:
    """Let three workers judge each pair: "highly" or "un" by all of them, or "" for a tie of two; and decide."""
    batch, _ = launch_review(project=work.project, observations=pairs, by=None)
    work.publish(batch)
    for pair, word in zip(pairs, words, strict=True):
        hit = Hit.objects.get(unit__batch=batch, unit__key=pair.instance_id)
        for n, answer in enumerate([word] * 3 if word else ["highly", "un"]):
            work.answered(hit, f"J{n}", review(answer))
    rules = {"reasonable": default_rules_of_kind(KIND)["reasonable"]}
    return decide_items(project=work.project, kind=KIND, rules=rules, by=None).run


@pytest.fixture
def decided(work: Work) -> tuple[list[Pair], DecisionRun]:
    """Return six pairs: accepted, rejected, undecided, accepted and two that nobody judged; and the run."""
    pairs = [*work.observed(work.image(1)), *work.observed(work.image(2), worker="W2")]
    return pairs, judged(work, pairs[:4], ["highly", "un", "", "highly"])


def ids(version: DatasetVersion) -> set[str]:
    return {row.instance_id for row in plan_version(version).rows}


@pytest.mark.parametrize(
    ("keep", "held", "reasons"),
    [
        ({}, {0, 3}, {"judged_against": 1, "not_judged": 2, "undecided": 1}),
        ({"keep_not_judged": True}, {0, 3, 4, 5}, {"judged_against": 1, "undecided": 1}),
        ({"keep_undecided": True}, {0, 2, 3}, {"judged_against": 1, "not_judged": 2}),
    ],
)
def test_version_contains_records_accepted_by_run(
    work: Work, decided: Any, keep: dict[str, bool], held: set[int], reasons: dict[str, int]
) -> None:
    pairs, run = decided
    choice = DecisionChoice(run.pk, ("reasonable",), **keep)
    version = create_version(project=work.project, name="v1", by=None, selection=Selection(choice))
    assert ids(version) == {pairs[n].instance_id for n in held}
    assert plan_version(version).exclusions == reasons


def test_records_marked_in_audit_are_excluded(work: Work, admin: User, decided: Any) -> None:
    pairs, _ = decided
    audit = begun(work, by=admin, n=6, readers=1)
    marked = audit.items.get(observation=pairs[0])
    unmarked = audit.items.get(observation=pairs[1])
    services_audits.record_label(audit=audit, position=marked.position, posted=yes("age"), by=admin)
    services_audits.record_label(audit=audit, position=unmarked.position, posted=NO, by=admin)
    selection = Selection(audits=(AuditChoice(audit.pk, "which", ("age",)),))
    version = create_version(project=work.project, name="v1", by=None, selection=selection)
    assert ids(version) == {pair.instance_id for pair in pairs[1:]}
    assert plan_version(version).exclusion_reason("observation", pairs[0].instance_id) == "audit_concern"
    two = Selection(audits=(AuditChoice(audit.pk, "which", ("age",), readers=2),))
    assert len(ids(create_version(project=work.project, name="v2", by=None, selection=two))) == 6


def test_the_seal_names_the_selection_and_old_seals_still_verify(
    work: Work, decided: Any, tmp_path: Path
) -> None:
    _, run = decided
    selection = Selection(DecisionChoice(run.pk, ("reasonable",)))
    version = create_sealed_version(project=work.project, name="v1", by=None, selection=selection)
    lines = [json.loads(line) for line in seal_file_lines(version)]
    assert lines[0]["format"] == "deerstalker-seal/2"
    assert lines[1] == {"selection": selection.as_json()}
    assert version.provenance["selection"] == selection.as_json()
    assert seal_sha256(seal_file_lines(version)) == version.manifest_sha256
    export_version(version, tmp_path / "v1")
    assert family_of(work.project).check(tmp_path / "v1") == 2
    version.selection = None  # as a version that was sealed before there was a choice
    before = [json.loads(line) for line in seal_file_lines(version)]
    assert before[0]["format"] == "deerstalker-seal/1"
    assert before[1:] == lines[2:]


def test_next_version_shows_reason_for_each_removed_row(
    work: Work, decided: Any, client: Client, researcher: User
) -> None:
    pairs, run = decided
    create_sealed_version(project=work.project, name="v1", by=None)
    chosen = Selection(DecisionChoice(run.pk, ("reasonable",)))
    draft = create_version(project=work.project, name="v2", by=None, selection=chosen)
    client.force_login(researcher)
    for state in ("draft", "sealed"):
        page = client.get(reverse("version", args=[draft.pk])).content.decode()
        assert "Left out: rejected by the decision run" in page, state
        assert page.count("Left out: not judged in the decision run") == 2, state
        assert f"accepted by decision run {run.pk} in Acceptable" in page, state
        draft = seal_version(version=draft, by=None)
    assert set(draft.provenance["removed"]) == {pairs[n].instance_id for n in (1, 2, 4, 5)}


def test_empty_selection_explains_exclusions(work: Work, decided: Any) -> None:
    pairs, run = decided
    judged(work, pairs[4:], ["un", "un"])
    choice = DecisionChoice(run.pk, ("reasonable",))
    for image in {pairs[0].image, pairs[3].image}:
        type(image).objects.filter(pk=image.pk).update(taken_down_at=timezone.now())
    with pytest.raises(Refused, match=r"all 6 approved records are excluded: 6 pairs on photos"):
        create_sealed_version(project=work.project, name="v1", by=None, selection=Selection(choice))


def test_nothing_left_counts_by_kind(work: Work) -> None:
    work.observed(work.image(1), status=AssignmentStatus.SUBMITTED)
    with pytest.raises(Refused, match="1 submissions of sherlock_observation wait for review"):
        create_sealed_version(project=work.project, name="v1", by=None)


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(DecisionChoice(999, ("reasonable",))), "the project has no decision run 999"),
        (Selection(audits=(AuditChoice(999, "which", ("age",)),)), "the project has no audit 999"),
    ],
)
def test_unknown_run_audit_or_code_is_refused(work: Work, selection: Selection, words: str) -> None:
    with pytest.raises(Refused, match=words):
        create_version(project=work.project, name="v1", by=None, selection=selection)
    assert not DatasetVersion.objects.exists()


def test_a_run_about_other_records_or_questions_is_refused(work: Work, decided: Any) -> None:
    _, run = decided
    with pytest.raises(Refused, match="does not decide 'boxes'; use reasonable"):
        create_version(
            project=work.project, name="v1", by=None, selection=Selection(DecisionChoice(run.pk, ("boxes",)))
        )
    other = DecisionRun.objects.create(
        project=work.project, kind="likert_comparison", rules={"rating": {}}, data_sha256="0" * 64
    )
    with pytest.raises(Refused, match="decides comparison sets"):
        create_version(
            project=work.project,
            name="v1",
            by=None,
            selection=Selection(DecisionChoice(other.pk, ("rating",))),
        )


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([], "selection: is not an object"),
        ({"tags": []}, "selection.tags: is not known"),
        ({"decisions": {"run": "4", "dimensions": ["a"]}}, "selection.decisions.run: '4'"),
        ({"decisions": {"run": 4, "dimensions": []}}, "selection.decisions.dimensions"),
        ({"decisions": {"run": 4, "dimensions": ["a"], "undecided": "maybe"}}, "use in or out"),
        ({"decisions": {"run": 4, "dimensions": ["a"], "undecided": []}}, "use in or out"),
        ({"audits": {}}, "selection.audits: is not a list"),
        ({"audits": [{"audit": 1, "code": "", "values": ["a"]}]}, r"selection.audits\[0\].code"),
        ({"audits": [{"audit": 1, "code": "c", "values": ["a"], "readers": 0}]}, "readers: 0"),
    ],
)
def test_a_selection_that_is_none_names_its_field(raw: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Selection.from_json(raw)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (("persons", ("yes",)), "has no code 'persons'; use person, which"),
        (("person", ("Yes",)), "code person has no value 'Yes'; use yes, no"),
        (("person", ()), "code person has no value ''"),
    ],
)
def test_a_mark_that_no_reader_can_give_is_refused(
    work: Work, choice: tuple[str, tuple[str, ...]], words: str
) -> None:
    pairs_of(work)
    audit = begun(work)
    with pytest.raises(Refused, match=words):
        create_version(
            project=work.project,
            name="v1",
            by=None,
            selection=Selection(None, (AuditChoice(audit.pk, *choice),)),
        )
    assert not DatasetVersion.objects.exists()


def test_a_file_that_holds_null_is_no_selection(work: Work, tmp_path: Path) -> None:
    chosen = tmp_path / "selection.json"
    chosen.write_text("null")
    with pytest.raises(CommandError, match=r"selection\.json: is null; write \{\}"):
        call_command("export_version", "v1", "--out", str(tmp_path / "v1"), "--selection", str(chosen))


def test_run_of_uninstalled_kind_is_not_offered(
    work: Work, decided: Any, client: Client, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = decided
    chosen = Selection(DecisionChoice(run.pk, ("reasonable",)))
    draft = create_version(project=work.project, name="v1", by=None, selection=chosen)
    for module in ("curation.views.selection_form", "curation.versions.selection_filter"):
        monkeypatch.setattr(f"{module}.is_judging_kind", lambda name: False)
    client.force_login(researcher)
    page = client.get(reverse("versions", args=[work.project.slug]))
    assert (page.status_code, page.context["chosen"].runs) == (200, [])
    assert client.get(reverse("version", args=[draft.pk])).status_code == 200
    with pytest.raises(InvalidInput, match="of kind observation_review, which is not installed here"):
        plan_version(draft)


def test_version_of_uninstalled_family_shows_error(work: Work, client: Client, researcher: User) -> None:
    version = create_version(project=work.project, name="v1", by=None)
    type(work.project).objects.update(family="gone")
    client.force_login(researcher)
    for address in (reverse("versions", args=[work.project.slug]), reverse("version", args=[version.pk])):
        page = client.get(address)
        assert (page.status_code, "unknown family &#x27;gone&#x27;" in page.content.decode()) == (503, True)
    with pytest.raises(CommandError, match=r"unknown family 'gone'; known: .*EXTRA_FAMILY"):
        call_command("export_version", "v2", "--out", "nowhere")


def test_a_selection_is_read_as_it_was_written() -> None:
    chosen = Selection(DecisionChoice(4, ("a", "b"), keep_undecided=True), (AuditChoice(1, "c", ("x",), 2),))
    assert Selection.from_json(json.loads(json.dumps(chosen.as_json()))) == chosen
    assert Selection.from_json({}) == Selection.from_json(None) == Selection()


def test_the_first_reason_counts() -> None:
    found = split_main_reason(
        [ExclusionReason.UNDECIDED, ExclusionReason.JUDGED_AGAINST, ExclusionReason.AUDIT_CONCERN]
    )
    assert found == (
        ExclusionReason.AUDIT_CONCERN,
        (ExclusionReason.JUDGED_AGAINST, ExclusionReason.UNDECIDED),
    )


def test_draft_from_decision_run_is_created_on_page(
    work: Work, decided: Any, client: Client, researcher: User
) -> None:
    _, run = decided
    client.force_login(researcher)
    address = reverse("versions", args=[work.project.slug])
    assert f"Run {run.pk} of " in client.get(address).content.decode()
    wrong = client.post(address, {"name": "v1", "holds": "decided"})
    assert wrong.status_code == 400
    assert "Choose a decision run." in wrong.content.decode()
    client.post(
        address, {"name": "v1", "holds": "decided", "run": run.pk, "dimensions": ["reasonable"], "readers": 1}
    )
    draft = DatasetVersion.objects.get()
    assert Selection.from_json(draft.selection) == Selection(DecisionChoice(run.pk, ("reasonable",)))
    hit = Hit.objects.filter(unit__batch__kind=KIND).order_by("pk").last()
    assert hit is not None
    work.answered(hit, "LATE", review("un"))
    assert "1 judgments came in since" in client.get(reverse("version", args=[draft.pk])).content.decode()


def test_the_command_takes_a_file(work: Work, decided: Any, tmp_path: Path) -> None:
    _, run = decided
    chosen = tmp_path / "selection.json"
    chosen.write_text(json.dumps({"decisions": {"run": run.pk, "dimensions": ["reasonable"]}}))
    call_command("export_version", "v1", "--out", str(tmp_path / "v1"), "--selection", str(chosen))
    assert family_of(work.project).check(tmp_path / "v1") == 2
    with pytest.raises(CommandError, match="version v1 exists already"):
        call_command("export_version", "v1", "--out", str(tmp_path / "v2"), "--selection", str(chosen))
    chosen.write_text("{")
    with pytest.raises(CommandError, match=r"selection\.json: no valid JSON"):
        call_command("export_version", "v3", "--out", str(tmp_path / "v3"), "--selection", str(chosen))


def test_a_comparison_round_takes_the_same_choice(work: Work, decided: Any) -> None:
    pairs, run = decided
    chosen = {"decisions": {"run": run.pk, "dimensions": ["reasonable"]}}
    assert [pair.pk for pair in _select_pairs(work.project, RoundOptions(selection=chosen))] == [
        pairs[0].pk,
        pairs[3].pk,
    ]
    assert len(_select_pairs(work.project, RoundOptions())) == len(pairs)
    with pytest.raises(Refused, match=r"selection.tags: is not known"):
        RoundOptions(selection={"tags": ["a"]})


def test_audit_marks_are_chosen_on_page(work: Work, client: Client, researcher: User) -> None:
    pairs_of(work)
    audit = begun(work)
    client.force_login(researcher)
    address = reverse("versions", args=[work.project.slug])
    page = client.get(address).content.decode()
    for words in ("What about them?", "Their work"):
        assert words in page
    draft = {"name": "v1", "holds": "all", "readers": 2}
    unknown = client.post(address, draft | {"marks": [f"{audit.pk}:which:height"]})
    assert (unknown.status_code, DatasetVersion.objects.count()) == (400, 0)
    marks = [f"{audit.pk}:{mark}" for mark in ("person:yes", "which:age", "which:work")]
    again = client.post(address, draft | {"name": "", "marks": marks}).content.decode()
    assert f'value="{audit.pk}:which:work" id="id_marks_3" checked' in again  # an invalid name keeps them
    client.post(address, draft | {"marks": marks})
    assert Selection.from_json(DatasetVersion.objects.get().selection).audits == (
        AuditChoice(audit.pk, "person", ("yes",), 2),
        AuditChoice(audit.pk, "which", ("age", "work"), 2),
    )
