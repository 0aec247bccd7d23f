"""A call of a process that died is listed as perhaps paid twice before anybody resumes its run."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import CallState, ModelCall, ModelRun, TripletEvaluation
from curation.selectors.triplets.evaluation_results import call_counts
from curation.selectors.triplets.model_calls import lost_calls
from curation.selectors.triplets.prompt_queue import lost_prompt_calls, prompt_runs
from hits.domain.crashpoints import EXIT_STATUS
from hits.models import Project
from tests.support import children
from tests.support.nleye_jobs import (
    CHAT_PRICES,
    call_states,
    evaluate,
    leases_end,
    run_json,
    sealed_triplets,
    set_prices,
    states,
)
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes

pytestmark = pytest.mark.django_db(transaction=True)
LOST = {CallState.LOST.value: 1}


def test_calls_of_dead_evaluations_and_prompts_are_listed(
    project: Project, researcher: User, client: Client
) -> None:
    sealed_triplets(project, 1, researcher)
    set_prices(project, CHAT_PRICES)
    killed = children.forked(lambda: evaluate(project, cap_usd=1.0), crash_at="model.after_intent")
    assert killed == EXIT_STATUS
    run, reserved = ModelRun.objects.get(), ModelCall.objects.get().reserved_micro
    counts = call_counts(run)
    assert reserved > 0
    assert (counts.by_state, counts.cost_micro, counts.reserved_micro) == (states(sent=1), 0, reserved)
    leases_end()
    counts = call_counts(run)
    assert (counts.by_state, counts.cost_micro, counts.reserved_micro) == (LOST, reserved, 0)
    assert call_states() == states(sent=1)
    client.force_login(researcher)
    page = client.get(reverse("triplet-evaluation", args=[project.slug, TripletEvaluation.objects.get().pk]))
    text = page.content.decode()
    assert "Perhaps paid twice" in text
    assert "triplet 1, as_listed" in text
    assert "In flight" not in text
    write = {"project": project.slug, "again": True, "cap_usd": 1.0}
    assert (
        children.forked(lambda: run_json("augment_prompts", **write), crash_at="model.after_call")
        == EXIT_STATUS
    )
    (row,) = prompt_runs(project)
    assert (row.lost, list(lost_prompt_calls(project))) == (0, [])
    leases_end()
    (row,) = prompt_runs(project)
    assert (row.lost, lost_prompt_calls(project).count()) == (1, 1)


def test_calls_of_dead_subjobs_are_listed(project: Project, researcher: User, client: Client) -> None:
    rows = store_scenes(nleye_project(project), 1)
    keep_scenes(rows, researcher)
    approve_prompts(rows, researcher)
    draw = {"project": project.slug, "candidates": 1, "width": 64, "height": 64}
    assert (
        children.forked(lambda: run_json("generate_images", **draw), crash_at="model.after_call")
        == EXIT_STATUS
    )
    run = ModelRun.objects.get()
    address = reverse("scene-image-run", args=[project.slug, run.pk])
    client.force_login(researcher)
    assert not lost_calls(run).exists()
    assert "Lost: may have been paid" not in client.get(address).content.decode()
    leases_end()
    assert lost_calls(run).get().subject.endswith("premise 1")
    for page in (address, f"{address}?state=lost"):
        assert "Lost: may have been paid" in client.get(page).content.decode()
    assert "Lost: may have been paid</span>" not in client.get(f"{address}?state=sent").content.decode()
