"""Requesters with their access keys, and workers."""

from django.conf import settings
from django.db import models

from hits.marketplace.ids import new_worker_id

from .append_only import AppendOnly


class Requester(models.Model):
    """An account that publishes HITs. The two balances are the sums of its ledger entries."""

    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    available_cents = models.BigIntegerField(default=0)
    held_cents = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(available_cents__gte=0, held_cents__gte=0),
                name="marketplace_requester_never_in_debt",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AccessKey(models.Model):
    """The public half of a key pair. The secret half is derived at each use and not stored."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="access_keys")
    access_key_id = models.CharField(max_length=128, unique=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.access_key_id


class Worker(models.Model):
    """A person who works here. ``worker_id`` is a random pseudonym that only requesters see."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="marketplace_worker"
    )
    worker_id = models.CharField(max_length=64, unique=True, default=new_worker_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    country = models.CharField(max_length=2, blank=True)  # ISO 3166-1 alpha-2; blank until declared
    subdivision = models.CharField(max_length=3, blank=True)  # ISO 3166-2 without the country, such as "CA"
    country_declared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(country="", country_declared_at__isnull=True)
                | (~models.Q(country="") & models.Q(country_declared_at__isnull=False)),
                name="marketplace_country_has_its_time",
            ),
        ]

    def __str__(self) -> str:
        return f"worker {self.pk}"


class CountryDeclaration(AppendOnly):
    """One declaration of a worker: the history of ``Worker.country``."""

    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="country_declarations")
    country = models.CharField(max_length=2)
    subdivision = models.CharField(max_length=3, blank=True)
    at = models.DateTimeField()
