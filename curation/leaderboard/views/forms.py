"""Forms of leaderboards, for organisers and teams."""

from collections.abc import Sequence
from typing import Any

from django import forms

from curation.leaderboard.models import Leaderboard
from curation.leaderboard.services import boards as services
from curation.leaderboard.services import entries
from curation.models import DatasetVersion, ProposalRun
from curation.versions import photos
from curation.versions.family import Family
from curation.views.fields import choice_field, integer_field, text_field
from hits.forms import PageForm
from hits.services.errors import Refused


def all_rows_label(family: Family) -> str:
    """Return the label of a version's rows of all splits, such as ``all pairs``."""
    nouns = {part.name: part.nouns[1] for part in family.parts}
    return f"all {nouns[family.board.part] if family.board else family.main_part.nouns[1]}"


class BoardForm(PageForm):
    """The title, note and limits of a leaderboard."""

    title = forms.CharField(max_length=services.MAX_TITLE_LENGTH)
    note = forms.CharField(
        max_length=services.MAX_NOTE_LENGTH,
        required=False,
        help_text="A paragraph above the table, for example what the data are and whom to ask for a key.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    daily_limit = integer_field(
        "Limit in 24 hours", "Submissions per team.", low=1, high=services.MAX_DAILY_LIMIT, initial=2
    )
    total_limit = integer_field(
        "Total limit", "Submissions per team.", low=1, high=services.MAX_TOTAL_LIMIT, initial=50
    )

    def clean_note(self) -> str:
        """Join the lines of the note, which is one paragraph."""
        return " ".join(str(self.cleaned_data["note"]).split())

    def clean(self) -> dict[str, Any]:
        """Check the title, the note and the limits by the service's rules."""
        given: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                given["wording"] = services.Wording(given["title"], given["note"])
                given["limits"] = services.SubmissionLimits(given["daily_limit"], given["total_limit"])
            except Refused as error:
                name, _, why = str(error).partition(": ")
                fields = {"title": "title", "note": "note", "daily limit": "daily_limit"}
                field = fields.get(name, "total_limit")
                self.add_error(field, f"{why[:1].upper()}{why[1:]}.")
        return given

    @staticmethod
    def initial_values(board: Leaderboard) -> dict[str, Any]:
        """Return the form's values for a leaderboard as it is now."""
        return {
            "title": board.title,
            "note": board.note,
            "daily_limit": board.daily_limit,
            "total_limit": board.total_limit,
        }


class NewBoardForm(BoardForm):
    """A new leaderboard: also its version and split, proposed boxes and photos."""

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
    rows = choice_field("Sealed version and split")
    proposals = choice_field(
        "Proposed boxes for localization",
        help_text="Scored in addition to the true boxes: up to 100 per photo, as in the published task.",
        required=False,
    )
    photos = choice_field(
        "Photos provided as files",
        [
            (photos.LICENSED_PHOTOS, "Those whose licence allows copies"),
            (photos.ALL_PHOTOS, "All of them (we may redistribute them)"),
            (photos.NO_PHOTOS, "None of them"),
        ],
        "Other photos are listed with their sha256, and with their source address if it is known.",
        required=False,
    )

    private_share = integer_field(
        "Private photos, %",
        "Figures for these photos are shown only when the leaderboard is closed.",
        low=0,
        high=services.MAX_PRIVATE_SHARE,
        required=False,
        initial=0,
    )

    def __init__(
        self,
        family: Family,
        versions: Sequence[tuple[DatasetVersion, Sequence[str]]],
        proposal_runs: Sequence[ProposalRun],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        all_label = all_rows_label(family)
        if family.board is None or not family.board.has_proposals:
            del self.fields["proposals"]
        self.versions = {version.pk: version for version, _ in versions}
        self.proposal_runs = {run.pk: run for run in proposal_runs}
        self.fields["rows"].choices = [  # type: ignore[attr-defined]
            (f"{version.pk}:{split}", f"{version.name}, {split or all_label}")
            for version, splits in versions
            for split in (*splits, "")
        ]
        if "proposals" in self.fields:
            self.fields["proposals"].choices = [  # type: ignore[attr-defined]
                ("", "True boxes only"),
                *((str(run.pk), f"Run {run.pk}, {run.detector}") for run in proposal_runs),
            ]

    def clean(self) -> dict[str, Any]:
        """Find the chosen version, split and run of proposals."""
        given = super().clean()
        if not self.errors:
            version, _, split = given["rows"].partition(":")
            given["version"], given["split"] = self.versions[int(version)], split
            given["run"] = self.proposal_runs[int(given["proposals"])] if given.get("proposals") else None
        return given


class TeamForm(PageForm):
    """A new team."""

    name = text_field(
        "Team", "Shown in the table. Do not use names of people.", max_length=services.MAX_TEAM_LENGTH
    )


class TeamKeyForm(PageForm):
    """A team's key."""

    key = text_field(
        "Your team’s key",
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class SubmitForm(TeamKeyForm):
    """A submission: the team's key, a zip of predictions, and a description of the model."""

    file = forms.FileField(label="Zip of predictions", allow_empty_file=True)
    model = forms.CharField(max_length=entries.MAX_MODEL_LENGTH, help_text="Shown in the table.")
    description = forms.CharField(
        max_length=entries.MAX_DESCRIPTION_LENGTH, required=False, help_text="One line, shown in the table."
    )
    url = text_field(
        "Paper or code",
        "A web address, shown as a link.",
        max_length=entries.MAX_URL_LENGTH,
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://"}),
    )
