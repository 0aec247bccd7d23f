"""Where the files of a feature set are."""

from pathlib import Path

from django.conf import settings

from curation.models import FeatureSet


def features_folder(row: FeatureSet) -> Path:
    """Return the folder of a set's files."""
    return Path(settings.MEDIA_ROOT) / row.path
