"""The numbers of people and other objects in a project's images, from their newest object lists."""

from curation.interest.rules import MIN_SCORE, HardRules, ObjectCounts, count_objects
from curation.models import ObjectSet
from hits.models import Project
from hits.selectors.records import id_chunks


def object_counts(project: Project, min_score: float = MIN_SCORE) -> dict[int, ObjectCounts]:
    """Return the counts of the images that have an object list and were not taken down, by image id.

    Args:
        min_score: objects with a lower score do not count.
    """
    rows = ObjectSet.objects.filter(image__project=project, image__taken_down_at__isnull=True).order_by("pk")
    newest = {
        image: (pk, ObjectCounts(people, others), limit)
        for image, pk, people, others, limit in rows.values_list(
            "image_id", "pk", "people", "others", "run__options__min_score"
        )
    }
    found = {image: counts for image, (_, counts, _) in newest.items()}
    # The stored counts are those of the run's own limit; under another limit, the objects are counted again.
    return found | _recount([pk for pk, _, limit in newest.values() if limit != min_score], min_score)


def image_ids_within_rules(project: Project, rules: HardRules) -> set[int]:
    """Return the ids of the images whose newest object list meets the rules."""
    counts = object_counts(project, rules.min_score)
    return {image for image, found in counts.items() if rules.is_met_by(found)}


def _recount(object_sets: list[int], min_score: float) -> dict[int, ObjectCounts]:
    found: dict[int, ObjectCounts] = {}
    for chunk in id_chunks(object_sets):
        rows = ObjectSet.objects.filter(pk__in=chunk).values_list("image_id", "detections")
        for image, objects in rows.iterator(chunk_size=500):
            found[image] = count_objects(((raw["name"], raw["score"]) for raw in objects), min_score)
    return found
