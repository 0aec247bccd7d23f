"""Create detectors by the names that commands and runs use."""

from curation.proposals import detector


def get_detector(
    name: str,
    *,
    limit: int = detector.DEFAULT_LIMIT,
    suppress_over: float | None = None,
    revision: str = "",
    min_score: float = 0.0,
) -> detector.Detector:
    """Return the detector called ``name``: ``classical``, ``hf:<hub id or folder>``, or ``mask:<hub id or folder>``.

    ``hf:`` is an object detection model, and ``mask:`` an instance segmentation model, which outlines its objects.

    Args:
        limit: maximum proposals per image.
        suppress_over: drop a model's box if its IoU with a higher-scoring box is above this value (non-maximum
            suppression); by default none are dropped. The classical detector ignores it.
        revision: the commit of a hub id; empty means the current commit. Other detectors have only one revision.
        min_score: a segmentation model outlines objects from this score on; other detectors ignore it.

    Raises:
        DetectorUnavailable: an unknown name, a missing package, or weights that are not available.
    """
    if detector.validate_detector_name(name) == detector.CLASSICAL:
        from curation.proposals.selective_search import SelectiveSearch  # noqa: PLC0415 - scikit-image, on demand

        return SelectiveSearch(limit=limit)
    from curation.proposals.hugging_face import HuggingFaceDetector  # noqa: PLC0415 - torch, on demand
    from curation.proposals.segmentation import SegmentationDetector  # noqa: PLC0415 - torch, on demand

    if name.startswith(detector.SEGMENTATION_PREFIX):
        source = name.removeprefix(detector.SEGMENTATION_PREFIX)
        return SegmentationDetector(source, limit=limit, min_score=min_score, revision=revision)
    source = name.removeprefix(detector.HUGGING_FACE_PREFIX)
    return HuggingFaceDetector(source, limit=limit, suppress_over=suppress_over, revision=revision)
