"""The judging app: other people's word on what was collected."""

from django.apps import AppConfig


class ValidationConfig(AppConfig):
    """Judging kinds, their rounds and their tallies. It keeps no rows of its own."""

    name = "validation"
    verbose_name = "Judging"
