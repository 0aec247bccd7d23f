"""A sealed version with everything that an evaluation asks about: pairs, proposed boxes, and a rated set."""

from dataclasses import dataclass

from curation.models import DatasetVersion, ImageProposals, Pair, ProposalRun
from curation.services.comparison import (
    BuiltRound,
    BuiltSet,
    RoundOptions,
    launch_comparison_batch,
    store_round,
)
from curation.services.versions import create_sealed_version
from hits.models import Hit, Image
from tests.support.judging.work import Work, ratings


@dataclass
class Corpus:
    """``boxes`` were proposed for every photo; they cover each drawn region."""

    version: DatasetVersion
    run: ProposalRun
    images: list[Image]
    pairs: list[Pair]
    boxes: list[list[float]]


def corpus_of(work: Work, *, photos: int = 4, name: str = "v1") -> Corpus:
    """Seal photos of the test split with three pairs each; two judges rated three inferences of the first region."""
    images = [
        work.image(seed, split="test", source_url=f"https://photos.example/{seed}.png")
        for seed in range(1, photos + 1)
    ]
    pairs = [pair for image in images for pair in work.observed(image, worker=f"W{image.pk % 3}")]
    rate(work, pairs)
    run, boxes = propose(work, images, pairs)
    version = create_sealed_version(project=work.project, name=name, by=None)
    return Corpus(version, run, images, pairs, boxes)


def rate(work: Work, pairs: list[Pair]) -> None:
    """Let two people rate the next three pairs' inferences for the first pair's region."""
    built = BuiltRound(
        encoder="made up",
        provenance={"code": "test"},
        instances=len(pairs),
        inferences=len(pairs),
        sets=[BuiltSet(pairs[0].pk, [p.instance_id for p in pairs[3:6]], 1, {})],
        skipped={},
    )
    found = store_round(project=work.project, options=RoundOptions(), built=built)
    batch, _ = launch_comparison_batch(round=found, by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    for judge in range(2):
        work.answered(hit, f"JUDGE{judge}", ratings(hit, 1, 3, 2))


def propose(work: Work, images: list[Image], pairs: list[Pair]) -> tuple[ProposalRun, list[list[float]]]:
    """Store a complete run: for each photo the regions that are drawn in any, and boxes that cover none."""
    side = ("left", "top", "width", "height")
    drawn = sorted({tuple(box[s] for s in side) for pair in pairs for box in pair.boxes})
    covering = [[*map(float, box), 0.9] for box in drawn][:3]
    boxes = [*covering, [0.0, 0.0, 1.0, 1.0, 0.2], [3.0, 1.0, 1.0, 1.0, 0.1]]
    run = ProposalRun.objects.create(
        project=work.project, detector="made up", options={"limit": 100}, images=len(images), is_complete=True
    )
    for image in images:
        ImageProposals.objects.create(run=run, image=image, boxes=boxes)
    return run, boxes
