"""Images that splits share are found, looked at in pairs, and set aside without touching anything else."""

import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from PIL import Image as Pillow

from curation.features.shards import open_features
from curation.models import FeatureSet, LeakageRun, LeakedPair, LeakReview, LeakVerdict, SourceRecord
from curation.pipelines import leakage as pipeline
from curation.pipelines.deduplicate import deduplicate_images
from curation.selectors.images import available_images
from curation.services import leakage as services
from curation.services.dedup import DedupOptions
from curation.services.leakage import LeakageOptions
from hits.models import AuditEvent, Image, Job, Project
from hits.models.base import AppendOnlyError
from hits.services.errors import Conflict, Refused
from hits.services.images import duplicates
from hits.services.images.import_image import ImageDescription, import_image
from hits.services.jobs.jobs import Cancelled
from tests.support.curation.fakes import Colours

pytestmark = pytest.mark.django_db

Add = Callable[..., Image]


def encoded(pixels: np.ndarray, image_format: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Pillow.fromarray(pixels.astype(np.uint8)).save(buffer, image_format)
    return buffer.getvalue()


def pixels(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 220, (48, 64, 3))


@pytest.fixture
def add(project: Project) -> Add:
    """Return a function that imports a picture into a split; ``lighter`` changes its pixels a little."""

    def make(name: str, split: str, seed: int, *, lighter: int = 0, url: str = "", **record: Any) -> Image:
        data = encoded(pixels(seed) + lighter)
        about = ImageDescription(split=split, source_url=url)
        image, _ = import_image(project=project, name=name, data=data, description=about)
        if record:
            SourceRecord.objects.create(
                image=image, source="visual_genome", source_id=str(image.pk), facts=record
            )
        return image

    return make


@pytest.fixture
def photographs(add: Add) -> dict[str, Image]:
    """Two leaks (train/test near, train/val by COCO id), one pair inside a split, others unlike."""
    return {
        "near": add("near.png", "train", 1),
        "near-test": add("near-test.png", "test", 1, lighter=3),
        "inside": add("inside.png", "train", 1, lighter=6),
        "coco": add("coco.png", "train", 2, coco_id=42),
        "coco-val": add(
            "coco-val.png", "val", 3, url="http://images.cocodataset.org/val2017/000000000042.jpg"
        ),
        "alone": add("alone.png", "test", 4),
        "unsplit": add("unsplit.png", "", 1, lighter=9),
    }


def find(project: Project, encoder: Any = None, **options: Any) -> LeakageRun:
    found = pipeline.check_leakage(
        project=project, options=LeakageOptions(**options), encoder=encoder or Colours()
    )
    return LeakageRun.objects.get(pk=found["run"])


def names(run: LeakageRun) -> list[tuple[str, str]]:
    return [(pair.first.name, pair.second.name) for pair in run.pairs.all()]


# -- the search


def test_near_pairs_and_copies_across_splits_are_found(
    project: Project, photographs: dict[str, Image]
) -> None:
    run = find(project, threshold=0.9)
    assert names(run) == [
        ("near.png", "near-test.png"),
        ("near-test.png", "inside.png"),
        ("coco.png", "coco-val.png"),
    ]
    cosines = [pair.cosine for pair in run.pairs.all()]
    assert cosines[0] > 0.99
    assert cosines[2] < 0.9
    assert (run.checked, run.found) == (6, 3)
    facts = run.provenance
    assert facts["by_splits"] == {"test/train": 2, "test/val": 0, "train/val": 1}
    assert (facts["copies"], facts["without_split"], facts["set_aside"]) == (1, 1, 0)
    assert sum(facts["nearest"]) == 6
    assert run.encoder == "colours"


def test_equal_stored_files_are_copies_without_vectors(project: Project, add: Add) -> None:
    first = add("first.png", "train", 1)
    data = first.file.open().read()
    with Pillow.open(io.BytesIO(data)) as opened:  # other bytes, the same picture once it is stored
        buffer = io.BytesIO()
        opened.save(buffer, "PNG", compress_level=0)
    import_image(
        project=project, name="second.png", data=buffer.getvalue(), description=ImageDescription(split="test")
    )
    encoder = Colours()
    run = find(project, encoder=encoder, compare="copies")
    assert names(run) == [("first.png", "second.png")]
    assert run.pairs.get().cosine == 1
    assert (run.encoder, encoder.pictures) == ("", 0)


def test_the_best_are_kept_copies_first_and_all_are_counted(
    project: Project, photographs: dict[str, Image]
) -> None:
    run = find(project, threshold=0.9, limit=2)
    assert names(run) == [("near.png", "near-test.png"), ("coco.png", "coco-val.png")]
    assert run.found == 3


def test_vectors_are_made_once_and_shared_with_other_runs(
    project: Project, photographs: dict[str, Image]
) -> None:
    encoder = Colours()
    find(project, encoder=encoder)
    find(project, encoder=encoder, threshold=0.6)
    assert encoder.pictures == len(photographs)


def test_the_vectors_are_the_set_that_de_duplication_makes(
    project: Project, photographs: dict[str, Image]
) -> None:
    class Described(Colours):
        preprocessing: ClassVar = {"precision": "fp32", "side": 8}

    find(project, encoder=Described())
    made = FeatureSet.objects.get()
    folder = Path(settings.MEDIA_ROOT) / made.path
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert open_features(folder).ids() == [str(image.pk) for image in available_images(project)]
    assert made.preprocessing == Described.preprocessing
    shutil.rmtree(folder)
    FeatureSet.objects.all().delete()
    deduplicate_images(project=project, options=DedupOptions(set_aside=True, clusters=2), encoder=Described())
    assert FeatureSet.objects.get().path == made.path
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == written


def test_images_set_aside_or_taken_down_are_not_compared(
    project: Project, photographs: dict[str, Image]
) -> None:
    duplicates.add_duplicate_marks(
        project=project, retained=photographs["near-test"].pk, duplicates=[photographs["near"].pk]
    )
    Image.objects.filter(pk=photographs["inside"].pk).update(taken_down_at="2026-01-01T00:00Z")
    run = find(project, threshold=0.9)
    assert names(run) == [("coco.png", "coco-val.png")]
    assert run.provenance["set_aside"] == 1


def test_one_split_alone_is_refused(project: Project, add: Add) -> None:
    with pytest.raises(Refused, match="no image is in a split"):
        services.request_leakage_check(project=project)
    add("a.png", "train", 1)
    with pytest.raises(Refused, match="only train has images"):
        services.request_leakage_check(project=project)
    with pytest.raises(Refused, match="fewer than two have images"):
        find(project)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"threshold": 0.2}, "threshold: 0.2 is not between 0.5 and 1"),
        ({"threshold": float("nan")}, "threshold: nan"),
        ({"limit": 0}, "limit: 0 is not within 1 to"),
        ({"compare": "colour"}, "compare: 'colour'; use near, copies"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Refused, match=complaint):
        LeakageOptions(**options)


