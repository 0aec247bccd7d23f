"""Write the answers of an evaluation as files that ``manage.py evaluate nleye`` reads."""

from pathlib import Path

from curation.models import TripletEvaluation
from curation.selectors.triplets.prediction_files import prediction_files
from hits.domain.files.atomic_files import atomic_file


def export_predictions(evaluation: TripletEvaluation, folder: Path) -> list[str]:
    """Write the files of an evaluation into a folder, and return their names; each appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    files = prediction_files(evaluation)
    for name, content in files.items():
        with atomic_file(folder / name) as file:
            file.write(content)
    return sorted(files)
