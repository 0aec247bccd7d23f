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
    work_reviews,
    worker_rules,
    workers,
)

_PROJECT = "projects/<slug:slug>/"
_APPLICANTS = f"{_PROJECT}applicants/"
_ROUND = f"{_APPLICANTS}<int:round_id>/"
_WORKER = f"{_PROJECT}workers/<int:worker_id>/"
_GOLD = f"{_PROJECT}gold/"
_RULES = f"{_PROJECT}rules/"
_JUDGING = f"{_PROJECT}judging/"
_REPORT = f"{_JUDGING}report/"
_WORK_REVIEW = f"{_JUDGING}work-review/"

urlpatterns = [
    path(f"{_PROJECT}launch/units", units.units_new, name="units-new"),
    path(f"{_PROJECT}launch/units/example", units.units_example, name="units-example"),
    path(_JUDGING, judging.judging, name="judging"),
    path(f"{_JUDGING}review/", review_round.review_new, name="review-new"),
    path(f"{_JUDGING}ratings/<int:batch_id>/", judging.ratings, name="judging-ratings"),
    path(f"{_JUDGING}localization/", localization.localization, name="localization"),
    path(_APPLICANTS, rounds.round_list, name="applicants"),
    path(f"{_APPLICANTS}qualify", rounds.qualification_new, name="qualification-new"),
    path(f"{_APPLICANTS}train", rounds.training_new, name="training-new"),
    path(_ROUND, rounds.qualification_round, name="qualification-round"),
    path(f"{_ROUND}answer", rounds.applicants_decide, name="answer-applicants"),
    path(f"{_ROUND}grading", grading.grading, name="grading"),
    path(f"{_ROUND}grades", grading.grades_save, name="grades"),
    path(f"{_PROJECT}workers/", workers.worker_list, name="workers"),
    path(_WORKER, workers.worker_detail, name="worker-detail"),
    path(f"{_WORKER}standing", workers.worker_status_change, name="worker-status"),
    path(f"{_WORKER}forget", workers.optional_answers_delete, name="worker-forget"),
    path(f"{_PROJECT}training/", training.training_queue, name="training-queue"),
    path(f"{_PROJECT}training/<int:assignment_id>", training.training_feedback_save, name="training-answer"),
    path(_GOLD, gold.gold, name="gold"),
    path(f"{_GOLD}choose", gold.gold_choose, name="gold-choose"),
    path(f"{_GOLD}new", gold.gold_new, name="gold-new"),
    path(f"{_GOLD}<int:gold_id>/", gold.gold_edit, name="gold-edit"),
    path(f"{_GOLD}<int:gold_id>/switch", gold.gold_item_set_active, name="gold-switch"),
    path(_RULES, worker_rules.rule_list, name="worker-rules"),
    path(f"{_RULES}new", worker_rules.rule_edit, name="rule-new"),
    path(f"{_RULES}look", worker_rules.rules_apply, name="rules-apply"),
    path(f"{_RULES}<int:rule_id>/", worker_rules.rule_edit, name="rule-edit"),
    path(f"{_RULES}<int:rule_id>/switch", worker_rules.rule_set_active, name="rule-switch"),
    path(f"{_PROJECT}proposals/<int:proposal_id>", worker_rules.proposal_decide, name="proposal-decide"),
    path(_REPORT, report.judging_report, name="judging-report"),
    path(f"{_REPORT}compute", report.report_compute, name="judging-report-compute"),
    path(f"{_REPORT}rows", report.rater_rows_create, name="judging-rows"),
    path(f"{_REPORT}rows/<slug:kind>/<str:name>", report.rater_rows_file, name="judging-rows-file"),
    path(f"{_JUDGING}texts/<slug:kind>/<slug:dimension>/", texts.judge_text_list, name="judging-texts"),
    path(f"{_REPORT}items/<slug:kind>/<str:key>/", report.judging_item, name="judging-item"),
    path(
        "api/projects/<slug:slug>/judging/<slug:kind>/report/",
        JudgingReportView.as_view(),
        name="api-judging-report",
    ),
    path(f"{_JUDGING}decisions/", decisions.decisions, name="decisions"),
    path(f"{_JUDGING}decisions/<int:run_id>.csv", decisions.decision_file, name="decision-file"),
    path(f"{_JUDGING}ask/<int:round_id>/", decisions.follow_up, name="follow-up"),
    path(f"{_JUDGING}planner/", planner.planner, name="planner"),
    path(_WORK_REVIEW, work_reviews.work_review, name="work-review"),
    path(f"{_WORK_REVIEW}reviewers", work_reviews.reviewer_set, name="reviewer-set"),
    path(f"{_WORK_REVIEW}digests/", work_reviews.digests, name="work-digests"),
    path(
        f"{_WORK_REVIEW}digests/<int:worker_id>/<int:window>",
        work_reviews.digest_send,
        name="digest-send",
    ),
]