def test_an_encoder_that_gives_nan_fails_with_a_line(project: Project, photographs: dict[str, Image]) -> None:
    class Broken(Colours):
        def encode_images(self, pictures: Any) -> Any:
            return np.full((len(pictures), 4), np.nan)

    with pytest.raises(Refused, match=r"finite|NaN"):
        find(project, encoder=Broken())
    assert not LeakageRun.objects.exists()


def test_a_cancelled_search_leaves_no_run(project: Project, photographs: dict[str, Image]) -> None:
    class Stopping:
        def __init__(self) -> None:
            self.calls = 0

        def advance(self, done: int, total: int) -> None:
            assert 0 <= done <= total
            self.calls += 1
            if done > total // 2:
                raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        pipeline.check_leakage(
            project=project,
            options=LeakageOptions(),
            encoder=Colours(),
            progress=Stopping(),  # type: ignore[arg-type]
        )
    assert not LeakageRun.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_command_compares_by_published_ids(project: Project, photographs: dict[str, Image]) -> None:
    out = io.StringIO()
    call_command(
        "check_leakage",
        "--project",
        project.slug,
        "--compare",
        "copies",
        "--json",
        stdout=out,
        stderr=io.StringIO(),
    )
    result = json.loads(out.getvalue())
    assert (result["state"], result["found"], result["images"]) == ("done", 1, 6)
    with pytest.raises(CommandError, match=r"threshold: 0\.1") as caught:
        call_command("check_leakage", "--project", project.slug, "--threshold", "0.1")
    assert caught.value.returncode == 2


