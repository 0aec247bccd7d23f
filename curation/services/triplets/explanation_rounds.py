"""Ask workers which explanations of a triplet are valid (Ventura et al. 2025 §4.2, fig. 17)."""

import secrets
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom
from uuid import UUID

from django.db import transaction

from curation.models import ExplanationSource, ImageTriplet, TripletExplanation
from curation.selectors.triplets.answers import PersonAnswer, people_answers, selection_spec
from curation.selectors.triplets.explanations import (
    current_explanations,
    explanations,
    split_into_pages,
    text_key,
    unlaunched_explanations,
    writers_by_text,
)
from curation.selectors.triplets.scenes import first_scene_ids
from curation.selectors.triplets.triplets import (
    TripletState,
    available_triplets,
    image_ids,
    shows_three_images,
    triplet_facts,
)
from curation.services.triplets.judging import take_in_model_explanations
from curation.services.triplets.round_launch import (
    RoundLaunch,
    Sourced,
    launch_judging_round,
    one_launch_at_a_time,
)
from curation.services.triplets.triplets import lock_settings
from hits.models import Assignment, Batch, Job, Project, Worker
from hits.selectors.records import id_chunks
from hits.services.errors import Refused
from validation.domain.judging.round_material import ExplanationsToJudge, ExplanationToShow

MAX_ON_PAGE = 10
DECOY_ID_BYTES = 10


@dataclass(frozen=True, slots=True)
class _Decoy:
    """An explanation under an id of its own, and the triplet that it is really about."""

    shown: ExplanationToShow
    triplet: ImageTriplet


@transaction.atomic
def take_in_crowd_explanations(project: Project) -> int:
    """Store the explanations of people who chose the more plausible hypothesis; return how many are new.

    Explanations of wrong choices are not judged (Ventura et al. 2025 §4.2).
    """
    lock_settings(project)  # whoever comes second finds them stored
    triplets = {row.public_id: row for row in available_triplets(project)}
    stored = set(
        TripletExplanation.objects.filter(triplet__project=project, submission__isnull=False).values_list(
            "submission__assignment", flat=True
        )
    )
    new = [
        (triplets[key], answer)
        for key, given in people_answers(project).items()
        if key in triplets
        for answer in given
        if answer.choice == triplets[key].gold_label and answer.why and answer.assignment not in stored
    ]
    submissions = _submissions([answer for _, answer in new])
    rows = [
        TripletExplanation(
            triplet=triplet,
            text=answer.why,
            source=ExplanationSource.CROWD.value,
            worker_id=answer.worker,
            submission_id=submissions[answer.assignment],
            simulated=answer.simulated,
        )
        for triplet, answer in new
        if answer.assignment in submissions
    ]
    return len(TripletExplanation.objects.bulk_create(rows))


def _submissions(answers: Sequence[PersonAnswer]) -> dict[int | None, UUID]:
    keys = [answer.assignment for answer in answers if answer.assignment is not None]
    found: dict[int | None, UUID] = {}
    for chunk in id_chunks(keys):
        rows = Assignment.objects.filter(pk__in=chunk, submission__isnull=False)
        found |= {pk: submission for pk, submission in rows.values_list("pk", "submission_id") if submission}
    return found


def launch_explanations(*, project: Project, launch: RoundLaunch, decoys: bool = False) -> tuple[Batch, Job]:
    """Ask workers which explanations are valid: those of people and models that no page has shown.

    Equal texts are shown once. With ``decoys``, each page has one explanation of another triplet, which nobody should
    tick; a page with a single explanation always gets one.

    Raises:
        Refused: no explanation is left to judge, or the launch is not possible.
    """
    earlier = launch.find_earlier(project)
    if earlier is not None:
        return earlier
    with one_launch_at_a_time(project):
        take_in_crowd_explanations(project)
        take_in_model_explanations(project)
        sources = explanation_sources(project, decoys=decoys)
        if not sources:
            raise Refused("explanations: none is left to judge; collect answers, or evaluate a model first")
        return launch_judging_round(
            project=project,
            spec=selection_spec(),
            sources=sources,
            launch=launch,
            name=f"Explanations of {len({row.source.triplet_id for row in sources})} triplets",
            provenance={"pages": len(sources), "explanations": count_explanations(sources)},
        )


def count_explanations(sources: Sequence[Sourced]) -> int:
    """Return how many explanations the pages of a round have, decoys left out."""
    return sum(len(row.source.explanations) - len(row.source.decoys) for row in sources)


def explanation_sources(project: Project, *, decoys: bool = False) -> list[Sourced]:
    """Return what a round asks: pages of explanations of people and models that no page has shown."""
    triplets = {
        row.triplet.pk: row.triplet
        for row in triplet_facts(project)
        if row.state is not TripletState.DROPPED and shows_three_images(row.triplet)
    }
    waiting = unlaunched_explanations(project)
    everything = list(explanations(project))
    current = list(current_explanations(project))
    texts: dict[int, set[str]] = defaultdict(set)
    for row in everything:
        texts[row.triplet_id].add(text_key(row.text))
    writers, first = writers_by_text(everything), first_scene_ids(project)
    workers = Worker.objects.in_bulk({key for keys in writers.values() for key in keys})
    sources = []
    for key, rows in waiting.items():
        if key not in triplets:
            continue
        for page in split_into_pages(rows, MAX_ON_PAGE - 1 if decoys else MAX_ON_PAGE):
            excluded = [
                workers[worker] for row in page for worker in writers.get((key, text_key(row.text)), ())
            ]
            needs_decoy = decoys or len(page) == 1
            decoy = _decoy(current, texts[key], triplets, triplets[key]) if needs_decoy else None
            source = _explanations_to_judge(triplets[key], first, page, decoy)
            if len(source.explanations) > 1:
                sources.append(Sourced(source, excluded))
    return sources


def _explanations_to_judge(
    triplet: ImageTriplet,
    first_scenes: Mapping[int, str],
    page: Sequence[TripletExplanation],
    decoy: _Decoy | None,
) -> ExplanationsToJudge:
    shown = [ExplanationToShow(row.public_id, row.text) for row in page]
    return ExplanationsToJudge(
        id=f"{triplet.public_id}-{page[0].public_id}",
        triplet_id=triplet.public_id,
        images=image_ids(triplet),
        right=triplet.gold_label,
        explanations=[*shown, *([decoy.shown] if decoy else [])],
        decoys=[decoy.shown.id] if decoy else [],
        scene_id=first_scenes[triplet.scene_id],
        decoy_triplet_id=decoy.triplet.public_id if decoy else "",
        decoy_scene_id=first_scenes[decoy.triplet.scene_id] if decoy else "",
    )


def _decoy(
    rows: Sequence[TripletExplanation],
    own_texts: Container[str],
    triplets: Mapping[int, ImageTriplet],
    triplet: ImageTriplet,
) -> _Decoy | None:
    """Return an explanation of a triplet of another domain, or else of another one, under an id of its own.

    A text that somebody wrote about this triplet, too, is no decoy. Whoever sees one judges neither triplet.
    """
    others = [
        row
        for row in rows
        if row.triplet_id != triplet.pk and row.triplet_id in triplets and text_key(row.text) not in own_texts
    ]
    distant = [
        row for row in others if triplets[row.triplet_id].scene.domain != triplet.scene.domain
    ] or others
    if not distant:
        return None
    chosen = SystemRandom().choice(distant)
    shown = ExplanationToShow(secrets.token_hex(DECOY_ID_BYTES), chosen.text)
    return _Decoy(shown, triplets[chosen.triplet_id])
