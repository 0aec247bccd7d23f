"""Versions of VCR: rows, published files without held answers, checks of an export, and take-downs."""

import hashlib
import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import call_command

from curation.families.vcr.published import HELD_FIELDS
from curation.families.vcr.read import check_export, same_but_for_tags
from curation.models import ObjectSet, QuestionSet, VersionRow
from curation.records import MAX_MOVIE_LENGTH, InvalidInput
from curation.selectors.image_names import published_names
from curation.services.questions import reject_question_set
from curation.services.versions import create_sealed_version
from curation.versions.export import export_version
from curation.versions.photos import ALL_PHOTOS
from hits.domain.hashing import content_sha256
from hits.models import Image
from hits.services import projects
from hits.services.errors import Refused
from hits.services.images.take_down import take_down_image
from tests.support.pictures import picture
from tests.support.vcr.question_sets import store_question_set, store_synthetic_set

FOLDS = {"train-0": 24, "val-0": 9, "test-0": 9}

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(project):
    """A project with triplets of three folds and an accepted question set."""
    return project, *store_synthetic_set(project, FOLDS)


def seal(project, name="v1"):
    return create_sealed_version(project=project, name=name, by=None)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read_plainly(folder: Path) -> dict[str, list[dict]]:
    """Read the published layout with nothing of ours, as its users do, and check what they rely on."""
    found = {}
    for split in ("train", "val", "test"):
        found[split] = lines(folder / f"{split}.jsonl")
        for row in found[split]:
            metadata = json.loads((folder / "vcr1images" / row["metadata_fn"]).read_text("utf-8"))
            assert len(metadata["boxes"]) == len(metadata["names"]) == len(metadata["segms"])
            assert metadata["names"] == row["objects"]
            assert (folder / "vcr1images" / row["img_fn"]).is_file()
            texts = [row["question"], *row["answer_choices"], *row["rationale_choices"]]
            tags = [token for text in texts for token in text if not isinstance(token, str)]
            assert all(0 <= index < len(row["objects"]) for tag in tags for index in tag)
            assert len(row["answer_choices"]) == len(row["rationale_choices"]) == 4
    return found


def test_export_of_a_version_is_read_back_with_all_invariants(stored, tmp_path):
    project, triplets, _, _ = stored
    version = seal(project)
    export_version(version, tmp_path / "out", photos=ALL_PHOTOS)
    assert check_export(tmp_path / "out") == len(triplets)
    found = read_plainly(tmp_path / "out" / "public")
    assert {split: len(rows) for split, rows in found.items()} == {"train": 24, "val": 9, "test": 9}
    row = found["train"][3]
    assert [row[name] for name in ("annot_id", "match_fold", "match_index")] == ["train-3", "train-0", 3]
    assert row["answer_choices"][row["answer_label"]][-1] == "."
    assert row["question"][-1] == "?"
    assert row["movie"] == triplets[3].movie
    assert not set(HELD_FIELDS) & found["test"][0].keys()
    key = lines(tmp_path / "out" / "held" / "answer_key.jsonl")
    assert [row["annot_id"] for row in key] == [row["annot_id"] for row in found["test"]]


def test_published_files_of_a_held_split_match_no_label(stored, tmp_path):
    """Try every label, with and without the fields that are held: nothing published confirms a guess."""
    project, _, _, _ = stored
    version = seal(project)
    export_version(version, tmp_path / "out", photos=ALL_PHOTOS)
    public = tmp_path / "out" / "public"
    published = "\n".join(
        path.read_text("utf-8") for path in public.rglob("*") if path.suffix in {".json", ".jsonl"}
    )
    rows = {
        row.instance_id: row
        for row in VersionRow.objects.filter(version=version, part="question", split="test")
    }
    for row in rows.values():
        for answer, rationale in itertools.product(range(4), repeat=2):
            guess = row.row | {"answer_label": answer, "rationale_label": rationale}
            assert content_sha256(guess) not in published
        assert row.sha256 not in published
    assert version.manifest_sha256 not in published
    assert QuestionSet.objects.get().secret not in published
    assert not list(public.rglob("seal.jsonl"))
    assert (tmp_path / "out" / "held").stat().st_mode & 0o077 == 0


