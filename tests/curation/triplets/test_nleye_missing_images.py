"""An evaluation of a version whose images were taken down since is refused before its first call."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from curation.models import ModelCall, TripletEvaluation
from curation.selectors.triplets.evaluations import version_triplets
from hits.models import Image, Project
from tests.support.nleye_jobs import VERSION, evaluate, newest_job, refusal, sealed_triplets

MESSAGE = "images: 2 were taken down since the version was sealed (sample_id 2, 3); seal a new version"


@pytest.mark.django_db(transaction=True)
def test_an_evaluation_without_some_images_is_refused_before_its_first_call(
    project: Project, researcher: User
) -> None:
    """Stored replies are read without them; so are figures that need no premise."""
    _, second, third = version_triplets(sealed_triplets(project, 3, researcher))
    before = evaluate(project)
    gone = [row.row["images"]["premise"] for row in (second, third)]
    Image.objects.filter(sha256__in=gone).update(taken_down_at=timezone.now())
    calls = ModelCall.objects.count()
    for options in (
        {"setup": "pairs"},
        {"strategy": "combined"},
        {"strategy": "image-to-text", "threads": 2},
    ):
        text = refusal("evaluate_triplets", version_name=VERSION, project=project.slug, **options)
        assert MESSAGE in text
        assert MESSAGE in refusal("evaluate_triplets", resume=newest_job().pk)
        assert ModelCall.objects.count() == calls
    again = evaluate(project)
    assert (again["calls"], again["figures"]) == (0, before["figures"])
    assert evaluate(project, strategy="hypotheses-only")["calls"] == 6
    assert TripletEvaluation.objects.exclude(figures={}).count() == 3
