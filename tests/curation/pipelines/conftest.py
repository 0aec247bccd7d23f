"""Fixtures of the tests of pipelines."""

from collections.abc import Callable, Iterator

import pytest

from curation.pipelines import detectors
from curation.pipelines import proposals as pipeline
from tests.support.curation.proposal_runs import FixedBoxDetector


@pytest.fixture(autouse=True)
def no_cached_detector() -> Iterator[None]:
    """Clear the cached detector before and after each test."""
    detectors.load_detector.cache_clear()
    yield
    detectors.load_detector.cache_clear()


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> Callable[[FixedBoxDetector], FixedBoxDetector]:
    """Return a function that sets the detector of the pipeline."""

    def use(squares: FixedBoxDetector) -> FixedBoxDetector:
        monkeypatch.setattr(detectors, "get_detector", lambda name, **options: squares)
        return squares

    use(FixedBoxDetector())
    return use


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use batches of two photos."""
    monkeypatch.setattr(detectors, "BATCH_SIZE", 2)


@pytest.fixture
def small_subjobs(small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use sub-jobs of three photos."""
    monkeypatch.setattr(pipeline, "PHOTOS_PER_SUBJOB", 3)
