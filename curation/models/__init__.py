"""Curation's models. They refer to records and images of ``hits``, and never change them."""

from curation.models.audits import Audit, AuditItem, AuditLabel, AuditState
from curation.models.choosers import Chooser
from curation.models.duplicates import DuplicateRun, DuplicateRunState
from curation.models.features import FeatureSet, Subject
from curation.models.frames import AvoidedNames, Clip, Frame
from curation.models.interest import InterestLabel, InterestModel, InterestModelKind, InterestScore
from curation.models.objects import DetectionRun, ObjectSet
from curation.models.pairs import Pair, Part
from curation.models.proposals import ImageProposals, ProposalOverlap, ProposalRun
from curation.models.questions import (
    AuditWaiver,
    ChoiceEvaluation,
    ChoiceRound,
    Question,
    QuestionSet,
    QuestionSetState,
    Stage,
)
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
    "AuditWaiver",
    "AvoidedNames",
    "ChoiceEvaluation",
    "ChoiceRound",
    "Chooser",
    "Clip",
    "ComparisonRound",
    "ComparisonSet",
    "DatasetVersion",
    "DetectionRun",
    "DuplicateRun",
    "DuplicateRunState",
    "ErrorAnalysis",
    "Evaluation",
    "EvaluationSource",
    "FeatureSet",
    "Frame",
    "ImageProposals",
    "InterestLabel",
    "InterestModel",
    "InterestModelKind",
    "InterestScore",
    "LeakReview",
    "LeakVerdict",
    "LeakageRun",
    "LeakedPair",
    "ObjectSet",
    "Pair",
    "PairText",
    "Part",
    "ProposalOverlap",
    "ProposalRun",
    "Question",
    "QuestionSet",
    "QuestionSetState",
    "Scorer",
    "ScorerOrigin",
    "Source",
    "SourceRecord",
    "Stage",
    "Subject",
    "TextAnalysis",
    "TextReview",
    "TextScore",
    "VersionImage",
    "VersionRow",
    "VersionState",
]
