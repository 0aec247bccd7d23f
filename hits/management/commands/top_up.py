"""``manage.py top_up BATCH``."""

from argparse import ArgumentParser
from typing import Any

from hits.domain.money.usd import format_dollars
from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.rows import batch_numbered
from hits.models import Batch, TopUp
from hits.mturk.boto import marketplace
from hits.selectors.money.top_ups import Proposal, proposal_for
from hits.services.batches.top_up import settle_top_up, top_up_batch
from hits.services.jobs import jobs
from hits.services.outbox.outbox import Settled


class Command(DeerstalkerCommand):
    """Lift a batch's approved work that paid less than the target up to it, each submission by its own gap."""

    help = "Top up what a batch paid per hour of active time to the target."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)
        parser.add_argument("--target-cents", type=int, metavar="N", help="an hour; default: the project's")
        parser.add_argument(
            "--confirm-cents", type=int, metavar="N", help="the sum with fees, when it is asked for"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what it would come to, and pay nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Propose, decide, pay."""
        batch = batch_numbered(options["batch"])
        target = options["target_cents"]
        if target is not None and target < 1:
            raise bad_input(f"--target-cents {target}: use one cent an hour or more")
        if options["dry_run"]:
            self._say(options, batch, _planned(proposal_for(batch, target)) | {"dry_run": True})
            return
        top_up, job = top_up_batch(
            batch=batch,
            by=None,
            marketplace=marketplace(),
            confirmed_cents=options["confirm_cents"],
            target_cents_per_hour=target,
        )
        settled = _pay(top_up, job.pk)
        self._say(options, batch, _decided(top_up, settled))
        if settled.refused or settled.outstanding:
            raise bad_input(
                f"batch {batch.pk}: {settled.refused} top-ups were refused, {settled.outstanding} are outstanding; "
                "the batch's top-up page says why, and the background worker repeats what may be repeated"
            )

    def _say(self, options: dict[str, Any], batch: Batch, result: dict[str, Any]) -> None:
        if options["json"]:
            emit_json(self, {"batch": batch.pk} | result)
            return
        done = "would get" if "dry_run" in result else "got"
        self.stdout.write(
            f"{result['submissions']} submissions {done} {format_dollars(result['cents'])} "
            f"(fees {format_dollars(result['fee_cents'])}) up to "
            f"{format_dollars(result['target_cents_per_hour'])} an hour"
        )


def _pay(top_up: TopUp, job_id: int) -> Settled:
    """Do the job here; a worker that was faster has done it, and its result is as good."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            settle_top_up(top_up=top_up, marketplace=marketplace(), progress=progress)
    states = list(top_up.calls.values_list("state", flat=True))
    refused, done = states.count("refused"), states.count("done")
    return Settled(done=done, refused=refused, outstanding=len(states) - refused - done)


def _planned(proposal: Proposal) -> dict[str, Any]:
    return {
        "target_cents_per_hour": proposal.target_cents_per_hour,
        "submissions": proposal.submissions,
        "cents": proposal.cents,
        "fee_cents": proposal.fee_cents,
    }


def _decided(top_up: TopUp, settled: Settled) -> dict[str, Any]:
    return {
        "top_up": top_up.pk,
        "target_cents_per_hour": top_up.target_cents_per_hour,
        "submissions": top_up.submissions,
        "cents": top_up.cents,
        "fee_cents": top_up.fee_cents,
        "paid": settled.done,
        "refused": settled.refused,
        "outstanding": settled.outstanding,
    }
