"""Launch a round about image triplets from a page: the form, its cost, the launch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from curation.services.triplets.round_launch import RoundLaunch
from curation.views.fields import integer_field
from curation.views.pages import tab_context
from hits.domain.workers.qualification_pools import Pool
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Batch, Project
from hits.selectors.console import BatchProgress, progress_by_batch
from hits.views.batches.launch import find_repeated_launch, report_launch
from hits.views.costs import add_balance_to_terms, launch_if_confirmed
from hits.views.users import signed_in_user
from validation.domain.judging.quality_check_types import MAX_PERCENT, CheckRates
from validation.services.judging import default_pool
from validation.views.judging_forms import RoundTermsForm

ROUNDS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class LaunchPage:
    """A launch page in words.

    back: the page that it belongs to, as the name of its address and its label. facts: what the round asks. blocked:
    what is missing and how to get it, if nothing can be launched. switches: other rounds of the page, each as the
    ``shape`` of its address, its label, and whether it is the current one. seconds: that a task usually takes, if it
    is not what the kind expects; the form's reward then stands.
    """

    tab: str
    back: tuple[str, str]
    title: str
    about: str
    tasks: str
    facts: tuple[str, ...] = ()
    blocked: tuple[str, str] | None = None
    switches: tuple[tuple[str, str, bool], ...] = ()
    seconds: int | None = None


class TripletRoundForm(RoundTermsForm):
    """The terms of a round, in its own words. ``own_fields`` are what it asks besides."""

    own_fields: tuple[str, ...] = ()

    def __init__(
        self,
        project: Project,
        kind_name: str,
        item: str,
        *args: Any,
        who: str = "Who can judge",
        **kwargs: Any,
    ) -> None:
        pool: Pool | None = default_pool(project)
        super().__init__(kind_name, *args, default_pool=pool, **kwargs)
        self.fields["reward"].help_text = f"US dollars per {item}."
        self.fields["assignments"].label = f"Workers per {item}"
        self.fields["pool"].label = who
        self.fields["pool"].widget = forms.Select({"class": "input"}, self.fields["pool"].choices)  # type: ignore[attr-defined]

    @property
    def own_inputs(self) -> list[forms.BoundField]:
        """The fields besides the terms, without boxes to tick."""
        return [field for field in self._own() if not isinstance(field.field, forms.BooleanField)]

    @property
    def own_ticks(self) -> list[forms.BoundField]:
        """The boxes to tick."""
        return [field for field in self._own() if isinstance(field.field, forms.BooleanField)]

    def _own(self) -> list[forms.BoundField]:
        return [self[name] for name in self.own_fields if name in self.fields]

    @property
    def rates(self) -> CheckRates:
        """The rates of quality checks; the form must be valid."""
        data = self.cleaned_data
        return CheckRates(gold=data.get("gold") or 0, attention=data.get("attention") or 0)


def percent_field(label: str, help_text: str) -> forms.IntegerField:
    """Return a field for the share of a quality check."""
    return integer_field(label, help_text, low=0, high=MAX_PERCENT, required=False, initial=0)


def launch_in_steps(
    request: HttpRequest,
    project: Project,
    form: TripletRoundForm,
    launch: Callable[[RoundLaunch], Batch],
    units: Callable[[], int],
    page: LaunchPage,
) -> HttpResponse:
    """Show the form, then its cost, then launch. ``units`` counts those of a valid form, without quality checks."""
    repeated = find_repeated_launch(request, project)
    if repeated is not None:
        return redirect("batch-detail", repeated.pk)
    if page.seconds is None:
        suggest_reward(form, project=project, kind=form.kind)

    def launch_round() -> str:
        batch = launch(
            RoundLaunch(
                by=signed_in_user(request),
                name=form.cleaned_data["name"],
                terms=add_balance_to_terms(form.terms),
                rates=form.rates,
                idempotency_key=read_idempotency_key(request.POST),
            )
        )
        report_launch(request, batch, page.tasks)
        return reverse("batch-detail", args=[batch.pk])

    extra: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change" and page.blocked is None:
        if form.is_valid():
            refusal = launch_if_confirmed(request, launch_round)
            if isinstance(refusal, HttpResponse):
                return refusal
            own = units()
            extra = form.confirm_context(project, own + form.rates.total(own)) | refusal
        status = 200 if form.is_valid() and not extra.get("refused") else 400
    context = tab_context(project, page.tab, "triplets") | {"form": form, "kind": form.kind, "page": page}
    return render(request, "curation/triplets/rounds/launch.html", context | extra, status=status)


def list_rounds(project: Project, *kinds: str) -> list[tuple[Batch, BatchProgress]]:
    """Return the newest batches of kinds with their progress; a constant number of queries."""
    rows = Batch.objects.filter(project=project, kind__in=kinds).order_by("-pk")[:ROUNDS_SHOWN]
    progress = progress_by_batch(rows)
    return [(batch, progress[batch.pk]) for batch in rows]
