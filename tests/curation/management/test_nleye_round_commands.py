"""Commands that launch rounds about scenes, images and triplets, and the search for scenes that repeat others."""

import io
import json
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from curation.models import Scene, SceneTwins
from curation.pipelines.triplets import scene_twins
from curation.selectors.triplets.scenes import nearest_twins
from curation.services.triplets.triplets import build_triplets
from hits.domain.answers.scene_facets import CATEGORIES
from hits.models import Batch, Project, Unit
from tests.support import market
from tests.support.curation.sealed import LetterSentences
from tests.support.nleye_stored import (
    ROLES,
    explain,
    keep_scenes,
    nleye_project,
    pick_images,
    store_image,
    store_scenes,
)

pytestmark = pytest.mark.django_db


def run(name: str, *arguments: Any) -> Any:
    out = io.StringIO()
    call_command(name, *map(str, arguments), "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def error(name: str, *arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        call_command(name, *map(str, arguments))
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.django_db(transaction=True)
def test_each_round_is_launched_once_for_what_it_is_about(project: Project, researcher: User) -> None:
    market.fund()
    nleye_project(project)
    where = ("--project", project.slug)
    assert "scenes: no open scene is left" in error("launch_scene_review", *where)
    for name, missing in (
        ("picks", "images: no role has candidates to pick from; generate or import images first"),
        (
            "writing",
            "triplets: there is no draft that nobody was asked about; pick images and build triplets first",
        ),
        ("plausibility", "triplets: none is left to judge in the shape triplet; explain and check drafts"),
        ("explanations", "explanations: none is left to judge; collect answers, or evaluate a model first"),
    ):
        assert missing in error("launch_triplets", name, *where)
    scenes = store_scenes(project, 2)
    run("launch_scene_review", *where)
    keep_scenes(scenes, researcher)
    pick_images(scenes[:1], researcher)
    for role, seed in ((role, seed) for role in ROLES for seed in (0, 1)):
        store_image(scenes[1], role, seed=seed)
    run("launch_triplets", "picks", *where)
    (triplet,) = build_triplets(project=project, by=researcher).triplets
    run("launch_triplets", "writing", *where)
    explain([triplet], researcher)
    rounds = {
        "plausibility": ("triplet", 1, 38),
        "pairs": ("pair", 2, 13),
        "hypotheses-only": ("hypotheses_only", 1, 13),
        "texts": ("texts", 1, 38),
    }
    for name, (shape, units, cents) in rounds.items():
        run("launch_triplets", name, *where)
        batch = Batch.objects.order_by("pk").last()
        assert batch is not None
        found = list(Unit.objects.filter(batch=batch).values_list("payload", flat=True))
        assert {payload["show"] for payload in found} == {shape}
        assert (len(found), batch.reward_cents, batch.state) == (units, cents, "live")
        assert "triplets: none is left to judge" in error("launch_triplets", name, *where)
    kinds = list(Batch.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == [
        "scene_review",
        "image_pick",
        "nleye_explanation_writing",
        *["triplet_plausibility"] * 4,
    ]
    picks = Unit.objects.get(batch__kind="image_pick").payload
    assert (picks["role"], len(picks["candidates"])) == ("premise", 2)  # hypotheses wait for the premise


def test_nearest_scene_is_found_over_blocks(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene_twins, "load_sentence_encoder", LetterSentences)
    nleye_project(project)
    where = ("find_scene_twins", "--project", project.slug)
    store_scenes(project, 1)
    assert "scenes: there are fewer than two to compare" in error(*where)
    scenes = store_scenes(project, 6)
    copy = Scene.objects.create(
        project=project,
        premise=scenes[3].premise.upper(),
        hypothesis_a=scenes[3].plausible_text,
        hypothesis_b="Nothing happens.",
        plausible="a",
        category=CATEGORIES[0],
        direction="parallel",
        domain="Home",
    )
    monkeypatch.setattr(scene_twins, "_BLOCK", 3)
    run(*where)
    rows = list(Scene.objects.order_by("pk"))
    vectors = LetterSentences().encode_texts([f"{row.premise} {row.plausible_text}" for row in rows])
    cosines = vectors @ vectors.T - 3 * np.eye(len(rows))
    found = nearest_twins(project)
    assert set(found) == {row.public_id for row in rows}
    for row, own in zip(rows, cosines, strict=True):
        other, cosine = found[row.public_id]
        assert cosine == pytest.approx(own.max(), abs=1e-4)
        at = next(index for index, one in enumerate(rows) if one.public_id == other)
        assert own[at] == pytest.approx(own.max(), abs=1e-6)
    assert found[copy.public_id][1] > 0.5
    assert SceneTwins.objects.exclude(twins={}).count() == 1
