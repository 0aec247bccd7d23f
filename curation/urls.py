"""URLs of curation and version pages."""

from django.urls import path

from curation.urls_triplets import urlpatterns as triplet_patterns
from curation.views import (
    audits,
    avoided_names,
    choice_rounds,
    clips,
    duplicates,
    features,
    import_proposals,
    interest,
    jobs,
    leakage,
    objects,
    proposals,
    rounds,
    sources,
    texts,
    versions,
)
from curation.views.evaluation import ablations, choice_evaluations, evaluations
from curation.views.questions import audits as question_audits
from curation.views.questions import questions, sets
from curation.views.scorers import scorers

_PROJECT = "projects/<slug:slug>/"
_CURATION = f"{_PROJECT}curation/"
_DUPLICATES = f"{_CURATION}duplicates/"
_ROUNDS = f"{_CURATION}rounds/"
_ROUND = f"{_ROUNDS}<int:round_id>/"
_TEXTS = f"{_CURATION}texts/"
_AUDIT = f"{_CURATION}audits/<int:audit_id>/"
_SOURCES = f"{_CURATION}sources/"
_CLIPS = f"{_SOURCES}clips/"
_CLIP = f"{_CLIPS}<int:clip_id>/"
_OBJECTS = f"{_CURATION}objects/"
_OBJECT_RUN = f"{_OBJECTS}<int:run_id>/"
_SPLITS = f"{_CURATION}splits/"
_INTEREST = f"{_CURATION}interest/"
_PROPOSALS = f"{_CURATION}proposals/"
_RUN = f"{_PROPOSALS}<int:run_id>/"
_QUESTION_SETS = f"{_CURATION}question-sets/"
_QUESTION_SET = f"{_QUESTION_SETS}<int:set_id>/"
_CHOICE_ROUNDS = f"{_PROJECT}judging/choice-rounds/"
_VERSION = "versions/<int:version_id>/"
_SCORER = f"{_PROJECT}scorers/<int:scorer_id>/"
_EVALUATIONS = f"{_PROJECT}scorers/evaluations/"
_EVALUATION = f"{_EVALUATIONS}<int:evaluation_id>/"
_CHOICES = f"{_PROJECT}scorers/choices/"
_CHOICE_EVALUATION = f"{_CHOICES}<int:choice_evaluation_id>/"

