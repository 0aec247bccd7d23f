"""Somebody who has all published versions of a VCR project cannot read more held answers than with one of them."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse

from curation.models import Clip, QuestionSet, VersionRow
from curation.pipelines.questions.folds import divide, split_of_fold
from curation.pipelines.questions.triplets import read_keys
from curation.records import InvalidInput
from curation.selectors.published_questions import published_splits
from curation.services.questions import QuestionSetOptions, reject_question_set
from curation.services.versions import create_sealed_version
from curation.versions.export import export_version
from hits.services.errors import Refused
from hits.services.images.take_down import put_back_image, take_down_image
from tests.support.vcr.question_sets import store_question_set, store_synthetic_set

FOLDS = {"train-0": 24, "val-0": 9, "test-0": 18}

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(project):
    """A project with triplets of three folds and an accepted question set."""
    return project, *store_synthetic_set(project, FOLDS)


def seal(project, name):
    return create_sealed_version(project=project, name=name, by=None)


def published_ids(version, folder: Path) -> set[str]:
    export_version(version, folder)
    lines = (folder / "public" / "test.jsonl").read_text("utf-8").splitlines()
    return {json.loads(line)["annot_id"] for line in lines}


def of_fold(triplets, records, fold):
    return [record for triplet, record in zip(triplets, records, strict=True) if triplet.fold == fold]


def test_page_of_a_second_set_names_the_set_whose_held_questions_stay(stored, client, researcher):
    project, triplets, records, first = stored
    seal(project, "v1")
    second = store_question_set(project, triplets, records, name="second", state="draft")
    client.force_login(researcher)
    kept = "But those of test stay those of first, which published them."
    pages = {row: reverse("question-set", args=[project.slug, row.pk]) for row in (first, second)}
    assert kept in client.get(pages[second]).content.decode()
    assert kept not in client.get(pages[first]).content.decode()


def test_export_states_questions_and_what_is_left_out(stored, tmp_path, capsys):
    project, triplets, records, _ = stored
    call_command("export_version", "v1", project=project.slug, out=tmp_path / "v1")
    whole = capsys.readouterr().out
    assert f"{len(triplets)} triplets, {len(triplets)} questions" in whole
    assert "left out" not in whole
    take_down_image(image=of_fold(triplets, records, "train-0")[0].image, by=None, reason="asked for")
    call_command("export_version", "v2", project=project.slug, out=tmp_path / "v2")
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("left out: ")
    assert "questions that lost one of their choices" in line


def test_held_question_that_one_version_left_out_does_not_return(stored, tmp_path):
    """Questions that are new share one response of each stage with the returned triplet: its right ones."""
    project, triplets, records, _ = stored
    image = of_fold(triplets, records, "test-0")[0].image
    take_down_image(image=image, by=None, reason="asked for")
    first = published_ids(seal(project, "v1"), tmp_path / "v1")
    put_back_image(image=image, by=None, reason="asked for again")
    second = seal(project, "v2")
    assert first
    assert published_ids(second, tmp_path / "v2") == first
    gone = sum(triplet.fold == "test-0" for triplet in triplets) - len(first)
    assert second.exclusions == {"question_left_out_before": gone}
    open_rows = VersionRow.objects.filter(version=second, part="question", split="train")
    assert open_rows.count() == FOLDS["train-0"], "answers of open splits are published anyway"


def test_version_without_held_questions_leaves_none_out(stored, tmp_path):
    project, _, _, question_set = stored
    first = published_ids(seal(project, "v1"), tmp_path / "v1")
    reject_question_set(question_set=question_set, by=None)
    seal(project, "no-questions")
    QuestionSet.objects.update(state="accepted")
    assert published_ids(seal(project, "v3"), tmp_path / "v3") == first


def rename_film(records, movie: str) -> None:
    """Give the film of some frames another name, as an import of their collection does for photos."""
    for clip in Clip.objects.filter(frames__image__in=[record.image_id for record in records]).distinct():
        Clip.objects.filter(pk=clip.pk).update(movie=f"{movie} {clip.pk}")


def test_film_that_got_another_name_keeps_its_held_split(stored):
    project, triplets, records, _ = stored
    seal(project, "v1")
    held = of_fold(triplets, records, "test-0")
    rename_film(held, "another name")
    keys = read_keys(project)
    held_images = {record.image_id for record in held}
    published = published_splits(project)
    for seed in range(5):
        options = QuestionSetOptions(folds=3, seed=seed)
        folds = divide(keys, options, small=True, published=published)
        for key, fold in zip(keys, folds, strict=True):
            assert (split_of_fold(fold) == "test") == (key.image in held_images)


def test_accepted_set_with_a_renamed_held_film_in_an_open_split_is_refused(stored):
    project, triplets, records, question_set = stored
    seal(project, "v1")
    reject_question_set(question_set=question_set, by=None)
    moved = [
        (type(triplet)(**_fields(triplet) | {"fold": "train-0", "movie": f"{triplet.movie} again"}), record)
        for triplet, record in zip(triplets, records, strict=True)
        if triplet.fold == "test-0"
    ]
    store_question_set(project, *zip(*moved, strict=True), name="second")
    with pytest.raises(
        Refused, match=r"film .* again: a sealed version has it in test, and set second has it"
    ):
        seal(project, "v2")


def test_film_made_of_a_held_and_an_open_one_is_refused(stored):
    project, *_ = stored
    seal(project, "v1")
    assert Clip.objects.count() == len(FOLDS)
    for pk in Clip.objects.values_list("pk", flat=True):
        Clip.objects.filter(pk=pk).update(movie="one film", name=f"clip {pk}")
    with pytest.raises(
        InvalidInput, match=r"film one film: sealed versions have photos of it in .*, because"
    ):
        divide(
            read_keys(project), QuestionSetOptions(folds=3), small=True, published=published_splits(project)
        )


def test_photos_of_the_blind_split_stay_unpublished_without_its_set(project, tmp_path):
    question_set = store_synthetic_set(project, {"train-0": 9, "val-0": 9, "blind-0": 9}).question_set
    export_version(seal(project, "v1"), tmp_path / "v1")
    reject_question_set(question_set=question_set, by=None)
    export_version(seal(project, "v2"), tmp_path / "v2")
    photos = [(tmp_path / name / "public" / "photos.jsonl").read_text("utf-8") for name in ("v1", "v2")]
    assert photos[0] == photos[1]


def _fields(triplet):
    return {name: getattr(triplet, name) for name in triplet.__dataclass_fields__}
