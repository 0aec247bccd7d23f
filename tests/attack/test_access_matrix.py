"""Access to every URL of the resolver, with every method, for every kind of user.

The rows that the URLs name have arbitrary valid values. The tests check that for a stranger an existing row looks
exactly like a missing one. Other tests check the content of pages.
"""

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from curation import models as curation
from curation.leaderboard import models as leaderboard
from hits import models as hits
from hits.domain.states import Role
from hits.marketplace import models as marketplace
from hits.services import projects
from hits.services.collecting.page_keys import PageKey, issue_token
from tests.annotation_site.test_public_views import PUBLIC
from tests.support import market
from tests.support.any_row import Rows
from tests.support.curation.interest_rows import FIGURES, OPTIONS, WEIGHTS
from tests.support.judging.work import Work
from validation import models as validation

pytestmark = pytest.mark.django_db
METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
BY_METHODS = pytest.mark.parametrize(
    "methods", [("get", "post"), pytest.param(METHODS, marks=pytest.mark.nightly)], ids=["some", "all"]
)
# Of a project, for its admins alone: by these methods.
READS, WRITES = frozenset({"get", "head"}), frozenset(METHODS) - {"get", "head"}
ADMINS_ONLY: dict[str, frozenset[str]] = {
    "batch-cap": READS | WRITES,
    "member-add": READS | WRITES,
    "member-role": READS | WRITES,
    "leaderboard-publish": READS | WRITES,
    "worker-forget": READS | WRITES,
    "project-history": READS,
    "project-money": frozenset({"post"}),
    "project-consent": frozenset({"post"}),
    "curation-audit-close": frozenset({"post"}),
    "version-seal": frozenset({"post"}),
}
# Where an admin of the project is not shown anything either, and why.
NOT_THERE = {
    "template-document": "the filled-in row holds no HTML of a template",
    "version-file": "nothing was exported",
    "version-download": "nothing was exported",
    "scorer-file": "there is no such file",
    "training-answer": "the assignment is no training",
    "gold-new": "no unit was named",
    "judging-report-compute": "no kind was named",
    "judging-rows": "no kind was named",
    "judging-rows-file": "no rows were made",
    "units-example": "no kind was named",
    "judging-item": "the item has no judgments",
    "judging-texts": "the dimension holds no texts",
    "api-judging-report": "no report was computed of judgments",
    "curation-texts-analysis": "the analysis has no result",
    "curation-texts-read": "the analysis has no result",
    "curation-texts-export": "the analysis has no result",
    "curation-sources-import": "no folder of imports is set",
    "scorer-evaluate": "no round was named",
    "evaluation-predictions": "there are no predictions",
    "choice-evaluation-predictions": "there are no predictions",
    "choice-lambda": "no question set was named",
    "scene-prompts-decide": "no prompts were named",
    "triplet-evaluation-compare": "no evaluations were named",
    "triplet-evaluation-triplet": "the evaluation has no triplets",
    "triplet-evaluation-replies": "the evaluation has no replies",
    "triplet-evaluation-correct": "the evaluation has no replies",
    "triplet-evaluation-file": "there is no such file",
}


class World:
    """One project with a row of every kind that a URL can name, and the same users around another project."""

    def __init__(self, project: hits.Project, admin: User, make_user: Any, make_image: Any) -> None:
        self.project = project
        self.other = projects.create_project(name="Somebody else's", by=admin)
        hits.Membership.objects.filter(project=self.other).delete()
        pair = Work(project).observed(make_image(1))[0]
        hit = pair.submission.attempt.hit
        assignment = hits.Assignment.objects.get()
        rows = self.rows = Rows(project, admin, **_REQUIRED_VALUES)
        for row in (
            pair,
            pair.submission,
            pair.image,
            assignment,
            assignment.worker,
            hit,
            hit.unit,
            hit.unit.batch,
        ):
            rows.add(row)
        compared = hits.Batch.objects.get(pk=hit.unit.batch_id)
        compared.pk, compared.kind = None, "likert_comparison"
        compared.save()
        self.judged = compared
        rows.add(validation.JudgingRound.objects.create(batch=compared))
        rows.add(market.market_worker("wilma"))
        rows.of(curation.ObjectSet)  # a photo without objects has no page of objects
        self.people: dict[str, User | None] = {
            "nobody": None,
            "a worker": User.objects.get(username="wilma"),
            "an annotator": self._member(make_user("anna", groups=("annotator",)), project, Role.ANNOTATOR),
            "a researcher elsewhere": self._member(make_user("otto"), self.other, Role.RESEARCHER),
            "an admin elsewhere": self._member(make_user("olga"), self.other, Role.ADMIN),
            "a researcher": self._member(make_user("rosa"), project, Role.RESEARCHER),
            "an admin": admin,
            "the superuser": make_user("sue", is_superuser=True, is_staff=True),
        }

    @staticmethod
    def _member(person: User, project: hits.Project, role: Role) -> User:
        projects.set_role(project=project, user=person, role=role, by=None)
        return person

    def client(self, persona: str, *, on_hit_origin: bool = False) -> Client:
        origin = settings.HIT_ORIGIN if on_hit_origin else settings.PUBLIC_URL
        client = Client(raise_request_exception=False, HTTP_HOST=origin.removeprefix("http://"))
        person = self.people[persona]
        if person is not None:
            client.force_login(person)
        return client


