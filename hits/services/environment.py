"""A batch stays on the marketplace of its launch, even if the settings change."""

from hits.models import Batch
from hits.mturk.port import Environment, Marketplace
from hits.services.errors import Refused


def refuse_other_environment_or_fees(batch: Batch, marketplace: Marketplace) -> None:
    """Refuse a batch whose marketplace or fees differ from those of its launch.

    A batch of the built-in marketplace has no typed cost, so it must never reach a marketplace with real money.

    Raises:
        Refused: ``MTURK_ENDPOINT`` or ``MARKETPLACE_FEE_SCHEDULE`` has changed since the launch.
    """
    environment = marketplace.environment
    refuse_other_environment(batch, environment)
    # Compare the rates, since a schedule may change and keep its name.
    launch_fees = batch.fees
    if environment.fees.rates_text != launch_fees.rates_text:
        names = (
            (environment.fees.name, launch_fees.name)
            if environment.fees.name != launch_fees.name
            else (environment.fees.name_and_rates, launch_fees.name_and_rates)
        )
        raise Refused(
            f"{batch.name} was launched with the fees of {names[1]!r}, but the fees of {names[0]!r} are set now: "
            f"set the fees of {names[1]!r} again to continue this batch"
        )


def refuse_other_environment(batch: Batch, environment: Environment) -> None:
    """Refuse a batch that was launched on another marketplace than ``environment``; fees may differ.

    Raises:
        Refused: ``MTURK_ENDPOINT`` has changed since the launch.
    """
    if environment.name != batch.environment:
        raise Refused(
            f"{batch.name} was launched on the marketplace {batch.environment}, but MTURK_ENDPOINT now names "
            f"{environment.name}: set MTURK_ENDPOINT back to continue this batch"
        )
