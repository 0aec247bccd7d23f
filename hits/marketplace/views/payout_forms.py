"""Forms for payouts and corrections."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

from django import forms

from hits.domain.money.usd import format_bare_usd
from hits.marketplace.models import Payout, Worker
from hits.marketplace.services import payout_file, payouts
from hits.marketplace.services.payouts import PayoutFieldError, Transfer

_FORM_FIELDS = {"date": "paid_on"}  # service field names that differ from the form's
_AMOUNT_FIELD = forms.CharField(
    max_length=16,
    label="Amount, US$",
    widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
)


@contextmanager
def _as_validation_error() -> Iterator[None]:
    try:
        yield
    except PayoutFieldError as error:
        raise forms.ValidationError(str(error)) from None


class _PayoutFormBase(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    def add_payout_error(self, error: PayoutFieldError) -> None:
        """Add a service's error to its field."""
        name = _FORM_FIELDS.get(error.field, error.field)
        self.add_error(name if name in self.fields else None, str(error))


class PayoutForm(_PayoutFormBase):
    """One payout to one worker."""

    amount = _AMOUNT_FIELD
    paid_on = forms.DateField(
        label="Day",
        help_text="The day of the payment.",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    means = forms.CharField(
        max_length=payouts.MAX_MEANS_LENGTH,
        label="Payment method",
        help_text="Such as bank transfer, gift card or cash.",
    )
    reference = forms.CharField(
        max_length=payouts.MAX_REFERENCE_LENGTH, label="Reference", help_text="The worker sees it."
    )

    def __init__(self, worker: Worker, owed_cents: int, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {"amount": format_bare_usd(owed_cents), "paid_on": payouts.today()})
        super().__init__(*args, **kwargs)
        self.worker = worker
        self.owed_cents = owed_cents

    # Each field is cleaned separately, so that all errors are shown together.

    def clean_amount(self) -> int:
        """Return the cents; at most the amount owed."""
        with _as_validation_error():
            cents = payouts.clean_cents(payout_file.parse_amount(self.cleaned_data["amount"]))
        if cents > self.owed_cents:
            raise forms.ValidationError(f"{format_bare_usd(self.owed_cents)} is owed; pay that or less.")
        return cents

    def clean_paid_on(self) -> date:
        """Return the day."""
        with _as_validation_error():
            return payouts.clean_day(self.cleaned_data["paid_on"])

    def clean_means(self) -> str:
        """Return the normalized payment method."""
        with _as_validation_error():
            return payouts.clean_payment_means(self.cleaned_data["means"])

    def clean_reference(self) -> str:
        """Return the normalized payment reference."""
        with _as_validation_error():
            return payouts.clean_reference(self.cleaned_data["reference"])

    @property
    def transfer(self) -> Transfer:
        """The payout of a valid form."""
        data = self.cleaned_data
        return Transfer(
            worker=self.worker,
            cents=data["amount"],
            paid_on=data["paid_on"],
            means=data["means"],
            reference=data["reference"],
        )


class CorrectionForm(_PayoutFormBase):
    """A change of the amount owed to a worker, after a payout was recorded wrongly."""

    sign = forms.ChoiceField(
        label="Change", choices=[("more", "Increase the amount owed"), ("less", "Decrease the amount owed")]
    )
    amount = _AMOUNT_FIELD
    reason = forms.CharField(
        max_length=payouts.MAX_REASON_LENGTH, label="Reason", help_text="The worker sees it."
    )
    payout = forms.ModelChoiceField(
        queryset=Payout.objects.none(),
        required=False,
        label="Payout to correct",
        empty_label="None",
    )

    def __init__(self, worker: Worker, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="correct_%s", **kwargs)
        payout_field: Any = self.fields["payout"]
        payout_field.queryset = Payout.objects.filter(worker=worker).order_by("-paid_on", "-pk")
        payout_field.label_from_instance = lambda row: (
            f"{row.paid_on:%-d %b %Y}, {row.means}, {row.reference}"
        )

    def clean_amount(self) -> str:
        """Set ``cents``, and return the amount as typed."""
        typed: str = self.cleaned_data["amount"]
        with _as_validation_error():
            self.cents = payout_file.parse_amount(typed)
        return typed

    @property
    def signed_cents(self) -> int:
        """The signed change of the amount owed, in cents, of a valid form."""
        return self.cents if self.cleaned_data["sign"] == "more" else -self.cents
