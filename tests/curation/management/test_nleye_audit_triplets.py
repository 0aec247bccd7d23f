"""The command ``audit_triplets``: a planted shortcut is flagged, even images are not, and bad input is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from PIL import Image as Pillow

from curation.generation.pictures import encode_png
from curation.models import PickOrigin, Scene, TripletAudit
from curation.pipelines.triplets import audit_triplets
from curation.services.triplets.images import (
    ImageOrigin,
    Provenance,
    pick_image,
    store_generated_image,
    store_image_file,
)
from curation.services.triplets.triplets import build_triplets
from hits.models import Job, Project
from tests.support.curation.fakes import Letters
from tests.support.nleye_jobs import evaluate, refusal, run_json, sealed_triplets
from tests.support.nleye_stored import GENERATOR, LICENCE, ROLES, keep_scenes, nleye_project, store_scenes

pytestmark = pytest.mark.django_db
Brightness = Callable[[Scene, str, np.random.Generator], float]


@pytest.fixture(autouse=True)
def light_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let counts of letters stand for the sentence encoder, which takes seconds to load."""
    monkeypatch.setattr(audit_triplets, "load_sentence_encoder", Letters)


def store(scene: Scene, role: str, brightness: float, rng: np.random.Generator) -> Any:
    """Store a noisy image of a mean brightness."""
    noise = rng.normal(brightness, 10, size=(32, 32, 3)).clip(0, 255).astype(np.uint8)
    image = store_image_file(
        project=scene.project, data=encode_png(Pillow.fromarray(noise)).data, licence=LICENCE
    )
    provenance = Provenance(generator=GENERATOR, licence=LICENCE, prompt=scene.text(role))
    return store_generated_image(
        scene=scene, role=role, image=image, provenance=provenance, origin=ImageOrigin()
    )


def build(project: Project, by: User, count: int, brightness: Brightness) -> None:
    """Build triplets whose images have the brightness that a function gives."""
    rng = np.random.default_rng(0)
    scenes = store_scenes(nleye_project(project), count)
    keep_scenes(scenes, by)
    for scene in scenes:
        for role in ROLES:
            image = store(scene, role, brightness(scene, role, rng), rng)
            pick_image(scene=scene, role=role, image=image, by=by, origin=PickOrigin.QUEUE)
    build_triplets(project=project, by=by)


def audit(project: Project, folder: Path) -> dict[str, dict[str, Any]]:
    """Run the audits, and return them by name."""
    found = run_json("audit_triplets", project=project.slug, encoder=f"clip:{folder}")
    by_name = {row["name"]: row for row in found["audits"]}
    assert found["flagged"] == [name for name, row in by_name.items() if row["flagged"]]
    assert TripletAudit.objects.get(pk=found["audit"]).figures["audits"] == found["audits"]
    return by_name


def test_brighter_gold_is_flagged(
    project: Project, researcher: User, clip_folder: Path, one_thread: None
) -> None:
    def planted(scene: Scene, role: str, rng: np.random.Generator) -> float:
        return float(rng.normal(160 if role == scene.plausible else 100, 5))

    build(project, researcher, 24, planted)
    found = audit(project, clip_folder)
    pixels = found["single_hypothesis: pixels"]
    assert (pixels["figure"], pixels["n"], pixels["flagged"]) == (100.0, 24, True)
    # The premise is as dark as the other hypothesis: gold is farther from it in every triplet.
    assert (found["likeness"]["figure"], found["likeness"]["flagged"]) == (0.0, True)
    assert not found["single_hypothesis: production"]["flagged"]
    expected = {
        "style_distance",
        "text: length",
        "text: negations",
        "single_hypothesis: texts",
        "mixed: seeds",
    }
    assert expected <= set(found)
    assert found["label_balance"]["figure"] == 50.0


@pytest.mark.nightly
def test_even_brightness_is_not_flagged(
    project: Project, researcher: User, clip_folder: Path, one_thread: None
) -> None:
    build(project, researcher, 24, lambda scene, role, rng: float(rng.normal(130, 30)))
    even = audit(project, clip_folder)
    assert not even["single_hypothesis: pixels"]["flagged"]
    assert not any(row["flagged"] for name, row in even.items() if name.startswith("mixed"))


def test_a_model_without_the_premise_is_audited(
    project: Project, researcher: User, clip_folder: Path, one_thread: None
) -> None:
    sealed_triplets(project, 3, researcher, choices=("right", "right", "wrong"))
    found = evaluate(project, strategy="hypotheses-only")
    audits = audit(project, clip_folder)
    (name,) = [name for name in audits if name.startswith("model_without_premise")]
    right = found["figures"]["triplet"]["mean_single_order_accuracy"]["value"]
    assert audits[name]["figure"] == pytest.approx(right)
    assert audits[name]["n"] == 3
    assert audits["agreement"]["n"] == 3


def test_bad_input_is_one_line_and_nothing_is_stored(project: Project, researcher: User) -> None:
    assert "its family is" in refusal("audit_triplets", project=project.slug)
    nleye_project(project)
    assert "triplets: there are none to audit" in refusal("audit_triplets", project=project.slug)
    assert "swaps: " in refusal("audit_triplets", project=project.slug, swaps=10)
    assert "give --project, or --resume JOB" in refusal("audit_triplets")
    assert not TripletAudit.objects.exists()
    assert not Job.objects.exists()
