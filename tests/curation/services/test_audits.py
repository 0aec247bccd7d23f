"""Audits' rows: what is sampled and frozen, whose readings count, what is blind, what closing ends."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from curation.audits.labels import ItemState
from curation.audits.sampling import SampleRecipe, SamplingMethod
from curation.models import Audit, AuditItem, AuditLabel, AuditState, TextAnalysis
from curation.selectors import audits as selectors
from curation.services import audits
from hits.models import AuditEvent, Project
from hits.services.errors import Conflict, Refused
from tests.support.curation.audits import NO, begun, pairs, scored, small, yes
from tests.support.judging.work import Work
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def keep(
    audit: Audit, place: int, by: User, given: dict[str, list[str]], note: str = ""
) -> audits.SavedLabel:
    return audits.record_label(audit=audit, position=place, by=by, posted=given, note=note)


def states(audit: Audit) -> list[ItemState]:
    codebook = selectors.audit_codebook(audit)
    return [item.labels.state(codebook) for item in selectors.load_labelled_audit(audit).items]


class TestBeginning:
    def test_the_sample_is_deterministic_and_frozen(self, work: Work, admin: User) -> None:
        pairs(work, 12)
        audit = begun(work, by=admin, n=5)
        again = begun(work, by=admin, n=5, name="The same again")
        chosen = list(audit.items.values_list("observation_id", "position"))
        assert chosen == list(again.items.values_list("observation_id", "position"))
        assert [place for _, place in chosen] == [1, 2, 3, 4, 5]
        assert len({key for key, _ in chosen}) == 5
        assert audit.sample == {
            "how": "random",
            "n": 5,
            "seed": 1,
            "split": None,
            "analysis": None,
            "available": 12,
            "missing": 0,
        }
        assert selectors.audit_codebook(audit) == small()
        assert AuditEvent.objects.filter(action="audit.create", actor=admin).count() == 2

    def test_fewer_pairs_than_requested_are_all_taken_and_reported(self, work: Work) -> None:
        pairs(work, 3)
        audit = begun(work, n=250)
        assert (audit.items.count(), audit.sample["missing"], audit.sample["available"]) == (3, 247, 3)

    def test_one_split_alone_or_so_many_of_each(self, work: Work) -> None:
        pairs(work, 6, split="train")
        pairs(work, 3, split="val")
        one = begun(work, recipe=SampleRecipe(SamplingMethod.RANDOM, 4, seed=2, split="val"))
        assert set(one.items.values_list("split", flat=True)) == {"val"}
        assert one.sample["missing"] == 1
        each = begun(work, name="Each", recipe=SampleRecipe(SamplingMethod.PER_SPLIT, 2, seed=2))
        assert sorted(each.items.values_list("split", flat=True)) == ["train", "train", "val", "val"]

    def test_the_highest_scores_of_each_split(self, work: Work) -> None:
        train, val = pairs(work, 6, split="train"), pairs(work, 3, split="val")
        analysis = scored(work, [*train, *val], [0.1, 0.9, 0.3, 0.9, 0.2, 0.4, 0.05, 0.02, 0.01])
        audit = begun(work, recipe=SampleRecipe(SamplingMethod.TOP, 2, seed=0, analysis=analysis.pk))
        found = {item.observation_id: item.score for item in audit.items.all()}
        assert found == {train[1].pk: 0.9, train[3].pk: 0.9, val[0].pk: 0.05, val[1].pk: 0.02}
        assert audit.sample["analysis_options"] == {"model": "made up"}

    def test_another_project_s_analysis_is_no_choice(self, work: Work, rehearsal: Project) -> None:
        pairs(work, 3)
        other = TextAnalysis.objects.create(project=rehearsal, kind="toxicity")
        with pytest.raises(Refused, match="analysis: this project has no such toxicity analysis"):
            begun(work, recipe=SampleRecipe(SamplingMethod.TOP, 2, analysis=other.pk))
        assert not Audit.objects.exists()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"name": " "}, "name: use 1 to 120"),
            ({"name": "Close  reading"}, "name: an audit named Close reading exists already"),
            ({"readers": 6}, "readers: 6 is out of range; use 1 to 5"),
            ({"readers": 0}, "readers: 0 is out of range"),
        ],
    )
    def test_invalid_input_names_the_field_and_creates_nothing(
        self, work: Work, changes: dict[str, Any], message: str
    ) -> None:
        pairs(work, 3)
        begun(work)
        with pytest.raises(Refused, match=message):
            begun(work, **({"name": "Another"} | changes))
        assert Audit.objects.count() == 1
        assert AuditItem.objects.count() == 3

    def test_nothing_accepted_is_nothing_to_read(self, work: Work) -> None:
        with pytest.raises(Refused, match="pairs: there are none to choose from"):
            begun(work)


class TestReading:
    @pytest.fixture
    def audit(self, work: Work, admin: User) -> Audit:
        pairs(work, 6)
        return begun(work, by=admin)

    def test_a_pair_is_complete_with_its_readers(self, audit: Audit, admin: User, researcher: User) -> None:
        keep(audit, 1, admin, NO)
        assert states(audit)[0] is ItemState.INCOMPLETE
        keep(audit, 1, researcher, NO)
        assert states(audit)[:2] == [ItemState.AGREED, ItemState.INCOMPLETE]

    def test_latest_label_counts_and_unchanged_one_is_not_stored(self, audit: Audit, admin: User) -> None:
        keep(audit, 1, admin, NO)
        keep(audit, 1, admin, NO)
        assert AuditLabel.objects.count() == 1
        keep(audit, 1, admin, yes("age"), "Their hands")
        (item, *_) = selectors.load_labelled_audit(audit).items
        assert item.labels.counted["A"].code_answers == {"person": "yes", "which": ["age"]}
        assert AuditLabel.objects.count() == 2

    def test_agreement_is_of_labels_before_others_were_visible(
        self, audit: Audit, admin: User, researcher: User
    ) -> None:
        keep(audit, 1, admin, NO)
        keep(audit, 1, researcher, yes("age"))
        keep(audit, 1, researcher, NO)
        (item, *_) = selectors.load_labelled_audit(audit).items
        assert item.labels.blind["B"].code_answers["person"] == "yes"
        assert states(audit)[0] is ItemState.AGREED
        (person, _) = selectors.audit_figures(audit, selectors.load_labelled_audit(audit))
        assert person.agreement[0].percent.value == 0
        assert person.values[1].overall.count == 1

    @pytest.mark.parametrize(
        ("given", "why"),
        [
            ({}, "person: choose one"),
            ({"person": ["maybe"]}, "person: 'maybe' is not one of the answers"),
            ({"person": ["yes"]}, "which: choose at least one"),
            (yes("age", "none"), "which: “None of these” excludes all other answers"),
        ],
    )
    def test_bad_answers_are_refused_whole(
        self, audit: Audit, admin: User, given: dict[str, list[str]], why: str
    ) -> None:
        with pytest.raises(Refused, match=why):
            keep(audit, 1, admin, given)
        assert not AuditLabel.objects.exists()

    def test_an_answer_that_is_not_asked_is_dropped(self, audit: Audit, admin: User) -> None:
        kept = keep(audit, 1, admin, NO | {"which": ["age"]})
        assert kept.label.answers == {"person": "no"}

    def test_a_long_note_and_an_unknown_place_are_refused(self, audit: Audit, admin: User) -> None:
        with pytest.raises(Refused, match="note: has 1001 characters"):
            keep(audit, 1, admin, NO, "x" * 1001)
        with pytest.raises(Refused, match="pair 7: it is not in this audit"):
            keep(audit, 7, admin, NO)

    def test_taken_down_photo_is_never_shown(self, audit: Audit, admin: User) -> None:
        item = audit.items.select_related("observation__image").get(position=1)
        image = item.observation.image
        type(image).objects.filter(pk=image.pk).update(taken_down_at=timezone.now())
        gone = audit.items.filter(observation__image=image).count()
        read = selectors.load_labelled_audit(audit)
        assert (read.taken_down, len(read.items)) == (gone, 6 - gone)
        assert 1 not in selectors.audit_queue(audit, admin).waiting
        with pytest.raises(Refused, match="its photo was taken down"):
            keep(audit, 1, admin, NO)

    def test_closing_ends_reading_and_settling(self, audit: Audit, admin: User, researcher: User) -> None:
        keep(audit, 1, admin, NO)
        keep(audit, 1, researcher, yes())
        audits.close_audit(audit=audit, by=admin)
        audits.close_audit(audit=audit, by=admin)
        assert audit.state == AuditState.CLOSED
        assert AuditEvent.objects.filter(action="audit.close").count() == 1
        for act in (audits.record_label, audits.settle_disagreement):
            with pytest.raises(Conflict, match="is closed and accepts no more labels"):
                act(audit=audit, position=1, by=researcher, posted=NO)
        assert selectors.audit_queue(audit, researcher).waiting == []

    def test_settling_gives_the_agreed_value_and_leaves_agreement(
        self, audit: Audit, admin: User, researcher: User
    ) -> None:
        with pytest.raises(Conflict, match="pair 1: nothing to settle"):
            audits.settle_disagreement(audit=audit, position=1, by=admin, posted=NO)
        keep(audit, 1, admin, NO)
        keep(audit, 1, researcher, yes("work"))
        assert states(audit)[0] is ItemState.DIFFERS
        audits.settle_disagreement(audit=audit, position=1, by=admin, posted=yes("work"), note="The apron")
        read = selectors.load_labelled_audit(audit)
        assert states(audit)[0] is ItemState.SETTLED
        assert read.items[0].labels.agreed_answers(small()) == {"person": "yes", "which": ["work"]}
        assert read.letters == ["A", "B"]
        (person, which) = selectors.audit_figures(audit, read)
        assert (person.agreed, person.differing, person.values[0].overall.count) == (1, 0, 1)
        assert person.agreement[0].percent.value == 0
        assert [value.overall.count for value in which.values] == [0, 1, 0]


class TestWhoReadsWhat:
    def test_third_reader_begins_at_another_pair_than_the_first_two(
        self, work: Work, admin: User, researcher: User, make_user: Any
    ) -> None:
        pairs(work, 12)
        audit = begun(work, n=12)
        assert selectors.audit_queue(audit, admin).position == 1
        keep(audit, 1, admin, NO)
        assert selectors.audit_queue(audit, researcher).position == 1
        assert selectors.audit_queue(audit, admin).position == 2
        keep(audit, 2, researcher, NO)
        third = selectors.audit_queue(audit, make_user("theo"))
        assert third.position == 8
        assert set(third.waiting) == set(range(1, 13))

    def test_complete_pair_is_not_offered_to_others(
        self, work: Work, admin: User, researcher: User, make_user: Any
    ) -> None:
        pairs(work, 3)
        audit = begun(work, n=3)
        for place in (1, 2):
            keep(audit, place, admin, NO)
            keep(audit, place, researcher, NO)
        theo = make_user("theo")
        assert list(selectors.audit_queue(audit, theo).waiting) == [3]
        shown = selectors.audit_queue(audit, theo, 1)
        assert (shown.can_label, shown.is_complete) == (False, True)
        assert selectors.audit_queue(audit, admin, 1).can_label  # to correct one's own

    def test_steps_back_and_forth_go_through_one_s_own(self, work: Work, admin: User) -> None:
        pairs(work, 6)
        audit = begun(work)
        for place in (1, 2, 3):
            keep(audit, place, admin, NO)
        first = selectors.audit_queue(audit, admin, 1)
        assert (first.previous, first.following) == (None, 2)
        third = selectors.audit_queue(audit, admin, 3)
        assert (third.previous, third.following) == (2, 4)
        ahead = selectors.audit_queue(audit, admin)
        assert (ahead.position, ahead.previous, ahead.following) == (4, 3, 5)

    def test_a_list_counts_no_surplus(self, work: Work, admin: User, researcher: User) -> None:
        pairs(work, 3)
        audit = begun(work, n=3, readers=1)
        keep(audit, 1, admin, NO)
        assert keep(audit, 1, researcher, NO).is_surplus
        (row,) = selectors.audit_rows(work.project, researcher)
        assert (row.labels, row.labels_needed, row.own_labels) == (1, 3, 1)


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_lose_nothing_and_count_once(work: Work, admin: User, researcher: User) -> None:
    pairs(work, 3)
    audit = begun(work, n=3, readers=1)
    kept = together([lambda who=who: keep(audit, 1, who, NO) for who in (admin, researcher)])
    assert sorted(one.is_surplus for one in kept) == [False, True]
    assert AuditLabel.objects.count() == 2
    (item, *_) = selectors.load_labelled_audit(audit).items
    assert (len(item.labels.counted), len(item.labels.surplus)) == (1, 1)
    (person, _) = selectors.audit_figures(audit, selectors.load_labelled_audit(audit))
    assert person.agreed == 1


@pytest.mark.django_db(transaction=True)
def test_a_reading_that_races_with_closing_is_kept_or_refused_never_lost(work: Work, admin: User) -> None:
    pairs(work, 3)
    audit = begun(work, n=3, by=admin)
    kept, closed = together(
        [lambda: keep(audit, 1, admin, NO), lambda: audits.close_audit(audit=audit, by=admin)]
    )
    assert closed is None
    assert AuditLabel.objects.count() == (0 if isinstance(kept, Exception) else 1)
    if isinstance(kept, Exception):
        assert isinstance(kept, Conflict)


class TestFiles:
    def test_export_is_anonymous_and_hides_incomplete_pairs(
        self, work: Work, admin: User, researcher: User
    ) -> None:
        pairs(work, 3)
        audit = begun(work, n=3)
        keep(audit, 1, admin, NO)
        keep(audit, 1, researcher, yes("age", "work"), "Look at the hands")
        keep(audit, 2, admin, yes("work"), "HIDDEN")
        document = selectors.audit_document(audit, selectors.load_labelled_audit(audit))
        text = json.dumps(document, allow_nan=False)
        assert not re.search(r"\b(ada|rosa)\b|HIDDEN|W0|W1", text)  # an id may hold the letters a, d, a
        first, second, _ = document["pairs"]
        assert first["readings"] == [
            {"reader": "A", "answers": {"person": "no"}, "note": "", "counts": True},
            {
                "reader": "B",
                "answers": {"person": "yes", "which": ["age", "work"]},
                "note": "Look at the hands",
                "counts": True,
            },
        ]
        assert (second["state"], second["readings"]) == ("reading", [])
        assert document["codebook"]["sha256"] == small().sha256
        assert document["sample"]["seed"] == 1
        audits.close_audit(audit=audit, by=admin)
        closed = selectors.audit_document(audit, selectors.load_labelled_audit(audit))
        assert closed["pairs"][1]["readings"][0]["note"] == "HIDDEN"
