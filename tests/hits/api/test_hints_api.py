"""Live hints over HTTP: who may ask, what comes back, what is kept with a submission, what a reviewer sees."""

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation_site.env import EnvError, env_choices
from hits.api import hints as endpoint
from hits.hints.card import HintRule, TextPair
from hits.kind import HitKind
from hits.models import Attempt, Hit, Image, Project, Submission, Worker
from hits.selectors.hints import enabled_rules
from hits.services.collecting.page_keys import PageKey, issue_token
from tests.support.answers import observations
from tests.support.loop import launched
from tests.support.pages import squeezed
from tests.support.proof import SECRET

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("attempts_are_proven")]
HIT_HOST = settings.HIT_ORIGIN.removeprefix("http://")
MakeImage = Callable[..., Image]
ROW = {"rule": "pronoun", "card": 1, "field": "inference", "quote": "she", "dismissed": True, "fixed": False}


@pytest.fixture
def hit(project: Project, make_image: MakeImage) -> Hit:
    """Return a live HIT without a marketplace behind it."""
    launched(project, [make_image(1)])
    Hit.objects.update(state="live", hit_id="3HIT")
    return Hit.objects.get()


@pytest.fixture
def frame() -> Client:
    """Return a browser that asks the HIT origin."""
    return Client(HTTP_HOST=HIT_HOST)


