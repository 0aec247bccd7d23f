"""URLs of the marketplace: the requester API, externalSubmit, the worker site and the accounts pages."""

from django.urls import path, re_path
from django.views.generic import RedirectView

from .views import (
    accounts,
    api,
    declarations,
    messages,
    payouts,
    qualification_test,
    qualifications,
    question,
    statements,
    submit,
    tasks,
    work,
)

app_name = "marketplace"
urlpatterns = [
    path("mturk/", api.requester_api, name="requester-api"),
    path("mturk", api.requester_api),  # clients sign the path; a redirect would break the signature
    path("mturk/externalSubmit", submit.submit_signed_in, name="submit"),
    path("a/<str:secret>/mturk/externalSubmit", submit.submit_with_secret, name="submit-with-secret"),
    # Some pages add a slash too many between turkSubmitTo and the path, or at the end.
    re_path(r"^[/]*mturk/externalSubmit/?$", submit.submit_signed_in),
    re_path(r"^a/(?P<secret>[^/]+)/+mturk/externalSubmit/?$", submit.submit_with_secret),
    path("hit/question/<str:token>", question.show_question, name="question"),
    path("work/", work.work_list, name="work"),
    path("work/groups/<str:hit_type_id>/preview", work.preview, name="preview"),
    path("work/groups/<str:hit_type_id>/accept", work.accept, name="accept"),
    path("work/tasks/<str:assignment_id>", tasks.task, name="task"),
    path("work/tasks/<str:assignment_id>/answer", tasks.submit_form, name="answer"),
    path("work/tasks/<str:assignment_id>/return", tasks.return_task, name="return"),
    path("work/history", work.history, name="history"),
    path("work/earnings", work.earnings, name="earnings"),
    path("work/earnings/<int:year>/<int:month>", statements.worker_statement, name="statement"),
    path("work/earnings/<int:year>/<int:month>.csv", statements.worker_statement_csv, name="statement-csv"),
    path("work/qualifications", qualifications.qualifications, name="qualifications"),
    path("work/qualifications/<str:type_id>", qualification_test.qualification, name="qualification"),
    path("work/qualifications/<str:type_id>/ask", qualification_test.request_qualification, name="ask"),
    path("work/qualifications/<str:type_id>/test", qualification_test.take_test, name="qualification-test"),
    path("work/messages", messages.message_list, name="messages"),
    path("work/adult", declarations.declare_adult, name="adult"),
    path("work/country", qualifications.declare_country, name="country"),
    path("marketplace/accounts/", accounts.account_list, name="accounts"),
    path("marketplace/accounts/<int:requester_pk>/deposit", accounts.deposit, name="deposit"),
    path(
        "marketplace/accounts/<int:requester_pk>/statement",
        statements.requester_statement,
        name="requester-statement",
    ),
    path(
        "marketplace/accounts/<int:requester_pk>/statement.csv",
        statements.requester_statement_csv,
        name="requester-statement-csv",
    ),
    path("marketplace/payouts/", payouts.payout_list, name="payouts"),
    path("marketplace/payouts/owed.csv", payouts.owed_csv, name="owed-csv"),
    path("marketplace/payouts/import", payouts.import_payouts, name="payout-import"),
    path("marketplace/payouts/workers/<int:worker_pk>", payouts.worker_payouts, name="worker-payouts"),
    path(
        "marketplace/payouts/workers/<int:worker_pk>/correct", payouts.correct_balance, name="payout-correct"
    ),
    path("work", RedirectView.as_view(pattern_name="marketplace:work")),
]
