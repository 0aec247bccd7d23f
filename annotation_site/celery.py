"""The Celery application. A message is only a wake-up: the work itself stands in job rows."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation_site.settings")

app = Celery("deerstalker")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
