"""The site's settings for a worker that also knows the tasks of ``sleepers``."""

from annotation_site.settings import *  # noqa: F403 - the very same, and one line more

CELERY_IMPORTS = ("tests.support.sleepers",)