def test_take_down_of_an_image_takes_the_questions_that_use_it_along(stored, tmp_path):
    project, triplets, records, _ = stored
    victim = next(n for n, triplet in enumerate(triplets) if triplet.fold == "train-0")
    lost_image = records[victim].image_id
    take_down_image(image=records[victim].image, by=None, reason="asked for")
    version = seal(project)
    export_version(version, tmp_path / "out", photos=ALL_PHOTOS)
    check_export(tmp_path / "out")
    gone = {n for n, record in enumerate(records[:24]) if record.image_id == lost_image}
    kept = {row["match_index"] for row in lines(tmp_path / "out" / "public" / "train.jsonl")}
    users = {n for n in range(24) if {(n + shift) % 24 for shift in range(4)} & gone}
    assert kept == set(range(24)) - users, "match_index is never renumbered"
    assert version.exclusions["question_lost_a_choice"] == len(users - gone)
    assert version.exclusions["image_taken_down"] == len(gone)


def test_photos_that_differ_in_their_ending_have_metadata_of_their_own(project, make_image):
    first, second, third = (make_image(seed) for seed in range(3))
    for image, name, ending in ((first, "a.jpg", "jpg"), (second, "a.png", "png"), (third, "b.png", "png")):
        file = f"{str(image.file.name).rpartition('.')[0]}.{ending}"
        Image.objects.filter(pk=image.pk).update(name=f"film/{name}", file=file)
    names = published_names([first.pk, second.pk, third.pk])
    assert [names[image.pk].file for image in (first, second, third)] == [
        "film/a.jpg",
        f"film/a-{second.pk}.png",
        "film/b.png",
    ]
    assert len({name.metadata_file for name in names.values()}) == 3


def test_films_named_in_any_script_stay_different_films(project, make_image):
    titles = ("羅生門", "七人の侍", "Сталкер", "Солярис", "Amélie", "A" * 110 + "Ж" * 10)
    images = [make_image(seed) for seed in range(len(titles))]
    for image, title in zip(images, titles, strict=True):
        Image.objects.filter(pk=image.pk).update(name=f"{title}/{title}.jpg")
    names = [published_names([image.pk])[image.pk] for image in images]
    assert len({name.movie for name in names}) == len(titles)
    assert names[4].file == "Amelie/Amelie.png"
    assert all(name.file.isascii() for name in names)
    assert max(len(name.movie) for name in names) <= MAX_MOVIE_LENGTH


def test_sets_that_divide_films_differently_are_refused(stored):
    project, triplets, records, _ = stored
    moved = [
        triplet if n % 2 else type(triplet)(**{**_fields(triplet), "fold": "blind-0"})
        for n, triplet in enumerate(triplets)
    ]
    store_question_set(project, [moved[0]], [records[0]], name="second")
    with pytest.raises(Refused, match=r"film .* is in blind of set second and in train of set first"):
        seal(project)


def seen_texts(rows: list[dict]) -> dict[str, set[str]]:
    """Return the texts of each question's answer choices, by its question and photo, as anybody can read them."""
    return {
        json.dumps([row["img_fn"], row["question"]]): {json.dumps(text) for text in row["answer_choices"]}
        for row in rows
    }


def test_second_version_reveals_no_held_label_of_the_first(stored, tmp_path):
    """Another set has other wrong choices: only the right one would be in both versions. See also folds.py."""
    project, triplets, records, _ = stored
    export_version(seal(project), tmp_path / "v1", photos=ALL_PHOTOS)
    again = reversed_within_folds(triplets, records)
    store_question_set(project, *zip(*again, strict=True), name="second", seed=7)
    version = seal(project, "v2")
    export_version(version, tmp_path / "v2", photos=ALL_PHOTOS)
    first, second = (read_plainly(tmp_path / name / "public") for name in ("v1", "v2"))
    assert first["test"] == second["test"], "the held split keeps the questions of its set"
    assert seen_texts(first["train"]) != seen_texts(second["train"]), (
        "open splits are those of the newest set"
    )
    sources = {row["name"]: row["splits"] for row in version.provenance["question_sets"]}
    assert sources == {"first": ["test"], "second": ["train", "val"]}
    assert check_export(tmp_path / "v2") == len(triplets)


