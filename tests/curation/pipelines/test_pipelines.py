"""De-duplication and comparison rounds over real rows, with encoders that can be reasoned about."""

import io
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image as Pillow

from curation.dedup.hierarchical import cluster
from curation.dedup.matmul_backends import NumpyFloat32Backend
from curation.models import ComparisonRound, FeatureSet, Pair
from curation.negatives.filters import soft_deduplicate_texts
from curation.negatives.options import KeepRule
from curation.pipelines.comparison import build_comparison_round
from curation.pipelines.deduplicate import deduplicate_images
from curation.pipelines.matmul_backends import BFloat16Backend, choose_matmul_backend
from curation.services.comparison import RoundOptions, launch_comparison_batch, request_comparison_round
from curation.services.dedup import DedupOptions, request_deduplication
from curation.services.texts import DuplicateOptions
from curation.services.versions import create_version, ensure_export_folder, request_seal
from hits.domain.states import AssignmentStatus, JobState
from hits.models import Image, Job
from hits.selectors.images.images import list_usable_images
from hits.services.errors import Refused
from hits.services.images.duplicates import replace_duplicate_marks
from hits.services.images.import_image import import_image
from hits.services.jobs import jobs
from tests.support.curation.fakes import Colours, Letters
from tests.support.curation.texts_corpus import Words
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


def brighter(image: Image) -> bytes:
    """A near-duplicate: the same picture, a little brighter."""
    with image.file.open("rb") as file:
        picture = Pillow.open(file).convert("RGB").point(lambda value: min(255, value + 3))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def test_near_duplicates_are_marked_and_left_out_of_later_batches(work: Work) -> None:
    images = [work.image(seed) for seed in range(4)]
    twin, _ = import_image(project=work.project, name="twin.png", data=brighter(images[2]))
    found = deduplicate_images(
        project=work.project,
        options=DedupOptions(set_aside=True, clusters=4, keep="first"),
        encoder=Colours(),
    )
    assert found.groups == {images[2].pk: [twin.pk]}
    assert (found.images, found.clusters, found.marked) == (5, 4, 1)
    assert list_usable_images(work.project) == images
    marked = Image.objects.filter(project=work.project, duplicate_of__isnull=False)
    assert list(marked.values_list("duplicate_of", "pk")) == [(images[2].pk, twin.pk)]


def test_second_run_replaces_marks_and_reuses_vectors(work: Work) -> None:
    images = [work.image(seed) for seed in range(3)]
    encoder = Colours()
    first = deduplicate_images(
        project=work.project, options=DedupOptions(set_aside=True, clusters=1), encoder=encoder
    )
    assert first.marked == 2
    second = deduplicate_images(
        project=work.project, options=DedupOptions(set_aside=True, clusters=3), encoder=encoder
    )
    assert second.marked == 0
    assert list_usable_images(work.project) == images
    assert encoder.pictures == 3
    assert FeatureSet.objects.get().count == 3


def test_kept_member_depends_on_the_seed(work: Work) -> None:
    for seed in range(6):
        work.image(seed)
    kept = {}
    for seed in (0, 1, 2, 3, 0):
        options = DedupOptions(set_aside=True, clusters=1, seed=seed)
        (keeper,) = deduplicate_images(project=work.project, options=options, encoder=Colours()).groups
        assert kept.setdefault(seed, keeper) == keeper, "equal seeds, equal choice"
    assert len(set(kept.values())) > 1


def test_missing_file_is_named_and_nothing_is_marked(work: Work) -> None:
    images = [work.image(seed) for seed in range(3)]
    images[1].file.storage.delete(images[1].file.name)
    with pytest.raises(Refused, match=r"photo-1\.png: its file is missing"):
        deduplicate_images(
            project=work.project, options=DedupOptions(set_aside=True, clusters=1), encoder=Colours()
        )
    assert not Image.objects.filter(duplicate_of__isnull=False).exists()
    assert not FeatureSet.objects.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": 2, "fraction": 0.5}, "give only one of"),
        ({"clusters": 0}, "too few"),
        ({"fraction": 1.5}, "share: 1.5"),
        ({"fraction": 0.5, "distance": 0.1}, "give only one of"),
        ({"distance": -0.5}, "distance: -0.5 is not a distance"),
        ({"fraction": 0.5, "keep": "newest"}, "keep: 'newest'"),
        ({"fraction": 0.5, "linkage": "nearest"}, "linkage: 'nearest'"),
        ({"fraction": 0.5, "seed": -1}, "seed: -1 is negative"),
        ({"clusters": 9}, "than the 2 images"),
    ],
)
def test_bad_options_are_refused_before_anything_is_queued(
    work: Work, options: dict[str, Any], message: str
) -> None:
    work.image(1)
    work.image(2)
    with pytest.raises(Refused, match=message):
        request_deduplication(project=work.project, by=None, **options)
    assert not Job.objects.exists()


