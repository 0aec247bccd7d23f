"""Addresses of judging pages."""

from django.urls import path

from validation.views import grading, judging, proposals, rounds, training, workers

urlpatterns = [
    path("projects/<slug:slug>/judging/", judging.judging, name="judging"),
    path("projects/<slug:slug>/applicants/", rounds.applicants, name="applicants"),
    path("projects/<slug:slug>/applicants/qualify", rounds.qualification_new, name="qualification-new"),
    path("projects/<slug:slug>/applicants/train", rounds.training_new, name="training-new"),
    path(
        "projects/<slug:slug>/applicants/<int:round_id>/",
        rounds.qualification_round,
        name="qualification-round",
    ),
    path("projects/<slug:slug>/applicants/<int:round_id>/answer", rounds.answer, name="answer-applicants"),
    path("projects/<slug:slug>/applicants/<int:round_id>/grading", grading.grading, name="grading"),
    path("projects/<slug:slug>/applicants/<int:round_id>/grades", grading.grades, name="grades"),
    path("projects/<slug:slug>/workers/", workers.worker_list, name="workers"),
    path("projects/<slug:slug>/workers/<int:worker_id>/", workers.worker_detail, name="worker-detail"),
    path(
        "projects/<slug:slug>/workers/<int:worker_id>/standing",
        workers.worker_standing,
        name="worker-standing",
    ),
    path("projects/<slug:slug>/workers/<int:worker_id>/forget", workers.worker_forget, name="worker-forget"),
    path("projects/<slug:slug>/training/", training.training_desk, name="training-desk"),
    path(
        "projects/<slug:slug>/training/<int:assignment_id>", training.training_answer, name="training-answer"
    ),
    path("projects/<slug:slug>/rules/", proposals.rule_list, name="standing-rules"),
    path("projects/<slug:slug>/rules/new", proposals.rule_edit, name="rule-new"),
    path("projects/<slug:slug>/rules/look", proposals.rules_look, name="rules-look"),
    path("projects/<slug:slug>/rules/<int:rule_id>/", proposals.rule_edit, name="rule-edit"),
    path("projects/<slug:slug>/rules/<int:rule_id>/switch", proposals.rule_switch, name="rule-switch"),
    path(
        "projects/<slug:slug>/proposals/<int:proposal_id>", proposals.proposal_decide, name="proposal-decide"
    ),
]
