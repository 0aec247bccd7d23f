"""Addresses of the marketplace: the requester API, externalSubmit, the worker site, the accounts page."""

from __future__ import annotations

from django.urls import path
from django.views.generic import RedirectView

from .views import accounts, api, messages, qualifications, submit, tasks, work

app_name = "marketplace"
urlpatterns = [
    path("mturk/", api.requester_api, name="requester-api"),
    path("mturk", api.requester_api),  # clients sign the path they were given; a redirect would break them
    path("mturk/externalSubmit", submit.submit_signed_in, name="submit"),
    path("a/<str:secret>/mturk/externalSubmit", submit.submit_with_secret, name="submit-with-secret"),
    path("work/", work.work_list, name="work"),
    path("work/groups/<str:hit_type_id>/preview", work.preview, name="preview"),
    path("work/groups/<str:hit_type_id>/accept", work.accept, name="accept"),
    path("work/tasks/<str:assignment_id>", tasks.task, name="task"),
    path("work/tasks/<str:assignment_id>/return", tasks.return_task, name="return"),
    path("work/history", work.history, name="history"),
    path("work/earnings", work.earnings, name="earnings"),
    path("work/qualifications", qualifications.qualifications, name="qualifications"),
    path("work/messages", messages.messages, name="messages"),
    path("work/country", qualifications.declare_country, name="country"),
    path("marketplace/accounts/", accounts.account_list, name="accounts"),
    path("marketplace/accounts/<int:requester_pk>/deposit", accounts.deposit, name="deposit"),
    path("work", RedirectView.as_view(pattern_name="marketplace:work")),
]
