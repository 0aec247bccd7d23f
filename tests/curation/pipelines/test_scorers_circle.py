"""Closing the circle: a version trains a scorer, which chooses candidates, whose judgments measure it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.models import ComparisonRound, DatasetVersion, Evaluation, FeatureSet, Pair, Scorer
from curation.pipelines.comparison import build_comparison_round
from curation.pipelines.encoders import get_feature_encoder
from curation.selectors.rounds import rated_split_or_empty
from curation.selectors.scorers import judged_rounds
from curation.services.comparison import RoundOptions, launch_comparison_batch, request_comparison_round
from curation.services.features import FeatureOptions, request_features
from curation.services.versions import create_sealed_version
from hits.domain.states import JobState
from hits.models import Hit, Job
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.curation.fakes import Letters
from tests.support.curation.scorer_rows import asked, ready
from tests.support.judging.work import Work, ratings
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
RULES = RoundOptions(size=3, min_candidates=3)


@pytest.fixture
def pairs(work: Work) -> list[Pair]:
    """Return twelve approved pairs on four photos."""
    found = [work.observed(work.image(seed), worker=f"W{seed}") for seed in range(4)]
    return [pair for some in found for pair in some]


@pytest.fixture
def sealed(work: Work, pairs: list[Pair]) -> DatasetVersion:
    """Return a sealed version of them."""
    return create_sealed_version(project=work.project, name="v1.0", by=None)


def chosen(scorer: Scorer) -> ComparisonRound:
    """Build a round by that scorer; small encoders do its work."""
    return build_comparison_round(
        project=scorer.project, options=RULES, encoder=scorer.encoder_name, given_encoders=Letters()
    )


def judged(work: Work, found: ComparisonRound) -> DatasetVersion:
    """Launch a round, let two people rate every set, and seal their judgments."""
    batch, _ = launch_comparison_batch(round=found, by=None)
    work.publish(batch)
    for number, hit in enumerate(Hit.objects.filter(unit__batch=batch)):
        for judge in range(2):
            work.answered(hit, f"JUDGE{number}{judge}", ratings(hit, 1, 3, 2))
    return create_sealed_version(project=work.project, name="v1.1", by=None)


# --- a scorer as an encoder


def test_scorer_name_resolves_only_ready_scorers(sealed: DatasetVersion) -> None:
    scorer = ready(sealed, "ours")
    asked(sealed, "later")
    job = request_comparison_round(project=sealed.project, by=None, encoder="scorer:ours")
    assert job.args["encoder"] == scorer.encoder_name
    options = FeatureOptions(encoder="scorer:ours")
    made = request_features(project=sealed.project, by=None, options=options)
    assert made.args["options"]["encoder"] == scorer.encoder_name
    for name in ("scorer:later", "scorer:nobody", "scorer:999"):
        with pytest.raises(Refused, match=r"encoder: .*; ready are scorer:ours"):
            request_features(project=sealed.project, by=None, options=FeatureOptions(encoder=name))


def test_scorer_of_another_project_is_unknown(sealed: DatasetVersion, rehearsal: Any) -> None:
    scorer = ready(sealed)
    with pytest.raises(Refused, match="is no scorer of this project; ready are none yet"):
        request_features(project=rehearsal, by=None, options=FeatureOptions(encoder=scorer.encoder_name))


def test_features_are_made_by_a_scorer(sealed: DatasetVersion) -> None:
    scorer = ready(sealed, weights=True)
    encoder = get_feature_encoder(scorer.encoder_name)
    assert encoder.name == "Scorer first"
    options = FeatureOptions("texts", text="inference", encoder="scorer:first")
    job = request_features(project=sealed.project, by=None, options=options, queue=False)
    assert jobs.run_in_process(job=job).state == JobState.DONE, job.error
    row = FeatureSet.objects.get()
    assert (row.encoder, row.dim, row.count) == ("Scorer first", encoder.dim, 12)
    assert row.preprocessing["weights"].removeprefix("sha256:") == scorer.weights_sha256
    vectors = encoder.encode_texts(["one", "two"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


def test_scorer_with_missing_weights_is_refused(sealed: DatasetVersion) -> None:
    scorer = ready(sealed)
    with pytest.raises(Refused, match=r"has no scorer.json"):
        get_feature_encoder(scorer.encoder_name)
    with pytest.raises(Refused, match="there is no ready scorer of that number"):
        get_feature_encoder("scorer:999")


# --- rounds


def test_round_records_its_scorer_and_training_version(sealed: DatasetVersion) -> None:
    scorer = ready(sealed)
    found = chosen(scorer)
    assert found.scorer == scorer
    expected = {
        "scorer": "first",
        "scorer_weights_sha256": scorer.weights_sha256,
        "scorer_version": "v1.0",
        "scorer_version_seal": sealed.manifest_sha256,
        "scorer_rehearsal": False,
        "pairs_that_scorer_knows": 12,
    }
    assert expected.items() <= found.provenance.items()


def test_round_of_another_encoder_has_no_scorer(sealed: DatasetVersion) -> None:
    found = build_comparison_round(project=sealed.project, options=RULES, given_encoders=Letters())
    assert found.scorer is None
    assert "scorer" not in found.provenance


def test_the_next_version_names_the_scorer_of_its_candidates(work: Work, sealed: DatasetVersion) -> None:
    scorer = ready(sealed)
    found = chosen(scorer)
    assert judged_rounds(scorer) == []
    version = judged(work, found)
    recorded = version.provenance["comparison_round"]
    assert (recorded["id"], recorded["scorer"], recorded["scorer_version"]) == (found.pk, "first", "v1.0")
    assert recorded["scorer_weights_sha256"] == scorer.weights_sha256
    assert recorded["scorer_version_seal"] == sealed.manifest_sha256
    assert judged_rounds(scorer) == [(found, version)]


def test_the_command_takes_a_scorer_by_name_and_warns(
    sealed: DatasetVersion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    from curation.pipelines import comparison

    monkeypatch.chdir(tmp_path)
    (tmp_path / "first").mkdir()  # as the folder that it was imported from may be called
    monkeypatch.setattr(comparison, "get_round_encoders", lambda name: Letters())
    ready(sealed)
    place = ["--project", sealed.project.slug, "--size", "3", "--min-candidates", "3"]
    call_command("build_comparison_round", *place, "--encoder", "scorer:first")
    assert "first was trained or validated on all 12 approved pairs" in capsys.readouterr().err
    assert ComparisonRound.objects.get().scorer == Scorer.objects.get()
    with pytest.raises(CommandError, match="encoder: 'nobody' is no scorer of this project"):
        call_command("build_comparison_round", *place, "--encoder", "scorer:nobody")


# --- pages


def test_the_forms_list_ready_scorers_by_name(
    client: Client, sealed: DatasetVersion, researcher: User
) -> None:
    scorer = ready(sealed, "ours")
    asked(sealed, "later")
    client.force_login(researcher)
    slug = sealed.project.slug
    rounds = squeezed(client.get(reverse("curation-rounds", args=[slug]), {"encoder": scorer.encoder_name}))
    assert f'<option value="{scorer.encoder_name}" selected>Scorer ours' in rounds
    assert "Scorer later" not in rounds
    assert "ours was trained or validated on all 12 approved pairs" in rounds
    assert "learned from" not in squeezed(client.get(reverse("curation-rounds", args=[slug])))
    features = squeezed(client.get(reverse("curation-features", args=[slug])))
    assert f'<option value="{scorer.encoder_name}">Scorer ours' in features
    fields = {"min_candidates": "3", "size": "3", "max_verbatim": "3", "seed": "0", "diversity": "mean"}
    client.post(reverse("curation-build", args=[slug]), fields | {"encoder": scorer.encoder_name})
    job = Job.objects.get(task="curation.build_comparison_round")
    assert job.args["encoder"] == scorer.encoder_name


def test_pages_link_version_scorer_and_round(
    client: Client, work: Work, sealed: DatasetVersion, researcher: User
) -> None:
    scorer = ready(sealed)
    found = chosen(scorer)
    version = judged(work, found)
    client.force_login(researcher)
    slug = sealed.project.slug
    page = squeezed(client.get(reverse("scorer", args=[slug, scorer.pk])))
    assert reverse("version", args=[sealed.pk]) in page
    assert reverse("comparison-round", args=[slug, found.pk]) in page
    assert f"The judgments of round {found.pk} are sealed in" in page
    of_round = squeezed(client.get(reverse("comparison-round", args=[slug, found.pk])))
    assert reverse("scorer", args=[slug, scorer.pk]) in of_round
    assert "The judgments of this round are sealed in v1.1." in of_round
    assert "was trained on this version" in squeezed(client.get(reverse("version", args=[sealed.pk])))
    of_version = squeezed(client.get(reverse("version", args=[version.pk])))
    assert f'chosen in <a href="{reverse("comparison-round", args=[slug, found.pk])}">' in of_version
    assert "the scorer <b>first</b>" in of_version


@pytest.mark.parametrize(
    ("recorded", "split"),
    [
        ({"splits": ["val"]}, "val"),
        ({"splits": ["test", "val"]}, ""),
        ({}, "test"),  # sealed by an earlier release: the round's own option
    ],
)
def test_rated_split_is_the_split_of_the_round(
    recorded: dict[str, Any], split: str, sealed: DatasetVersion
) -> None:
    found = ComparisonRound.objects.create(
        project=sealed.project, options={"split": "test"}, provenance={}, instances=0, inferences=0
    )
    key = "comparison_rounds" if recorded else "comparison_round"
    known = {"id": found.pk, **recorded}
    sealed.provenance = {key: [known] if recorded else known}
    assert rated_split_or_empty(found, sealed) == split


def test_judgments_of_a_round_measure_its_scorer(
    client: Client, work: Work, sealed: DatasetVersion, researcher: User
) -> None:
    scorer = ready(sealed, weights=True)
    found = chosen(scorer)
    version = judged(work, found)
    client.force_login(researcher)
    slug = sealed.project.slug
    url = reverse("scorer-evaluate", args=[slug, scorer.pk])
    assert client.post(url, {"round": "999"}).status_code == 404
    reply = client.post(url, {"round": str(found.pk)})
    row = Evaluation.objects.get()
    assert reply["Location"] == reverse("evaluation", args=[slug, row.pk])
    assert (row.scorer, row.version, row.source) == (scorer, version, "scorer")
    page = squeezed(client.get(reverse("scorer", args=[slug, scorer.pk])))
    assert reverse("evaluation", args=[slug, row.pk]) in page
    assert "not done yet" in page
    assert row.job is not None
    ended = jobs.run_in_process(job=row.job)
    assert ended.state == JobState.DONE, ended.error
    row.refresh_from_db()
    assert row.figures["comparison"]["images"] == found.sets.count()
    measured = row.figures["comparison"]["model"]["value"]
    page = squeezed(client.get(reverse("scorer", args=[slug, scorer.pk])))
    assert f"human agreement {measured:.1f}%" in page
