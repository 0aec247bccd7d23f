"""Jobs that draw images of scenes: one subjob a scene, the premise first, one image a call, each reserved before."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from curation.generation import names
from curation.generation.errors import BadReply, CallFailed, ContentRefused
from curation.generation.images import ImageRequest
from curation.models import GeneratedImage, ModelRun, PickOrigin, PromptSet
from curation.pipelines.triplets.calls import was_refused
from curation.pipelines.triplets.image_drawer import ImageDrawer, ImageSlot, load_drawer, read_image
from curation.selectors.jobs import SCENE_IMAGES
from curation.selectors.triplets.images import ROLES, lost_calls, scene_images
from curation.selectors.triplets.prompts import approved_prompts
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.generation import GenerationOptions
from curation.services.triplets.images import pick_image
from curation.services.triplets.model_calls import CapReached, lose_calls
from hits.domain.states import JobState
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs

PREMISE = "premise"
_COUNTED = ("images", "refused", "bad_replies")
_MAX_FAILURES = 3  # replies without a usable image, one after the other


def generate_images(progress: Progress) -> dict[str, Any]:
    """Run a job: start a subjob for each scene that misses candidates; then sum up.

    Raises:
        SplitIntoSubjobs: scenes miss candidates; the job is called again after them.
        Refused: the generator cannot be loaded.
    """
    run = _run_of(progress)
    subjobs = list(progress.job.subjobs.all())
    if subjobs and all(subjob.state == JobState.DONE for subjob in subjobs):
        return _sum_up(run, [subjob.result for subjob in subjobs])
    options = GenerationOptions(**run.parameters)
    lose_calls(run=run)
    with refuse_invalid_input():
        load_drawer(run, progress, price_unknown=options.price_unknown)
    missing = _missing(run, options)
    if not missing:
        return _sum_up(run, [])
    raise SplitIntoSubjobs(
        task=SCENE_IMAGES,
        subjobs=[
            PlannedSubjob(
                title=f"Draw scene {prompts.scene_id}",
                total=count,
                args={"run": run.pk, "prompts": prompts.pk},
            )
            for prompts, count in missing
        ],
    )


def run_scene_subjob(progress: Progress) -> None:
    """Run a subjob: draw the missing candidates of one scene."""
    run = _run_of(progress)
    prompts = PromptSet.objects.select_related("scene__project").get(pk=progress.job.args["prompts"])
    lose_calls(run=run, subject_prefix=_subject(prompts, ""))
    options = GenerationOptions(**run.parameters)
    with refuse_invalid_input():
        drawer = load_drawer(run, progress, price_unknown=options.price_unknown)
        drawing = _SceneDrawing(drawer, prompts, options, progress)
        drawing.draw()
    progress.advance(progress.job.total, progress.job.total)
    jobs.set_result(job=progress.job, **drawing.result)


@dataclass(slots=True)
class _SceneDrawing:
    """The drawing of one scene; ``result`` counts images, refusals and replies without an image."""

    drawer: ImageDrawer
    prompts: PromptSet
    options: GenerationOptions
    progress: Progress
    result: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))

    def draw(self) -> None:
        """Draw the premise, then the hypotheses if the premise has a pick."""
        try:
            self._draw_role(PREMISE, self._request(PREMISE))
            premise = self._picked_premise()
            if premise is None:
                return
            for role in ("a", "b"):
                request = self._request(role)
                if self.options.condition and names.REFERENCE in self.drawer.generator.can:
                    request = replace(request, reference=read_image(premise))
                self._draw_role(role, request)
        except CapReached as error:
            self.result["stopped"] = str(error)

    def _picked_premise(self) -> GeneratedImage | None:
        scene = self.prompts.scene
        images = scene_images([scene])[scene.pk]
        shown = images.shown(PREMISE)
        if PREMISE not in images.picks and self.options.unattended and shown:
            images = pick_image(scene=scene, role=PREMISE, image=shown[0], by=None, origin=PickOrigin.FIRST)
        return images.picks.get(PREMISE)

    def _draw_role(self, role: str, request: ImageRequest) -> None:
        """Draw the missing candidates of a role. What was drawn or refused before is not sent again."""
        drawn = GeneratedImage.objects.filter(prompt_set=self.prompts, role=role, parent=None).count()
        failures = 0
        for number in range(self.options.candidates):
            if drawn >= self.options.candidates:
                return
            outcome = self._draw_candidate(role, number, request)
            if outcome:
                self.result[outcome] += 1
            drawn += outcome == "images"
            failures = failures + 1 if outcome == "bad_replies" else 0
            if failures >= _MAX_FAILURES:
                raise Refused(
                    f"{self.drawer.run.generator}: {failures} replies one after the other have no usable image; "
                    "look at the calls of this run, then resume the job"
                )
            self.progress.advance(min(self.result["images"], self.progress.job.total))

    def _draw_candidate(self, role: str, number: int, request: ImageRequest) -> str:
        """Draw one candidate; return what came of it, or an empty text if it exists already."""
        seeded = replace(request, seed=self._seed(number))
        planned = self.drawer.plan(seeded, _subject(self.prompts, f"{role} {number + 1}"))
        if GeneratedImage.objects.filter(scene=self.prompts.scene, call__key=planned.key).exists():
            return ""
        if was_refused(self.drawer.run, planned.key):
            return "refused"
        try:
            self.drawer.draw(seeded, planned, ImageSlot(self.prompts.scene, role, self.prompts))
        except ContentRefused:
            return "refused"
        except BadReply:
            return "bad_replies"
        except CallFailed as error:
            raise Refused(f"{error}; to go on later, resume the job") from error
        return "images"

    def _request(self, role: str) -> ImageRequest:
        options = self.options
        return ImageRequest(
            prompt=self.prompts.prompt(role),
            width=options.width,
            height=options.height,
            negative=options.negative,
            steps=options.steps,
            guidance=options.guidance,
        )

    def _seed(self, number: int) -> int | None:
        """Return the seed of a candidate, the same for all three roles; none if the generator takes none."""
        if self.options.seed is None or names.SEED not in self.drawer.generator.can:
            return None
        return self.options.seed + number


def _missing(run: ModelRun, options: GenerationOptions) -> list[tuple[PromptSet, int]]:
    """Return the approved prompts whose roles miss candidates, with an upper bound of their number."""
    prompts = approved_prompts(run.project).values()
    images = GeneratedImage.objects.filter(prompt_set__in=[row.pk for row in prompts], parent=None)
    drawn = Counter(images.values_list("prompt_set", "role"))
    counts = [
        (row, sum(max(0, options.candidates - drawn[row.pk, role]) for role in ROLES)) for row in prompts
    ]
    return [(row, count) for row, count in counts if count]


def _sum_up(run: ModelRun, results: list[dict[str, Any]]) -> dict[str, Any]:
    counted = {name: sum(result.get(name, 0) for result in results) for name in _COUNTED}
    stopped = next((result["stopped"] for result in results if result.get("stopped")), "")
    run.refresh_from_db()
    lost = [call.subject for call in lost_calls(run)]
    found: dict[str, Any] = {**counted, "committed_micro_usd": run.committed_micro}
    if stopped:
        found["stopped"] = stopped
    if lost:
        found["maybe_paid_twice"] = lost
    return found


def _subject(prompts: PromptSet, rest: str) -> str:
    return f"image {prompts.scene.public_id} {prompts.pk} {rest}"


def _run_of(progress: Progress) -> ModelRun:
    return ModelRun.objects.select_related("project").get(pk=progress.job.args["run"])
