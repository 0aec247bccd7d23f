"""Run every stage of NL-Eye once: scenes, reviews, drawings, triplets, judgments, a model, audits and export."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation_site.demo.demo_users import DemoUsers
from annotation_site.demo.nleye import answers, steps
from annotation_site.demo.player import PlayError, ScriptedWorker
from annotation_site.demo.steps import approve_submissions, seal_and_export
from curation.models import VersionRow
from curation.services.triplets.explanation_rounds import take_in_crowd_explanations
from curation.services.triplets.scenes import take_in_scenes
from curation.versions.seal import row_sha256
from hits.domain.states import Role
from hits.models import Batch, Project
from hits.services import projects

ReportProgress = Callable[[str], None]
AnswerFor = Callable[[str], answers.AnswerFunction]
TRIPLET = "nleye_triplet"


def triplet_project(users: DemoUsers, title: str) -> Project:
    """Return a new rehearsal project of the family ``nleye``."""
    admin = users.project.memberships.get(role=Role.ADMIN).user
    project = projects.create_project(
        name=f"{users.project.name}, {title}", by=admin, is_rehearsal=True, family="nleye"
    )
    projects.set_role(project=project, user=users.researcher, role=Role.RESEARCHER, by=admin)
    return project


def play_nleye(demo_users: DemoUsers, out: Path, report_progress: ReportProgress) -> dict[str, Any]:
    """Run every stage of NL-Eye once and return a summary.

    Raises:
        PlayError: a page or a job failed.
    """
    users = replace(demo_users, project=triplet_project(demo_users, "triplets"))
    names = [account.username for account in users.accounts if account.role == "worker"]
    writer, reviewers, judges = names[0], names[1:4], names[5:8]
    report_progress("A scripted worker writes 24 scenes, and three others review them …")
    writing = steps.launch_writing(users)
    _answer(users, [writer], writing, lambda _: answers.scene_answer_function(steps.QUOTA))
    approve_submissions(users, writing)
    take_in_scenes(users.project)
    review = steps.launch_review(users)
    _answer(users, reviewers, review, answers.scene_review_answer_function)
    approve_submissions(users, review)
    kept = steps.filter_scenes(users)
    report_progress("Writing prompts, drawing pictures, and building triplets …")
    steps.write_prompts(users)
    steps.draw_images(users)
    triplets = steps.build(users)
    report_progress("A reviewer explains the triplets, and three workers judge them …")
    explaining = steps.launch_explaining(users)
    _answer(users, reviewers[:1], explaining, lambda _: answers.explanation_answer_function())
    approve_submissions(users, explaining)
    judging = steps.launch_judging(users)
    gold = steps.gold_labels(users)
    _answer(users, judges, judging, lambda name: answers.plausibility_answer_function(name, gold))
    approve_submissions(users, judging)
    steps.decide_against_gold(users)
    report_progress("Another worker looks for valid explanations …")
    take_in_crowd_explanations(users.project)
    selection = steps.launch_selection(users)
    _answer(users, reviewers[1:2], selection, answers.selection_answer_function)
    approve_submissions(users, selection)
    report_progress("Auditing, sealing, exporting, evaluating and importing again …")
    audit = steps.audit(users)
    version, written = seal_and_export(users, out)
    figures = steps.evaluate(users, version)
    copy = triplet_project(demo_users, "triplets again")
    imported = steps.import_again(users, copy, written.folder)
    copied, _ = seal_and_export(replace(users, project=copy), out)
    return {
        "scenes": steps.SCENES,
        "reviews": steps.SCENES * steps.REVIEWERS,
        "kept": kept,
        "triplets": len(triplets),
        "answers": VersionRow.objects.filter(version=version, part="nleye_answer").count(),
        "explanations": VersionRow.objects.filter(version=version, part="nleye_explanation").count(),
        "figures": figures,
        "flagged_audits": [row["name"] for row in audit.figures["audits"] if row["flagged"]],
        "sealed": version.statistics["triplets"],
        "imported": imported,
        "same_rows": _row_hashes(version.pk) == _row_hashes(copied.pk),
    }


def _row_hashes(version: int) -> list[str]:
    rows = VersionRow.objects.filter(version=version, part=TRIPLET).order_by("pk")
    return [row_sha256(row) for row in rows.values_list("row", flat=True)]


def _answer(users: DemoUsers, names: list[str], batch: Batch, answer_for: AnswerFor) -> None:
    """Let workers answer all tasks of a batch, all at the same time."""

    def work(name: str) -> int:
        worker = ScriptedWorker(settings.PUBLIC_URL, name, users.password_of(name))
        return worker.answer_all_hits(batch.name, answer_for(name))

    with ThreadPoolExecutor(len(names)) as pool:
        for name, done in zip(names, pool.map(work, names), strict=True):
            if done == 0:
                raise PlayError(f"{name} found no task in {batch.name}")
