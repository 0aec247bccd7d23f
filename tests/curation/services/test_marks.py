"""What a de-duplication does to earlier marks: of other photos, and of those that people decided about."""

import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from PIL import Image as Pillow

from curation.dedup.hierarchical import MEMORY_LIMIT_BYTES
from curation.models import LeakReview, Source, SourceRecord
from curation.pipelines import deduplicate
from curation.pipelines.deduplicate import deduplicate_images
from curation.selectors import duplicates as read
from curation.services import dedup as services
from curation.services.dedup import DedupOptions, MarkCounts, mark_duplicate_groups
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from hits.services.images import duplicates
from hits.services.images.duplicates import add_duplicate_marks, replace_duplicate_marks, unmark_duplicate
from hits.services.images.import_image import import_image
from tests.support.curation.fakes import Colours
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db

VG, VCR = Source.VISUAL_GENOME, Source.VCR


def of_source(source: Source, *images: Image) -> None:
    for image in images:
        SourceRecord.objects.create(image=image, source=source.value, source_id=str(image.pk))


def marks(project: Project) -> dict[int, int]:
    rows = Image.objects.filter(project=project, duplicate_of__isnull=False)
    return {image: kept for image, kept in rows.values_list("pk", "duplicate_of") if kept is not None}


def twin_of(image: Image, lighter: int = 3) -> Image:
    """Import the same picture, a little brighter."""
    with image.file.open("rb") as file, Pillow.open(file) as opened:
        picture = opened.convert("RGB").point(lambda value: min(255, value + lighter))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    made, _ = import_image(project=image.project, name=f"twin of {image.name}", data=buffer.getvalue())
    return made


@pytest.fixture
def photos(work: Work) -> list[Image]:
    return [work.image(seed) for seed in range(6)]


@pytest.fixture
def keys(photos: list[Image]) -> list[int]:
    return [image.pk for image in photos]


def called_same(first: Image | int, second: Image | int, by: User, verdict: str = "same") -> None:
    low, high = sorted(image if isinstance(image, int) else image.pk for image in (first, second))
    LeakReview.objects.create(first_id=low, second_id=high, verdict=verdict, by=by)


# -- which marks are replaced


def test_marks_of_images_that_were_not_looked_at_stay(project: Project, keys: list[int]) -> None:
    a, b, c, d, e, f = keys
    replace_duplicate_marks(project=project, groups={a: [b], c: [d], e: [f]})
    assert replace_duplicate_marks(project=project, groups={b: [a]}, examined=[a, b, c]) == 1
    assert marks(project) == {a: b, d: c, f: e}


def test_duplicates_of_a_photo_follow_it_to_its_new_group(project: Project, keys: list[int]) -> None:
    a, b, c, d, e, f = keys
    replace_duplicate_marks(project=project, groups={a: [d, e]})  # d and e are of another collection
    replace_duplicate_marks(project=project, groups={b: [a, c]}, examined=[a, b, c])
    assert marks(project) == {a: b, c: b, d: b, e: b}
    replace_duplicate_marks(
        project=project, groups={f: [d]}, examined=[d, e, f]
    )  # the reverse: theirs alone are replaced
    assert marks(project) == {a: b, c: b, d: f}
    replace_duplicate_marks(project=project, groups={}, examined=[a, b, c])
    assert marks(project) == {d: f}


def test_a_photo_behind_one_of_another_collection_is_offered_to_the_run_again(
    project: Project, keys: list[int]
) -> None:
    a, b, c, d, *_ = keys
    replace_duplicate_marks(project=project, groups={d: [a, b]})  # d is of another collection
    replace_duplicate_marks(project=project, groups={a: [c]}, examined=[a, b, c])
    assert marks(project) == {c: a}


def test_a_group_must_be_of_images_that_were_looked_at(project: Project, keys: list[int]) -> None:
    a, b, c, *_ = keys
    replace_duplicate_marks(project=project, groups={a: [b]})
    with pytest.raises(Refused, match=f"image {c} was not examined"):
        replace_duplicate_marks(project=project, groups={a: [c]}, examined=[a, b])
    assert marks(project) == {b: a}


def test_more_images_than_a_statement_holds(
    project: Project, keys: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "UPDATE_BATCH_SIZE", 2)
    a, *others = keys
    replace_duplicate_marks(project=project, groups={a: others})
    assert marks(project) == dict.fromkeys(others, a)
    replace_duplicate_marks(project=project, groups={})
    assert marks(project) == {}


