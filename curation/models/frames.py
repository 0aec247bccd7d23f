"""Film clips, and the frames that were taken from them."""

from django.db import models

from curation.records import MAX_MOVIE_LENGTH
from hits.models import Image, Job, Project
from hits.models.base import CreatedByModel


class AvoidedNames(models.Model):
    """The names that workers are advised not to use in texts about a film, such as those of its actors.

    An empty ``movie`` is for all photos of the project. Tasks take the names when they are launched.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="avoided_names")
    movie = models.CharField(max_length=MAX_MOVIE_LENGTH, blank=True)
    names = models.JSONField(default=list)

    class Meta:
        ordering = ["project", "movie"]
        constraints = [
            models.UniqueConstraint(fields=["project", "movie"], name="avoided_names_once_per_movie"),
        ]

    def __str__(self) -> str:
        return f"{self.movie or self.project}: {len(self.names)} names"


class Clip(CreatedByModel):
    """A film clip whose shots gave frames.

    ``movie`` names the film: all questions about a film belong to one fold. ``name`` is the clip's name within the
    film. ``licence`` and ``origin`` state by which right the frames are used and where the clip comes from.
    ``options`` are the rule by which shots were found; ``facts`` has the stream's size, frame rate, duration in
    seconds and the shots. A clip that is taken down has all of its frames taken down.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="clips")
    movie = models.CharField(max_length=MAX_MOVIE_LENGTH)
    name = models.CharField(max_length=200)
    file_sha256 = models.CharField(max_length=64)
    licence = models.CharField(max_length=120)
    origin = models.CharField(max_length=300)
    options = models.JSONField(default=dict)
    facts = models.JSONField(default=dict)
    is_complete = models.BooleanField(default=False)
    taken_down_at = models.DateTimeField(null=True)
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "movie", "name"], name="clip_name_once_per_movie"),
        ]

    def __str__(self) -> str:
        return f"{self.movie}/{self.name}"


class Frame(models.Model):
    """The middle frame of one shot. Times are seconds from the start of the clip; shots count from 0.

    ``captions`` are the texts that workers see beside the frame: the sentences before, at and after its time.
    """

    clip = models.ForeignKey(Clip, on_delete=models.CASCADE, related_name="frames")
    image = models.OneToOneField(Image, on_delete=models.CASCADE, related_name="frame")
    shot = models.PositiveIntegerField()
    time_seconds = models.FloatField()
    start_seconds = models.FloatField()
    end_seconds = models.FloatField()
    captions = models.JSONField(default=list)

    class Meta:
        ordering = ["clip", "shot"]
        constraints = [models.UniqueConstraint(fields=["clip", "shot"], name="frame_once_per_shot")]

    def __str__(self) -> str:
        return f"{self.clip_id}@{self.shot}"
