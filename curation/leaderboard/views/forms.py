"""What people type on a leaderboard's pages: researchers who run it, teams who hand in."""

from collections.abc import Sequence
from typing import Any

from django import forms

from curation.leaderboard.models import Leaderboard
from curation.leaderboard.services import boards as services
from curation.leaderboard.services import entries
from curation.models import DatasetVersion, ProposalRun
from curation.versions import photos
from hits.forms import PageForm
from hits.services.errors import Refused

ALL_LABEL = "all pairs"


class BoardForm(PageForm):
    """Words and limits of a leaderboard."""

    title = forms.CharField(max_length=services.MAX_TITLE_LENGTH)
    note = forms.CharField(
        max_length=services.MAX_NOTE_LENGTH,
        required=False,
        help_text="One paragraph above the table: what the data are, and whom to ask for a key.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    daily_limit = forms.IntegerField(
        min_value=1,
        max_value=services.MAX_DAILY_LIMIT,
        initial=2,
        label="A team’s limit, 24 hours",
    )
    total_limit = forms.IntegerField(
        min_value=1, max_value=services.MAX_TOTAL_LIMIT, initial=50, label="A team’s limit, in all"
    )

    def clean_note(self) -> str:
        """Let the lines run on: the note is one paragraph."""
        return " ".join(str(self.cleaned_data["note"]).split())

    def clean(self) -> dict[str, Any]:
        """Let the service say what does not go together."""
        given: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                given["wording"] = services.Wording(given["title"], given["note"])
                given["limits"] = services.Limits(given["daily_limit"], given["total_limit"])
            except Refused as error:
                name, _, why = str(error).partition(": ")
                field = {"title": "title", "note": "note", "daily limit": "daily_limit"}.get(
                    name, "total_limit"
                )
                self.add_error(field, f"{why[:1].upper()}{why[1:]}.")
        return given

    @staticmethod
    def values_of(board: Leaderboard) -> dict[str, Any]:
        """Return what a leaderboard has now."""
        return {
            "title": board.title,
            "note": board.note,
            "daily_limit": board.daily_limit,
            "total_limit": board.total_limit,
        }


class NewBoardForm(BoardForm):
    """A new leaderboard: on which rows, and with which boxes to choose among."""

    field_order = [
        "rows",
        "proposals",
        "photos",
        "private_share",
        "title",
        "note",
        "daily_limit",
        "total_limit",
    ]
    rows = forms.ChoiceField(label="Sealed version and split")
    proposals = forms.ChoiceField(
        required=False,
        label="Boxes to find an inference in",
        help_text="Beside the true ones. 100 proposed boxes a photo, as published.",
    )
    photos = forms.ChoiceField(
        required=False,
        choices=[
            (photos.LICENSED_PHOTOS, "Those whose licence lets copies be given"),
            (photos.ALL_PHOTOS, "All of them: we may pass them on"),
            (photos.NO_PHOTOS, "None of them"),
        ],
        label="Photos that teams get as files",
        help_text="The others are named by their source’s address and sha256.",
    )

    private_share = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=services.MAX_PRIVATE_SHARE,
        initial=0,
        label="Photos kept for the end, %",
        help_text="Their figures are shown when the leaderboard is closed, beside the others.",
    )

    def __init__(
        self,
        versions: Sequence[tuple[DatasetVersion, Sequence[str]]],
        runs: Sequence[ProposalRun],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.versions = {version.pk: version for version, _ in versions}
        self.runs = {run.pk: run for run in runs}
        self.fields["rows"].choices = [  # type: ignore[attr-defined]
            (f"{version.pk}:{split}", f"{version.name}, {split or ALL_LABEL}")
            for version, splits in versions
            for split in (*splits, "")
        ]
        self.fields["proposals"].choices = [  # type: ignore[attr-defined]
            ("", "True boxes alone"),
            *((str(run.pk), f"Run {run.pk}, {run.detector}") for run in runs),
        ]

    def clean(self) -> dict[str, Any]:
        """Find the rows that are meant."""
        given = super().clean()
        if not self.errors:
            version, _, split = given["rows"].partition(":")
            given["version"], given["split"] = self.versions[int(version)], split
            given["run"] = self.runs[int(given["proposals"])] if given["proposals"] else None
        return given


class TeamForm(PageForm):
    """A team that may hand in."""

    name = forms.CharField(
        max_length=services.MAX_TEAM_LENGTH, label="Team", help_text="Shown in the table. No names of people."
    )


class KeyForm(PageForm):
    """A team's key."""

    key = forms.CharField(
        max_length=200,
        label="Your team’s key",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class SubmitForm(KeyForm):
    """A zip of predictions and what it is of."""

    file = forms.FileField(label="Zip of predictions", allow_empty_file=True)
    model = forms.CharField(max_length=entries.MAX_MODEL_LENGTH, help_text="Shown in the table.")
    description = forms.CharField(
        max_length=entries.MAX_DESCRIPTION_LENGTH, required=False, help_text="One line, shown in the table."
    )
    url = forms.CharField(
        max_length=entries.MAX_URL_LENGTH,
        required=False,
        label="Paper or code",
        help_text="A web address, shown as a link.",
        widget=forms.URLInput(attrs={"placeholder": "https://"}),
    )
