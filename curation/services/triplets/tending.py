"""What happens to image triplets by itself: answers become scenes and explanations, and authors hear of decisions."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from curation.models import Scene, SceneDecision, SceneReason
from curation.selectors.triplets.scenes import SceneOutcome, SceneState, scene_outcome
from curation.selectors.triplets.settings import triplet_settings
from curation.services.triplets.pick_rounds import apply_crowd_picks
from curation.services.triplets.scenes import take_in_scenes
from curation.services.triplets.triplets import take_in_explanations
from hits.models import Project
from validation.services.notices import plan_scene_notice

FAMILY = "nleye"
UNDO_TIME = timedelta(minutes=10)  # a reader may take a verdict back before its author hears of it
LOOK_BACK = timedelta(
    days=2
)  # of decisions that authors have not heard of, for example after a stop of the site
REASON_TEXTS = {
    SceneReason.PREMISE_NECESSITY: "one could choose between the hypotheses without the premise",
    SceneReason.VISUAL_RELEVANCE: "a picture cannot show the difference",
    SceneReason.UNIQUENESS: "it is too similar to another scene",
    SceneReason.UNSAFE: "it is not suitable for everybody",
    SceneReason.UNCLEAR: "it is not clear enough",
    SceneReason.OTHER: "other reasons",
}
_OUTCOME_TEXTS = {
    SceneState.KEPT: "The scene is used. Thank you!",
    SceneState.DROPPED: "The scene is not used.",
    SceneState.TO_REVISE: "The scene is changed before it is used.",
    SceneState.REPLACED: "The scene is changed before it is used.",
}
_NOTIFIED_AS = {SceneState.REPLACED: SceneState.TO_REVISE}  # one message for both


def tend_projects() -> None:
    """Tend every project of the family. Repeatable; a project without news costs a few queries."""
    for project in Project.objects.filter(family=FAMILY):
        tend_project(project)


def tend_project(project: Project) -> None:
    """Store new scenes, explanations and picks of a project, and plan the notices to authors."""
    take_in_scenes(project)
    take_in_explanations(project)
    apply_crowd_picks(project)
    plan_scene_notices(project)


def plan_scene_notices(project: Project) -> int:
    """Plan a message to each author whose scene was decided about, once for each outcome; return the new ones."""
    now = timezone.now()
    recent = now - LOOK_BACK
    decided = SceneDecision.objects.filter(scene__project=project, at__gt=recent).order_by().values("scene")
    revised = Q(replaced_by__created_at__gt=recent, replaced_by__created_at__lt=now - UNDO_TIME)
    scenes = Scene.objects.filter(project=project, record__isnull=False).filter(Q(pk__in=decided) | revised)
    readers = triplet_settings(project).readers
    planned = 0
    for scene in scenes.select_related("record__submission__assignment__hit__unit__batch__project"):
        outcome = scene_outcome(scene, readers)
        is_settled = all(row.at < now - UNDO_TIME for row in outcome.verdicts)
        if outcome.state in _OUTCOME_TEXTS and is_settled:
            planned += _plan_notice(scene, outcome)
    return planned


def _plan_notice(scene: Scene, outcome: SceneOutcome) -> bool:
    assert scene.record is not None
    assert scene.record.submission is not None
    return plan_scene_notice(
        work=scene.record.submission.assignment,
        key=("scene", scene.pk, _NOTIFIED_AS.get(outcome.state, outcome.state).value),
        outcome=describe_outcome(outcome),
        quote=scene.premise,
    )


def describe_outcome(outcome: SceneOutcome) -> str:
    """Return what an author reads about a decision: whether the scene is used and, if not, why."""
    text = _OUTCOME_TEXTS[outcome.state]
    reasons = [REASON_TEXTS[SceneReason(reason)] for reason in outcome.reasons]
    if outcome.state is SceneState.KEPT or not reasons:
        return text
    return f"{text} The reason: {'; '.join(reasons)}."
