"""Write the stored replies of a chat model as a recording, which ``canned:FILE.jsonl`` repeats."""

from pathlib import Path

from curation.files import write_text
from curation.generation.canned import recorded_line
from curation.generation.chat import ChatReply, described_sha256
from curation.models import CallState, ModelCall, ModelRun, RunPurpose


def write_recording(run: ModelRun, path: Path) -> int:
    """Write every stored reply of a run's model in its project, one line for each request; return their number.

    Of equal requests, the first reply counts.

    Raises:
        OSError: the file cannot be written.
    """
    calls = ModelCall.objects.filter(
        project=run.project_id, run__generator=run.generator, state=CallState.SETTLED.value
    )
    lines: dict[str, str] = {}
    for call in calls.exclude(run__purpose=RunPurpose.IMAGES.value).order_by("pk").iterator(chunk_size=500):
        key = described_sha256(call.request)
        reply = ChatReply(text=call.text, finish=call.finish, model=call.model, usage=call.usage, raw=None)
        lines.setdefault(key, recorded_line(key, reply))
    write_text(path, (f"{line}\n" for line in lines.values()))
    return len(lines)
