"""A job that asks a chat model about each triplet of a sealed version in both orders, or measures somebody else."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from curation.evaluation.nleye_key import PRESENTATIONS, ChoiceCode
from curation.evaluation.nleye_replies import PARSER_VERSION, read_choice, read_score, settle_codes
from curation.generation.chat import IMAGE_RULE, STOP
from curation.generation.errors import CallFailed
from curation.image_triplets.chat_prompts import ChatPrompts
from curation.models import ModelCall, TripletEvaluation, TripletPrediction, TripletSource
from curation.pipelines.triplets.baselines import baseline_answers
from curation.pipelines.triplets.calls import ProviderRefused, run_parallel
from curation.pipelines.triplets.chat_runner import (
    ChatRunner,
    load_runner,
    second_runner,
    summarize_calls,
)
from curation.pipelines.triplets.descriptions import NotDescribed, json_description, read_description
from curation.pipelines.triplets.people import evaluate_people
from curation.pipelines.triplets.questions import (
    HYPOTHESES,
    PREMISE,
    ShownTriplet,
    caption_question,
    choice_question,
    score_question,
)
from curation.selectors.triplets.evaluations import (
    DESCRIPTION,
    EvaluatedTriplet,
    measure_evaluation,
    version_triplets,
)
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.evaluations import (
    COMBINED,
    HYPOTHESES_ONLY,
    IMAGE_TO_TEXT,
    TRIPLET,
    EvaluationOptions,
    finish_evaluation,
    store_predictions,
)
from curation.services.triplets.model_calls import CapReached, lose_calls
from hits.models import Image
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

REFUSED = "refused"
_MAX_NAMED = 20
"""Triplets that a refusal names; a job's error has an end."""


def evaluate_triplets(progress: Progress) -> dict[str, Any]:
    """Run a job: collect the answers that are missing, then compute the figures.

    Raises:
        Refused: the version has no triplets, an image is missing, or a call failed for good.
    """
    rows = TripletEvaluation.objects.select_related("project", "version", "run")
    evaluation = rows.get(pk=progress.job.args["evaluation"])
    assert evaluation.version is not None
    options = EvaluationOptions(**evaluation.options)
    triplets = version_triplets(evaluation.version, options.split)
    if not triplets:
        raise Refused(f"split: {evaluation.version.name} has no triplets in {options.split or 'any split'}")
    with refuse_invalid_input():
        if options.source is TripletSource.PEOPLE:
            return evaluate_people(evaluation, triplets)
        images = _Images(evaluation)
        if options.source is TripletSource.BASELINE:
            answers = baseline_answers(evaluation, triplets, options, images.read)
            store_predictions(evaluation=evaluation, rows=answers)
            facts: dict[str, Any] = {"baseline": options.label}
            stopped = ""
        else:
            facts, stopped = _ask_model(evaluation, triplets, options, images, progress)
        figures = measure_evaluation(evaluation, triplets)
    finish_evaluation(evaluation=evaluation, figures=figures, provenance=facts)
    called = summarize_calls(evaluation.run, stopped) if evaluation.run else {}
    return {"evaluation": evaluation.pk, "triplets": len(triplets), **called}