urlpatterns = [
    path(_CHOICE_ROUNDS, choice_rounds.choice_round_list, name="choice-rounds"),
    path(f"{_CHOICE_ROUNDS}lambda", choice_rounds.lambda_choose, name="choice-lambda"),
    path(_CURATION, duplicates.duplicate_list, name="curation"),
    path(f"{_CURATION}deduplicate", duplicates.start_deduplication, name="curation-deduplicate"),
    path(
        f"{_DUPLICATES}<int:run_id>/set-aside",
        duplicates.set_run_duplicates_aside,
        name="curation-duplicates-set-aside",
    ),
    path(f"{_DUPLICATES}<int:run_id>/undo", duplicates.undo_duplicate_run, name="curation-duplicates-undo"),
    path(f"{_DUPLICATES}keep", duplicates.keep_group, name="curation-duplicates-keep"),
    path(f"{_CURATION}features/", features.feature_list, name="curation-features"),
    path(f"{_CURATION}jobs/", jobs.job_list, name="curation-jobs"),
    path(_ROUNDS, rounds.round_list, name="curation-rounds"),
    path(f"{_ROUNDS}build", rounds.build_round, name="curation-build"),
    path(_ROUND, rounds.comparison_round, name="comparison-round"),
    path(
        f"{_ROUND}sets/<int:set_id>/leave-out", rounds.toggle_set_exclusion, name="comparison-set-leave-out"
    ),
    path(f"{_ROUND}skipped", rounds.round_skipped, name="comparison-round-skipped"),
    path(_QUESTION_SETS, sets.question_set_list, name="question-sets"),
    path(f"{_QUESTION_SETS}build", sets.build_question_set, name="question-set-build"),
    path(_QUESTION_SET, sets.question_set, name="question-set"),
    path(f"{_QUESTION_SET}accept", sets.accept_question_set, name="question-set-accept"),
    path(f"{_QUESTION_SET}reject", sets.reject_question_set, name="question-set-reject"),
    path(f"{_QUESTION_SET}audit", question_audits.start_audits, name="question-set-audit"),
    path(f"{_QUESTION_SET}waive", question_audits.waive, name="question-set-waive"),
    path(f"{_QUESTION_SET}delete", sets.delete_question_set, name="question-set-delete"),
    path(f"{_QUESTION_SET}questions/", questions.question_list, name="questions"),
    path(f"{_QUESTION_SET}questions/<int:question_id>/", questions.question, name="question"),
    path(_TEXTS, texts.texts, name="curation-texts"),
    path(f"{_TEXTS}run/<str:kind>", texts.start_text_analysis, name="curation-texts-run"),
    path(f"{_TEXTS}<int:analysis_id>/", texts.analysis, name="curation-texts-analysis"),
    path(f"{_TEXTS}<int:analysis_id>/read", texts.review_text, name="curation-texts-read"),
    path(f"{_TEXTS}<int:analysis_id>/export", texts.download_analysis, name="curation-texts-export"),
    path(f"{_CURATION}audits/", audits.audit_list, name="curation-audits"),
    path(_AUDIT, audits.audit_detail, name="curation-audit"),
    path(f"{_AUDIT}read/", audits.next_audit_item, name="curation-audit-read"),
    path(f"{_AUDIT}read/<int:position>", audits.audit_item, name="curation-audit-item"),
    path(f"{_AUDIT}settle/<int:position>", audits.audit_settle, name="curation-audit-settle"),
    path(f"{_AUDIT}close", audits.audit_close, name="curation-audit-close"),
    path(f"{_AUDIT}audit.csv", audits.audit_csv, name="curation-audit-csv"),
    path(f"{_AUDIT}audit.json", audits.audit_json, name="curation-audit-json"),
    path(_SOURCES, sources.sources, name="curation-sources"),
    path(f"{_SOURCES}import/<str:source>", sources.start_import, name="curation-sources-import"),
    path(_CLIPS, clips.clip_list, name="clips"),
    path(f"{_CLIPS}names", avoided_names.name_list, name="names"),
    path(_CLIP, clips.clip_detail, name="clip"),
    path(f"{_CLIP}take-down", clips.clip_take_down, name="clip-take-down"),
    path(f"{_CLIP}put-back", clips.clip_put_back, name="clip-put-back"),
    path(_OBJECTS, objects.object_runs, name="object-runs"),
    path(_OBJECT_RUN, objects.object_run, name="object-run"),
    path(f"{_OBJECTS}images/<int:image_id>/", objects.image_objects, name="image-objects"),
    path(_SPLITS, leakage.leakage, name="curation-leakage"),
    path(f"{_SPLITS}check", leakage.start_leakage_check, name="curation-leakage-check"),
    path(f"{_SPLITS}pairs/<int:pair_id>", leakage.review_leaked_pair, name="curation-leakage-read"),
    path(f"{_SPLITS}images/<int:image_id>/offer", leakage.offer_image_again, name="curation-leakage-offer"),
    path(_INTEREST, interest.interest_list, name="interest"),
    path(f"{_INTEREST}label/", interest.interest_label, name="interest-label"),
    path(f"{_INTEREST}<int:interest_id>/", interest.interest_model, name="interest-model"),
    path(_PROPOSALS, proposals.proposals, name="curation-proposals"),
    path(f"{_PROPOSALS}import", import_proposals.import_proposal_file, name="curation-proposals-import"),
    path(_RUN, proposals.proposal_run, name="curation-proposals-run"),
    path(f"{_RUN}measure", proposals.measure_run, name="curation-proposals-measure"),
    path(f"{_RUN}download", proposals.download_boxes, name="curation-proposals-download"),
    path(f"{_PROJECT}versions/", versions.version_list, name="versions"),
    path(_VERSION, versions.version_detail, name="version"),
    path(f"{_VERSION}plan", versions.version_plan, name="version-plan"),
    path(f"{_VERSION}seal", versions.version_seal, name="version-seal"),
    path(f"{_VERSION}download", versions.version_download, name="version-download"),
    path(f"{_VERSION}files/<path:name>", versions.version_file, name="version-file"),
    path(f"{_PROJECT}scorers/", scorers.scorer_list, name="scorers"),
    path(f"{_PROJECT}scorers/train", scorers.scorer_train, name="scorer-train"),
    path(_SCORER, scorers.scorer_detail, name="scorer"),
    path(f"{_SCORER}evaluate", scorers.scorer_evaluate, name="scorer-evaluate"),
    path(f"{_SCORER}losses", scorers.scorer_training_plots, name="scorer-losses"),
    path(f"{_SCORER}files/<str:name>", scorers.scorer_file, name="scorer-file"),
    path(_EVALUATIONS, evaluations.evaluations, name="evaluations"),
    path(_EVALUATION, evaluations.evaluation, name="evaluation"),
    path(f"{_EVALUATION}predictions", evaluations.download_predictions, name="evaluation-predictions"),
    path(f"{_EVALUATION}errors", evaluations.start_error_analysis, name="evaluation-analyse"),
    path(f"{_EVALUATIONS}errors/<int:analysis_id>/", evaluations.error_analysis, name="error-analysis"),
    path(_CHOICES, choice_evaluations.choice_evaluations, name="choice-evaluations"),
    path(_CHOICE_EVALUATION, choice_evaluations.choice_evaluation, name="choice-evaluation"),
    path(
        f"{_CHOICE_EVALUATION}predictions",
        choice_evaluations.download_choice_predictions,
        name="choice-evaluation-predictions",
    ),
    path(f"{_PROJECT}scorers/ablations/", ablations.ablations, name="ablations"),
    *triplet_patterns,
]
