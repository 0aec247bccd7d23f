"""A project's settings for image triplets: readers, domains, targets, prices and licences."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from curation.models import ModelRun, RunPurpose, TripletSettings
from curation.selectors.triplets.settings import triplet_settings
from curation.services.triplets.settings import change_settings
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.settings_forms import (
    DomainsForm,
    LicencesForm,
    PricesForm,
    ReadersForm,
    SettingsForm,
    TargetsForm,
    UnknownLicenceForm,
)
from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import visitor_has_role
from hits.services.errors import Refused
from hits.views.pages import get_or_404
from hits.views.users import signed_in_user

TAB = "settings"
_SAVED = {
    ReadersForm.part: "Readers and answers are saved.",
    DomainsForm.part: "The domains are saved; tasks that are launched from now on offer them.",
    TargetsForm.part: "The targets are saved.",
    PricesForm.part: "The price table is saved.",
    LicencesForm.part: "The licences are saved.",
    UnknownLicenceForm.part: "The rule about unknown licences is saved.",
}


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def triplet_settings_page(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the settings; change one part of them."""
    row = triplet_settings(project)
    part = request.POST.get("part", "") if request.method == "POST" else ""
    forms = _build_forms(request, project, row, part)
    if request.method == "POST":
        form = get_or_404(forms.get(part))
        if part == UnknownLicenceForm.part and not visitor_has_role(request, project, Role.ADMIN):
            raise PermissionDenied("Only admins of a project allow images of unknown licence.")
        if form.is_valid():
            try:
                change_settings(project=project, change=form.change, by=signed_in_user(request))
            except Refused as error:
                form.add_refusal(error)
            else:
                messages.success(request, _SAVED[part])
                return redirect(f"{reverse('triplet-settings', args=[project.slug])}#{part}")
    context = tab_context(project, TAB, "triplets") | {
        "forms": forms,
        "row": row,
        "is_admin": visitor_has_role(request, project, Role.ADMIN),
        "invalid": part if request.method == "POST" else "",
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "curation/triplets/settings/settings.html", context, status=status)


def _build_forms(
    request: HttpRequest, project: Project, row: TripletSettings, part: str
) -> dict[str, SettingsForm]:
    """Return the forms by part; the posted one has its values."""

    def posted(name: str) -> object:
        return request.POST if name == part else None

    runs = ModelRun.objects.filter(project=project, purpose=RunPurpose.IMAGES)
    used = list(runs.order_by().values_list("generator", flat=True).distinct())
    plain = (ReadersForm, DomainsForm, TargetsForm, PricesForm, UnknownLicenceForm)
    found: dict[str, SettingsForm] = {form.part: form(row, posted(form.part)) for form in plain}
    return found | {LicencesForm.part: LicencesForm(row, used, posted(LicencesForm.part))}