# -- verdicts and setting aside


def test_a_verdict_is_kept_for_later_runs_and_never_changed(
    project: Project, photographs: dict[str, Image], researcher: User
) -> None:
    from curation.selectors.leakage import leaked_pairs, verdict_counts

    pair = find(project, threshold=0.9).pairs.first()
    assert pair is not None
    reading = services.review_leaked_pair(pair=pair, verdict="same", by=researcher)
    assert reading is not None
    assert services.review_leaked_pair(pair=pair, verdict="same", by=researcher) is None  # sent twice
    later = find(project, threshold=0.95)
    assert [item.verdict for item in leaked_pairs(later)] == ["same", "open", "open"]
    assert verdict_counts(later) == {"open": 2, "same": 1, "different": 0}
    services.review_leaked_pair(pair=pair, verdict="different", by=researcher)
    assert verdict_counts(later) == {"open": 2, "same": 0, "different": 1}
    assert LeakReview.objects.count() == 2
    with pytest.raises(AppendOnlyError):
        reading.delete()
    with pytest.raises(Refused, match="verdict: 'maybe'"):
        services.review_leaked_pair(pair=pair, verdict="maybe", by=researcher)


def test_the_one_outside_of_test_is_set_aside_and_other_marks_stay(
    project: Project, photographs: dict[str, Image], add: Add, researcher: User
) -> None:
    kept, other = add("kept.png", "train", 8), add("other.png", "train", 9)
    duplicates.replace_duplicate_marks(project=project, groups={kept.pk: [other.pk]})
    pair = find(project, threshold=0.9).pairs.first()
    assert pair is not None
    away = services.set_leaked_image_aside(pair=pair, by=researcher)
    assert away.name == "near.png"
    assert away.duplicate_of == photographs["near-test"]
    other.refresh_from_db()
    assert other.duplicate_of == kept
    assert LeakReview.objects.get().verdict == LeakVerdict.SAME
    event = AuditEvent.objects.filter(action="images.duplicates").order_by("pk").last()
    assert event is not None
    assert (event.actor, event.data) == (researcher, {"kept": 1, "duplicates": 1})
    duplicates.unmark_duplicate(project=project, image=away.pk, by=researcher)
    away.refresh_from_db()
    assert away.duplicate_of is None


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [("train", "test", "test"), ("test", "val", "test"), ("train", "val", "val"), ("", "train", "train")],
)
def test_which_one_stays(first: str, second: str, kept: str) -> None:
    stays, away = services.order_kept_first(Image(pk=1, split=first), Image(pk=2, split=second))
    assert stays.split == kept
    assert away.split != kept


