"""App configuration."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    """Ledger of the projects' holds and payments."""

    name = "hits.payments"
    label = "payments"
