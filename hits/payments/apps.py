"""App configuration."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    """Ledger of what projects hold and have paid."""

    name = "hits.payments"
    label = "payments"
