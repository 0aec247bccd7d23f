"""Curation's models. They refer to records and images of ``hits``, and never change them."""

from curation.models.audits import Audit, AuditItem, AuditLabel, AuditState
from curation.models.duplicates import DuplicateRun, DuplicateRunState
from curation.models.features import FeatureSet, Subject
from curation.models.pairs import Pair, Part
from curation.models.proposals import ImageProposals, ProposalOverlap, ProposalRun
from curation.models.rounds import ComparisonRound, ComparisonSet
from curation.models.scorers import ErrorAnalysis, Evaluation, EvaluationSource, Scorer, ScorerOrigin
from curation.models.sources import LeakageRun, LeakedPair, LeakReview, LeakVerdict, Source, SourceRecord
from curation.models.texts import AnalysisKind, PairText, TextAnalysis, TextReview, TextScore
from curation.models.versions import DatasetVersion, VersionImage, VersionRow, VersionState

__all__ = [
    "AnalysisKind",
    "Audit",
    "AuditItem",
    "AuditLabel",
    "AuditState",
    "ComparisonRound",
    "ComparisonSet",
    "DatasetVersion",
    "DuplicateRun",
    "DuplicateRunState",
    "ErrorAnalysis",
    "Evaluation",
    "EvaluationSource",
    "FeatureSet",
    "ImageProposals",
    "LeakReview",
    "LeakVerdict",
    "LeakageRun",
    "LeakedPair",
    "Pair",
    "PairText",
    "Part",
    "ProposalOverlap",
    "ProposalRun",
    "Scorer",
    "ScorerOrigin",
    "Source",
    "SourceRecord",
    "Subject",
    "TextAnalysis",
    "TextReview",
    "TextScore",
    "VersionImage",
    "VersionRow",
    "VersionState",
]