def test_published_held_split_of_a_rejected_set_is_not_matched_again(stored):
    project, triplets, records, first = stored
    seal(project)
    reject_question_set(question_set=first, by=None)
    seal(project, "no-questions")
    store_question_set(project, *zip(*reversed_within_folds(triplets, records), strict=True), name="second")
    with pytest.raises(Refused, match=r"split test: version v1 has its questions from set first"):
        seal(project, "v2")


def test_set_that_moves_a_published_film_to_a_held_split_is_refused(stored):
    project, triplets, records, _ = stored
    seal(project)
    moved = {triplet.movie for triplet in triplets if triplet.fold == "train-0"}
    chosen = [
        (type(triplet)(**_fields(triplet) | {"fold": "blind-0"}), record)
        for triplet, record in zip(triplets, records, strict=True)
        if triplet.movie in moved
    ]
    QuestionSet.objects.update(state="draft")
    store_question_set(project, *zip(*chosen, strict=True), name="second")
    with pytest.raises(
        Refused, match=r"film .*: a sealed version has it in train, and set second has it in blind"
    ):
        seal(project, "v2")


def test_triplet_that_no_set_has_is_in_the_split_of_its_film(stored):
    project, _, records, question_set = stored
    late = records[-1]
    question_set.questions.filter(triplet=late).delete()
    version = seal(project)
    assert (
        VersionRow.objects.get(version=version, part="triplet", instance_id=late.instance_id).split == "test"
    )


def reversed_within_folds(triplets, records):
    """Return the pairs in another order, so that the wrong choices of a set are others."""
    return list(zip(triplets, records, strict=True))[::-1]


def _fields(triplet):
    return {name: getattr(triplet, name) for name in triplet.__dataclass_fields__}


@pytest.mark.django_db(transaction=True)
def test_published_folder_is_imported_again_with_its_objects(project, admin, tmp_path):
    triplets = store_synthetic_set(project, {"train-0": 8, "val-0": 5, "test-0": 5}).triplets
    for number, image in enumerate(Image.objects.filter(project=project)):
        data = picture(640, 480, seed=number, image_format="JPEG")
        Path(image.file.path).write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        Image.objects.filter(pk=image.pk).update(sha256=sha256, original_sha256=sha256, bytes=len(data))
    export_version(seal(project), tmp_path / "out", photos=ALL_PHOTOS)
    again = projects.create_project(name="Again", by=admin)
    call_command(
        "import_vcr",
        tmp_path / "out" / "public",
        project=again.slug,
        licence="CC0",
        count="objects",
        min_entities=1,
    )
    lists = ObjectSet.objects.filter(image__project=again)
    stored = ObjectSet.objects.filter(image__project=project)
    assert lists.count() == stored.count() == len({triplet.image for triplet in triplets})
    assert {row.sha256 for row in lists} == {row.sha256 for row in stored}
    assert dict(Counter(Image.objects.filter(project=again).values_list("split", flat=True))) == dict(
        Counter(triplet.fold.partition("-")[0] for triplet in {t.image: t for t in triplets}.values())
    )


def test_damaged_files_of_an_export_are_named(stored, tmp_path):
    project, _, _, _ = stored
    export_version(seal(project), tmp_path / "out", photos=ALL_PHOTOS)
    path = tmp_path / "out" / "public" / "train.jsonl"
    path.write_text(path.read_text("utf-8").replace('"match_index":3', '"match_index":4', 1), "utf-8")
    with pytest.raises(InvalidInput, match=r"train\.jsonl: was changed"):
        check_export(tmp_path / "out")


@pytest.mark.parametrize(
    ("response", "original", "same"),
    [
        (((0,), "waits", "."), ((2,), "waits", "."), True),
        (("The", "car", "waits", "."), ((1,), "waits", "."), True),
        (("the", "potted", "plant", "waits"), ((3,), "waits"), True),
        (("waits", "."), ((2,), "waits", "."), False),
        (((0,), "sits", "."), ((2,), "waits", "."), False),
        (((0,), "waits", ".", "x"), ((2,), "waits", "."), False),
        (("the", "cart", "waits"), ((1,), "waits"), False),
    ],
)
def test_same_but_for_tags_allows_other_tags_and_class_words(response, original, same):
    assert same_but_for_tags(response, original, ["person", "car", "person", "pottedplant"]) is same
