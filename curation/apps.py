"""The curation app: which images, which hard candidates, which rows are released."""

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """Feature sets, comparison rounds and sealed versions."""

    name = "curation"
    verbose_name = "Curation"
