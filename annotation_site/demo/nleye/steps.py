"""The researcher's steps of NL-Eye's demo."""

from pathlib import Path
from typing import Any

from annotation_site.demo.demo_users import DemoUsers
from annotation_site.demo.steps import wait_for_job
from curation.models import (
    DatasetVersion,
    ImageTriplet,
    PickOrigin,
    PromptVerdict,
    SceneReason,
    SceneVerdict,
    TripletAudit,
    TripletEvaluation,
    TripletVerdict,
)
from curation.selectors.triplets.images import ROLES, scene_images
from curation.selectors.triplets.prompts import prompt_states
from curation.selectors.triplets.scenes import kept_scenes, scene_tallies, scenes
from curation.selectors.triplets.triplets import triplet_facts
from curation.services.triplets.audits import AuditOptions, request_scene_twins, request_triplet_audit
from curation.services.triplets.augmentation import (
    AugmentOptions,
    request_augmentation,
    store_plain_prompts,
)
from curation.services.triplets.evaluations import PAIRS, PEOPLE, EvaluationOptions, request_evaluation
from curation.services.triplets.explanation_rounds import launch_explanations
from curation.services.triplets.generation import GenerationOptions, request_images
from curation.services.triplets.images import pick_image
from curation.services.triplets.judging import JudgeOptions, request_judge
from curation.services.triplets.nleye_imports import PublishedFolder, import_nleye
from curation.services.triplets.prompts import decide_prompts
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scene_rounds import launch_scene_review, launch_scenes
from curation.services.triplets.scenes import ReaderDecision, decide_scene
from curation.services.triplets.triplet_rounds import (
    PlausibilityOptions,
    launch_explanation_writing,
    launch_plausibility,
)
from curation.services.triplets.triplets import build_triplets, decide_triplet, take_in_explanations
from hits.domain.answers.scene_facets import CATEGORIES
from hits.models import Batch, Project
from hits.services.launching.terms import LaunchTerms

SCENES, KEPT, REVIEWERS = 24, 18, 3
QUOTA = 2  # tasks of each category; in the others the writer chooses
CANDIDATES = 2
IMAGE_SIDE = 256  # pixels: the demo's drawings are small, so that it is fast
AUGMENTED = 4  # scenes whose prompts the chat model writes; the others use their own texts


def launch_writing(users: DemoUsers) -> Batch:
    """Launch tasks to write scenes, half of them with a category."""
    quotas = dict.fromkeys(CATEGORIES, QUOTA)
    launch = RoundLaunch(users.researcher, f"{users.project.name}: scenes", LaunchTerms())
    batch, job = launch_scenes(project=users.project, count=SCENES, quotas=quotas, launch=launch)
    wait_for_job(job)
    return batch


def launch_review(users: DemoUsers) -> Batch:
    """Launch the review of all scenes by three others."""
    launch = RoundLaunch(users.researcher, f"{users.project.name}: scene review", LaunchTerms())
    batch, job = launch_scene_review(project=users.project, launch=launch)
    wait_for_job(job)
    return batch


def filter_scenes(users: DemoUsers) -> int:
    """Keep the scenes with the best reviews, drop the others with a reason; return the number kept."""
    wait_for_job(request_scene_twins(project=users.project, by=users.researcher))
    tallies = scene_tallies(users.project)
    rows = list(scenes(users.project))
    rows.sort(key=lambda row: (-tallies[row.public_id].agree, -tallies[row.public_id].needs_premise, row.pk))
    for position, scene in enumerate(rows):
        decision = (
            ReaderDecision(SceneVerdict.KEEP)
            if position < KEPT
            else ReaderDecision(SceneVerdict.DROP, [SceneReason.UNCLEAR])
        )
        decide_scene(scene=scene, decision=decision, by=users.researcher)
    return len(kept_scenes(users.project))


def write_prompts(users: DemoUsers) -> None:
    """Let the offline chat model write some prompts, use the texts of the others, and approve all."""
    options = AugmentOptions(cap_calls=AUGMENTED)
    wait_for_job(request_augmentation(project=users.project, options=options, by=users.researcher))
    store_plain_prompts(project=users.project, by=users.researcher)
    for state in prompt_states(kept_scenes(users.project)).values():
        assert state.prompts is not None
        decide_prompts(prompts=state.prompts, verdict=PromptVerdict.APPROVED, by=users.researcher)


