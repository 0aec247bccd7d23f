"""Confirmed work without a marketplace: rows as ``collect`` would write them."""

import pytest

from hits.models import Project
from tests.validation.factory import Work


@pytest.fixture
def work(project: Project) -> Work:
    """Return a maker of confirmed work in the project."""
    return Work(project)
