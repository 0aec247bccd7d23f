"""Request audits of shortcuts: how well models do without the image. A pipeline does the work."""

from dataclasses import asdict, dataclass, field

from django.contrib.auth.models import AbstractBaseUser

from curation.evaluation.shortcuts import Shortcut
from curation.models import DatasetVersion
from curation.selectors.jobs import SHORTCUTS
from curation.services.options import check_at_least
from curation.services.splits import check_split_has_pairs
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs


@dataclass(frozen=True, slots=True)
class ShortcutOptions:
    """The split to audit, the random seed, and ``which`` shortcuts to evaluate."""

    split: str
    seed: int = 0
    which: tuple[str, ...] = field(default=tuple(shortcut.value for shortcut in Shortcut))

    def __post_init__(self) -> None:
        check_at_least("seed", self.seed, 0)
        unknown = [shortcut for shortcut in self.which if shortcut not in set(Shortcut)]
        if unknown or not self.which:
            raise Refused(f"shortcuts: {', '.join(unknown) or 'none'}; use {', '.join(Shortcut)}")


def request_shortcuts(
    *, version: DatasetVersion, options: ShortcutOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Queue the audits of shortcuts; for ``queue`` see ``hits.services.jobs.jobs.enqueue``.

    Raises:
        Refused: the version is a draft, or the split has no pairs.
        Conflict: an audit of this version is running.
    """
    check_split_has_pairs(version, options.split)
    return jobs.enqueue(
        task=SHORTCUTS,
        title=f"Audit shortcuts in {version.name}",
        project=version.project,
        by=by,
        exclusive_key=f"shortcuts:{version.pk}",
        resumable=True,
        queue=queue,
        version=version.pk,
        options=asdict(options),
    )
