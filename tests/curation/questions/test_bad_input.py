"""Triplets and options that do not allow a question set: refused in one line, and nothing of the set remains."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models import CharField, Model

from curation.models import AvoidedNames, Clip, Frame, Question, QuestionSet
from curation.pipelines.questions.triplets import read_keys
from curation.records import MAX_MOVIE_LENGTH
from curation.services.questions import QuestionSetOptions, request_question_set
from hits.domain.states import JobState
from hits.models import Assignment, Image, Project, Record
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.vcr.built_sets import build_set, store_synthetic_project, store_vectors
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import make_synthetic_set

pytestmark = pytest.mark.django_db
TINY = {"train-0": 8, "val-0": 8, "test-0": 8}


def refusal(project: Project, **options: Any) -> str:
    """Return why a set is not built, after checking that nothing of it is left."""
    job = request_question_set(project, "draft", QuestionSetOptions(folds=3, **options), queue=False)
    job = jobs.run_in_process(job=job)
    assert job.state == JobState.FAILED
    assert not job.resumable
    assert not QuestionSet.objects.exists()
    assert not Question.objects.exists()
    return job.error


def store(project: Project, sizes: dict[str, int] | None = None, *, splits: bool = True) -> list[Record]:
    return store_triplets(project, make_synthetic_set(sizes or TINY).triplets, splits=splits)


def test_fold_under_200_triplets_is_refused_with_the_remedy(project: Project) -> None:
    store(project)
    assert "8 triplets; give fewer folds, more triplets, or --small" in refusal(project)


def test_rehearsal_may_have_small_folds_and_marks_them(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(is_rehearsal=True)
    project.refresh_from_db()
    store_synthetic_project(project, {"train-0": 20, "val-0": 20, "test-0": 20})
    built = build_set(project, small=False)
    assert built.rehearsal
    assert built.figures["small"]


def test_fewer_than_three_films_are_refused(project: Project) -> None:
    store(project, {"train-0": 10, "val-0": 10}, splits=False)
    assert "2 for 3 folds, and no movie may be in two" in refusal(project, small=True)


def test_film_in_two_folds_is_refused_by_name(project: Project) -> None:
    records = store(project)
    first = records[0]
    other = next(row for row in records if row.image_id != first.image_id)
    Image.objects.filter(pk=other.image_id).update(split="val")
    message = refusal(project, small=True)
    assert message.startswith("film movie_train-0_0000: has photos in ")
    assert message.endswith("give all of its photos one split")


def test_film_that_is_too_long_for_a_question_is_refused_before_anything_is_built(project: Project) -> None:
    film = "m" * (MAX_MOVIE_LENGTH + 1)
    image = store(project)[0].image
    assert image is not None
    Image.objects.filter(pk=image.pk).update(name=f"{film}/a.jpg")
    Frame.objects.filter(image=image).delete()
    message = refusal(project, small=True)
    assert message.startswith(f"photo {image.pk}: film 'mmm")
    assert message.endswith(
        "has 121 characters; take the photos of this film down, since questions hold at most 120"
    )


@pytest.mark.parametrize("model", [AvoidedNames, Clip, Question])
def test_rows_hold_the_longest_film_name_that_imports_accept(model: type[Model]) -> None:
    field = model._meta.get_field("movie")
    assert isinstance(field, CharField)
    assert field.max_length == MAX_MOVIE_LENGTH


def test_too_many_copies_of_a_text_are_refused_by_name(project: Project) -> None:
    synthetic = make_synthetic_set(TINY)
    for triplet in synthetic.triplets[:3]:
        triplet.answer[:] = ["Yes."]
    store_vectors(project, synthetic, store_triplets(project, synthetic.triplets, splits=True))
    message = refusal(project, small=True)
    assert "fold train-0, answers" in message
    assert "3 copies of one text" in message


def test_bucket_too_small_for_the_rounds_is_refused(project: Project) -> None:
    store_synthetic_project(project, {"train-0": 12, "val-0": 3, "test-0": 12})
    assert "too small: 3 rounds need at least 4 triplets" in refusal(project, small=True)


def test_tag_without_an_object_is_refused_with_its_triplet(project: Project) -> None:
    triplets = make_synthetic_set(TINY).triplets
    triplets[0].answer[:] = [{"objects": [99]}, " waits."]
    store_triplets(project, triplets, splits=True)
    assert "its answer has the tag 100, but its object list has" in refusal(project, small=True)


def test_weights_that_cannot_be_had_are_refused_before_any_work(project: Project, tmp_path: Path) -> None:
    store(project)
    message = refusal(project, small=True, similarity=f"nli:{tmp_path / 'none'}")
    assert "use a folder with config.json, weights and tokenizer" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relevance": "bert"}, "relevance: 'bert' is not known"),
        ({"similarity": "cosine"}, "similarity: 'cosine' is not known"),
        ({"lambda_answer": -0.1}, "lambda_answer: -0.1 is not between 0 and 1000"),
        ({"lambda_rationale": float("nan")}, "lambda_rationale: nan is not between"),
        ({"share": 1.2}, "share: 1.2 is not between 0 and 1"),
        ({"folds": 2}, "folds: 2 is too few; use at least 3"),
        ({"folds": 10**9}, "folds: 1000000000 is too many; use at most 1000"),
        ({"bucket_size": 10}, "bucket_size: 10 is too few"),
        ({"seed": -1}, "seed: -1 is too few; use at least 0"),
        ({"same_image": "maybe"}, "same_image: 'maybe' is not known; use allowed, forbidden"),
        ({"missing_class": "x"}, "missing_class: 'x' is not known; use forbid, words"),
        ({"distinct": "x"}, "distinct: 'x' is not known; use on, off"),
        ({"learning_rate": 0.0}, "learning_rate: 0 is not between 0 and 1"),
        ({"shortlist": 0}, "shortlist: 0 is too few"),
    ],
)
def test_option_out_of_range_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        QuestionSetOptions(**options)


def test_set_without_triplets_or_with_a_bad_name_is_refused(project: Project) -> None:
    with pytest.raises(Refused, match="triplets: none is approved yet"):
        request_question_set(project, "draft", queue=False)
    store(project)
    for name in ("", "7", "a/b", "x" * 61):
        with pytest.raises(Refused, match="name: "):
            request_question_set(project, name, queue=False)
    request_question_set(project, "draft", queue=False)
    with pytest.raises(Refused, match="there is a question set draft already"):
        request_question_set(project, "draft", queue=False)
    assert QuestionSet.objects.count() == 1


def test_command_refuses_bad_input_with_exit_status_2(project: Project) -> None:
    store(project)

    def refused(*arguments: str) -> str:
        with pytest.raises(CommandError) as error:
            call_command("build_questions", *arguments)
        assert error.value.returncode == 2
        assert "\n" not in str(error.value)
        return str(error.value)

    assert "give --project and --name" in refused("--name", "a")
    given = ("--project", project.slug, "--name", "a")
    assert "8 triplets" in refused(*given, "--folds", "3")
    assert "is not known; use vectors" in refused(*given, "--relevance", "bert")
    assert not QuestionSet.objects.exists()


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("build_questions", "--help")
    shown = capsys.readouterr().out
    for name in QuestionSetOptions.__dataclass_fields__:
        assert f"--{name.replace('_', '-')}" in shown


def test_triplets_on_photos_that_were_taken_down_and_rejected_ones_are_left_out(project: Project) -> None:
    records = store(project)
    first, last = records[0], records[-1]
    Image.objects.filter(pk=first.image_id).update(taken_down_at="2026-11-20T09:00:00Z")
    Assignment.objects.filter(submission=last.submission).update(status="Rejected")
    used = {key.pk for key in read_keys(project)}
    assert used == {
        record.pk
        for record in records
        if record.image_id != first.image_id and record.submission_id != last.submission_id
    }


def test_simulated_triplets_count_in_rehearsals_alone(project: Project) -> None:
    records = store_triplets(project, make_synthetic_set(TINY).triplets, simulated=True)
    with pytest.raises(Refused, match="triplets: none is approved yet"):
        read_keys(project)
    Project.objects.filter(pk=project.pk).update(is_rehearsal=True)
    project.refresh_from_db()
    assert len(read_keys(project)) == len(records)
