"""``manage.py top_up BATCH``."""

from argparse import ArgumentParser
from typing import Any

from hits.domain.money.usd import format_dollars
from hits.management.base import BatchCommand, input_error
from hits.management.lookups import find_batch
from hits.models import Batch, TopUp
from hits.mturk.boto import marketplace
from hits.selectors.money.top_ups import TopUpProposal, propose_top_up
from hits.services.batches.top_up import settle_top_up, top_up_batch
from hits.services.jobs import jobs
from hits.services.outbox.outbox import SettleCounts


class Command(BatchCommand):
    """Raise the pay of each approved submission below the hourly target to the target."""

    help = "Top up a batch's approved submissions to the hourly target."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--target-cents", type=int, metavar="N", help="target per hour, in cents; default: the project's"
        )
        parser.add_argument(
            "--confirm-cents",
            type=int,
            metavar="N",
            help="confirm the total in cents with fees; needed only if the command stops and asks for it",
        )
        parser.add_argument("--dry-run", action="store_true", help="print the proposal and pay nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Propose, decide, pay."""
        batch = find_batch(options["batch"])
        target = options["target_cents"]
        if target is not None and target < 1:
            raise input_error(f"--target-cents {target}: use one cent an hour or more")
        if options["dry_run"]:
            self._print_result(options, batch, _sums_json(propose_top_up(batch, target)) | {"dry_run": True})
            return
        top_up, job = top_up_batch(
            batch=batch,
            by=None,
            marketplace=marketplace(),
            confirmed_cents=options["confirm_cents"],
            target_cents_per_hour=target,
        )
        settled = _run_top_up_job(top_up, job.pk)
        self._print_result(options, batch, _result_json(top_up, settled))
        if settled.refused or settled.outstanding:
            raise input_error(
                f"batch {batch.pk}: {settled.refused} top-ups were refused, {settled.outstanding} are outstanding; "
                "the batch's top-up page shows why, and the background worker retries what it can"
            )

    def _print_result(self, options: dict[str, Any], batch: Batch, result: dict[str, Any]) -> None:
        verb = "would get" if "dry_run" in result else "got"
        self.report(
            options,
            {"batch": batch.pk} | result,
            f"{result['submissions']} submissions {verb} {format_dollars(result['cents'])} in total "
            f"(plus {format_dollars(result['fee_cents'])} in fees), to reach "
            f"{format_dollars(result['target_cents_per_hour'])} an hour",
        )


def _run_top_up_job(top_up: TopUp, job_id: int) -> SettleCounts:
    """Run the job here unless a worker process has claimed it, and return the counts."""
    with jobs.leased_job(job_id) as progress:
        if progress is not None:
            settle_top_up(top_up=top_up, marketplace=marketplace(), progress=progress)
    states = list(top_up.calls.values_list("state", flat=True))
    refused, done = states.count("refused"), states.count("done")
    return SettleCounts(done=done, refused=refused, outstanding=len(states) - refused - done)


def _sums_json(source: TopUpProposal | TopUp) -> dict[str, Any]:
    count = source.submissions if isinstance(source, TopUp) else source.submission_count
    sums = {"cents": source.cents, "fee_cents": source.fee_cents}
    return {"target_cents_per_hour": source.target_cents_per_hour, "submissions": count, **sums}


def _result_json(top_up: TopUp, settled: SettleCounts) -> dict[str, Any]:
    return {
        "top_up": top_up.pk,
        **_sums_json(top_up),
        "paid": settled.done,
        "refused": settled.refused,
        "outstanding": settled.outstanding,
    }
