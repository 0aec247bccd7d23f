"""Rules that propose and people who decide: nothing changes by itself, and of two people one decides."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.urls import reverse

from hits.models import Image, Project, Worker, WorkerDecision
from hits.services.errors import Conflict, Refused
from tests.support.judging.crowd import crowd
from validation import tasks
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import Measure, ProposalState, WorkerStatus
from validation.models import RuleProposal, StatusChange, WorkerRule
from validation.selectors.worker_rules import preview_rule
from validation.selectors.worker_status import current_status
from validation.services import worker_rules
from validation.services.worker_status import change_worker_status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def image(make_image: Callable[..., Image]) -> Image:
    return make_image(1)


@pytest.fixture
def careless(project: Project, image: Image) -> Worker:
    """Return a worker with 4 of 5 submissions rejected, among others who do well."""
    crowd(project, image, 3, each=5)
    return crowd(project, image, 1, each=5, rejected=4)[0]


@pytest.fixture
def rule(project: Project) -> WorkerRule:
    return save(project)


def save(project: Project, **changes: Any) -> WorkerRule:
    values = {"measure": Measure.APPROVED_SHARE, "below": 80, "window": 50, "at_least": 5} | changes
    proposes = values.pop("proposes", WorkerStatus.PAUSED)
    return worker_rules.save_rule(
        project=project, name="Approved, last 50", rule=RuleSettings(**values), proposes=proposes, by=None
    )


def test_rule_proposes_once_and_changes_no_status(
    project: Project, careless: Worker, rule: WorkerRule
) -> None:
    tasks.evaluate_worker_rules()
    tasks.evaluate_worker_rules()
    proposal = RuleProposal.objects.get()
    assert (proposal.worker, proposal.figures["count"], proposal.figures["n"]) == (careless, 1, 5)
    assert current_status(careless, project).status is WorkerStatus.ACTIVE
    assert not WorkerDecision.objects.exists()


def test_accepting_carries_out_what_it_proposed_with_the_persons_reason(
    project: Project, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    worker_rules.evaluate_rules()
    proposal = RuleProposal.objects.select_related("rule__project", "worker").get()
    change = worker_rules.accept_proposal(
        proposal=proposal, reason="Your boxes are too large.", by=researcher
    )
    assert (change.proposal, change.status) == (proposal, WorkerStatus.PAUSED)
    again = worker_rules.accept_proposal(proposal=proposal, reason="Your boxes are too large.", by=researcher)
    assert again.pk == change.pk
    place = current_status(careless, project)
    assert (place.status, place.reason, place.by) == (
        WorkerStatus.PAUSED,
        "Your boxes are too large.",
        "rosa",
    )
    assert WorkerDecision.objects.get().qualification.slug == "excluded"
    worker_rules.evaluate_rules()
    assert RuleProposal.objects.count() == 1


def test_dismissed_proposal_is_repeated_only_after_newer_items(
    project: Project, image: Image, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    worker_rules.evaluate_rules()
    proposal = RuleProposal.objects.get()
    with pytest.raises(Refused, match="enter a reason"):
        worker_rules.dismiss_proposal(proposal=proposal, reason=" ", by=researcher)
    for _ in range(2):  # a lost request that is sent again
        worker_rules.dismiss_proposal(proposal=proposal, reason="A bad photo.", by=researcher)
    worker_rules.evaluate_rules()
    assert RuleProposal.objects.get().state == ProposalState.DISMISSED
    newer = crowd(project, image, 1, each=1, rejected=1)[0]
    newest = newer.assignments.get()
    type(newest).objects.filter(pk=newest.pk).update(worker=careless)
    assert worker_rules.evaluate_rules() == 1
    open_one = RuleProposal.objects.get(state=ProposalState.OPEN)
    assert open_one.figures["items"] == 6


def test_the_same_finding_after_a_reinstatement_needs_newer_items_too(
    project: Project, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    worker_rules.evaluate_rules()
    worker_rules.accept_proposal(proposal=RuleProposal.objects.get(), reason="Too large.", by=researcher)
    change_worker_status(
        project=project,
        worker=careless,
        status=WorkerStatus.ACTIVE,
        reason="Talked it over.",
        by=researcher,
    )
    assert worker_rules.evaluate_rules() == 0


def test_excluded_worker_is_not_proposed_for_a_pause(
    project: Project, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    change_worker_status(
        project=project, worker=careless, status=WorkerStatus.PAUSED, reason="Why", by=researcher
    )
    assert worker_rules.evaluate_rules() == 0
    stricter = save(project, proposes=WorkerStatus.DEQUALIFIED)
    assert worker_rules.create_proposals(rule=stricter) == 1
    proposal = RuleProposal.objects.get()
    worker_rules.accept_proposal(proposal=proposal, reason="It went on.", by=researcher)
    assert current_status(careless, project).status is WorkerStatus.DEQUALIFIED


def test_status_change_closes_superseded_proposals(
    project: Project, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    stricter = save(project, proposes=WorkerStatus.DEQUALIFIED)
    worker_rules.evaluate_rules()
    change_worker_status(
        project=project, worker=careless, status=WorkerStatus.PAUSED, reason="Why", by=researcher
    )
    closed = RuleProposal.objects.get(rule=rule)
    assert (closed.state, closed.decided_by) == (ProposalState.DISMISSED, researcher)
    assert closed.reason == f"{careless} is paused: Why"
    with pytest.raises(Conflict):
        worker_rules.accept_proposal(proposal=closed, reason="Why", by=researcher)
    assert RuleProposal.objects.get(rule=stricter).state == ProposalState.OPEN
    change_worker_status(
        project=project, worker=careless, status=WorkerStatus.DEQUALIFIED, reason="More", by=researcher
    )
    assert RuleProposal.objects.get(rule=stricter).state == ProposalState.DISMISSED


def test_superseded_proposal_cannot_be_accepted(
    project: Project, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    worker_rules.evaluate_rules()
    proposal = RuleProposal.objects.get()
    change_worker_status(
        project=project, worker=careless, status=WorkerStatus.DEQUALIFIED, reason="Why", by=researcher
    )
    RuleProposal.objects.update(state=ProposalState.OPEN)  # as if a rule had found it a moment later
    with pytest.raises(Conflict, match="dequalified already; dismiss"):
        worker_rules.accept_proposal(proposal=proposal, reason="Why", by=researcher)
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.OPEN
    worker_rules.dismiss_proposal(proposal=proposal, reason="Done otherwise.", by=researcher)


def test_rules_are_skipped_while_nothing_changes(
    project: Project, image: Image, careless: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(project, below=1)
    seen: list[int] = []

    def noted(*args: Any, **more: Any) -> Any:
        seen.append(1)
        return preview_rule(*args, **more)

    monkeypatch.setattr(worker_rules, "preview_rule", noted)
    assert [worker_rules.evaluate_rules() for _ in range(3)] == [0, 0, 0]
    assert len(seen) == 1
    worker_rules.evaluate_rules(project=project)  # a person who asks is always answered
    assert len(seen) == 2
    crowd(project, image, 1, each=5, rejected=5)
    assert [worker_rules.evaluate_rules() for _ in range(3)] == [1, 0, 0]
    assert len(seen) == 4  # what the rule proposed is a change too
    save(project, below=90)
    assert worker_rules.evaluate_rules() == 2
    assert worker_rules.evaluate_rules() == 0


def test_inactive_rule_is_not_evaluated(
    project: Project, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    worker_rules.set_rule_active(rule=rule, is_active=False, by=researcher)
    assert worker_rules.evaluate_rules(project=project) == 0
    worker_rules.set_rule_active(rule=rule, is_active=True, by=researcher)
    assert worker_rules.evaluate_rules(project=project) == 1


def test_second_decision_on_a_proposal_is_refused(
    project: Project, careless: Worker, rule: WorkerRule, researcher: User, admin: User
) -> None:
    worker_rules.evaluate_rules()
    pk = RuleProposal.objects.get().pk
    start = threading.Barrier(2)
    ends: dict[str, str] = {}

    def decide(who: User, act: Callable[..., object]) -> None:
        proposal = RuleProposal.objects.select_related("rule__project", "worker").get(pk=pk)
        start.wait()
        try:
            act(proposal=proposal, reason=f"says {who.username}", by=who)
            ends[who.username] = "done"
        except Conflict as error:
            ends[who.username] = str(error)
        finally:
            connections.close_all()

    pair = [(researcher, worker_rules.accept_proposal), (admin, worker_rules.dismiss_proposal)]
    threads = [threading.Thread(target=decide, args=each) for each in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(end == "done" for end in ends.values()) == [False, True]
    assert "this proposal just now" in next(end for end in ends.values() if end != "done")
    state = RuleProposal.objects.get().state
    assert StatusChange.objects.count() == (1 if state == ProposalState.ACCEPTED else 0)


def test_parallel_evaluation_keeps_one_open_proposal(
    project: Project, careless: Worker, rule: WorkerRule
) -> None:
    start = threading.Barrier(2)

    def look() -> None:
        start.wait()
        worker_rules.evaluate_rules()
        connections.close_all()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert RuleProposal.objects.count() == 1


def test_a_rule_is_previewed_before_it_is_saved(
    client: Client, project: Project, careless: Worker, researcher: User
) -> None:
    client.force_login(researcher)
    url = reverse("rule-new", args=[project.slug])
    values = {
        "name": "Approved, last 50",
        "measure": "approved_share",
        "below": "80 %",
        "window": "50",
        "at_least": "5",
        "proposes": "paused",
    }
    page = client.post(url, values | {"step": "preview"}).content.decode()
    assert "This rule would now make a proposal about 1 of 4 workers." in page
    assert "4 of the 4 have enough items" in page
    assert "1 of the last 5 (20%)" in page
    assert not WorkerRule.objects.exists()
    assert client.post(url, values | {"step": "save"}).status_code == 302
    rule = WorkerRule.objects.get()
    assert (rule.measure, rule.below, rule.proposes) == ("approved_share", 80, "paused")
    again = reverse("rule-edit", args=[project.slug, rule.pk])
    assert client.post(again, values | {"step": "save", "below": "10"}).status_code == 302
    rule.refresh_from_db()
    assert rule.below == 10


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"below": "101"}, "Use a whole percentage from 1 to 100"),
        ({"below": "some"}, "Use a whole percentage from 1 to 100"),
        ({"measure": "cents_per_hour", "below": "forty"}, "Use US dollars per hour"),
        ({"at_least": "51"}, "Use 50 or fewer"),
        ({"proposes": "blocked"}, "Select a valid choice"),
        ({"window": "0"}, "greater than or equal to 1"),
    ],
)
def test_a_bad_rule_is_named_at_its_field(
    client: Client, project: Project, researcher: User, changes: dict[str, str], words: str
) -> None:
    client.force_login(researcher)
    values = {
        "name": "R",
        "measure": "approved_share",
        "below": "80",
        "window": "50",
        "at_least": "5",
        "proposes": "paused",
        "step": "save",
    }
    reply = client.post(reverse("rule-new", args=[project.slug]), values | changes)
    assert reply.status_code == 400
    assert words in reply.content.decode()
    assert not WorkerRule.objects.exists()


def test_open_proposals_are_counted_in_navigation_and_decided_on_the_page(
    client: Client, project: Project, careless: Worker, rule: WorkerRule, researcher: User
) -> None:
    client.force_login(researcher)
    listed = reverse("worker-rules", args=[project.slug])
    client.post(reverse("rules-apply", args=[project.slug]))
    page = client.get(listed).content.decode()
    assert "1 proposal waits for a decision" in page
    assert page.count('<span class="sr"> waiting</span>') == 2  # at People, and at the tab
    proposal = RuleProposal.objects.get()
    url = reverse("proposal-decide", args=[project.slug, proposal.pk])
    reply = client.post(
        url, {"answer": "accept", "reason": "Too large.", "next": "https://elsewhere.example/"}
    )
    assert reply.headers["Location"] == listed
    assert current_status(careless, project).status is WorkerStatus.PAUSED
    assert (
        "Nothing changed: "
        in client.post(url, {"answer": "dismiss", "reason": "No."}, follow=True).content.decode()
    )