def test_groups_must_not_overlap_or_leave_the_project(work: Work, rehearsal: Any) -> None:
    a, b, c = (work.image(seed) for seed in range(3))
    foreign = Work(rehearsal).image(9)
    for groups in ({a.pk: [b.pk], c.pk: [b.pk]}, {a.pk: [b.pk], b.pk: [c.pk]}, {a.pk: [foreign.pk]}):
        with pytest.raises(Refused, match="groups"):
            replace_duplicate_marks(project=work.project, groups=groups)
    assert not Image.objects.filter(duplicate_of__isnull=False).exists()


def twelve_pairs(work: Work) -> None:
    for seed in range(4):
        work.observed(work.image(seed), worker=f"W{seed}", salt="abc"[: seed % 3 + 1] * (seed + 1))


def test_round_stores_sets_reasons_and_provenance(work: Work) -> None:
    twelve_pairs(work)
    work.observed(work.image(8), worker="LATE", status=AssignmentStatus.SUBMITTED)
    options = RoundOptions(size=3, min_candidates=3, soft_share=1.0)
    found = build_comparison_round(project=work.project, options=options, given_encoders=Letters())
    assert (found.instances, found.inferences) == (12, 12)
    assert found.sets.count() > 0
    assert found.sets.count() + sum(found.skip_counts.values()) == 12
    assert sorted(found.sets.values_list("rank", flat=True)) == list(range(1, found.sets.count() + 1))
    picked: list[str] = []
    for item in found.sets.select_related("observation"):
        assert len(item.chosen) == len(set(item.chosen)) == 3
        assert item.observation.instance_id not in item.chosen
        assert item.scores["available"] >= 3
        picked += item.chosen
    assert len(picked) == len(set(picked)), "an inference is sampled once in a round"
    assert found.options["min_candidates"] == 3
    assert found.provenance["plausibility_encoder"] == "letters"
    assert found.provenance["min_candidates"] == 3
    assert found.provenance["numpy"] == np.__version__


def test_every_feature_set_records_its_provenance(work: Work) -> None:
    class Described(Letters):
        preprocessing: ClassVar = {"precision": "fp32"}

    twelve_pairs(work)
    build_comparison_round(project=work.project, options=RoundOptions(), given_encoders=Described())
    made = dict(FeatureSet.objects.filter(subject="texts").values_list("encoder", "preprocessing"))
    assert made == {"letters": Described.preprocessing, "letter pairs": Described.sentence_preprocessing}


def test_paper_floor_with_too_few_pairs_is_reported(work: Work) -> None:
    twelve_pairs(work)
    found = build_comparison_round(project=work.project, options=RoundOptions(), given_encoders=Letters())
    assert found.sets.count() == 0
    assert sum(found.skip_counts.values()) == 12
    assert set(found.skip_counts) <= {"too_few_candidates", "gold_is_best"}
    assert found.skip_totals == {reason: len(rows) for reason, rows in found.skipped.items()}
    row = found.skipped["too_few_candidates"][0]
    assert 0 < row["available"] < 20
    with pytest.raises(Refused, match="this round has none"):
        launch_comparison_batch(round=found, by=None)


def test_set_stores_the_reason_of_each_candidate(work: Work) -> None:
    twelve_pairs(work)
    options = RoundOptions(size=3, min_candidates=3, soft_share=0.7, keep="first")
    found = build_comparison_round(project=work.project, options=options, given_encoders=Letters())
    item = found.sets.get(rank=1)
    scores = item.scores
    pairs = {row.instance_id: row for row in Pair.objects.all()}
    texts = [row.inference for row in pairs.values()]
    assert min(scores["plausibility"]) > scores["gold"]
    for plausibility, near, value in zip(
        scores["plausibility"], scores["similarity"], scores["objectives"], strict=True
    ):
        assert value == pytest.approx(5 * plausibility - near, abs=1e-5)
    assert scores["copies"] == [texts.count(pairs[key].inference) for key in item.chosen]
    assert all(
        len(gone) == min(3, size - 1) for gone, size in zip(scores["dropped"], scores["cluster"], strict=True)
    )
    assert not set(item.chosen) & {key for gone in scores["dropped"] for key in gone}
    kept = found.provenance["left_by_soft_deduplication"]
    cap = found.provenance["left_by_verbatim_cap"]
    assert 12 > kept >= cap >= scores["eligible"] >= scores["available"] >= 3
    assert set(scores["promise"]) == {"words", "similarity", "plausibility"}
    assert set(scores["places"]) == {"words", "similarity", "plausibility", "total"}