def test_marks_never_point_at_an_image_that_is_not_offered(project: Project, add: Add) -> None:
    a, b, c, d = (add(f"{name}.png", "train", seed).pk for seed, name in enumerate("abcd"))

    def marks() -> dict[int, int]:
        rows = Image.objects.filter(duplicate_of__isnull=False)
        return dict(rows.values_list("pk", "duplicate_of"))

    duplicates.add_duplicate_marks(project=project, retained=a, duplicates=[b])
    assert (
        duplicates.add_duplicate_marks(project=project, retained=b, duplicates=[c]) == a
    )  # b stands behind a
    assert marks() == {b: a, c: a}
    duplicates.add_duplicate_marks(project=project, retained=d, duplicates=[a])  # what followed a follows d
    assert marks() == {a: d, b: d, c: d}
    with pytest.raises(Refused, match=r"d.png is the retained photo of its group"):
        duplicates.add_duplicate_marks(project=project, retained=a, duplicates=[d])
    with pytest.raises(Refused, match="is not in this project"):
        duplicates.add_duplicate_marks(project=project, retained=a, duplicates=[10_000])
    assert marks() == {a: d, b: d, c: d}


# -- the page


@pytest.fixture
def run(project: Project, photographs: dict[str, Image]) -> LeakageRun:
    return find(project, threshold=0.9)


def places(run: LeakageRun) -> dict[str, tuple[str, str]]:
    slug = run.project.slug
    pair = run.pairs.all()[0]
    return {
        "page": ("get", reverse("curation-leakage", args=[slug])),
        "check": ("post", reverse("curation-leakage-check", args=[slug])),
        "read": ("post", reverse("curation-leakage-read", args=[slug, pair.pk])),
        "offer": ("post", reverse("curation-leakage-offer", args=[slug, pair.first_id])),
    }


def test_anonymous_users_outsiders_and_workers_are_refused(
    client: Client, run: LeakageRun, outsider: User, annotator: User
) -> None:
    for method, path in places(run).values():
        assert getattr(client, method)(path).status_code == 302
    for user in (outsider, annotator):
        client.force_login(user)
        for name, (method, path) in places(run).items():
            assert getattr(client, method)(path, {"verdict": "same"}).status_code == 404, name
    assert not LeakReview.objects.exists()
    assert not Job.objects.exists()


def test_a_researcher_reads_pairs_one_after_the_other(
    client: Client, run: LeakageRun, researcher: User
) -> None:
    client.force_login(researcher)
    where = places(run)
    text = client.get(where["page"][1]).content.decode()
    assert text.count("<article") == 3
    assert "COCO photo 42" in text
    assert 'data-key="s"' in text
    reply = client.post(where["read"][1], {"verdict": "same", "show": "open", "page": "1"})
    assert reply["Location"] == f"{where['page'][1]}?run={run.pk}&show=open&page=1#pairs"
    text = client.get(where["page"][1]).content.decode()
    assert text.count("<article") == 2
    same = client.get(where["page"][1], {"show": "same"}).content.decode()
    assert same.count("<article") == 1
    assert "by rosa" in same


def test_set_aside_and_offered_again_from_the_page(client: Client, run: LeakageRun, researcher: User) -> None:
    client.force_login(researcher)
    where = places(run)
    text = client.post(where["read"][1], {"verdict": "aside"}, follow=True).content.decode()
    assert "near.png is no longer offered" in text
    text = client.get(where["page"][1], {"show": "same"}).content.decode()
    assert "Offer near.png again" in text
    client.post(where["offer"][1], {"show": "same"})
    assert not Image.objects.filter(duplicate_of__isnull=False).exists()


def test_a_pair_of_another_project_is_not_found(
    client: Client, run: LeakageRun, admin: User, rehearsal: Project
) -> None:
    client.force_login(admin)
    pair = run.pairs.all()[0]
    assert client.post(reverse("curation-leakage-read", args=[rehearsal.slug, pair.pk])).status_code == 404
    assert (
        client.post(reverse("curation-leakage-offer", args=[rehearsal.slug, pair.first_id])).status_code
        == 404
    )
    text = client.get(reverse("curation-leakage", args=[rehearsal.slug]), {"run": run.pk}).content.decode()
    assert "near.png" not in text
    assert "Not compared yet" in text