# -- photos that were taken down


def take_down(*keys: int) -> None:
    Image.objects.filter(pk__in=keys).update(taken_down_at="2026-01-01T00:00Z")


def offered_beside(project: Project, keys: Collection[int]) -> set[int]:
    """Which of some photos are on offer."""
    return read.offered_image_ids(project) & set(keys)


def test_a_kept_photo_that_is_taken_down_meanwhile_hands_its_place_on(
    project: Project, keys: list[int]
) -> None:
    a, b, c, d, e, f = keys
    replace_duplicate_marks(project=project, groups={c: [a]})  # a is of another collection, and the oldest
    replace_duplicate_marks(project=project, groups={}, examined=[c, d, e, f])
    take_down(c, d)
    assert replace_duplicate_marks(project=project, groups={c: [d, e, f]}, examined=[b, c, d, e, f]) == 3
    assert marks(project) == {a: e, c: e, d: e, f: e}, "the first of the group that stands, not the oldest"
    assert offered_beside(project, keys) == {b, e}


def test_a_photo_that_is_taken_down_while_the_run_clusters_hides_no_other(
    work: Work, photos: list[Image]
) -> None:
    kept, twin = photos[0], twin_of(photos[0])

    class TakesDown(Colours):
        def encode_images(self, images: Sequence[Pillow.Image]) -> Any:
            take_down(kept.pk)
            return super().encode_images(images)

    deduplicate_images(
        project=work.project,
        options=DedupOptions(set_aside=True, clusters=6, keep="first"),
        encoder=TakesDown(),
    )
    assert read.offered_image_ids(work.project) == {twin.pk, *(photo.pk for photo in photos[1:])}


def test_no_photo_of_another_collection_stays_behind_one_that_was_taken_down(
    project: Project, keys: list[int]
) -> None:
    a, b, c, d, e, f = keys
    replace_duplicate_marks(
        project=project, groups={a: [c, d], b: [e]}
    )  # c, d and e are of another collection
    take_down(a, c)
    replace_duplicate_marks(project=project, groups={f: [b]}, examined=[b, f])
    assert marks(project) == {a: d, c: d, b: f, e: f}
    take_down(b, d, f)
    replace_duplicate_marks(project=project, groups={}, examined=[])
    assert offered_beside(project, keys) == {e}


def test_group_without_available_photos_frees_its_followers(project: Project, keys: list[int]) -> None:
    a, b, c, d, *_ = keys
    replace_duplicate_marks(project=project, groups={b: [c, d]})  # c and d are of another collection
    take_down(a, b)
    replace_duplicate_marks(project=project, groups={a: [b]}, examined=[a, b])
    assert marks(project) == {a: c, b: c, d: c}


@pytest.mark.parametrize("seed", range(40))
def test_one_available_photo_of_each_group_is_always_offered(
    project: Project, keys: list[int], seed: int
) -> None:
    draw = np.random.default_rng(seed)
    replace_duplicate_marks(project=project, groups=_drawn_groups(keys, draw))
    among = draw.choice(keys, int(draw.integers(2, len(keys) + 1)), replace=False).tolist()
    groups, before = _drawn_groups(among, draw), marks(project)
    gone = set(draw.choice(keys, 3, replace=False).tolist())
    take_down(*gone)
    replace_duplicate_marks(project=project, groups=groups, examined=among)
    after = marks(project)
    assert not set(after.values()) & set(after), "a mark points at a photo that is marked"
    assert not {kept for image, kept in after.items() if image not in gone} & gone, "or was taken down"
    for kept, members in groups.items():
        group = {kept, *members}
        assert len(offered_beside(project, group)) == bool(group - gone)
    freed = set(before) - set(after) - set(among)
    assert all({before[image], *groups} & gone for image in freed), "marks of others were lost"


def test_a_later_run_over_one_collection_leaves_a_follower_where_it_is(
    project: Project, keys: list[int]
) -> None:
    a, b, c, *_ = keys
    replace_duplicate_marks(project=project, groups={a: [c]})  # c is of another collection
    replace_duplicate_marks(project=project, groups={b: [a]}, examined=[a, b])
    replace_duplicate_marks(project=project, groups={}, examined=[a, b])
    assert marks(project) == {c: b}, "as the manual says"


# -- by source


