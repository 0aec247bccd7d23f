"""URLs of the pages about judging and workers."""

from django.urls import path

from validation.api.report import JudgingReportView
from validation.views import (
    decisions,
    gold,
    grading,
    judging,
    localization,
    planner,
    report,
    review_round,
    rounds,
    texts,
    training,
    units,
    worker_rules,
    workers,
)

urlpatterns = [
    path("projects/<slug:slug>/launch/units", units.units_new, name="units-new"),
    path("projects/<slug:slug>/launch/units/example", units.units_example, name="units-example"),
    path("projects/<slug:slug>/judging/", judging.judging, name="judging"),
    path("projects/<slug:slug>/judging/review/", review_round.review_new, name="review-new"),
    path("projects/<slug:slug>/judging/ratings/<int:batch_id>/", judging.ratings, name="judging-ratings"),
    path("projects/<slug:slug>/judging/localization/", localization.localization, name="localization"),
    path("projects/<slug:slug>/applicants/", rounds.round_list, name="applicants"),
    path("projects/<slug:slug>/applicants/qualify", rounds.qualification_new, name="qualification-new"),
    path("projects/<slug:slug>/applicants/train", rounds.training_new, name="training-new"),
    path(
        "projects/<slug:slug>/applicants/<int:round_id>/",
        rounds.qualification_round,
        name="qualification-round",
    ),
    path(
        "projects/<slug:slug>/applicants/<int:round_id>/answer",
        rounds.answer_round,
        name="answer-applicants",
    ),
    path("projects/<slug:slug>/applicants/<int:round_id>/grading", grading.grading, name="grading"),
    path("projects/<slug:slug>/applicants/<int:round_id>/grades", grading.grades_save, name="grades"),
    path("projects/<slug:slug>/workers/", workers.worker_list, name="workers"),
    path("projects/<slug:slug>/workers/<int:worker_id>/", workers.worker_detail, name="worker-detail"),
    path(
        "projects/<slug:slug>/workers/<int:worker_id>/standing",
        workers.worker_status_change,
        name="worker-status",
    ),
    path("projects/<slug:slug>/workers/<int:worker_id>/forget", workers.worker_forget, name="worker-forget"),
    path("projects/<slug:slug>/training/", training.training_queue, name="training-queue"),
    path(
        "projects/<slug:slug>/training/<int:assignment_id>", training.training_answer, name="training-answer"
    ),
    path("projects/<slug:slug>/gold/", gold.gold, name="gold"),
    path("projects/<slug:slug>/gold/choose", gold.gold_choose, name="gold-choose"),
    path("projects/<slug:slug>/gold/new", gold.gold_new, name="gold-new"),
    path("projects/<slug:slug>/gold/<int:gold_id>/", gold.gold_edit, name="gold-edit"),
    path("projects/<slug:slug>/gold/<int:gold_id>/switch", gold.gold_switch, name="gold-switch"),
    path("projects/<slug:slug>/rules/", worker_rules.rule_list, name="worker-rules"),
    path("projects/<slug:slug>/rules/new", worker_rules.rule_edit, name="rule-new"),
    path("projects/<slug:slug>/rules/look", worker_rules.rules_apply, name="rules-apply"),
    path("projects/<slug:slug>/rules/<int:rule_id>/", worker_rules.rule_edit, name="rule-edit"),
    path("projects/<slug:slug>/rules/<int:rule_id>/switch", worker_rules.rule_switch, name="rule-switch"),
    path(
        "projects/<slug:slug>/proposals/<int:proposal_id>",
        worker_rules.proposal_decide,
        name="proposal-decide",
    ),
    path("projects/<slug:slug>/judging/report/", report.judging_report, name="judging-report"),
    path("projects/<slug:slug>/judging/report/compute", report.report_compute, name="judging-report-compute"),
    path("projects/<slug:slug>/judging/report/rows", report.rows_create, name="judging-rows"),
    path(
        "projects/<slug:slug>/judging/report/rows/<slug:kind>/<str:name>",
        report.rows_file,
        name="judging-rows-file",
    ),
    path(
        "projects/<slug:slug>/judging/texts/<slug:kind>/<slug:dimension>/",
        texts.judging_texts,
        name="judging-texts",
    ),
    path(
        "projects/<slug:slug>/judging/report/items/<slug:kind>/<str:key>/",
        report.judging_item,
        name="judging-item",
    ),
    path(
        "api/projects/<slug:slug>/judging/<slug:kind>/report/",
        JudgingReportView.as_view(),
        name="api-judging-report",
    ),
    path("projects/<slug:slug>/judging/decisions/", decisions.decisions, name="decisions"),
    path(
        "projects/<slug:slug>/judging/decisions/<int:run_id>.csv",
        decisions.decision_file,
        name="decision-file",
    ),
    path("projects/<slug:slug>/judging/ask/<int:round_id>/", decisions.follow_up, name="follow-up"),
    path("projects/<slug:slug>/judging/planner/", planner.planner, name="planner"),
]
