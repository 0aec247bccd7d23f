"""URLs of the pages about image triplets: scenes, prompts, images, triplets, explanations, evaluations and audits."""

from django.urls import URLPattern, path

from curation.views.triplets import (
    audits,
    candidates,
    evaluation_pages,
    evaluation_replies,
    evaluation_start,
    evaluations,
    explanations,
    image_rounds,
    image_runs,
    image_triplets,
    images,
    prompts,
    scene_launches,
    scene_pages,
    scenes,
    settings,
    triplet_rounds,
)

_PROJECT = "projects/<slug:slug>/triplets/"

_SCENES = f"{_PROJECT}scenes/"
_SCENE = f"{_SCENES}<int:scene_id>/"
_PROMPTS = f"{_PROJECT}prompts/"
_SCENE_PAGES: list[URLPattern] = [
    path(_SCENES, scenes.scene_list, name="scenes"),
    path(f"{_SCENES}take-in", scenes.scenes_take_in, name="scenes-take-in"),
    path(f"{_SCENES}twins", scenes.scenes_find_twins, name="scene-twins"),
    path(f"{_SCENES}import", scene_pages.scene_import, name="scene-import"),
    path(f"{_SCENES}write", scene_launches.scene_launch, name="scene-launch"),
    path(f"{_SCENES}review", scene_launches.scene_review_launch, name="scene-review-launch"),
    path(_SCENE, scenes.scene, name="scene"),
    path(f"{_SCENE}decide", scenes.scene_decide, name="scene-decide"),
    path(f"{_SCENE}revise", scene_pages.scene_revise, name="scene-revise"),
    path(_PROMPTS, prompts.prompt_list, name="scene-prompts"),
    path(f"{_PROMPTS}plain", prompts.prompts_plain, name="scene-prompts-plain"),
    path(f"{_PROMPTS}approve", prompts.prompts_approve, name="scene-prompts-approve"),
    path(f"{_PROMPTS}augment", prompts.prompts_augment, name="scene-prompts-augment"),
    path(f"{_PROMPTS}prompts.csv", prompts.prompts_csv, name="scene-prompts-csv"),
    path(f"{_PROMPTS}<int:scene_id>/", prompts.prompts_write, name="scene-prompts-write"),
    path(f"{_PROMPTS}<int:scene_id>/decide", prompts.prompts_decide, name="scene-prompts-decide"),
    path(f"{_PROJECT}settings", settings.triplet_settings_page, name="triplet-settings"),
]

_IMAGES = f"{_PROJECT}images/"
_SCENE_IMAGES = f"{_IMAGES}scenes/<int:scene_id>/"
_CANDIDATE = f"{_IMAGES}candidates/<int:candidate_id>/"
_IMAGE_RUN = f"{_IMAGES}runs/<int:run_id>/"
_TRIPLETS = f"{_PROJECT}triplets/"
_TRIPLET = f"{_TRIPLETS}<int:triplet_id>/"
_EXPLANATIONS = f"{_PROJECT}explanations/"
_IMAGE_PAGES: list[URLPattern] = [
    path(_IMAGES, images.image_list, name="scene-image-list"),
    path(f"{_IMAGES}draw", image_runs.image_run_new, name="scene-image-run-new"),
    path(f"{_IMAGES}import", image_runs.scene_image_import, name="scene-image-import"),
    path(f"{_IMAGES}ask", image_rounds.image_pick_launch, name="scene-image-ask"),
    path(_SCENE_IMAGES, images.scene_image_page, name="scene-images"),
    path(f"{_SCENE_IMAGES}pick", images.scene_image_pick, name="scene-image-pick"),
    path(_CANDIDATE, candidates.scene_image, name="scene-image"),
    path(f"{_CANDIDATE}release", candidates.scene_image_release, name="scene-image-release"),
    path(_IMAGE_RUN, image_runs.image_run, name="scene-image-run"),
    path(f"{_IMAGE_RUN}resume", image_runs.image_run_cap, name="scene-image-run-resume"),
    path(_TRIPLETS, image_triplets.triplet_list, name="image-triplets"),
    path(f"{_TRIPLETS}build", image_triplets.triplets_build, name="image-triplets-build"),
    path(f"{_TRIPLETS}take-in", image_triplets.triplets_take_in, name="image-triplets-take-in"),
    path(f"{_TRIPLETS}queue", image_triplets.triplet_queue, name="image-triplet-queue"),
    path(f"{_TRIPLETS}explain", triplet_rounds.explaining_launch, name="image-triplet-explaining"),
    path(f"{_TRIPLETS}judge", triplet_rounds.judging_launch, name="image-triplet-judging"),
    path(_TRIPLET, image_triplets.triplet_page, name="image-triplet"),
    path(f"{_TRIPLET}check", image_triplets.triplet_check, name="image-triplet-check"),
    path(f"{_TRIPLET}gold", image_triplets.triplet_gold, name="image-triplet-gold"),
    path(f"{_TRIPLET}decide", image_triplets.triplet_decide, name="image-triplet-decide"),
    path(_EXPLANATIONS, explanations.explanation_list, name="triplet-explanations"),
    path(f"{_EXPLANATIONS}take-in", explanations.explanations_take_in, name="triplet-explanations-take-in"),
    path(f"{_EXPLANATIONS}ask", explanations.selection_launch, name="triplet-explanation-launch"),
]
_EVALUATIONS = f"{_PROJECT}evaluations/"
_EVALUATION = f"{_EVALUATIONS}<int:evaluation_id>/"
_AUDITS = f"{_PROJECT}audits/"
_EVALUATION_PAGES: list[URLPattern] = [
    path(_EVALUATIONS, evaluations.triplet_evaluations, name="triplet-evaluations"),
    path(f"{_EVALUATIONS}start", evaluation_start.start_triplet_evaluation, name="triplet-evaluation-start"),
    path(
        f"{_EVALUATIONS}compare", evaluations.compare_triplet_evaluations, name="triplet-evaluation-compare"
    ),
    path(_EVALUATION, evaluation_pages.triplet_evaluation, name="triplet-evaluation"),
    path(
        f"{_EVALUATION}triplets/<int:number>/",
        evaluation_replies.evaluated_triplet,
        name="triplet-evaluation-triplet",
    ),
    path(f"{_EVALUATION}replies/", evaluation_replies.triplet_replies, name="triplet-evaluation-replies"),
    path(
        f"{_EVALUATION}replies/correct",
        evaluation_replies.correct_triplet_replies,
        name="triplet-evaluation-correct",
    ),
    path(
        f"{_EVALUATION}files/<str:name>",
        evaluation_pages.download_triplet_evaluation,
        name="triplet-evaluation-file",
    ),
    path(_AUDITS, audits.triplet_audits, name="triplet-audits"),
    path(f"{_AUDITS}start", audits.start_triplet_audit, name="triplet-audit-start"),
]

urlpatterns = [*_SCENE_PAGES, *_IMAGE_PAGES, *_EVALUATION_PAGES]