def test_photos_of_one_collection_are_clustered_alone(work: Work, photos: list[Image]) -> None:
    a, b, c, d, *_ = photos
    near_a, near_d = twin_of(a), twin_of(d)
    of_source(VG, a, b, near_a)
    of_source(VCR, c, d, near_d)
    replace_duplicate_marks(project=work.project, groups={c.pk: [d.pk], a.pk: [b.pk]})
    encoder = Colours()
    options = DedupOptions(set_aside=True, clusters=2, keep="first", source="visual_genome")
    found = deduplicate_images(project=work.project, options=options, encoder=encoder)
    assert (found.images, found.clusters, found.marked) == (3, 2, 1)
    assert found.groups == {a.pk: [near_a.pk]}
    assert found.summary()["options"]["source"] == "visual_genome"
    assert encoder.pictures == 3, "no other photo was looked at"
    assert marks(work.project) == {near_a.pk: a.pk, d.pk: c.pk}, "the other collection's marks stay"
    everything = DedupOptions(set_aside=True, clusters=6, keep="first")
    assert deduplicate_images(project=work.project, options=everything, encoder=encoder).marked == 2
    assert marks(work.project) == {near_a.pk: a.pk, near_d.pk: d.pk}


def test_a_collection_without_photos_is_refused(work: Work, photos: list[Image]) -> None:
    of_source(VG, photos[0])
    for source, message in (
        ("vcr", "fewer than two of VCR"),
        ("visual_genome", "fewer than two of Visual Genome"),
    ):
        with pytest.raises(Refused, match=message):
            services.request_deduplication(project=work.project, by=None, fraction=0.5, source=source)
    with pytest.raises(Refused, match="there is none of VCR"):
        deduplicate_images(
            project=work.project, options=DedupOptions(set_aside=True, fraction=0.5, source="vcr")
        )
    of_source(VG, photos[1])
    with pytest.raises(Refused, match="3 is more than the 2 images of Visual Genome"):
        services.request_deduplication(project=work.project, by=None, clusters=3, source="visual_genome")
    with pytest.raises(Refused, match="source: 'coco'; use visual_genome, vcr, or none for all"):
        services.request_deduplication(project=work.project, by=None, clusters=3, source="coco")
    assert not Job.objects.exists()


def test_job_title_names_photos(
    work: Work, photos: list[Image], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(deduplicate, "get_image_encoder", lambda name: Colours())
    of_source(VG, *photos[:3])
    flags = ("--source", "visual_genome", "--clusters", "2", "--memory-mib", "100")
    call_command("deduplicate_photos", "--project", work.project.slug, *flags)
    job = Job.objects.get()
    assert (job.state, job.title) == (JobState.DONE, "De-duplicate 3 photos of Visual Genome")
    assert job.result["options"]["source"] == "visual_genome"
    assert job.args["options"]["memory_mib"] == 100
    assert job.lines.filter(text__startswith="3 images of Visual Genome in 2 clusters").exists()
    assert "De-duplicate 3 photos of Visual Genome" in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"source": "vcr"}, {"memory_mib": 512}])
def test_a_line_asks_for_the_same(work: Work, photos: list[Image], options: dict[str, Any]) -> None:
    import shlex

    from curation.views.command_lines import command_lines

    of_source(VCR, *photos)
    job = services.request_deduplication(project=work.project, by=None, fraction=0.5, **options)
    (line,) = command_lines([job])
    Job.objects.update(state=JobState.DONE)
    call_command(*shlex.split(line)[1:], "--background")
    assert Job.objects.exclude(pk=job.pk).get().args == job.args


# -- memory


def test_default_memory_limit_is_that_of_clustering() -> None:
    assert DedupOptions(fraction=0.5).memory_bytes == MEMORY_LIMIT_BYTES


