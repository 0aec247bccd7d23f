"""Models of judging: rounds, results, qualification of workers, and worker status."""

from validation.models.judging import (
    DecisionRun,
    GoldItem,
    ImportedJudgment,
    ItemDecision,
    JudgingReport,
    JudgingRound,
    JudgmentImport,
    QualityCheck,
    WorkerQuality,
)
from validation.models.people import (
    Grade,
    GradingOutcome,
    QualificationRound,
    RuleProposal,
    StatusChange,
    WorkerRule,
)

__all__ = [
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
    "QualityCheck",
    "RuleProposal",
    "StatusChange",
    "WorkerQuality",
    "WorkerRule",
]
