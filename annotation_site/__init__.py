"""Composition root: settings, URLs, workers. The only package that imports all the others."""

from annotation_site.celery import app as celery_app

__all__ = ["celery_app"]
