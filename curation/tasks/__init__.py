"""Celery tasks: fetch by id, call a pipeline. The pipelines are imported late, by the worker alone.

Celery finds the tasks of an app by importing this package; each module registers its own.
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