def test_the_memory_reaches_the_clustering_and_too_little_is_refused(
    work: Work, photos: list[Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    real = deduplicate.cluster

    def spied(*args: Any, **options: Any) -> Any:
        given.append(options["memory_limit_bytes"])
        return real(*args, **options)

    monkeypatch.setattr(deduplicate, "cluster", spied)
    found = [
        deduplicate_images(
            project=work.project,
            options=DedupOptions(set_aside=True, clusters=3, memory_mib=mib),
            encoder=Colours(),
        )
        for mib in (64, 2048)
    ]
    assert given == [64 * 2**20, 2048 * 2**20]
    assert found[0].groups == found[1].groups
    with pytest.raises(CommandError, match="memory: 63 MiB is too little for clustering; use at least 64"):
        call_command("deduplicate_photos", "--project", work.project.slug, "--memory-mib", "63")


def test_pairs_without_room_are_refused_with_the_flag_that_gives_more(
    work: Work, photos: list[Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **options: Any) -> Any:
        raise deduplicate.TooManyPairs("memory: more than 7 pairs of rows lie within a distance of 0.1")

    monkeypatch.setattr(deduplicate, "cluster", full)
    with pytest.raises(Refused, match=r"more than 7 pairs .* raise --memory-mib, or merge less"):
        deduplicate_images(
            project=work.project, options=DedupOptions(set_aside=True, clusters=3), encoder=Colours()
        )


# -- what people decided


def stored(project: Project, groups: Mapping[int, Sequence[int]], among: Collection[int]) -> MarkCounts:
    return mark_duplicate_groups(project=project, groups=groups, compared_images=among)


def test_photo_set_aside_by_a_person_stays_aside(project: Project, keys: list[int], researcher: User) -> None:
    a, b, *_ = keys
    called_same(a, b, researcher)
    add_duplicate_marks(project=project, retained=a, duplicates=[b])
    assert stored(project, {}, keys) == MarkCounts(marked=1, set_aside_again=1, marked_though_offered_again=0)
    assert marks(project) == {b: a}


def test_of_a_restored_pair_the_one_in_test_is_kept(
    project: Project, keys: list[int], researcher: User
) -> None:
    a, b, c, *_ = keys
    Image.objects.filter(pk=b).update(split="test")
    called_same(a, b, researcher)
    replace_duplicate_marks(project=project, groups={a: [b]})  # a run's own choice
    stored(project, {a: [c]}, keys)
    assert marks(project) == {a: b, c: b}, "what stood behind the one set aside follows it"


def test_groups_that_leave_one_on_offer_are_left_alone(
    project: Project, keys: list[int], researcher: User
) -> None:
    a, b, c, *_ = keys
    Image.objects.filter(pk=b).update(split="test")
    called_same(a, b, researcher)
    add_duplicate_marks(project=project, retained=b, duplicates=[a])
    for groups, left in (({a: [b]}, {b: a}), ({c: [b]}, {b: c}), ({c: [a, b]}, {a: c, b: c})):
        assert stored(project, groups, keys).set_aside_again == 0
        assert marks(project) == left
    assert stored(project, {}, keys).set_aside_again == 1
    assert marks(project) == {a: b}


@pytest.mark.parametrize("verdict", ["different", None])
def test_a_pair_that_is_not_called_the_same_any_more_is_offered(
    project: Project, keys: list[int], researcher: User, verdict: str | None
) -> None:
    a, b, *_ = keys
    if verdict:
        called_same(a, b, researcher)
        called_same(a, b, researcher, verdict)  # the newest stands
    add_duplicate_marks(project=project, retained=a, duplicates=[b])
    assert stored(project, {}, keys) == MarkCounts(0, 0, 0)
    assert marks(project) == {}


def test_a_photo_that_was_offered_again_stays_offered_unless_a_cluster_covers_it(
    project: Project, keys: list[int], researcher: User
) -> None:
    a, b, c, d, *_ = keys
    called_same(a, b, researcher)
    add_duplicate_marks(project=project, retained=a, duplicates=[b])
    unmark_duplicate(project=project, image=b)
    assert stored(project, {c: [d]}, keys) == MarkCounts(1, 0, 0)
    assert stored(project, {c: [a]}, keys) == MarkCounts(1, 0, 0)
    assert stored(project, {}, keys) == MarkCounts(1, 1, 0), (
        "the other of the two was set aside when the run began"
    )
    assert marks(project) == {a: b}, "and is set aside again, not the one that a person offered"
    assert stored(project, {d: [b]}, keys) == MarkCounts(1, 0, 1)
    assert marks(project) == {b: d}


def test_a_chain_of_pairs_leaves_one_on_offer(project: Project, keys: list[int], researcher: User) -> None:
    a, b, c, *_ = keys
    called_same(a, b, researcher)
    called_same(b, c, researcher)
    add_duplicate_marks(project=project, retained=a, duplicates=[b])
    add_duplicate_marks(project=project, retained=b, duplicates=[c])
    assert stored(project, {}, keys).set_aside_again == 2
    assert marks(project) == {b: a, c: a}


def test_a_photo_called_the_same_as_two_is_set_aside_once(
    project: Project, keys: list[int], researcher: User
) -> None:
    a, b, c, *_ = keys
    Image.objects.filter(pk__in=(a, c)).update(split="test")
    for kept in (a, c):
        called_same(kept, b, researcher)
        add_duplicate_marks(project=project, retained=kept, duplicates=[b])
    assert stored(project, {}, keys).set_aside_again == 1
    assert marks(project) == {b: a}, "behind the first; of the two others nobody said that they are the same"


def test_a_photo_that_was_taken_down_hides_no_other(
    project: Project, keys: list[int], researcher: User
) -> None:
    a, b, *others = keys
    called_same(a, b, researcher)
    add_duplicate_marks(project=project, retained=a, duplicates=[b])
    Image.objects.filter(pk=a).update(taken_down_at="2026-01-01T00:00Z")
    stored(project, {}, [b, *others])
    assert marks(project) == {}, "it is the only one of the two that can be shown"


def test_photo_of_another_collection_keeps_its_mark(
    project: Project, keys: list[int], researcher: User
) -> None:
    vg, other_vg, vcr, *_ = keys
    called_same(vg, vcr, researcher)
    add_duplicate_marks(project=project, retained=vg, duplicates=[vcr])
    stored(project, {other_vg: [vg]}, [vg, other_vg])
    assert marks(project) == {vg: other_vg, vcr: other_vg}
    Image.objects.filter(pk=vcr).update(split="test")
    replace_duplicate_marks(project=project, groups={vcr: [vg]})
    assert stored(project, {}, [vg, other_vg]).set_aside_again == 1
    assert marks(project) == {vg: vcr}, "of this collection, behind a photo of the other"


def test_a_fault_on_the_way_leaves_all_marks_as_they_were(
    project: Project, keys: list[int], researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c, *_ = keys
    called_same(a, b, researcher)
    add_duplicate_marks(project=project, retained=a, duplicates=[b])

    def broken(**_: Any) -> None:
        raise Refused("no disk")

    monkeypatch.setattr("curation.services.dedup.add_duplicate_marks", broken)
    with pytest.raises(Refused, match="no disk"):
        stored(project, {a: [c]}, keys)
    assert marks(project) == {b: a}


def test_whatever_stood_before_the_rules_hold(
    project: Project, work: Work, photos: list[Image], researcher: User
) -> None:
    """Drawn marks, readings, collections and groups: no mark points at a marked photo, and decisions stand."""
    photos += [work.image(seed) for seed in range(6, 9)]
    acted = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        with transaction.atomic():
            acted += _one_draw(project, [image.pk for image in photos], draw, researcher)
            transaction.set_rollback(True)
    assert acted > 20, "the draws do reach the rule"


def _one_draw(project: Project, keys: list[int], draw: np.random.Generator, by: User) -> int:
    for key in keys:
        Image.objects.filter(pk=key).update(split=str(draw.choice(["train", "val", "test"])))
    replace_duplicate_marks(project=project, groups=_drawn_groups(keys, draw))
    for _ in range(4):
        first, second = draw.choice(keys, 2, replace=False).tolist()
        called_same(first, second, by, str(draw.choice(["same", "same", "different"])))
    for key in draw.choice(keys, 2, replace=False).tolist():
        unmark_duplicate(project=project, image=key)
    among = draw.choice(keys, int(draw.integers(2, len(keys) + 1)), replace=False).tolist()
    groups = _drawn_groups(among, draw)
    before, freed = marks(project), read.reoffered_image_ids(project)
    pairs = [(first.pk, second.pk) for first, second in read.pairs_marked_same(project)]
    found = stored(project, groups, among)
    after = marks(project)
    members = {member for group in groups.values() for member in group}
    assert not set(after.values()) & set(after), "a mark points at a photo that is not offered"
    assert members <= set(after)
    assert found.marked == len(set(after) & set(among))
    assert (set(before) - set(among)) <= set(after), "marks of others were lost"
    assert freed - members == freed - set(after), "what a person offered again is marked by groups alone"
    for pair in pairs:
        assert set(pair) & set(after), "two photos that people call the same are offered"
    assert found.set_aside_again or set(after) - members <= set(before) - set(among)
    return found.set_aside_again


def _drawn_groups(keys: Sequence[int], draw: np.random.Generator) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for key, label in zip(keys, draw.integers(0, len(keys), len(keys)).tolist(), strict=True):
        groups.setdefault(label, []).append(key)
    return {kept: others for kept, *others in groups.values() if others}
