"""The form that extracts frames of clips in the server's import folder; no path is typed."""

from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

from django import forms

from curation.records import MAX_MOVIE_LENGTH, InvalidInput
from curation.services.frames import MAX_LICENCE_LENGTH, MAX_ORIGIN_LENGTH, ExtractionSpec
from curation.sources.folders import resolve_inside
from curation.video.names import check_movie_name
from curation.video.shots import DEFAULT_THRESHOLD, EVERY_FRAME, MAX_SCORE
from curation.views.fields import choice_field, float_field, text_field
from curation.views.source_forms import NO_CHOICE, ROOT_LABEL, ImportFolderContents
from hits.forms import PageForm

EVERY_LABELS = {"1": "One frame a second (Zellers et al. 2019)", EVERY_FRAME: "Every frame"}


class ExtractionForm(PageForm):
    """Which clips, by which rule and by which right."""

    path = choice_field("Clip or folder")
    movie = text_field(
        "Film",
        "All questions about a film stay in one split. Leave empty for LSMDC, and for folders named after films.",
        required=False,
        max_length=MAX_MOVIE_LENGTH,
    )
    licence = text_field(
        "Licence",
        "By which right the frames are used. Stored with every frame.",
        max_length=MAX_LICENCE_LENGTH,
    )
    origin = text_field(
        "Source", "Where the clips come from. Stored with every frame.", max_length=MAX_ORIGIN_LENGTH
    )
    every = choice_field("Frames to compare", EVERY_LABELS)
    threshold = float_field(
        "Threshold",
        "Mean difference in HSV that starts a new shot.",
        low=1,
        high=MAX_SCORE,
        initial=DEFAULT_THRESHOLD,
    )
    captions = choice_field(
        "Captions", help_text="LSMDC’s file, or the SRT or WebVTT file of one clip.", required=False
    )

    def __init__(self, import_folder: ImportFolderContents, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="clips_%s", **kwargs)
        assert import_folder.root is not None
        self.root: Path = import_folder.root
        self.choices = _clip_choices(import_folder.contents.clips)
        self.fields["path"].choices = [("", "Choose a clip"), *self.choices]  # type: ignore[attr-defined]
        self.fields["path"].help_text = f"In {self.root} on the server."
        names = [(name, name) for name in import_folder.contents.captions]
        self.fields["captions"].choices = [NO_CHOICE, *names]  # type: ignore[attr-defined]

    def clean_movie(self) -> str:
        """Check that a film's name can be a folder's name."""
        movie = str(self.cleaned_data["movie"]).strip()
        try:
            return check_movie_name(movie) if movie else ""
        except InvalidInput as error:
            raise forms.ValidationError(f"{str(error).partition(': ')[2].capitalize()}.") from error

    def clean(self) -> dict[str, Any]:
        """Resolve the chosen files."""
        given: dict[str, Any] = super().clean() or {}
        if not self.errors:
            every = None if given["every"] == EVERY_FRAME else float(given["every"])
            try:
                given["spec"] = ExtractionSpec(
                    path=str(resolve_inside(self.root, given["path"])),
                    licence=given["licence"],
                    origin=given["origin"],
                    movie=given["movie"],
                    every=every,
                    threshold=given["threshold"],
                    captions=str(resolve_inside(self.root, given["captions"])) if given["captions"] else "",
                    within=str(self.root),
                )
            except InvalidInput as error:
                raise forms.ValidationError(f"Not started: {error}.") from error
        return given


def _clip_choices(clips: Any) -> list[tuple[str, str]]:
    """Return the folders with more than one clip, and all clips."""
    counts: Counter[str] = Counter()
    for clip in clips:
        counts.update(parent.as_posix() for parent in PurePosixPath(clip).parents)
    folders = [(name, count) for name, count in sorted(counts.items()) if count > 1]
    labels = [(name, f"{ROOT_LABEL if name == '.' else name} ({count} clips)") for name, count in folders]
    return [*labels, *((clip, clip) for clip in clips)]