# Values that a model's constraints require.
_REQUIRED_VALUES: dict[str, dict[str, Any]] = {
    "Audit": {"state": "open"},
    "Evaluation": {"source": "predictions"},
    "FeatureSet": {"subject": "images"},
    "GeneratedImage": {"role": "premise"},
    "GoldItem": {"kind": "observation_review"},
    "ImageTriplet": {"first": "a", "gold": 1},
    "Instructions": {"kind": "sherlock_observation"},
    "InterestModel": {
        "kind": "counts",
        "threshold": 0.5,
        "options": OPTIONS,
        "figures": FIGURES,
        "weights": WEIGHTS,
    },
    "JudgingReport": {"kind": "observation_review"},
    "LeakReading": {"verdict": "same"},
    "QualificationRound": {"graders": 1},
    "ModelRun": {"purpose": "images"},
    "Question": {"stage": "answer", "label": 0},
    "Record": {"origin": "import", "submission": None},
    "Scene": {"plausible": "a", "category": "physical", "direction": "parallel"},
    "SourceRecord": {"source": "visual_genome"},
    "WorkerRule": {"measure": "approved_share", "proposes": "paused"},
    "TextAnalysis": {"kind": "topics"},
    "TripletEvaluation": {"source": "model"},
    "TextScore": {"field": "clue"},
    "VersionRow": {"part": "observation"},
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Say nothing of thousands of refusals."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def world(project: hits.Project, admin: User, make_user: Any, make_image: Any) -> World:
    return World(project, admin, make_user, make_image)


def patterns(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in (resolver or get_resolver()).url_patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern, path)
        else:
            yield path, pattern


# The row for a name in a URL; keyed by the URL's name if the same word has two meanings.
ROWS: dict[str, type[Any]] = {
    "template_id": hits.TaskTemplate,
    "image_id": hits.Image,
    "batch_id": hits.Batch,
    "assignment_id": hits.Assignment,
    "job_id": hits.Job,
    "worker_id": hits.Worker,
    "gold_id": validation.GoldItem,
    "rule_id": validation.WorkerRule,
    "proposal_id": validation.RuleProposal,
    "audit_id": curation.Audit,
    "pair_id": curation.LeakedPair,
    "version_id": curation.DatasetVersion,
    "scorer_id": curation.Scorer,
    "interest_id": curation.InterestModel,
    "clip_id": curation.Clip,
    "scene_id": curation.Scene,
    "candidate_id": curation.GeneratedImage,
    "triplet_id": curation.ImageTriplet,
    "board_id": leaderboard.Leaderboard,
    "team_id": leaderboard.LeaderboardTeam,
    "entry_id": leaderboard.LeaderboardEntry,
    "evaluation_id": curation.Evaluation,
    "choice_evaluation_id": curation.ChoiceEvaluation,
    "question_id": curation.Question,
    "set_id": curation.ComparisonSet,
    "requester_pk": marketplace.Requester,
    "worker_pk": marketplace.Worker,
}
QUESTION_SET_PAGES = (
    "question-set",
    "question-set-accept",
    "question-set-reject",
    "question-set-audit",
    "question-set-waive",
    "question-set-delete",
    "questions",
    "question",
)
TRIPLET_EVALUATION_PAGES = (
    "triplet-evaluation",
    "triplet-evaluation-triplet",
    "triplet-evaluation-replies",
    "triplet-evaluation-correct",
    "triplet-evaluation-file",
)
ROWS_AT: dict[tuple[str, str], type[Any]] = {
    ("comparison-round", "round_id"): curation.ComparisonRound,
    ("comparison-set-leave-out", "round_id"): curation.ComparisonRound,
    ("comparison-round-skipped", "round_id"): curation.ComparisonRound,
    ("follow-up", "round_id"): validation.JudgingRound,
    ("curation-duplicates-set-aside", "run_id"): curation.DuplicateRun,
    ("curation-duplicates-undo", "run_id"): curation.DuplicateRun,
    ("decision-file", "run_id"): validation.DecisionRun,
    ("error-analysis", "analysis_id"): curation.ErrorAnalysis,
    ("object-run", "run_id"): curation.DetectionRun,
    ("scene-image-run", "run_id"): curation.ModelRun,
    ("scene-image-run-resume", "run_id"): curation.ModelRun,
} | {(name, "set_id"): curation.QuestionSet for name in QUESTION_SET_PAGES}
ROWS_AT |= {(name, "evaluation_id"): curation.TripletEvaluation for name in TRIPLET_EVALUATION_PAGES}
DEFAULTS: dict[str, type[Any]] = {
    "round_id": validation.QualificationRound,
    "run_id": curation.ProposalRun,
    "analysis_id": curation.TextAnalysis,
}
_NAMED = re.compile(r"<(?:\w+:)?(\w+)>")


def address(world: World, path: str, name: str, *, slug: str = "") -> str:
    """Fill an address's names with rows of the world."""

    def filled(found: re.Match[str]) -> str:
        word = found[1]
        if (name, word) == ("judging-ratings", "batch_id"):
            return str(world.judged.pk)
        model = ROWS_AT.get((name, word)) or ROWS.get(word) or DEFAULTS.get(word)
        if model is not None:
            return str(world.rows.of(model).pk)
        return str(_text_argument(world, name, word, slug))

    return "/" + _NAMED.sub(filled, path)


def _text_argument(world: World, name: str, word: str, slug: str) -> Any:
    rows = world.rows
    texts: dict[str, Callable[[], Any]] = {
        "slug": lambda: slug or world.project.slug,
        "public_id": lambda: rows.of(hits.Unit).public_id,
        "submission_id": lambda: rows.of(hits.Submission).pk,
        "user_id": lambda: world.people["a researcher"].pk,  # type: ignore[union-attr]
        "kind_name": lambda: "sherlock_observation",
        "kind": lambda: "topics" if name == "curation-texts-run" else "observation_review",
        "source": lambda: "visual_genome",
        "version": lambda: rows.of(hits.Instructions).version,
        "place": lambda: rows.of(curation.AuditItem).position,
    }
    return texts[word]() if word in texts else "1"


def console(path: str, name: str) -> bool:
    """Whether an address belongs to a project's console."""
    return path.startswith(
        ("projects/<", "batches/", "submissions/", "jobs/", "versions/", "api/jobs", "api/proj")
    )


def asked(client: Client, method: str, path: str) -> Any:
    """Ask, and take back whatever it changed."""
    mark = transaction.savepoint()
    try:
        return getattr(client, method)(path)
    finally:
        transaction.savepoint_rollback(mark)


# Public pages that depend on the signed-in user.
BY_SESSION = {
    "",
    "sign-in/",
    "api/jobs/<int:job_id>/",
    "mturk/externalSubmit",
    r"^[/]*mturk/externalSubmit/?$",
}
# An address that each regular expression takes.
MATCHING = {
    r"^a/(?P<secret>[^/]+)/+mturk/externalSubmit/?$": f"/a/{'0' * 64}//mturk/externalSubmit/",
    r"^media/(?P<path>images/[0-9a-f]{2}/[0-9a-f]{64}\.(?:jpg|png))$": f"/media/images/00/{'0' * 64}.jpg",
}
TRIPLET_PAGES = "projects/<slug:slug>/triplets/"


def set_family(world: World, path: str) -> None:
    """Give both projects the family whose pages an address belongs to; others have no such pages."""
    family = "nleye" if path.startswith(TRIPLET_PAGES) else "sherlock"
    hits.Project.objects.filter(pk__in=[world.project.pk, world.other.pk]).update(family=family)


CONSOLE = [(path, str(found.name)) for path, found in patterns() if console(path, str(found.name))]
OTHERS = [(path, str(found.name)) for path, found in patterns() if not console(path, str(found.name))]


@pytest.mark.long
@BY_METHODS
def test_object_urls_are_for_project_members_only(world: World, methods: tuple[str, ...]) -> None:
    wrong = []
    outside = ("a worker", "an annotator", "a researcher elsewhere", "an admin elsewhere")
    clients = {persona: world.client(persona) for persona in world.people}
    for path, name in CONSOLE:
        set_family(world, path)
        own = address(world, path, name)
        foreign = address(world, path, name, slug=world.other.slug) if "slug:slug" in path else ""
        for method in methods:
            status = {persona: asked(client, method, own).status_code for persona, client in clients.items()}
            is_api = path.startswith("api/")
            if status["nobody"] not in ({302, 401, 403, 404} if is_api else {302}):
                wrong.append((method, own, "nobody", status["nobody"]))
            # A method that the address never takes is refused before anybody looks for the row.
            wrong += [
                (method, own, persona, status[persona])
                for persona in outside
                if status[persona] not in {404, 405}
            ]
            if foreign:
                found = asked(clients["an admin elsewhere"], method, foreign).status_code
                names_a_row = bool(set(_NAMED.findall(path)) & (set(ROWS) | set(DEFAULTS)))
                if names_a_row and found not in {404, 405}:
                    wrong.append((method, foreign, "an admin elsewhere", found))
            inside = {persona: status[persona] for persona in ("a researcher", "an admin", "the superuser")}
            admins_only = method in ADMINS_ONLY.get(name, ())
            if (inside["a researcher"] == 403) != admins_only and inside["a researcher"] != 405:
                wrong.append((method, own, "a researcher", inside["a researcher"]))
            wrong += [
                (method, own, persona, inside[persona])
                for persona in ("an admin", "the superuser")
                if inside[persona] == 403
            ]
        reached = {asked(clients["an admin"], method, own).status_code for method in ("get", "post")}
        if reached <= {404, 405} and name not in NOT_THERE:
            wrong.append(("get or post", own, "an admin is shown nothing", *reached))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.long
@BY_METHODS
def test_worker_site_is_for_workers_and_accounts_for_superuser(
    world: World, methods: tuple[str, ...]
) -> None:
    wrong = []
    clients = {persona: world.client(persona) for persona in world.people}
    for path, name in OTHERS:
        if not path.startswith(("work/", "marketplace/")):
            continue
        own = address(world, path, name)
        for method in methods:
            status = {persona: asked(client, method, own).status_code for persona, client in clients.items()}
            if status.pop("nobody") not in {302, 405}:
                wrong.append((method, own, "nobody"))
            let_in = {"a worker"} if path.startswith("work") else {"the superuser"}
            wrong += [
                (method, own, persona, found)
                for persona, found in status.items()
                if found not in ({403, 405} if persona not in let_in else {200, 302, 400, 404, 405, 409})
            ]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.long
@BY_METHODS
def test_public_urls_ignore_session_and_never_fail(world: World, methods: tuple[str, ...]) -> None:
    """Public addresses, a page's endpoints, the requester API and hand-ins: they know nobody by a cookie alone."""
    wrong = []
    for path, name in OTHERS:
        if path not in PUBLIC or path in BY_SESSION:
            continue
        on_hit_origin = path.startswith(("hit/", "^media"))
        own = address(world, path, name, slug="no-such-board") if not path.startswith("^") else MATCHING[path]
        for method in methods:
            found = {
                persona: asked(world.client(persona, on_hit_origin=on_hit_origin), method, own).status_code
                for persona in world.people
            }
            if len(set(found.values())) > 1 or max(found.values()) >= 500:
                wrong.append((method, own, found))
            if path.startswith(("hit/api/", "a/")) and method == "post" and min(found.values()) < 400:
                wrong.append((method, own, found))
    assert not wrong, "\n".join(map(str, wrong))


def test_wrong_origin_serves_no_pages(world: World) -> None:
    for path, name in CONSOLE:
        client = world.client("the superuser", on_hit_origin=True)
        assert asked(client, "get", address(world, path, name)).status_code == 404
    for path in ("hit/api/open", "hit/api/draft", "hit/api/submission", "hit/api/consent", "hit/api/hints"):
        assert asked(world.client("a worker"), "post", f"/{path}").status_code == 404


def test_task_api_accepts_page_key_only(world: World) -> None:
    """With nobody's key, and with the key of another task's page: refused for everybody, signed in or not."""
    unit = world.rows.of(hits.Unit)
    crossed = issue_token(PageKey(str(unit.public_id), "3NOSUCHHIT", "3ASG", "AWILMA"))
    for name in ("open", "draft", "submission", "hints", "consent"):
        for persona in world.people:
            client = world.client(persona, on_hit_origin=True)
            for headers in ({}, {"authorization": "Bearer x"}, {"authorization": f"Bearer {crossed}"}):
                reply = client.post(f"/hit/api/{name}", {}, content_type="application/json", headers=headers)
                assert reply.status_code in {400, 401}, (name, persona, headers, reply.content)
    assert not hits.Draft.objects.exists()