class Asked:
    """Stands in for the encoder process; remembers what it was asked."""

    def __init__(self, score: float | None = None) -> None:
        self.score = score
        self.similar_pairs: list[TextPair] = []
        self.contradict_pairs: list[TextPair] = []

    def score_similarity(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        self.similar_pairs += pairs
        return None if self.score is None else [self.score] * len(pairs)

    def score_contradiction(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        self.contradict_pairs += pairs
        return None if self.score is None else [self.score] * len(pairs)


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Put a silent encoder in the process's place."""
    asked = Asked()
    monkeypatch.setattr(endpoint, "_encoder", asked)
    return asked


def _key(hit: Hit, *, worker: str = "AWILMA", assignment: str = "3ASG") -> PageKey:
    return PageKey(str(hit.unit.public_id), "3HIT", assignment, worker)


def _post(frame: Client, name: str, body: Any, token: str = "") -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = body if isinstance(body, str) else json.dumps(body)
    return frame.post(reverse(f"hit-api-{name}"), data=data, content_type="application/json", headers=headers)


def _hints(frame: Client, hit: Hit, body: Any, **key: str) -> Any:
    return _post(frame, "hints", body, issue_token(_key(hit, **key)))


def _draft(**parts: Any) -> dict[str, Any]:
    row = {"index": 1, "bonus": False, "clue": "a cup", "inference": "She left early", "confidence": None}
    return {"observations": [row | {"boxes": [{"left": 1, "top": 1, "width": 20, "height": 20}]} | parts]}


def test_draft_returns_its_hints(frame: Client, hit: Hit) -> None:
    response = _hints(frame, hit, _draft())
    assert response.status_code == 200
    assert not response.cookies
    assert response.json() == {
        "hints": [
            {
                "rule": "pronoun",
                "card": 1,
                "field": "inference",
                "quote": "She",
                "start": 0,
                "end": 3,
                "other": None,
                "params": {"form": "subject"},
            }
        ]
    }


def test_semantic_hints_need_the_encoder(frame: Client, hit: Hit, encoder: Asked) -> None:
    draft = _draft(inference="They left early")
    assert _hints(frame, hit, draft).json() == {"hints": []}
    encoder.score = 0.99
    (hint,) = _hints(frame, hit, draft).json()["hints"]
    assert (hint["rule"], hint["params"]) == ("repeats_clue", {"by": "meaning", "score": 0.99})


def test_nothing_is_written(frame: Client, hit: Hit) -> None:
    before = {model: model.objects.count() for model in apps.get_models()}
    assert _hints(frame, hit, _draft()).status_code == 200
    assert {model: model.objects.count() for model in apps.get_models()} == before


@pytest.mark.parametrize(
    "body", [{}, {"observations": "x"}, {"observations": [{"index": 1, "boxes": [None]}]}]
)
def test_unreadable_draft_has_no_hints(frame: Client, hit: Hit, body: Any) -> None:
    assert _hints(frame, hit, body).json() == {"hints": []}


@pytest.mark.parametrize("body", ["[]", "3", '"x"', "{", '{"a": NaN}'])
def test_invalid_draft_is_refused(frame: Client, hit: Hit, body: str) -> None:
    response = _hints(frame, hit, body)
    assert response.status_code == 400
    assert response.json()["error"]


def test_a_draft_beyond_the_limit_is_refused(frame: Client, hit: Hit) -> None:
    assert _hints(frame, hit, {"observations": [], "more": "x" * 61_000}).status_code == 413


# --- Who may ask


def test_missing_or_forged_token_is_refused(frame: Client, hit: Hit) -> None:
    good = issue_token(_key(hit))
    for token in ("", "nonsense", good[:-3] + "AAA"):
        assert _post(frame, "hints", _draft(), token).status_code == 401


def test_token_of_another_hit_is_refused(frame: Client, hit: Hit) -> None:
    other_key = PageKey(str(uuid.uuid4()), "3HIT", "3ASG", "AWILMA")
    assert _post(frame, "hints", _draft(), issue_token(other_key)).status_code == 401


def test_an_excluded_worker_is_refused(frame: Client, hit: Hit) -> None:
    worker = Worker.objects.create(environment=hit.environment, worker_id="AOTTO")
    hit.unit.excluded_workers.add(worker)
    assert _hints(frame, hit, _draft(), worker="AOTTO").status_code == 403
    assert _hints(frame, hit, _draft(), worker="AWILMA").status_code == 200


def test_a_session_is_no_token(frame: Client, hit: Hit, admin: User) -> None:
    frame.force_login(admin)
    assert _post(frame, "hints", _draft()).status_code == 401


def test_rate_limit_applies_per_page(frame: Client, hit: Hit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint.HintThrottle, "THROTTLE_RATES", {"hit-hints": "3/min"})
    codes = [_hints(frame, hit, {}).status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    assert _hints(frame, hit, {}, worker="AOTTO").status_code == 200
    token = issue_token(_key(hit))
    saved = frame.put(
        reverse("hit-api-draft"),
        data=json.dumps({"content": {}, "revision": 0}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert saved.status_code == 200, "hints use up nothing of what saving needs"


def test_the_rate_is_sixty_a_minute() -> None:
    assert settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["hit-hints"] == "60/min"


# --- Switching off


def test_disabled_rule_is_not_offered(frame: Client, hit: Hit, settings: Any) -> None:
    from hits import registry

    kind = registry.get_kind("sherlock_observation")
    assert HintRule.CONTRADICTS not in enabled_rules(kind)
    settings.HINTS_OFF = frozenset({"pronoun"})
    assert set(enabled_rules(kind)) == set(HintRule) - {HintRule.PRONOUN}
    assert _hints(frame, hit, _draft()).json() == {"hints": []}
    settings.HINTS_OFF = frozenset(HintRule)
    assert enabled_rules(kind) == ()


def test_contradiction_model_is_used_only_if_configured_and_enabled(
    frame: Client, hit: Hit, encoder: Asked, settings: Any
) -> None:
    draft = _draft(inference="They are rich")
    draft["observations"].append(_draft(index=2, clue="a car", inference="They owe money")["observations"][0])
    draft["observations"][1]["index"] = 2
    settings.HINTS_NLI_MODEL = "/models/nli"
    _hints(frame, hit, draft)
    assert encoder.contradict_pairs == []
    settings.HINTS_OFF = frozenset()
    _hints(frame, hit, draft)
    assert encoder.contradict_pairs == [("They owe money", "They are rich")]


def test_unknown_rule_name_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINTS_OFF", "pronoun, pronouns")
    with pytest.raises(EnvError, match="'pronouns' is not known"):
        env_choices("HINTS_OFF", list(HintRule))
    monkeypatch.setenv("HINTS_OFF", "")
    assert env_choices("HINTS_OFF", list(HintRule), default=("contradicts",)) == frozenset()


def test_a_kind_without_rules_has_no_hints(frame: Client, hit: Hit, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type("Plain", (HitKind,), {"hint_rules": ()})
    assert enabled_rules(kind) == ()  # type: ignore[arg-type]


# --- What is kept


def _submit(frame: Client, hit: Hit, **more: Any) -> Any:
    token = issue_token(_key(hit))
    assert _post(frame, "consent", {"version": 1, "country": "GB"}, token).status_code == 200
    body = {"client_uuid": str(uuid.uuid4()), "answer": observations(), "active_seconds": 61.5} | more
    return _post(frame, "submission", body, token)


def test_shown_hints_are_stored_outside_the_answer_hash(frame: Client, hit: Hit) -> None:
    first = _submit(frame, hit, hints=[ROW, ROW | {"card": 2, "dismissed": False, "fixed": True}])
    second = _submit(frame, hit)
    assert (first.status_code, second.status_code) == (201, 201), first.content
    kept, plain = (Submission.objects.get(pk=r.json()["submission_id"]) for r in (first, second))
    assert kept.hints == [ROW, ROW | {"card": 2, "dismissed": False, "fixed": True}]
    assert plain.hints == []
    assert "hints" not in kept.answer
    assert kept.sha256 == plain.sha256


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ("x", "hints: send a list"),
        ([ROW] * 101, "hints: 101 rows"),
        ([ROW, ROW | {"rule": "nonsense"}], "hints[1].rule: "),
        ([ROW | {"quote": "x" * 201}], "hints[0].quote: "),
        (None, "hints: "),
    ],
)
def test_invalid_hint_report_is_refused_by_field(frame: Client, hit: Hit, hints: Any, message: str) -> None:
    response = _submit(frame, hit, hints=hints)
    assert response.status_code == 400
    body = response.json()
    assert message in body["error"] or body["errors"][0]["field"] == "hints"
    assert not Submission.objects.exists()


def test_repeated_submission_keeps_the_first_hint_report(frame: Client, hit: Hit) -> None:
    again = str(uuid.uuid4())
    first = _submit(frame, hit, client_uuid=again, hints=[ROW])
    second = _submit(frame, hit, client_uuid=again, hints=[])
    assert (first.status_code, second.status_code) == (201, 200)
    assert Submission.objects.get().hints == [ROW]
    assert Attempt.objects.count() == 1


# --- What others see


def test_page_config_has_hint_address_and_rules(frame: Client, hit: Hit) -> None:
    query = f"assignmentId=3ASG&hitId=3HIT&workerId=AWILMA&turkSubmitTo={settings.PUBLIC_URL}/a/{SECRET}"
    html = frame.get(f"{reverse('hit-page', args=[hit.unit.public_id])}?{query}").text
    config = json.loads(
        html.split('<script id="hit-config" type="application/json">')[1].split("</script>")[0]
    )
    assert config["api"]["hints"] == reverse("hit-api-hints")
    assert config["hints"] == [rule.value for rule in HintRule if rule is not HintRule.CONTRADICTS]
    assert html.count("data-hints") == 5


def test_review_page_counts_shown_and_ignored_hints(
    hit: Hit, frame: Client, client: Client, researcher: User
) -> None:
    from django.utils import timezone

    from hits.models import Assignment

    _submit(frame, hit, hints=[ROW, ROW | {"quote": "her"}, ROW | {"quote": "he", "dismissed": False}])
    row = Assignment.objects.create(
        hit=hit,
        assignment_id="3ASG",
        worker=Worker.objects.get(),
        status="Submitted",
        match="matched",
        submission=Submission.objects.get(),
        answer_xml="",
        submitted_at=timezone.now(),
        synced_at=timezone.now(),
    )
    client.force_login(researcher)
    page = client.get(reverse("assignment-detail", args=[row.pk]))
    assert "Hints shown: 3, ignored: 2" in squeezed(page)
