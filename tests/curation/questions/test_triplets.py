"""The triplets of a question set as they are read from the database."""

from dataclasses import replace

import pytest

from curation.pipelines.questions.triplets import load_triplets, read_keys
from hits.domain.images.unit_objects import MAX_OBJECTS
from hits.models import Project
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import make_synthetic_set

pytestmark = pytest.mark.django_db


def test_objects_that_no_unit_holds_are_left_out_so_that_no_text_gets_their_tags(project: Project) -> None:
    triplets = make_synthetic_set({"train-0": 4}).triplets
    store_triplets(project, [replace(row, objects=row.objects * MAX_OBJECTS) for row in triplets])
    assert {len(triplet.names) for triplet in load_triplets(read_keys(project))} == {MAX_OBJECTS}
