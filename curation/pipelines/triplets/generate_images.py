"""Jobs that draw images of scenes: one subjob a scene, the premise first, one image a call, each reserved before."""

from dataclasses import dataclass, field, replace
from typing import Any

from curation.generation import names
from curation.generation.errors import BadReply, CallFailed, ContentRefused, Transient, Unusable
from curation.generation.images import ImageGenerator, ImageRequest, check_abilities
from curation.models import CallState, GeneratedImage, ModelCall, ModelRun, PickOrigin, PromptSet
from curation.pipelines.triplets.image_drawer import (
    ImageDrawer,
    ImageSlot,
    check_shown,
    load_drawer,
    read_image,
)
from curation.selectors.jobs import SCENE_IMAGES
from curation.selectors.triplets.image_queue import missing_images
from curation.selectors.triplets.images import scene_images
from curation.selectors.triplets.model_calls import lost_calls
from curation.selectors.triplets.prompts import is_drawable
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.generation import GenerationOptions
from curation.services.triplets.images import pick_image
from curation.services.triplets.model_calls import (
    BAD_REPLY_FINISH,
    CapReached,
    find_refused_call,
    lose_calls,
)
from hits.domain.states import JobState
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs

PREMISE = "premise"
_COUNTED = ("images", "refused", "bad_replies")
CHANGED = "changed_meanwhile"
"""Counts scenes that were dropped, or whose prompts were rejected or replaced, during a run."""
_GAVE_UP = "gave_up"  # in a subjob's result: the server answers none of its calls, so other scenes send none
_MAX_FAILURES = 3  # replies without a usable image, one after the other, whichever scene they are for
_MAX_FAILED_SCENES = 3  # before the first image of a run


def generate_images(progress: Progress) -> dict[str, Any]:
    """Run a job: start a subjob for each scene that misses candidates; then sum up.

    Raises:
        SplitIntoSubjobs: scenes miss candidates; the job is called again after them.
        Refused: the generator cannot be loaded, or lacks an ability that is asked for.
    """
    run = _run_of(progress)
    subjobs = list(progress.job.subjobs.order_by("pk"))
    if subjobs and all(subjob.state == JobState.DONE for subjob in subjobs):
        return _sum_up(run, [subjob.result for subjob in subjobs])
    options = GenerationOptions(**run.parameters)
    lose_calls(run=run)
    with refuse_invalid_input():
        drawer = load_drawer(run, progress, price_unknown=options.price_unknown)
        check_generator(drawer.generator, options)
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


def check_generator(generator: ImageGenerator, options: GenerationOptions) -> None:
    """Refuse options that a generator cannot fulfil, before anything is reserved.

    Raises:
        InvalidInput: it lacks an ability, or a value is outside of its limits.
    """
    request = ImageRequest("an image", options.width, options.height, options.negative)
    check_abilities(generator, replace(request, steps=options.steps, guidance=options.guidance))


def run_scene_subjob(progress: Progress) -> None:
    """Run a subjob: draw the missing candidates of one scene.

    Raises:
        Refused: a call failed for good, here or for scenes before.
    """
    run = _run_of(progress)
    _check_others(progress, run)
    prompts = PromptSet.objects.select_related("scene__project").get(pk=progress.job.args["prompts"])
    lose_calls(run=run, subject_prefix=_subject(prompts, ""))
    options = GenerationOptions(**run.parameters)
    with refuse_invalid_input():
        drawer = load_drawer(run, progress, price_unknown=options.price_unknown)
        drawing = _SceneDrawing(drawer, prompts, options, progress)
        drawing.draw()
    progress.advance(progress.job.total, progress.job.total)
    jobs.set_result(job=progress.job, **drawing.result)


def _check_others(progress: Progress, run: ModelRun) -> None:
    """Send nothing more if the generator answers nobody: a wrong key fails once, not once for each scene."""
    failed = Job.objects.filter(parent=progress.job.parent_id, state=JobState.FAILED)
    drawn = GeneratedImage.objects.filter(run=run).exists()
    if failed.filter(**{f"result__{_GAVE_UP}": True}).exists() or (
        not drawn and failed.count() >= _MAX_FAILED_SCENES
    ):
        raise Refused("not drawn, because the calls for other scenes failed")


class _ChangedMeanwhile(Exception):
    """The scene was dropped, or its prompts were rejected or replaced, after the run began."""