def test_rules_are_passed_to_the_builder_and_stored(work: Work) -> None:
    twelve_pairs(work)
    options = RoundOptions(
        size=2, min_candidates=2, soft_share=1.0, same_image="forbidden", disqualification="per_image"
    )
    found = build_comparison_round(project=work.project, options=options, given_encoders=Letters())
    assert found.sets.exists()
    image_of = dict(Pair.objects.values_list("instance_id", "image_id"))
    sampled: dict[int, list[str]] = {}
    for item in found.sets.select_related("observation"):
        assert item.observation.image_id not in {image_of[key] for key in item.chosen}
        sampled.setdefault(item.observation.image_id, []).extend(item.chosen)
    assert all(len(keys) == len(set(keys)) for keys in sampled.values())
    assert found.options["same_image"] == found.provenance["rules"]["same_image"] == "forbidden"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "best"}, "order: 'best'; use given or random"),
        ({"linkage": "median"}, "linkage: 'median'"),
        ({"keep": "largest"}, "keep: 'largest'; use first or random or medoid"),
        ({"seed": -1}, "seed: -1 is negative"),
        ({"soft_share": 0.0}, "soft_share: 0 is not between"),
    ],
)
def test_unknown_round_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        RoundOptions(**options)


def test_equal_seeds_give_equal_rounds(work: Work) -> None:
    twelve_pairs(work)
    options = RoundOptions(size=3, min_candidates=3, seed=5)
    rounds = [
        build_comparison_round(project=work.project, options=options, given_encoders=Letters())
        for _ in range(2)
    ]
    one, two = ([(s.observation_id, s.chosen, s.rank) for s in found.sets.all()] for found in rounds)
    assert one == two
    assert ComparisonRound.objects.count() == 2


@pytest.mark.parametrize("product", [NumpyFloat32Backend, BFloat16Backend, choose_matmul_backend])
def test_soft_clusters_are_equal_for_all_matmul_backends(product: Any) -> None:
    vectors = np.random.default_rng(3).normal(size=(1_100, 48)).astype(np.float32)  # too many to ask scipy
    vectors[600:] = vectors[:500] + 0.1 * vectors[100:600]
    found = [
        soft_deduplicate_texts(
            vectors, share=0.7, keep=KeepRule.RANDOM, generator=np.random.default_rng(1), backend=by
        )
        for by in (None, product())
    ]
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    np.testing.assert_array_equal(found[0].kept, found[1].kept)