class _Images:
    """Reads image files of a project by their hash."""

    def __init__(self, evaluation: TripletEvaluation) -> None:
        rows = Image.objects.filter(project=evaluation.project_id, taken_down_at=None).order_by("-pk")
        self._files = {image.sha256: (image.pk, str(image.file.name)) for image in rows}
        self._storage = Image._meta.get_field("file").storage

    def check(self, triplets: Iterable[EvaluatedTriplet], names: Sequence[str]) -> None:
        """See that the images of triplets are there before anything is paid.

        Raises:
            Refused: some were taken down since the version was sealed; it names their triplets.
        """
        missing: set[str] = set()
        numbers = []
        for triplet in triplets:
            gone = {triplet.row["images"][name] for name in names} - self._files.keys()
            if gone:
                missing |= gone
                numbers.append(triplet.number)
        if missing:
            named = ", ".join(map(str, numbers[:_MAX_NAMED]))
            more = f" and {len(numbers) - _MAX_NAMED:,} more" if len(numbers) > _MAX_NAMED else ""
            count = "1 was" if len(missing) == 1 else f"{len(missing):,} were"
            raise Refused(
                f"images: {count} taken down since the version was sealed (sample_id {named}{more}); seal a new "
                "version, which leaves these triplets out, and evaluate it. What is stored is not sent again"
            )

    def read(self, sha256: str) -> bytes:
        """Return an image's bytes. Raises Refused if it was taken down since the version was sealed, or just now.

        Its file may be missing, too.
        Threads read at the same time, so each reading opens the file anew; a field's file has one handle for all.
        """
        key, name = self._files.get(sha256, (0, ""))
        if not Image.objects.filter(pk=key, taken_down_at=None).exists():
            raise Refused(
                f"image {sha256[:12]}: was taken down since the version was sealed; evaluate a newer one"
            )
        try:
            with self._storage.open(name, "rb") as file:
                data: bytes = file.read()
        except OSError as error:
            reason = error.strerror or "it is cut off"
            raise Refused(f"image {sha256[:12]}: its file cannot be read ({reason}); restore it") from error
        return data


@dataclass(frozen=True, slots=True)
class _Slot:
    """One answer to collect: a triplet in one presentation, or one of its hypotheses."""

    triplet: EvaluatedTriplet
    shown: str

    @property
    def subject(self) -> str:
        """What its calls are for."""
        return f"triplet {self.triplet.number}, {self.shown}"


def _ask_model(
    evaluation: TripletEvaluation,
    triplets: list[EvaluatedTriplet],
    options: EvaluationOptions,
    images: _Images,
    progress: Progress,
) -> tuple[dict[str, Any], str]:
    """Collect the missing answers; return the provenance, and why the run stopped before the end."""
    run = evaluation.run
    assert run is not None
    lose_calls(run=run)
    names = PRESENTATIONS if options.setup == TRIPLET else ("h1", "h2")
    done = set(
        TripletPrediction.objects.filter(evaluation=evaluation).values_list("instance_id", "presentation")
    )
    slots = [_Slot(triplet, shown) for triplet in triplets for shown in names]
    waiting = [slot for slot in slots if (slot.triplet.id, slot.shown) not in done]
    check = _image_check(images, options, waiting)
    answered = TripletPrediction.objects.filter(evaluation=evaluation, call__isnull=False)
    own = answered.exclude(call__model="").exclude(call__subject__startswith=DESCRIPTION)
    models = own.values_list("call__model", flat=True).distinct()
    runner = load_runner(run, options, progress, models=models)
    runner.settings = replace(runner.settings, before_images=check)
    if options.strategy == COMBINED:
        check()  # to paint a picture of three needs them, also where the reply is stored
    describer = runner
    if options.strategy == IMAGE_TO_TEXT and options.describer:
        described = ModelCall.objects.filter(run=run, subject__startswith=DESCRIPTION).exclude(model="")
        describer = second_runner(
            runner, options.describer, models=described.values_list("model", flat=True).distinct()
        )
    asker = _Asker(evaluation, runner, describer, options, images.read)
    stopped = ""
    try:
        answers = run_parallel(waiting, asker.answer, threads=options.threads)
        for number, row in enumerate(answers, start=len(done) + 1):
            store_predictions(evaluation=evaluation, rows=[row])
            progress.advance(number, len(slots))
    except CapReached as error:
        stopped = str(error)
    facts = {
        "models": sorted(runner.models | describer.models),
        "prompts": _prompt_hashes(options, runner.prompts),
        "parser": PARSER_VERSION,
        "image_scaling": IMAGE_RULE,
        "stopped": stopped,
    }
    return facts, stopped


def _image_check(images: _Images, options: EvaluationOptions, slots: Sequence[_Slot]) -> Callable[[], None]:
    """Return a check of all images that slots show; after it has passed once, it does nothing.

    It is made before the first call with images: stored replies need none.
    """
    triplets = {slot.triplet.id: slot.triplet for slot in slots}
    names = HYPOTHESES if options.strategy == HYPOTHESES_ONLY else (PREMISE, *HYPOTHESES)
    return cache(partial(images.check, list(triplets.values()), names))


