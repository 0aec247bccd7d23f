"""URLs of the HIT pages and of this app's console pages."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path, re_path

from hits.api import hit_page as api
from hits.api.hints import HintsView
from hits.api.jobs import JobView
from hits.views import image, images, instructions, jobs, money, pay, projects, review
from hits.views.batches import batches, extend, launch, reconcile, top_up
from hits.views.batches.results import batch_results, results_file, results_upload
from hits.views.batches.templates import project_templates, template_detail, template_document
from hits.views.notifications import receive_notification
from hits.views.task_pages.hit_page import hit_page
from hits.views.task_pages.media import image_file
from hits.views.task_pages.region import hit_region
from hits.views.task_pages.template_frame import hit_document

urlpatterns = [
    path("hit/<uuid:public_id>/", hit_page, name="hit-page"),
    path("hit/<uuid:public_id>/document", hit_document, name="hit-document"),
    path("hit/<uuid:public_id>/region", hit_region, name="hit-region"),
    # These endpoints authenticate by bearer token, so they need no session.
    path("hit/api/open", login_not_required(api.OpenAttemptView.as_view()), name="hit-api-open"),
    path("hit/api/draft", login_not_required(api.DraftView.as_view()), name="hit-api-draft"),
    path("hit/api/submission", login_not_required(api.SubmissionView.as_view()), name="hit-api-submission"),
    path("hit/api/hints", login_not_required(HintsView.as_view()), name="hit-api-hints"),
    path("hit/api/consent", login_not_required(api.ConsentView.as_view()), name="hit-api-consent"),
    re_path(r"^media/(?P<path>images/[0-9a-f]{2}/[0-9a-f]{64}\.(?:jpg|png))$", image_file, name="image-file"),
    path("notifications/<str:key>", receive_notification, name="notification"),
    # The console. Each of these URLs is in the table of tests/hits/views/test_console_access.py.
    path("projects/", projects.project_list, name="projects"),
    path("new-project", projects.project_new, name="project-new"),
    path("projects/<slug:slug>/", batches.project_batches, name="project-batches"),
    path("projects/<slug:slug>/launch", launch.batch_new, name="batch-new"),
    path("projects/<slug:slug>/templates/", project_templates, name="project-templates"),
    path("projects/<slug:slug>/templates/<int:template_id>/", template_detail, name="template-detail"),
    path(
        "projects/<slug:slug>/templates/<int:template_id>/document",
        template_document,
        name="template-document",
    ),
    path("projects/<slug:slug>/photos", images.project_images, name="project-images"),
    path("projects/<slug:slug>/photos/add", images.image_add, name="image-add"),
    path("projects/<slug:slug>/photos/zip", images.images_import_zip, name="images-zip"),
    path("projects/<slug:slug>/photos/manifest", images.images_read_manifest, name="images-manifest"),
    path("projects/<slug:slug>/photos/<int:image_id>/", image.project_image, name="project-image"),
    path(
        "projects/<slug:slug>/photos/<int:image_id>/take-down", image.image_take_down, name="image-take-down"
    ),
    path("projects/<slug:slug>/photos/<int:image_id>/put-back", image.image_put_back, name="image-put-back"),
    path("projects/<slug:slug>/instructions", instructions.project_instructions, name="project-instructions"),
    path(
        "projects/<slug:slug>/instructions/<slug:kind_name>/",
        instructions.instructions_edit,
        name="instructions-edit",
    ),
    path(
        "projects/<slug:slug>/instructions/<slug:kind_name>/preview",
        instructions.instructions_preview,
        name="instructions-preview",
    ),
    path(
        "projects/<slug:slug>/instructions/<slug:kind_name>/versions/<int:version>",
        instructions.instructions_version,
        name="instructions-version",
    ),
    path("projects/<slug:slug>/review", review.project_review, name="project-review"),
    path("projects/<slug:slug>/pay", pay.project_pay, name="project-pay"),
    path("projects/<slug:slug>/money", money.project_money, name="project-money"),
    path("projects/<slug:slug>/ledger.csv", money.project_ledger_csv, name="project-ledger-csv"),
    path("batches/<int:batch_id>/cap", money.batch_set_cap, name="batch-cap"),
    path("projects/<slug:slug>/pay.csv", pay.project_pay_csv, name="project-pay-csv"),
    path("projects/<slug:slug>/people", projects.project_people, name="project-people"),
    path("projects/<slug:slug>/people/add", projects.member_add, name="member-add"),
    path("projects/<slug:slug>/people/<int:user_id>/role", projects.member_set_role, name="member-role"),
    path("projects/<slug:slug>/consent", projects.project_consent, name="project-consent"),
    path("projects/<slug:slug>/history", projects.project_history, name="project-history"),
    path("batches/<int:batch_id>/", batches.batch_detail, name="batch-detail"),
    path("batches/<int:batch_id>/review", review.batch_review, name="batch-review"),
    path("batches/<int:batch_id>/results", batch_results, name="batch-results"),
    path("batches/<int:batch_id>/results.csv", results_file, name="results-file"),
    path("batches/<int:batch_id>/results/upload", results_upload, name="results-upload"),
    path("batches/<int:batch_id>/check", batches.batch_sync, name="batch-sync"),
    path("batches/<int:batch_id>/read-records", batches.batch_reread_records, name="batch-read-records"),
    path("batches/<int:batch_id>/publish", batches.batch_publish, name="batch-publish"),
    path("batches/<int:batch_id>/extend", extend.batch_extend, name="batch-extend"),
    path("batches/<int:batch_id>/extend-again", extend.batch_retry_extension, name="batch-extend-again"),
    path("batches/<int:batch_id>/close", batches.batch_close, name="batch-close"),
    path("batches/<int:batch_id>/instructions", instructions.batch_instructions, name="batch-instructions"),
    path("batches/<int:batch_id>/approve-all", batches.batch_approve_all, name="batch-approve-all"),
    path("batches/<int:batch_id>/top-up", top_up.batch_top_up, name="batch-top-up"),
    path("batches/<int:batch_id>/reconcile", reconcile.batch_reconcile, name="batch-reconcile"),
    path("batches/<int:batch_id>/reconcile/compare", reconcile.reconcile_compare, name="reconcile-compare"),
    path("batches/<int:batch_id>/reconcile/task", reconcile.reconcile_hit, name="reconcile-hit"),
    path(
        "batches/<int:batch_id>/reconcile/shown/<int:assignment_id>",
        reconcile.reconcile_assignment,
        name="reconcile-assignment",
    ),
    path(
        "batches/<int:batch_id>/reconcile/stored/<uuid:submission_id>",
        reconcile.reconcile_submission,
        name="reconcile-submission",
    ),
    path("submissions/<int:assignment_id>/", review.assignment_detail, name="assignment-detail"),
    path("submissions/<int:assignment_id>/decide", review.assignment_decide, name="decide"),
    path("submissions/<int:assignment_id>/override", review.assignment_override, name="override"),
    path("submissions/<int:assignment_id>/pay-again", review.retry_payment, name="pay-again"),
    path("jobs/<int:job_id>/", jobs.job_detail, name="job-detail"),
    path("jobs/<int:job_id>/cancel", jobs.job_cancel, name="job-cancel"),
    path("jobs/<int:job_id>/resume", jobs.job_resume, name="job-resume"),
    path("jobs/<int:job_id>/log.txt", jobs.job_log, name="job-log"),
    path("api/jobs/<int:job_id>/", JobView.as_view(), name="api-job"),
]
