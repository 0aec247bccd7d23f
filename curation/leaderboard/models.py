"""Leaderboards, their teams and their entries."""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from curation.models.versions import DatasetVersion
from hits.models import Job, Project
from hits.models.base import AppendOnly, CreatedByModel


class EntryState(StrEnum):
    """State of an entry. A ``REFUSED`` entry could not be scored and counts against no limit."""

    QUEUED = "queued"
    SCORED = "scored"
    REFUSED = "refused"


class Leaderboard(CreatedByModel):
    """A leaderboard on one split of a sealed version.

    ``path`` is a folder, relative to the media folder and never served directly: ``public/`` has the instances and
    sorted ids for download; ``held/`` has the answer keys, which never leave the server. ``tasks`` maps each file of
    a submission to its required number of scores. The limits are per team: within 24 hours, and in total.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="leaderboards")
    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="leaderboards")
    split = models.CharField(max_length=12, blank=True)
    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    note = models.CharField(max_length=600, blank=True)
    path = models.CharField(max_length=200, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    tasks = models.JSONField(default=dict)
    is_public = models.BooleanField(default=False)
    is_open = models.BooleanField(default=False)
    daily_limit = models.PositiveIntegerField(default=2)
    total_limit = models.PositiveIntegerField(default=50)
    options = models.JSONField(default=dict)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="leaderboard")

    class Meta:
        db_table = "curation_leaderboard"  # all tables keep their names from an earlier release
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.title


class LeaderboardTeam(CreatedByModel):
    """A team. ``token_sha256`` is the hash of its key, which is shown once and never stored."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.PROTECT, related_name="teams")
    name = models.CharField(max_length=60)
    token_sha256 = models.CharField(max_length=64, unique=True)
    is_active = models.BooleanField(default=True)

    class Meta:
        db_table = "curation_leaderboardteam"
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "name"], name="team_name_once_per_leaderboard"),
        ]

    def __str__(self) -> str:
        return self.name


class WrongKey(models.Model):
    """An attempt with a wrong key. ``address`` is a keyed hash of the client's address. Rows are kept for minutes."""

    address = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "curation_wrongkey"
        indexes = [models.Index(fields=["address", "at"], name="wrong_keys_of_address")]


class LeaderboardEntry(models.Model):
    """A team's submission. ``sha256`` is the hash of the zip: a team that sends a zip again gets the same entry.

    ``figures`` are described at ``curation.evaluation.figures``. ``defect`` states in one line why it was refused.
    """

    team = models.ForeignKey(LeaderboardTeam, on_delete=models.PROTECT, related_name="entries")
    model = models.CharField(max_length=80)
    description = models.CharField(max_length=400, blank=True)
    url = models.URLField(blank=True)
    file_name = models.CharField(max_length=120)
    path = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=8, default=EntryState.QUEUED)
    figures = models.JSONField(default=dict)
    defect = models.CharField(max_length=1000, blank=True)
    is_hidden = models.BooleanField(default=False)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="leaderboard_entry")
    created_at = models.DateTimeField(auto_now_add=True)
    scored_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "curation_leaderboardentry"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "sha256"], name="entry_once_per_team"),
            models.CheckConstraint(
                condition=Q(state__in=[s.value for s in EntryState]), name="entry_state_known"
            ),
        ]
        indexes = [
            # For a team's limits: its entries of the last 24 hours.
            models.Index(fields=["team", "created_at"], name="entry_limit"),
        ]

    def __str__(self) -> str:
        return f"{self.model} ({self.pk})"

    @property
    def is_withdrawn(self) -> bool:
        """Whether the team withdrew the entry."""
        return hasattr(self, "withdrawal")


class EntryWithdrawal(AppendOnly):
    """The withdrawal of an entry by its team. Members still see its figures, and it counts against the limits."""

    entry = models.OneToOneField(LeaderboardEntry, on_delete=models.PROTECT, related_name="withdrawal")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "curation_entrywithdrawal"
