"""Curation's models. They refer to records and images of ``hits``, and never change them."""

from curation.models.audits import Audit, AuditItem, AuditLabel, AuditState
from curation.models.choosers import Chooser
from curation.models.duplicates import DuplicateRun, DuplicateRunState
from curation.models.features import FeatureSet, Subject
from curation.models.frames import AvoidedNames, Clip, Frame
from curation.models.generated_images import (
    GeneratedImage,
    ImagePick,
    ImageRole,
    PickOrigin,
    PromptDecision,
    PromptSet,
    PromptVerdict,
    PromptWay,
    SafetyRelease,
)
from curation.models.image_triplets import (
    ExplanationSource,
    ImageTriplet,
    TripletCheck,
    TripletDecision,
    TripletExplanation,
    TripletVerdict,
)
from curation.models.imports import Import, ImportedRow
from curation.models.interest import InterestLabel, InterestModel, InterestModelKind, InterestScore
from curation.models.model_runs import CallState, ModelCall, ModelRun, RunPurpose
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
from curation.models.scenes import (
    Scene,
    SceneDecision,
    SceneReason,
    SceneTwins,
    SceneVerdict,
    TripletSettings,
)
from curation.models.scorers import ErrorAnalysis, Evaluation, EvaluationSource, Scorer, ScorerOrigin
from curation.models.sources import LeakageRun, LeakedPair, LeakReview, LeakVerdict, Source, SourceRecord
from curation.models.texts import AnalysisKind, PairText, TextAnalysis, TextReview, TextScore
from curation.models.triplet_evaluations import (
    ExplanationGrade,
    ReplyCorrection,
    TripletAudit,
    TripletEvaluation,
    TripletPrediction,
    TripletSource,
)
from curation.models.versions import DatasetVersion, VersionImage, VersionRow, VersionState

__all__ = [
    "AnalysisKind",
    "Audit",
    "AuditItem",
    "AuditLabel",
    "AuditState",
    "AuditWaiver",
    "AvoidedNames",
    "CallState",
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
    "ExplanationGrade",
    "ExplanationSource",
    "FeatureSet",
    "Frame",
    "GeneratedImage",
    "ImagePick",
    "ImageProposals",
    "ImageRole",
    "ImageTriplet",
    "Import",
    "ImportedRow",
    "InterestLabel",
    "InterestModel",
    "InterestModelKind",
    "InterestScore",
    "LeakReview",
    "LeakVerdict",
    "LeakageRun",
    "LeakedPair",
    "ModelCall",
    "ModelRun",
    "ObjectSet",
    "Pair",
    "PairText",
    "Part",
    "PickOrigin",
    "PromptDecision",
    "PromptSet",
    "PromptVerdict",
    "PromptWay",
    "ProposalOverlap",
    "ProposalRun",
    "Question",
    "QuestionSet",
    "QuestionSetState",
    "ReplyCorrection",
    "RunPurpose",
    "SafetyRelease",
    "Scene",
    "SceneDecision",
    "SceneReason",
    "SceneTwins",
    "SceneVerdict",
    "Scorer",
    "ScorerOrigin",
    "Source",
    "SourceRecord",
    "Stage",
    "Subject",
    "TextAnalysis",
    "TextReview",
    "TextScore",
    "TripletAudit",
    "TripletCheck",
    "TripletDecision",
    "TripletEvaluation",
    "TripletExplanation",
    "TripletPrediction",
    "TripletSettings",
    "TripletSource",
    "TripletVerdict",
    "VersionImage",
    "VersionRow",
    "VersionState",
]
