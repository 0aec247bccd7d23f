"""Plans the units of writing tasks: images with their numbered objects and the captions of their clip.

The setting ``UNIT_PLANNERS`` names ``PLANNER``. Launches use it to choose images and to make their units. Only images
whose newest object list meets the hard rules can be used and, if a model of interestingness is named, only those
that it selects. Source: Zellers et al. 2019 §3, §B.2.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.interest.rules import MIN_OBJECTS, MIN_PEOPLE, MIN_SCORE, HardRules
from curation.models import Frame, InterestModel, InterestScore, ObjectSet
from curation.records import InvalidInput
from curation.selectors.avoided_names import avoided_names
from curation.selectors.interest_models import find_model, model_numbers
from curation.selectors.object_counts import image_ids_within_rules
from curation.selectors.object_lists import newest_object_sets
from hits.domain.answers.text import shorten_text
from hits.domain.images.detections import DetectedObject, page_objects
from hits.domain.images.image_selection import ImageSelectionError
from hits.domain.images.objects_unit import MAX_CAPTION, MAX_CAPTIONS, clean_names
from hits.domain.images.unit_objects import objects_of_unit
from hits.domain.units.planner_options import PlannerOption
from hits.models import Image, Project
from hits.selectors.records import id_chunks

MOST = 1_000_000_000
MODEL = PlannerOption(
    name="model",
    label="Interest model",
    help="only photos that this model of interestingness selects, by its number; its scores must be stored",
    is_whole=True,
    default=None,
    low=1,
    high=MOST,
)
RULE_OPTIONS = (
    PlannerOption(
        name="min_objects",
        label="Objects, at least",
        help=f"only photos with this many objects; default: {MIN_OBJECTS}",
        is_whole=True,
        default=MIN_OBJECTS,
        low=0,
        high=1000,
    ),
    PlannerOption(
        name="min_people",
        label="People, at least",
        help=f"only photos with this many people; default: {MIN_PEOPLE}",
        is_whole=True,
        default=MIN_PEOPLE,
        low=0,
        high=1000,
    ),
    PlannerOption(
        name="min_score",
        label="Score of an object, at least",
        help=f"objects with a lower score of the detector do not count, 0 to 1; default: {MIN_SCORE}",
        is_whole=False,
        default=MIN_SCORE,
        low=0,
        high=1,
    ),
)


def read_rules(values: Mapping[str, Any]) -> HardRules:
    """Return the hard rules that option values give; missing ones have their defaults.

    Raises:
        ImageSelectionError: a value is not possible.
    """
    given = {option.name: values[option.name] for option in RULE_OPTIONS if option.name in values}
    try:
        return HardRules(**given)
    except InvalidInput as error:
        name, _, problem = str(error).partition(": ")
        raise ImageSelectionError(name.replace(" ", "_"), f"{problem[0].upper()}{problem[1:]}.") from error


@dataclass(frozen=True, slots=True)
class WritingPlanner:
    """Plans units of the objects and captions of images (``hits.domain.images.objects_unit.ObjectsUnit``)."""

    options: tuple[PlannerOption, ...] = (MODEL, *RULE_OPTIONS)
    no_photos_message: str = (
        "No photo has enough detected objects. Detect objects first, or lower the minimum numbers."
    )

    def image_ids(self, project: Project, values: Mapping[str, Any]) -> set[int] | None:
        """Return the ids of the images within the rules that the model selects.

        Raises:
            ImageSelectionError: the model is not one of the project, or has no scores; or a rule is not possible.
        """
        found = image_ids_within_rules(project, read_rules(values))
        if values.get("model") is not None:
            found &= selected_image_ids(_find_model(project, values["model"]))
        return found

    def units(self, project: Project, photos: Sequence[int]) -> list[dict[str, Any]]:
        """Return one unit for each image that has an object list, in their order."""
        object_sets, frames = newest_object_sets(photos), _frames(photos)
        movie_of = {pk: frame.clip.movie for pk, frame in frames.items()}
        names_of = _names_by_movie(project, {"", *movie_of.values()})
        images = {
            image.pk: image for chunk in id_chunks(photos) for image in Image.objects.filter(pk__in=chunk)
        }
        return [
            _build_unit(images[pk], object_sets[pk], frames.get(pk), names_of[movie_of.get(pk, "")])
            for pk in photos
            if pk in object_sets and object_sets[pk].detections
        ]


def selected_image_ids(model: InterestModel) -> set[int]:
    """Return the ids of the images whose score reaches the model's threshold."""
    rows = InterestScore.objects.filter(model=model, score__gte=model.threshold)
    return set(rows.order_by().values_list("image_id", flat=True))


def _find_model(project: Project, number: int) -> InterestModel:
    model = find_model(project, number)
    if model is None:
        known = model_numbers(project)
        raise ImageSelectionError("model", f"There is no interest model {number}; known numbers: {known}.")
    if not model.scores.exists():
        raise ImageSelectionError("model", f"Model {number} has no scores; select photos with it first.")
    return model


def _frames(images: Sequence[int]) -> dict[int, Frame]:
    """Return the frames among some images, with their clips, by the image's id."""
    return {
        frame.image_id: frame
        for chunk in id_chunks(images)
        for frame in Frame.objects.filter(image__in=chunk).select_related("clip")
    }


def _names_by_movie(project: Project, movies: Collection[str]) -> dict[str, list[str]]:
    """Return the names that texts about a film should not use, by film: those of all photos, then its own."""
    listed = avoided_names(project)
    common = listed.get("", [])
    return {movie: clean_names([*common, *(listed.get(movie, []) if movie else [])]) for movie in movies}


def _build_unit(
    image: Image, object_set: ObjectSet, frame: Frame | None, names: Sequence[str]
) -> dict[str, Any]:
    """Return a unit.

    Args:
        names: those that texts should not use.
    """
    objects = [DetectedObject.from_json(raw) for raw in objects_of_unit(object_set.detections)]
    captions = frame.captions if frame else []
    return {
        "image": image.pk,
        "objects": page_objects(objects, width=image.width, height=image.height),
        "objects_sha256": object_set.sha256,
        "captions": [shorten_text(text, MAX_CAPTION) for text in captions if text][:MAX_CAPTIONS],
        "names": list(names),
    }


PLANNER = WritingPlanner()