def test_a_form_needs_its_token(run: LeakageRun, researcher: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(researcher)
    for method, path in places(run).values():
        if method == "post":
            assert client.post(path, {"verdict": "same"}).status_code == 403


def test_form_queues_search_or_shows_error(client: Client, run: LeakageRun, researcher: User) -> None:
    client.force_login(researcher)
    where = places(run)["check"][1]
    bad = client.post(where, {"threshold": "0.1", "limit": "5", "compare": "near"})
    assert bad.status_code == 400
    assert 'value="0.1"' in bad.content.decode()
    form = {"threshold": "0.75", "limit": "50", "compare": "copies"}
    client.post(where, form)
    job = Job.objects.get()
    assert job.args["options"] == asdict(LeakageOptions(0.75, 50, "copies"))
    text = client.post(where, form, follow=True).content.decode()
    assert "is running already" in text
    with pytest.raises(Conflict):
        services.request_leakage_check(project=run.project)


def test_odd_addresses_show_the_page(client: Client, run: LeakageRun, researcher: User) -> None:
    client.force_login(researcher)
    for query in ({"run": "x"}, {"show": "<b>"}, {"page": "-3"}, {"run": "99999", "page": "9"}):
        assert client.get(places(run)["page"][1], query).status_code == 200


def test_a_withdrawn_photo_is_not_shown(client: Client, run: LeakageRun, researcher: User) -> None:
    client.force_login(researcher)
    image = run.pairs.all()[0].first
    Image.objects.filter(pk=image.pk).update(taken_down_at="2026-01-01T00:00Z")
    text = client.get(places(run)["page"][1]).content.decode()
    assert image.file.name not in text
    assert "Taken down" in text


def test_the_pages_queries_do_not_grow(
    client: Client, run: LeakageRun, researcher: User, make_image: Callable[..., Image]
) -> None:
    client.force_login(researcher)
    path = places(run)["page"][1]
    client.get(path)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path, {"show": "all"}).status_code == 200
        return len(seen)

    few = queries()
    images = [make_image(seed) for seed in range(200, 212)]
    pairs = [LeakedPair(run=run, first=a, second=b, cosine=0.9) for a, b in pairwise(images)]
    for pair in LeakedPair.objects.bulk_create(pairs)[:6]:
        services.review_leaked_pair(pair=pair, verdict="different", by=researcher)
    assert queries() == few


def test_all_texts_of_an_image_are_escaped(client: Client, run: LeakageRun, researcher: User) -> None:
    client.force_login(researcher)
    Image.objects.filter(name="near.png").update(name="<script>x</script>.png")
    text = client.get(places(run)["page"][1]).content.decode()
    assert "<script>x" not in text
    assert not re.search(r"<[^>]+\sstyle=", text)


@pytest.mark.photos
def test_real_photographs_and_their_changed_copies(project: Project, photos: Path) -> None:
    """Twelve photographs in train, changed copies of three of them in test: those three are found, and no others."""
    from PIL import ImageEnhance

    paths = sorted(photos.iterdir())[:12]
    for path in paths:
        import_image(
            project=project,
            name=path.name,
            data=path.read_bytes(),
            description=ImageDescription(split="train"),
        )
    for number, path in enumerate(paths[:3]):
        with Pillow.open(path) as opened:
            small = ImageEnhance.Brightness(
                opened.convert("RGB").resize((opened.width // 2, opened.height // 2))
            )
            buffer = io.BytesIO()
            small.enhance(1.05).save(buffer, "JPEG", quality=90)
        import_image(
            project=project,
            name=f"copy-{number}.jpg",
            data=buffer.getvalue(),
            description=ImageDescription(split="test"),
        )
    encoder = pytest.importorskip("curation.pipelines.encoders").get_image_encoder()
    run = find(project, encoder=encoder)
    assert sorted(names(run)) == sorted(
        (path.name, f"copy-{number}.jpg") for number, path in enumerate(paths[:3])
    )
