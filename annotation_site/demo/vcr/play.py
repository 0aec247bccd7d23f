"""Run every stage of VCR once: films, objects, exam, writing, review, matching, audits, choice rounds and export."""

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation_site.demo.demo_users import DemoUsers
from annotation_site.demo.player import PlayError, ScriptedWorker
from annotation_site.demo.steps import approve_submissions, seal_and_export
from annotation_site.demo.vcr import answers, steps
from curation.models import Question, QuestionSet, Stage
from curation.versions.export import MANIFEST
from curation.versions.families import family_of_version
from curation.versions.photos import ALL_PHOTOS
from hits.domain.states import Role
from hits.models import Batch
from hits.selectors.records import approved_records
from hits.services import projects

ReportProgress = Callable[[str], None]


def vcr_users(users: DemoUsers) -> DemoUsers:
    """Return the demo's users with a new rehearsal project of the family ``vcr``."""
    admin = users.project.memberships.get(role=Role.ADMIN).user
    project = projects.create_project(
        name=f"{users.project.name}, questions", by=admin, is_rehearsal=True, family="vcr"
    )
    projects.set_role(project=project, user=users.researcher, role=Role.RESEARCHER, by=admin)
    return replace(users, project=project)


def play_vcr(demo_users: DemoUsers, out: Path, report_progress: ReportProgress) -> dict[str, Any]:
    """Run every stage of VCR once and return a summary.

    Raises:
        PlayError: a page or a job failed.
    """
    users = vcr_users(demo_users)
    report_progress("Drawing three films, and storing their frames and objects …")
    with tempfile.TemporaryDirectory() as folder:
        steps.add_films(users, Path(folder))
    writer, *others = [a.username for a in users.accounts if a.role == "worker"][::-1]
    report_progress("Two scripted workers take the exam …")
    exam = steps.launch_exam(users)
    for name in (writer, others[0]):
        _answer(users, name, exam, answers.exam_answer)
    report_progress("One of them writes three questions about each frame …")
    writing = steps.launch_writing(users)
    _answer(users, writer, writing, answers.writing_answer)
    approve_submissions(users, writing)
    report_progress("Another worker reviews one submission …")
    review = steps.launch_review(users, others[0])
    _answer(users, others[0], review, answers.review_answer)
    approve_submissions(users, review)
    report_progress("Matching the wrong choices, and running the audits …")
    question_set = steps.build_question_set(users)
    report_progress("Six other workers choose answers and rationales …")
    _play_choice_rounds(users, question_set, others[1:])  # the reviewer has seen whole triplets
    evaluation = steps.evaluate_people(users, question_set)
    report_progress("Sealing and exporting the questions …")
    export_sha256 = _seal_and_export(users, out)
    return _summarize(users, question_set, evaluation.figures, export_sha256)


def _play_choice_rounds(users: DemoUsers, question_set: QuestionSet, judges: list[str]) -> None:
    right = steps.right_texts(users)
    for number, stage in enumerate(Stage):
        _, batch = steps.launch_choice_round(users, question_set, stage)
        first = number * steps.JUDGES_PER_STAGE
        for name in judges[first : first + steps.JUDGES_PER_STAGE]:
            _answer(users, name, batch, answers.choice_answer_function(name, right))
        approve_submissions(users, batch)


def _seal_and_export(users: DemoUsers, out: Path) -> str:
    """Seal and export a version; return the sha256 of its published manifest."""
    version, written = seal_and_export(users, out, photos=ALL_PHOTOS)
    public, _ = family_of_version(version).folders(version)
    return hashlib.sha256((written.folder / public / MANIFEST).read_bytes()).hexdigest()


def _summarize(
    users: DemoUsers, question_set: QuestionSet, figures: dict[str, Any], export_sha256: str
) -> dict[str, Any]:
    questions = Question.objects.filter(question_set=question_set)
    return {
        "triplets": approved_records(users.project, "triplet").count(),
        "questions": questions.exclude(choices=[]).count(),
        "infeasible": questions.exclude(set_aside="").values("triplet").distinct().count(),
        "audits": question_set.audits.get("over", []),
        **{name: figures["choices"][name]["value"] for name in ("q_a", "qa_r", "q_ar")},
        "export_sha256": export_sha256,
    }


def _answer(users: DemoUsers, name: str, batch: Batch, answer: answers.AnswerFunction) -> None:
    worker = ScriptedWorker(settings.PUBLIC_URL, name, users.password_of(name))
    if worker.answer_all_hits(batch.name, answer) == 0:
        raise PlayError(f"{name} found no task in {batch.name}")
