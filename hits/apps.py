"""App configuration."""

from django.apps import AppConfig


class HitsConfig(AppConfig):
    """Projects, batches, submissions, review and pay."""

    name = "hits"
    verbose_name = "HITs"