def test_rounds_and_text_analyses_use_the_fastest_matmul_backend(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    from curation.negatives import filters
    from curation.pipelines import comparison
    from curation.pipelines.texts import text_analysis

    given: list[Any] = []
    quickest = NumpyFloat32Backend()

    def spied(*args: Any, **options: Any) -> Any:
        given.append(options["backend"])
        return cluster(*args, **options)

    for module in (comparison, text_analysis):
        monkeypatch.setattr(module, "choose_matmul_backend", lambda: quickest)
    for module in (filters, text_analysis):
        monkeypatch.setattr(module, "cluster", spied)
    twelve_pairs(work)
    build_comparison_round(project=work.project, options=RoundOptions(), given_encoders=Letters())
    assert given == [quickest]
    text_analysis.analyse_texts(project=work.project, options=DuplicateOptions(), encoder=Words())
    assert given == [quickest] * 2


def test_a_split_without_pairs_is_refused(work: Work) -> None:
    twelve_pairs(work)
    with pytest.raises(Refused, match="in the split test"):
        build_comparison_round(
            project=work.project, options=RoundOptions(split="test"), given_encoders=Letters()
        )


def test_launched_hits_have_the_region_and_no_clue(work: Work) -> None:
    twelve_pairs(work)
    options = RoundOptions(size=3, min_candidates=3, soft_share=1.0)
    found = build_comparison_round(project=work.project, options=options, given_encoders=Letters())
    batch, job = launch_comparison_batch(round=found, by=None, limit=1)
    assert job.task == "hits.publish_batch"
    (unit,) = batch.units.all()
    best = found.sets.get(rank=1)
    assert unit.key == unit.payload["set"] == str(best.pk)
    assert unit.payload["clue"] is None
    assert unit.payload["boxes"] == best.observation.boxes
    assert [c["id"] for c in unit.payload["candidates"]] == best.chosen
    written = Pair.objects.filter(instance_id__in=[best.observation.instance_id, *best.chosen])
    authors = {row.submission.attempt.worker for row in written}
    assert len(authors) > 1
    assert set(unit.excluded_workers.all()) == authors


def test_jobs_run_and_report_results(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    from curation import tasks
    from curation.pipelines import comparison, deduplicate

    monkeypatch.setattr(deduplicate, "get_image_encoder", lambda name: Colours())
    monkeypatch.setattr(comparison, "get_round_encoders", lambda name: Letters())
    twelve_pairs(work)
    job = request_deduplication(project=work.project, by=None, fraction=0.5, set_aside=True)
    tasks.deduplicate_images(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert (job.result["images"], job.result["clusters"], job.result["marked"]) == (4, 2, 2)
    assert (job.done, job.total) == (5, 5), "four photos, and their clustering"
    options = RoundOptions(size=3, min_candidates=3)
    job = request_comparison_round(project=work.project, by=None, options=options)
    tasks.build_comparison_round(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert job.result["round"] == ComparisonRound.objects.get().pk
    version = create_version(project=work.project, name="v1", by=None)
    job = request_seal(version=version, by=None)
    tasks.seal_version(job.pk)
    job.refresh_from_db()
    version.refresh_from_db()
    assert job.state == JobState.DONE
    assert job.result["seal"] == version.manifest_sha256
    assert (ensure_export_folder(version=version) / "manifest.json").exists()


def test_stopped_round_resumes_with_its_encoder_and_vectors(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    from curation import tasks
    from curation.pipelines import comparison

    class Broken(Letters):
        def encode_sentences(self, texts: Any) -> Any:
            raise Refused("sentences: no weights")

    class Counted(Letters):
        regions_made = 0

        def encode_regions(self, items: Any) -> Any:
            self.regions_made += len(items)
            return super().encode_regions(items)

    asked: list[str] = []
    at_hand: list[Any] = [Broken(), made := Counted()]
    monkeypatch.setattr(
        comparison, "get_round_encoders", lambda name: (asked.append(name), at_hand.pop(0))[1]
    )
    twelve_pairs(work)
    options = RoundOptions(size=3, min_candidates=3)
    job = request_comparison_round(project=work.project, by=None, options=options, encoder="clip:some/one")
    tasks.build_comparison_round(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.FAILED, "sentences: no weights")
    assert not ComparisonRound.objects.exists()
    tasks.build_comparison_round(jobs.resume_job(job=job).pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert asked == ["clip:some/one"] * 2
    assert made.regions_made == 0, "they were kept"
    assert ComparisonRound.objects.get().sets.count() == job.result["sets"] > 0


def test_image_only_encoder_is_refused_for_rounds(work: Work) -> None:
    twelve_pairs(work)
    with pytest.raises(Refused, match="encoder: efficientnet-lite0 encodes images only"):
        request_comparison_round(project=work.project, by=None, encoder="efficientnet-lite0")
    assert not Job.objects.filter(task="curation.build_comparison_round").exists()


def test_a_cancelled_job_marks_nothing(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    from curation import tasks
    from curation.pipelines import deduplicate

    class Interrupted(Colours):
        def encode_images(self, pictures: Any) -> Any:
            Job.objects.update(cancel_requested=True)
            return super().encode_images(pictures)

    monkeypatch.setattr(deduplicate, "get_image_encoder", lambda name: Interrupted())
    for seed in range(3):
        work.image(seed)
    job = request_deduplication(project=work.project, by=None, clusters=1)
    tasks.deduplicate_images(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not Image.objects.filter(duplicate_of__isnull=False).exists()
    with pytest.raises(jobs.Conflict):
        jobs.cancel_job(job=job)
