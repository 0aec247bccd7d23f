"""Celery tasks: fetch a row by id, call a pipeline. Only the worker imports the pipelines, inside the tasks.

Celery finds the tasks of an app by importing this package; each module registers its tasks.
"""

from curation.tasks import (
    analyses,
    duplicates,
    evaluations,
    features,
    proposals,
    rounds,
    scorers,
    sources,
    texts,
    versions,
)

__all__ = [
    "analyses",
    "duplicates",
    "evaluations",
    "features",
    "proposals",
    "rounds",
    "scorers",
    "sources",
    "texts",
    "versions",
]
