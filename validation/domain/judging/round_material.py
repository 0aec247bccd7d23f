"""The records, sets and regions of which judging rounds are made, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordToJudge:
    """A collected record. ``images`` are primary keys in order; the record's type defines ``fields``."""

    instance_id: str
    index: int
    images: Sequence[int]
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CandidateToRate:
    """One inference of a set: the id of the pair that it was written for, and its text."""

    id: str
    inference: str


@dataclass(frozen=True, slots=True)
class SetToJudge:
    """A comparison set for judges.

    ``own_pair_id`` is the instance id of the region's own pair, whose author must not judge it; boxes are image
    pixels; ``clue`` is ``None`` if judges see only the region, as in Hessel et al. 2022. ``reference`` is the
    region's own inference if judges see it; a page shows ``per_page`` candidates, 5 or 10.
    """

    id: str
    own_pair_id: str
    image_id: int
    boxes: Sequence[dict[str, int]]
    candidates: Sequence[CandidateToRate]
    clue: str | None = None
    reference: str | None = None
    per_page: int = 10


@dataclass(frozen=True, slots=True)
class RegionsToMatch:
    """An image's regions and inferences by opaque id; ``truth`` maps each inference to its own region."""

    id: str
    image_id: int
    regions: Mapping[str, Sequence[Mapping[str, int]]]
    inferences: Mapping[str, str]
    truth: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SubmissionToReview:
    """A worker's submission: its id, the unit that the worker saw, and the records of the answer."""

    id: str
    unit: Mapping[str, Any]
    records: Sequence[RecordToJudge]


@dataclass(frozen=True, slots=True)
class ChoiceToShow:
    """One response of a question: its segments, and the record that it was written for."""

    text: Sequence[Any]
    record_id: str


@dataclass(frozen=True, slots=True)
class QuestionToAnswer:
    """One stage (``answer`` or ``rationale``) of a multiple-choice question.

    Texts are segments (``hits.domain.tagged_text``) whose tags are indices into ``objects``, which are as
    ``detections.page_objects`` returns them. ``answer`` is the right answer, shown in the stage rationale only.
    ``label`` is the index of the right choice. ``several_allowed`` lets people say that another choice is right, too.
    """

    id: str
    record_id: str
    stage: str
    image_id: int
    objects: Sequence[Mapping[str, Any]]
    question: Sequence[Any]
    choices: Sequence[ChoiceToShow]
    label: int
    answer: Sequence[Any] | None = None
    several_allowed: bool = False


@dataclass(frozen=True, slots=True)
class SceneToReview:
    """A written scene for its reviewers (Ventura et al. 2025 §3).

    ``a`` and ``b`` are its hypotheses; which of them its author calls more plausible is not known here. ``id`` is the
    scene's, ``scene_id`` that of the first scene of which it is a revision.
    """

    id: str
    premise: str
    a: str
    b: str
    scene_id: str = ""


@dataclass(frozen=True, slots=True)
class TripletToJudge:
    """An image triplet for judges of plausibility, in one of four shapes (Ventura et al. 2025 §4.1, fig. 16).

    ``show`` is ``triplet``, ``pair`` (premise and one hypothesis), ``hypotheses_only`` or ``texts``. ``images``
    maps the shown roles (``premise``, ``h1``, ``h2``) to image ids; ``texts`` maps them to descriptions in the shape
    ``texts``. ``gold`` (1 or 2) is the more plausible hypothesis, which no page is told. ``cannot_tell`` lets judges
    say that both are equally plausible. ``scene_id`` is that of the first scene of the texts, whose
    readers know too much.
    """

    id: str
    triplet_id: str
    show: str
    images: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    gold: int | None = None
    cannot_tell: bool = False
    scene_id: str = ""


@dataclass(frozen=True, slots=True)
class ExplanationToShow:
    """One explanation by an opaque id. Its source (people, a model) is not known here, so no page can show it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ExplanationsToJudge:
    """Explanations of an image triplet for judges (Ventura et al. 2025 §4.2, fig. 17).

    ``images`` maps ``premise``, ``h1`` and ``h2`` to image ids; ``right`` (``h1`` or ``h2``) is the more plausible
    hypothesis, which the page marks. ``decoys`` are ids of explanations that are known to be wrong; they tell about
    ``decoy_triplet_id``. ``scene_id`` and ``decoy_scene_id`` are those of the first scenes of the texts.
    """

    id: str
    triplet_id: str
    images: Mapping[str, int]
    right: str
    explanations: Sequence[ExplanationToShow]
    decoys: Sequence[str] = ()
    scene_id: str = ""
    decoy_triplet_id: str = ""
    decoy_scene_id: str = ""


@dataclass(frozen=True, slots=True)
class CandidatesToPick:
    """Candidate images of one text for people who pick the best one.

    ``role`` is ``premise``, ``a`` or ``b``. ``premise_image`` is the chosen image of the premise, beside which
    hypotheses are picked; ``candidates`` are image ids. ``scene_id`` is that of the text's first scene.
    """

    id: str
    role: str
    text: str
    premise_image: int | None
    candidates: Sequence[int]
    scene_id: str = ""