def draw_images(users: DemoUsers) -> None:
    """Draw the premises, pick one of each, draw the hypotheses, and pick those."""
    options = GenerationOptions(candidates=CANDIDATES, width=IMAGE_SIDE, height=IMAGE_SIDE)
    for _ in range(2):
        wait_for_job(request_images(project=users.project, options=options, by=users.researcher))
        _pick(users)


def _pick(users: DemoUsers) -> None:
    kept = kept_scenes(users.project)
    images = scene_images(kept)
    for scene in kept:
        for role in ROLES:
            shown = images[scene.pk].shown(role)
            if shown and role not in images[scene.pk].picks:
                pick_image(
                    scene=scene, role=role, image=shown[-1], by=users.researcher, origin=PickOrigin.QUEUE
                )


def build(users: DemoUsers) -> list[ImageTriplet]:
    """Build the triplets."""
    return build_triplets(project=users.project, by=users.researcher).triplets


def launch_explaining(users: DemoUsers) -> Batch:
    """Launch the writing of gold explanations."""
    launch = RoundLaunch(users.researcher, f"{users.project.name}: explanations", LaunchTerms())
    batch, job = launch_explanation_writing(project=users.project, launch=launch)
    wait_for_job(job)
    return batch


def launch_judging(users: DemoUsers) -> Batch:
    """Take the gold explanations in, and launch the judging of plausibility."""
    take_in_explanations(users.project)
    launch = RoundLaunch(users.researcher, f"{users.project.name}: plausibility", LaunchTerms())
    batch, job = launch_plausibility(project=users.project, options=PlausibilityOptions(), launch=launch)
    wait_for_job(job)
    return batch


def decide_against_gold(users: DemoUsers) -> int:
    """Keep the triplets whose majority is against gold, with a note; return their number. Nobody really looks."""
    waiting = [facts for facts in triplet_facts(users.project) if facts.needs_decision]
    for facts in waiting:
        note = "Played: a less plausible hypothesis can happen."
        decide_triplet(facts=facts, verdict=TripletVerdict.KEEP, by=users.researcher, note=note)
    return len(waiting)


def launch_selection(users: DemoUsers) -> Batch:
    """Launch the judging of people's explanations by one worker a page. A real project asks three."""
    terms = LaunchTerms(redundancy=1)
    launch = RoundLaunch(users.researcher, f"{users.project.name}: valid explanations", terms)
    batch, job = launch_explanations(project=users.project, launch=launch)
    wait_for_job(job)
    return batch


def gold_labels(users: DemoUsers) -> dict[str, str]:
    """Return the more plausible label of each triplet, by the file name of its premise."""
    rows = ImageTriplet.objects.filter(project=users.project).select_related("premise__image")
    return {Path(str(row.premise.image.file)).name: row.gold_label for row in rows}


def audit(users: DemoUsers) -> TripletAudit:
    """Run the audits."""
    wait_for_job(request_triplet_audit(project=users.project, options=AuditOptions(), by=users.researcher))
    return TripletAudit.objects.filter(project=users.project).exclude(figures={})[0]


def evaluate(users: DemoUsers, version: DatasetVersion) -> dict[str, Any]:
    """Evaluate the offline chat model in both setups, people, and the judge; return the headline figures."""
    for options in (EvaluationOptions(), EvaluationOptions(setup=PAIRS), EvaluationOptions(model=PEOPLE)):
        wait_for_job(request_evaluation(version=version, options=options, by=users.researcher))
    wait_for_job(request_judge(version=version, options=JudgeOptions(repeats=2), by=users.researcher))
    rows = TripletEvaluation.objects.filter(version=version).order_by("pk")
    triplet, pairs, people, judge = (row.figures for row in rows)
    return {
        "canned": triplet["triplet"]["consistency_accuracy"]["value"],
        "canned_pairs": pairs["pairs"]["order_faithful_accuracy"]["value"],
        "people": people["people"]["majority_accuracy"]["value"],
        "judge": judge["judge"]["auto_score"]["value"],
    }


def import_again(users: DemoUsers, project: Project, folder: Path) -> int:
    """Import an export into another project; return the number of its triplets."""
    return import_nleye(project=project, folder=PublishedFolder(folder), by=users.researcher).new
