"""Audit multiple-choice questions: how often they can be answered without the image.

The result is plain JSON; shares are from 0 to 1. By audit and stage (``answer``, ``rationale``):

    tag_overlap, word_overlap, longest, pronoun_agreement, negation   ``choice_shortcuts.RuleShares``
    response_only, question_response, tags_only
        the same of a cross-fitted classifier, with "questions", "groups", "reason" (why nothing was measured) and,
        for the first two, "published" (Zellers et al. 2019, table 5)
    labels, sources, near_copies, absent_classes, repeated_tags, frequent_texts, hubs   ``choice_checks``

``questions`` has their number by stage, ``limits`` each share with a limit, and ``over`` the names of the audits that
are over it. Limits and evidence: Ye & Kovashka 2021, doi:10.1609/aaai.v35i4.16428; Zellers et al. 2019 §C and §D.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.evaluation.choice_checks import (
    MIN_LABEL_P,
    absent_classes,
    frequent_texts,
    hubs,
    label_uniformity,
    near_copies,
    repeated_tags,
    source_counts,
)
from curation.evaluation.choice_items import ChoiceItem, Stage, StageQuestion, stage_questions
from curation.evaluation.choice_paper import published_prior
from curation.evaluation.choice_shortcuts import LimitCheck, check_limit, measure_rules, question_labels
from curation.models import QuestionSet
from curation.pipelines.choice_classifiers import (
    CrossFit,
    cross_fit_questions,
    cross_fit_responses,
    cross_fit_tags,
)
from curation.selectors.choice_audits import OVER
from curation.selectors.choice_items import question_set_items
from curation.services.choice_audits import store_audits
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

LISTED = 100
"""Cases of each list that are stored with a question set. Counts are of all."""
PERCENT = 100
Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MatchingFacts:
    """What only the matching knows about a stage.

    cosines: (n, 4), of each response with the right one, for the questions of this stage in order. mean_relevance:
    (m,) the mean relevance of each response over the queries that it was compared with; names: their ids.
    """

    cosines: NDArray[np.floating] | None = None
    mean_relevance: NDArray[np.floating] | None = None
    names: Sequence[str] = ()


@dataclass(slots=True)
class _Result:
    """The audits of both stages while they are made."""

    found: dict[str, Any] = field(default_factory=dict)
    checks: list[LimitCheck] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def add(self, audit: str, stage: Stage, value: Any) -> None:
        self.found.setdefault(audit, {})[stage.value] = value

    def check(self, audit: str, stage: Stage, share: float | None, n: int) -> None:
        check = check_limit(audit, stage.value, share, n)
        if check is not None:
            self.checks.append(check)

    def as_json(self) -> dict[str, Any]:
        over = [f"{check.audit} ({check.stage})" for check in self.checks if check.is_over]
        return {**self.found, "limits": [check.as_json() for check in self.checks], OVER: over + self.broken}


def audit_items(
    items: Sequence[ChoiceItem],
    *,
    facts: Mapping[Stage, MatchingFacts] | None = None,
    listed: int | None = None,
    report: Report = lambda done, total: None,
) -> dict[str, Any]:
    """Return all audits of questions whose labels are known, as the module describes them.

    Args:
        facts: of the matching, where they are known. listed: cases in each list; by default all.
        report: receives the number of finished steps, and of all steps.

    Raises:
        Refused: no stage has labels.
    """
    result = _Result()
    known = {stage: stage_questions(items, stage) for stage in Stage}
    if not any(known.values()):
        raise Refused("questions: none has a label; audit files with labels")
    steps = [
        (stage, step)
        for stage, questions in known.items()
        if questions
        for step in (_add_rules, _add_classifiers)
    ]
    for done, (stage, step) in enumerate(steps):
        report(done, len(steps))
        step(result, stage, known[stage])
    for stage, questions in known.items():
        if questions:
            result.add("questions", stage, len(questions))
            _add_listings(result, stage, questions, (facts or {}).get(stage, MatchingFacts()), listed)
            _add_sources(result, stage, items, listed)
    report(len(steps), len(steps))
    return result.as_json()


def _add_rules(result: _Result, stage: Stage, questions: Sequence[StageQuestion]) -> None:
    for name, shares in measure_rules(questions).items():
        result.add(name, stage, shares.as_json())
        result.check(name, stage, shares.expected_on_ties, len(questions))
    labels = label_uniformity(question_labels(questions))
    result.add("labels", stage, labels)
    if labels["p"] is not None and labels["p"] <= MIN_LABEL_P:
        result.broken.append(f"labels ({stage})")


def _add_classifiers(result: _Result, stage: Stage, questions: Sequence[StageQuestion]) -> None:
    prior = published_prior(stage)
    for name, cross_fit, published in (
        ("response_only", cross_fit_responses, prior.response_only),
        ("question_response", cross_fit_questions, prior.question_response),
        ("tags_only", cross_fit_tags, None),
    ):
        fit = cross_fit(questions)
        result.add(name, stage, _classifier_json(fit, published))
        result.check(name, stage, fit.shares.expected_on_ties, fit.questions)


def _classifier_json(fit: CrossFit, published: float | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"questions": fit.questions, "groups": fit.groups, "reason": fit.reason}
    if published is not None:
        facts["published"] = round(published / PERCENT, 4)
    return fit.shares.as_json() | facts


def _add_listings(
    result: _Result,
    stage: Stage,
    questions: Sequence[StageQuestion],
    facts: MatchingFacts,
    listed: int | None,
) -> None:
    result.add("near_copies", stage, near_copies(questions, facts.cosines).as_json(listed))
    absent = absent_classes(questions)
    result.add(
        "absent_classes",
        stage,
        absent.listing.as_json(listed) | {"right": absent.right, "wrong": absent.wrong},
    )
    result.add("repeated_tags", stage, repeated_tags(questions).as_json(listed))
    result.add("frequent_texts", stage, frequent_texts(questions))
    if facts.mean_relevance is not None:
        result.add("hubs", stage, hubs(facts.mean_relevance, facts.names))


def _add_sources(result: _Result, stage: Stage, items: Iterable[ChoiceItem], listed: int | None) -> None:
    found = source_counts(items, stage)
    problems = {name: found[name] for name in ("exceptions", "misplaced")}
    if any(listing.count for listing in problems.values()):
        result.broken.append(f"sources ({stage})")
    result.add(
        "sources", stage, found | {name: listing.as_json(listed) for name, listing in problems.items()}
    )


def audit_question_set(
    question_set: QuestionSet,
    *,
    by: AbstractBaseUser | None = None,
    facts: Mapping[Stage, MatchingFacts] | None = None,
    report: Report = lambda done, total: None,
) -> dict[str, Any]:
    """Audit a project's question set, store the result with it, and return the result.

    Args:
        facts: of the matching; hubs of an earlier run are kept without them.

    Raises:
        Refused: the set has no questions.
    """
    items = question_set_items(question_set)
    if not items:
        raise Refused(f"set {question_set.name}: has no questions yet; wait until it is built")
    audits = audit_items(items, facts=facts, listed=LISTED, report=report)
    if "hubs" not in audits and "hubs" in question_set.audits:
        audits["hubs"] = question_set.audits["hubs"]
    store_audits(question_set=question_set, audits=audits, by=by)
    return audits


def run_audits(progress: Progress) -> dict[str, Any]:
    """Run a job: audit the question set that it names, and return the audits over a limit for the job's page.

    Raises:
        Refused: the set has no questions.
        Cancelled: the job was cancelled; nothing is stored.
    """
    question_set = QuestionSet.objects.select_related("project").get(pk=progress.job.args["set"])
    audits = audit_question_set(
        question_set,
        by=progress.job.created_by,
        report=lambda done, total: progress.advance(done, total=total),
    )
    return {"set": question_set.name, OVER: audits[OVER]}
