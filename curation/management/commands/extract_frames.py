"""``manage.py extract_frames CLIP_OR_FOLDER --project P --licence L --source S [--movie M] [--every 1|frame]``."""

from argparse import ArgumentParser
from typing import Any

from curation.records import InvalidInput
from curation.selectors.jobs import EXTRACT_FRAMES
from curation.services.frames import ExtractionSpec, request_extraction
from curation.video.shots import DEFAULT_EVERY, DEFAULT_THRESHOLD, parse_every
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_path, job_facts
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Find the shots of film clips, and store the middle frame of each as a photo of the project."""

    help = "Find the shots of film clips, and store the middle frame of each as a photo of the project."
    tasks = (EXTRACT_FRAMES,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add(
            "path",
            type=absolute_path,
            nargs="?",
            default="",
            metavar="CLIP_OR_FOLDER",
            help="a clip, or a folder",
        )
        add("--project", default="", help="the project's short name")
        add(
            "--licence",
            default="",
            help="licence of the clips; stored with every frame; required",
        )
        add(
            "--source",
            dest="origin",
            default="",
            help="where the clips come from; stored with every frame; required",
        )
        add(
            "--movie",
            default="",
            help="the film of all clips; default: by LSMDC's names, or the folders below FOLDER",
        )
        every_help = "seconds between compared frames, or frame to compare every frame; default: 1"
        add("--every", type=str, default=f"{DEFAULT_EVERY:g}", help=every_help)
        threshold_help = f"mean difference in HSV that starts a new shot; default: {DEFAULT_THRESHOLD:g}"
        add("--threshold", type=float, default=DEFAULT_THRESHOLD, help=threshold_help)
        step_help = (
            "compare only every n-th row and column of pixels, which is faster for large films; default: 1"
        )
        add("--pixel-step", type=int, default=1, metavar="N", help=step_help)
        captions_help = (
            "LSMDC's file, an SRT or WebVTT file of the clip, or a folder of .srt, .vtt and .txt files"
        )
        add("--captions", type=absolute_path, default="", help=captions_help)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if not options["path"]:
            raise input_error("clips: give a clip or a folder of clips, or --resume JOB")
        try:
            every = parse_every(options["every"])
        except InvalidInput as error:
            raise input_error(f"--{error}") from error
        names = ("path", "licence", "origin", "movie", "threshold", "pixel_step", "captions")
        spec = ExtractionSpec(every=every, **{name: options[name] for name in names})
        return request_extraction(project=find_project(options["project"]), spec=spec, queue=queue)

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the counts."""
        result = job.result
        self.report(
            options,
            job_facts(job),
            f"{result['clips']} clips with {result['frames']} new frames; {result['known']} clips known already, "
            f"{result['repeated']} shots left out, because their picture is a frame already",
        )
