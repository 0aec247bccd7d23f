"""URLs of curation and version pages."""

from django.urls import path

from curation.views import (
    audits,
    duplicates,
    features,
    import_proposals,
    jobs,
    leakage,
    proposals,
    rounds,
    sources,
    texts,
    versions,
)
from curation.views.evaluation import ablations, evaluations
from curation.views.scorers import scorers

_DUPLICATES = "projects/<slug:slug>/curation/duplicates/"
_TEXTS = "projects/<slug:slug>/curation/texts/"
_AUDIT = "projects/<slug:slug>/curation/audits/<int:audit_id>/"
_PROPOSALS = "projects/<slug:slug>/curation/proposals/"
_SCORER = "projects/<slug:slug>/scorers/<int:scorer_id>/"
_EVALUATIONS = "projects/<slug:slug>/scorers/evaluations/"

urlpatterns = [
    path("projects/<slug:slug>/curation/", duplicates.duplicate_list, name="curation"),
    path("projects/<slug:slug>/curation/deduplicate", duplicates.deduplicate, name="curation-deduplicate"),
    path(f"{_DUPLICATES}<int:run_id>/set-aside", duplicates.set_aside, name="curation-duplicates-set-aside"),
    path(f"{_DUPLICATES}<int:run_id>/undo", duplicates.undo, name="curation-duplicates-undo"),
    path(f"{_DUPLICATES}keep", duplicates.keep_group, name="curation-duplicates-keep"),
    path("projects/<slug:slug>/curation/features/", features.feature_list, name="curation-features"),
    path("projects/<slug:slug>/curation/jobs/", jobs.job_list, name="curation-jobs"),
    path("projects/<slug:slug>/curation/rounds/", rounds.round_list, name="curation-rounds"),
    path("projects/<slug:slug>/curation/rounds/build", rounds.build_round, name="curation-build"),
    path(
        "projects/<slug:slug>/curation/rounds/<int:round_id>/",
        rounds.comparison_round,
        name="comparison-round",
    ),
    path(
        "projects/<slug:slug>/curation/rounds/<int:round_id>/sets/<int:set_id>/leave-out",
        rounds.leave_out,
        name="comparison-set-leave-out",
    ),
    path(
        "projects/<slug:slug>/curation/rounds/<int:round_id>/skipped",
        rounds.round_skipped,
        name="comparison-round-skipped",
    ),
    path(_TEXTS, texts.texts, name="curation-texts"),
    path(f"{_TEXTS}run/<str:kind>", texts.run, name="curation-texts-run"),
    path(f"{_TEXTS}<int:analysis_id>/", texts.analysis, name="curation-texts-analysis"),
    path(f"{_TEXTS}<int:analysis_id>/read", texts.read, name="curation-texts-read"),
    path(f"{_TEXTS}<int:analysis_id>/export", texts.export, name="curation-texts-export"),
    path("projects/<slug:slug>/curation/audits/", audits.audit_list, name="curation-audits"),
    path(_AUDIT, audits.audit_detail, name="curation-audit"),
    path(f"{_AUDIT}read/", audits.audit_read, name="curation-audit-read"),
    path(f"{_AUDIT}read/<int:place>", audits.audit_item, name="curation-audit-item"),
    path(f"{_AUDIT}settle/<int:place>", audits.audit_settle, name="curation-audit-settle"),
    path(f"{_AUDIT}close", audits.audit_close, name="curation-audit-close"),
    path(f"{_AUDIT}audit.csv", audits.audit_csv, name="curation-audit-csv"),
    path(f"{_AUDIT}audit.json", audits.audit_json, name="curation-audit-json"),
    path("projects/<slug:slug>/curation/sources/", sources.sources, name="curation-sources"),
    path(
        "projects/<slug:slug>/curation/sources/import/<str:source>",
        sources.start_import,
        name="curation-sources-import",
    ),
    path("projects/<slug:slug>/curation/splits/", leakage.leakage, name="curation-leakage"),
    path("projects/<slug:slug>/curation/splits/check", leakage.check_leakage, name="curation-leakage-check"),
    path(
        "projects/<slug:slug>/curation/splits/pairs/<int:pair_id>",
        leakage.review_pair,
        name="curation-leakage-read",
    ),
    path(
        "projects/<slug:slug>/curation/splits/images/<int:image_id>/offer",
        leakage.offer_image,
        name="curation-leakage-offer",
    ),
    path(_PROPOSALS, proposals.proposals, name="curation-proposals"),
    path(f"{_PROPOSALS}import", import_proposals.import_file, name="curation-proposals-import"),
    path(f"{_PROPOSALS}<int:run_id>/", proposals.proposal_run, name="curation-proposals-run"),
    path(f"{_PROPOSALS}<int:run_id>/measure", proposals.measure_run, name="curation-proposals-measure"),
    path(f"{_PROPOSALS}<int:run_id>/download", proposals.download_boxes, name="curation-proposals-download"),
    path("projects/<slug:slug>/versions/", versions.version_list, name="versions"),
    path("versions/<int:version_id>/", versions.version_detail, name="version"),
    path("versions/<int:version_id>/plan", versions.version_plan, name="version-plan"),
    path("versions/<int:version_id>/seal", versions.version_seal, name="version-seal"),
    path("versions/<int:version_id>/download", versions.version_download, name="version-download"),
    path("versions/<int:version_id>/files/<path:name>", versions.version_file, name="version-file"),
    path("projects/<slug:slug>/scorers/", scorers.scorer_list, name="scorers"),
    path("projects/<slug:slug>/scorers/train", scorers.scorer_train, name="scorer-train"),
    path(_SCORER, scorers.scorer_detail, name="scorer"),
    path(f"{_SCORER}evaluate", scorers.scorer_evaluate, name="scorer-evaluate"),
    path(f"{_SCORER}losses", scorers.scorer_losses, name="scorer-losses"),
    path(f"{_SCORER}files/<str:name>", scorers.scorer_file, name="scorer-file"),
    path(_EVALUATIONS, evaluations.evaluations, name="evaluations"),
    path(f"{_EVALUATIONS}<int:evaluation_id>/", evaluations.evaluation, name="evaluation"),
    path(
        f"{_EVALUATIONS}<int:evaluation_id>/predictions",
        evaluations.download_predictions,
        name="evaluation-predictions",
    ),
    path(f"{_EVALUATIONS}<int:evaluation_id>/errors", evaluations.analyse_errors, name="evaluation-analyse"),
    path(f"{_EVALUATIONS}errors/<int:analysis_id>/", evaluations.error_analysis, name="error-analysis"),
    path("projects/<slug:slug>/scorers/ablations/", ablations.ablations, name="ablations"),
]
