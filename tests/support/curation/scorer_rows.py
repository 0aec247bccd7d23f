"""Scorers that are ready without having been trained: of random weights, and of made-up journals."""

from typing import Any

from curation.models import DatasetVersion, Scorer
from curation.scorer.config import TINY, TrainingConfig
from curation.selectors.scorers import scorer_folder, weights_folder
from curation.services.named_rows import mark_ready
from curation.services.scorers import request_training
from hits.domain.states import JobState
from hits.models import Job

SMALL = TrainingConfig(model=TINY, batch_size=4, epochs=2, warmup_steps=1, checkpoint_every=2, device="cpu")
LOSSES = "step,epoch,loss,learning_rate,scale,images_per_second\n"
VALIDATIONS = "step,loss,im2txt,txt2im,p_at_1,kept\n"


def asked(version: DatasetVersion, name: str = "first", **more: Any) -> Scorer:
    """Return a scorer whose training was asked for."""
    options: dict[str, Any] = {"config": SMALL, "by": None, "queue": False} | more
    return request_training(project=version.project, version=version, name=name, **options)


def write_journal(scorer: Scorer, steps: int, *, every: int = 10) -> None:
    """Write what a training of so many steps would have written: a loss that falls, a P@1 that rises."""
    folder = scorer_folder(scorer)
    folder.mkdir(parents=True, exist_ok=True)
    losses = [
        f"{n},{1 + n // 50},{4 / (1 + n / 40) + n % 3 / 10},{1e-5 * min(1, n / 20)},14.3,210.5\n"
        for n in range(1, steps + 1)
    ]
    places = range(every, steps + 1, every)
    validations = [f"{n},{3 - n / 100},{60 - n / 10},{61 - n / 10},{n / 10},1\n" for n in places]
    (folder / "losses.csv").write_text(LOSSES + "".join(losses))
    (folder / "validation.csv").write_text(VALIDATIONS + "".join(validations))


def ready(version: DatasetVersion, name: str = "first", *, weights: bool = False, **more: Any) -> Scorer:
    """Return a ready scorer with a journal of 120 steps; ``weights`` are random ones, saved as by training."""
    scorer = asked(version, name, **more)
    write_journal(scorer, 120)
    sha256 = "ab" * 32
    if weights:
        from curation.scorer.model.folder import save_scorer
        from curation.scorer.training.starting_weights import load_starting_model

        sha256 = save_scorer(weights_folder(scorer), load_starting_model(TINY))
    figures = {"steps": 120, "best_step": 110, "p_at_1": 31.25, "im2txt": 20.1, "txt2im": 21.5, "loss": 2.5}
    mark_ready(scorer, figures=figures, weights_sha256=sha256)
    Job.objects.filter(scorer=scorer).update(state=JobState.DONE, done=120, total=120)
    scorer.refresh_from_db()
    return scorer