def _prompt_hashes(options: EvaluationOptions, prompts: ChatPrompts) -> dict[str, str]:
    """Return the hash of each prompt that an evaluation may ask with, by its version."""
    seeing, blind = ("triplet", "blind") if options.setup == TRIPLET else ("pairs", "blind_pairs")
    asked = [blind if options.strategy == HYPOTHESES_ONLY else seeing, "again"]
    if options.strategy == IMAGE_TO_TEXT:
        asked.append("caption")
    return {prompts[name].version: prompts[name].sha256 for name in asked}


class _Asker:
    """Asks one chat model about triplets."""

    def __init__(
        self,
        evaluation: TripletEvaluation,
        runner: ChatRunner,
        describer: ChatRunner,
        options: EvaluationOptions,
        read: Callable[[str], bytes],
    ) -> None:
        self._evaluation, self._runner, self._describer = evaluation, runner, describer
        self._options, self._read = options, read

    def answer(self, slot: _Slot) -> TripletPrediction:
        """Return the model's answer about a slot; a refusal by content rules is an answer too.

        Without a description of an image nothing is asked about it: the answer cannot be read either.
        """
        try:
            return self._ask(slot)
        except ProviderRefused as refusal:
            return self._prediction(slot, reason=REFUSED, call=refusal.call)
        except NotDescribed as error:
            return self._prediction(slot, reason=ChoiceCode.UNPARSEABLE.reason, call=error.call)
        except CallFailed as error:
            raise Refused(f"{error}; to go on later, resume the job") from error

    def _ask(self, slot: _Slot) -> TripletPrediction:
        shown = ShownTriplet(slot.triplet, self._read)
        is_choice = self._options.setup == TRIPLET
        make = choice_question if is_choice else score_question
        question = make(shown, slot.shown, self._options, self._runner.prompts, self._describe_in(shown))
        asked = self._runner.ask(
            question.parts,
            system=question.system,
            schema=question.schema,
            subject=slot.subject,
            is_readable=_has_choice if is_choice else _has_score,
        )
        return self._read_choices(slot, asked.calls) if is_choice else self._read_scores(slot, asked.calls)

    def _read_choices(self, slot: _Slot, calls: tuple[ModelCall, ...]) -> TripletPrediction:
        replies = [read_choice(call.text, call.finish or STOP) for call in calls]
        code = settle_codes([reply.code for reply in replies])
        used = next((at for at, reply in enumerate(replies) if reply.code is code), 0)
        return self._prediction(
            slot,
            choice=code.choice,
            reason="" if code.is_position else code.reason,
            explanation=replies[used].explanation,
            call=calls[used],
        )

    def _read_scores(self, slot: _Slot, calls: tuple[ModelCall, ...]) -> TripletPrediction:
        replies = [read_score(call.text, call.finish or STOP) for call in calls]
        used = next((at for at, reply in enumerate(replies) if reply.value is not None), 0)
        found = replies[used]
        return self._prediction(
            slot, score=found.value, reason=found.reason, explanation=found.explanation, call=calls[used]
        )

    def _describe_in(self, shown: ShownTriplet) -> Callable[[str], str]:
        def describe(name: str) -> str:
            question = caption_question(shown.image(name), self._describer.prompts)
            asked = self._describer.ask(
                question.parts,
                system=question.system,
                schema=question.schema,
                subject=f"{DESCRIPTION} {shown.triplet.row['images'][name][:12]}",
                is_readable=lambda call: bool(json_description(call)),
            )
            if asked.is_refused:
                raise ProviderRefused(asked.last)
            return read_description(asked)

        return describe

    def _prediction(self, slot: _Slot, **fields: Any) -> TripletPrediction:
        return TripletPrediction(
            evaluation=self._evaluation,
            instance_id=slot.triplet.id,
            presentation=slot.shown,
            **fields,
        )


def _has_choice(call: ModelCall) -> bool:
    return read_choice(call.text, call.finish or STOP).code is not ChoiceCode.UNPARSEABLE


def _has_score(call: ModelCall) -> bool:
    found = read_score(call.text, call.finish or STOP)
    return found.value is not None or found.reason == REFUSED
