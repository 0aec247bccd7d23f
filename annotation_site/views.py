"""The front door."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render

from hits.selectors.roles import projects_of


@login_not_required
def home(request: HttpRequest) -> HttpResponse:
    """Show what this is to a stranger; take everybody else to their work."""
    if not request.user.is_authenticated:
        return render(request, "welcome.html")
    if projects_of(request.user).exists() or request.user.is_superuser:
        return redirect("projects")
    return redirect("marketplace:work")


def health(request: HttpRequest) -> HttpResponse:
    """Answer that the web process is up."""
    return JsonResponse({"ok": True})
