"""A batch stays on the marketplace that it was launched on, whatever the settings say by now."""

from hits.models import Batch
from hits.mturk.port import Environment, Marketplace
from hits.services.errors import Refused


def refuse_other_marketplace(batch: Batch, marketplace: Marketplace) -> None:
    """Refuse to take a batch to another marketplace, or to other fees, than those it was launched for.

    A batch launched on the built-in marketplace has no typed cost: it must never reach one where money is
    real, however its publication is resumed.

    Raises:
        Refused: ``MTURK_ENDPOINT`` or ``MARKETPLACE_FEE_SCHEDULE`` was changed since the launch.
    """
    now = marketplace.environment
    refuse_other_environment(batch, now)
    # By their rates: a schedule may have changed since the launch and kept its name.
    then = batch.fees
    if now.fees.rates != then.rates:
        words = (now.fees.name, then.name) if now.fees.name != then.name else (now.fees.spec, then.spec)
        raise Refused(
            f"{batch.name} was launched with the fees of {words[1]!r}, and now those of "
            f"{words[0]!r} are set: set them back to go on with this batch"
        )


def refuse_other_environment(batch: Batch, now: Environment) -> None:
    """Refuse a batch that was launched on another marketplace than ``now``, whatever its fees.

    Raises:
        Refused: ``MTURK_ENDPOINT`` was changed since the launch.
    """
    if now.name != batch.environment:
        raise Refused(
            f"{batch.name} was launched on the marketplace {batch.environment}, and MTURK_ENDPOINT now means "
            f"{now.name}: set it back to go on with this batch"
        )