@dataclass(slots=True)
class _SceneDrawing:
    """The drawing of one scene; ``result`` counts images, refusals and replies without an image."""

    drawer: ImageDrawer
    prompts: PromptSet
    options: GenerationOptions
    progress: Progress
    result: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    reference: GeneratedImage | None = None
    premise: GeneratedImage | None = None

    def draw(self) -> None:
        """Draw the premise, then the hypotheses if the premise has a pick."""
        try:
            self._draw_role(PREMISE, self._request(PREMISE))
            premise = self._picked_premise()
            if premise is None:
                return
            for role in ("a", "b"):
                request = self._request(role)
                self.premise = premise
                if self.options.condition and names.REFERENCE in self.drawer.generator.can:
                    self.reference = premise
                    request = replace(request, reference=read_image(premise))
                self._draw_role(role, request)
        except CapReached as error:
            self.result["stopped"] = str(error)
        except _ChangedMeanwhile:
            self.result[CHANGED] = 1

    def _check_prompts(self) -> None:
        """Raise _ChangedMeanwhile if nothing may be drawn from the prompts any more: nobody shall pay for it."""
        if not is_drawable(self.prompts):
            raise _ChangedMeanwhile

    def _picked_premise(self) -> GeneratedImage | None:
        self._check_prompts()
        scene = self.prompts.scene
        images = scene_images([scene])[scene.pk]
        shown = images.shown(PREMISE)
        if PREMISE not in images.picks and self.options.unattended and shown:
            images = pick_image(scene=scene, role=PREMISE, image=shown[0], by=None, origin=PickOrigin.FIRST)
        return images.picks.get(PREMISE)

    def _draw_role(self, role: str, request: ImageRequest) -> None:
        """Draw the missing candidates of a role. What was drawn or refused before is not sent again.

        Each image that was taken down, or drawn beside another premise, gives its place to one more candidate.
        """
        images = GeneratedImage.objects.filter(prompt_set=self.prompts, role=role, parent=None)
        stored = list(images.select_related("image"))
        drawn = sum(self._counts(row) for row in stored)
        for number in range(self.options.candidates + len(stored) - drawn):
            if drawn >= self.options.candidates:
                return
            outcome = self._draw_candidate(role, number, request)
            if outcome:
                self.result[outcome] += 1
            drawn += outcome == "images"
            if outcome == "bad_replies":
                self._check_failures()
            self.progress.advance(min(self.result["images"], self.progress.job.total))

    def _counts(self, image: GeneratedImage) -> bool:
        is_other = self.premise is not None and image.is_beside_other_premise(self.premise)
        return image.image.taken_down_at is None and not is_other

    def _check_failures(self) -> None:
        """End the whole run after a few paid replies without an image: those of other scenes count, too."""
        # Subjobs are made anew when a run is resumed, so earlier failures count no more.
        calls = ModelCall.objects.filter(run=self.drawer.run, sent_at__gte=self.progress.job.created_at)
        newest = calls.exclude(state=CallState.SENT).order_by("-pk")[:_MAX_FAILURES]
        bad = [call for call in newest if (call.state, call.finish) == (CallState.FAILED, BAD_REPLY_FINISH)]
        if len(bad) < _MAX_FAILURES:
            return
        jobs.set_result(job=self.progress.job, **self.result, **{_GAVE_UP: True})
        raise Refused(
            f"{self.drawer.run.generator}: {len(bad)} replies one after the other have no usable image, the last "
            f"one because: {bad[0].error}. Look at the calls of this run, then resume the job"
        )

    def _draw_candidate(self, role: str, number: int, request: ImageRequest) -> str:
        """Draw one candidate; return what came of it, or an empty text if it exists already."""
        seeded = replace(request, seed=self._seed(number))
        planned = self.drawer.plan(seeded, _subject(self.prompts, f"{role} {number + 1}"))
        if GeneratedImage.objects.filter(scene=self.prompts.scene, call__key=planned.key).exists():
            return ""
        if find_refused_call(self.drawer.run.project, planned.key) is not None:
            return "refused"
        self._check_prompts()
        if self.reference is not None:
            check_shown(self.reference)
        try:
            self.drawer.draw(seeded, planned, ImageSlot(self.prompts.scene, role, self.prompts))
        except ContentRefused:
            return "refused"
        except BadReply:
            return "bad_replies"
        except CallFailed as error:
            if isinstance(error, Transient | Unusable):
                jobs.set_result(job=self.progress.job, **self.result, **{_GAVE_UP: True})
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
    rows = missing_images(run.project, options.candidates)
    return [(prompts, sum(missing.values())) for prompts, missing in rows]


def _sum_up(run: ModelRun, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the run has drawn: also what it drew before it was interrupted, so from rows alone."""
    stopped = next((result["stopped"] for result in results if result.get("stopped")), "")
    run.refresh_from_db()
    calls = ModelCall.objects.filter(run=run)
    lost = [call.subject for call in lost_calls(run)]
    found: dict[str, Any] = {
        "images": GeneratedImage.objects.filter(run=run).count(),
        "refused": calls.filter(state=CallState.REFUSED).count(),
        "bad_replies": calls.filter(state=CallState.FAILED, finish=BAD_REPLY_FINISH).count(),
        "committed_micro_usd": run.committed_micro,
    }
    if changed := sum(result.get(CHANGED, 0) for result in results):
        found[CHANGED] = changed
    if stopped:
        found["stopped"] = stopped
    if lost:
        found["maybe_paid_twice"] = lost
    return found


def _subject(prompts: PromptSet, rest: str) -> str:
    return f"image {prompts.scene.public_id} {prompts.pk} {rest}"


def _run_of(progress: Progress) -> ModelRun:
    return ModelRun.objects.select_related("project").get(pk=progress.job.args["run"])
