"""Actions of a question set's audit panel: audit it again, and write why it is used although it is over a limit."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from curation.services.choice_audits import request_choice_audits, waive_audits
from curation.views.questions.sets import get_question_set
from hits.models import Project
from hits.views.access import project_page
from hits.views.pages import action_messages
from hits.views.users import signed_in_user


@require_POST
@project_page()
def start_audits(request: HttpRequest, project: Project, set_id: int) -> HttpResponse:
    """Queue the audits of a set."""
    found = get_question_set(project, set_id)
    with action_messages(
        request, "Not started", "The audits are queued; the panel shows them when they are done."
    ):
        request_choice_audits(question_set=found, by=signed_in_user(request))
    return redirect("question-set", project.slug, found.pk)


@require_POST
@project_page()
def waive(request: HttpRequest, project: Project, set_id: int) -> HttpResponse:
    """Store why a set over a limit is used anyway."""
    found = get_question_set(project, set_id)
    with action_messages(request, "Not stored", f"{found.name} can be launched; its page shows the reason."):
        waive_audits(question_set=found, reason=request.POST.get("reason", ""), by=signed_in_user(request))
    return redirect("question-set", project.slug, found.pk)
