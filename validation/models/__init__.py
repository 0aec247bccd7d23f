"""Rows of judging: people and their standing, and rounds of judgments with what they came to."""

from validation.models.judging import (
    ControlUnit,
    DecisionRun,
    GoldItem,
    ImportedJudgment,
    ItemDecision,
    JudgingReport,
    JudgingRound,
    JudgmentImport,
    WorkerQuality,
)
from validation.models.people import (
    Grade,
    GradingOutcome,
    QualificationRound,
    StandingChange,
    StandingProposal,
    StandingRule,
)

__all__ = [
    "ControlUnit",
    "DecisionRun",
    "GoldItem",
    "Grade",
    "GradingOutcome",
    "ImportedJudgment",
    "ItemDecision",
    "JudgingReport",
    "JudgingRound",
    "JudgmentImport",
    "QualificationRound",
    "StandingChange",
    "StandingProposal",
    "StandingRule",
    "WorkerQuality",
]
