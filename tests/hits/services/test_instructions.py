"""The instruction editor: published once, shown on purpose, safe to show, and named by each answer."""

import json
import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from hits import registry
from hits.domain.images.geometry import Box
from hits.domain.instructions import MAX_BODY, Example, InstructionText, diff_lines
from hits.domain.states import BatchState
from hits.models import AuditEvent, Batch, Hit, Image, Instructions, Project, Submission
from hits.selectors.instructions import built_in_text, render_batch_instructions
from hits.services.collecting.page_keys import PageKey, issue_token
from hits.services.errors import Conflict, ContentTooLarge, Refused
from hits.services.instructions import NewerVersionPublished, publish_instructions, set_batch_instructions
from hits.services.launching.terms import Eligibility, LaunchTerms
from hits.services.projects import create_project
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, launched, published
from tests.support.pages import squeezed
from tests.support.proof import SECRET

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("attempts_are_proven")]
MakeImage = Callable[..., Image]
KIND = "sherlock_observation"
TEXT = InstructionText("Find a clue and say what it tells you.", "Look twice.\n\nWrite once.")


def put(
    project: Project, text: InstructionText = TEXT, *, based_on: int = 0, by: Any = None, kind: str = KIND
) -> Any:
    """Publish a text."""
    return publish_instructions(
        project=project, kind_name=kind, text=text, note="Shorter", based_on=based_on, by=by
    )


@pytest.fixture
def staff_client(client: Client, researcher: User) -> Client:
    """Return a browser that a researcher of the project signed in to."""
    client.force_login(researcher)
    return client


def form_of(text: InstructionText, *, based_on: int = 0, **more: str) -> dict[str, str]:
    """Return what the editor's form posts."""
    fields = {"summary": text.summary, "body": text.body, "note": "Clearer", "based_on": str(based_on)}
    fields |= {"examples-TOTAL_FORMS": str(len(text.examples)), "examples-INITIAL_FORMS": "0"}
    for number, row in enumerate(text.examples):
        picture = f"drawing:{row.picture}" if row.picture else "photo" if row.image else ""
        boxes = "\n".join(f"{b.left} {b.top} {b.width} {b.height}" for b in row.boxes)
        values = {"weak": row.weak, "good": row.good, "why": row.why, "picture": picture, "boxes": boxes}
        fields |= {f"examples-{number}-{name}": value for name, value in values.items()}
        fields[f"examples-{number}-photo"] = str(row.image or "")
    return fields | {"step": "publish"} | more


def editor_url(project: Project, name: str = "instructions-edit", *more: Any) -> str:
    """Return an address of the editor."""
    return reverse(name, args=[project.slug, KIND, *more])


# --- publishing


def test_versions_count_up_a_kind_and_each_is_audited(project: Project, researcher: User) -> None:
    first = put(project, by=researcher)
    second = put(project, replace(TEXT, body="Look thrice."), based_on=1, by=researcher)
    other = put(project, kind="observation_review")
    assert (first.version, second.version, other.version) == (1, 2, 1)
    event = AuditEvent.objects.filter(action="instructions.publish").order_by("pk")[1]
    assert event.actor == researcher
    assert event.data == {"kind": KIND, "version": 2}


def test_a_published_version_never_changes(project: Project) -> None:
    row = put(project)
    row.body = "Something else"
    with pytest.raises(TypeError, match="never changed"):
        row.save()


def test_second_of_two_simultaneous_publications_is_a_conflict(project: Project) -> None:
    put(project)
    start, outcomes = threading.Barrier(2), []

    def go(words: str) -> None:
        start.wait()
        try:
            outcomes.append(put(project, replace(TEXT, body=words), based_on=1).body)
        except NewerVersionPublished as conflict:
            outcomes.append(conflict)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=go, args=[words]) for words in ("One.", "Two.")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=180)
    (conflict,) = [one for one in outcomes if isinstance(one, NewerVersionPublished)]
    (won,) = [one for one in outcomes if isinstance(one, str)]
    assert conflict.other.version == 2
    assert conflict.other.body == won
    assert Instructions.objects.count() == 2


def test_conflicting_publication_keeps_the_text_and_shows_the_difference(
    staff_client: Client, project: Project, admin: User
) -> None:
    put(project, replace(TEXT, body="Theirs."), by=admin)
    mine = replace(TEXT, body="Mine.")
    reply = staff_client.post(editor_url(project), form_of(mine))
    page = squeezed(reply)
    assert reply.status_code == 409
    assert "ada published version 1 while you edited" in page
    assert "> Mine.</textarea>" in page
    assert "<del>Theirs.</del>" in page
    assert "<ins>Mine.</ins>" in page
    assert 'name="based_on" value="1"' in page
    assert staff_client.post(editor_url(project), form_of(mine, based_on=1)).status_code == 302
    assert Instructions.objects.get(version=2).body == "Mine."


def test_publishing_the_same_text_again_is_refused(project: Project) -> None:
    put(project)
    with pytest.raises(Refused, match="equals the current version"):
        put(project, based_on=1)


def test_editing_starts_with_the_built_in_text(staff_client: Client, project: Project) -> None:
    kind = registry.get_kind(KIND)
    own = built_in_text(kind)
    assert own is not None
    page = squeezed(staff_client.get(editor_url(project)))
    assert "Spot a clue." in page
    assert kind.description in page
    assert "Built-in drawing" in page
    reply = staff_client.post(editor_url(project), form_of(own))
    assert reply.status_code == 400
    assert "equals the current version" in squeezed(reply)


def test_editing_a_kind_without_built_in_text_starts_empty(staff_client: Client, project: Project) -> None:
    assert built_in_text(registry.get_kind("likert_comparison")) is None
    page = squeezed(staff_client.get(reverse("instructions-edit", args=[project.slug, "likert_comparison"])))
    assert "A published version replaces the built-in instructions" in page


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"summary": " "}, "summary"),
        ({"summary": "x" * 201}, "summary"),
        ({"body": " \n "}, "body"),
        ({"body": "a\x00b"}, "body"),
        ({"body": "[" * 101}, "body"),
        ({"body": "- " * 3000 + "a"}, "body"),
        ({"body": "![x](https://example.org/x.png)"}, "body"),
        ({"body": "![x](data:image/png;base64,AAAA)"}, "body"),
        ({"body": "<img src='//example.org/x.png'>"}, "body"),
        ({"body": "![x](photo:999999)"}, "body"),
        ({"examples": (Example(weak="w"),)}, "example 1"),
        ({"examples": (Example(good="g"), Example(good="x" * 601))}, "example 2"),
        ({"examples": (Example(good="![x](photo:1)"),)}, "example 1"),
        ({"examples": (Example(good="g", image=999_999),)}, "example 1"),
        ({"examples": (Example(good="g", boxes=(Box(0, 0, 5, 5),)),)}, "example 1"),
        ({"examples": (Example(good="g", picture="../../secret.svg"),)}, "example 1"),
        ({"examples": (Example(good="g"),) * 7}, "examples"),
    ],
)
def test_unshowable_text_is_refused_by_field(project: Project, change: Any, field: str) -> None:
    with pytest.raises(Refused) as caught:
        put(project, replace(TEXT, **change))
    assert str(caught.value).startswith(f"{field}: ")
    assert not Instructions.objects.exists()


def test_a_huge_text_is_refused_before_it_is_read(project: Project) -> None:
    with pytest.raises(ContentTooLarge, match="use 20,000 or fewer"):
        put(project, replace(TEXT, body="word " * MAX_BODY))


def test_photo_of_another_project_taken_down_photo_and_box_outside_are_refused(
    project: Project, make_image: MakeImage
) -> None:
    mine, gone = make_image(1), make_image(2)
    theirs = make_image(3, into=create_project(name="Elsewhere", by=None))
    Image.objects.filter(pk=gone.pk).update(taken_down_at=timezone.now())
    for image in (theirs, gone):
        with pytest.raises(Refused, match=f"body: photo {image.pk} is not in this project"):
            put(project, replace(TEXT, body=f"![x](photo:{image.pk})"))
        with pytest.raises(Refused, match=f"example 1: photo {image.pk} is not"):
            put(project, replace(TEXT, examples=(Example(good="g", image=image.pk),)))
    outside = Example(good="g", image=mine.pk, boxes=(Box(0, 0, mine.width + 1, 5),))
    with pytest.raises(Refused, match="example 1: the box spans"):
        put(project, replace(TEXT, examples=(outside,)))


# --- the page


def test_a_slip_in_the_form_is_named_and_what_was_typed_is_kept(
    staff_client: Client, project: Project
) -> None:
    broken = InstructionText("One line", "Kept words", (Example(good="g", image=1, boxes=()),))
    fields = form_of(broken) | {"note": "", "examples-0-boxes": "1, 2, three", "examples-0-photo": ""}
    reply = staff_client.post(editor_url(project), fields)
    page = squeezed(reply)
    assert reply.status_code == 400
    assert "Kept words" in page
    assert "“1, 2, three” is not a box" in page
    assert "Enter the photo’s number" in page
    assert "This field is required." in page


def test_examples_are_published_as_typed_and_empty_or_left_out_rows_are_none(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    image = make_image(1)
    drawing = "sherlock_observation/example.svg"
    rows = (
        Example(weak="w", good="g", why="y", image=image.pk, boxes=(Box(1, 2, 10, 12), Box(20, 2, 9, 9))),
        Example(),
        Example(good="left out"),
        Example(good="drawn", picture=drawing),
    )
    fields = form_of(replace(TEXT, examples=rows), **{"examples-2-leave_out": "on"})
    assert staff_client.post(editor_url(project), fields).status_code == 302
    stored = Instructions.objects.get().examples
    assert [row["good"] for row in stored] == ["g", "drawn"]
    assert stored[0]["image"] == image.pk
    assert stored[0]["boxes"][1] == {"left": 20, "top": 2, "width": 9, "height": 9}
    assert stored[1]["picture"] == drawing
    assert "bedroom" in stored[1]["alt"]


def test_another_example_is_offered_without_a_script(staff_client: Client, project: Project) -> None:
    rows = (Example(good="first"),)
    page = squeezed(
        staff_client.post(editor_url(project), form_of(replace(TEXT, examples=rows), step="more"))
    )
    assert "first" in page
    assert 'name="examples-1-good"' in page
    assert TEXT.summary in page
    assert not Instructions.objects.exists()


def test_a_forged_count_of_examples_does_no_harm(staff_client: Client, project: Project) -> None:
    for count in ("100000", "x", ""):
        reply = staff_client.post(editor_url(project), form_of(TEXT) | {"examples-TOTAL_FORMS": count})
        assert reply.status_code == 400, count
        assert not Instructions.objects.exists()


def test_the_preview_is_what_the_workers_page_shows(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    image = make_image(1)
    row = Example(weak="w", good="*g*", why="y", image=image.pk, boxes=(Box(1, 2, 10, 12),))
    text = replace(TEXT, body=f"**Bold**\n\n![a door](photo:{image.pk})", examples=(row,))
    preview = squeezed(staff_client.post(editor_url(project, "instructions-preview"), form_of(text)))
    assert not Instructions.objects.exists()
    version = put(project, text)
    launched(project, [image], terms=LaunchTerms(eligibility=Eligibility(instructions=version)))
    page = squeezed(_page(Hit.objects.get()))
    pattern = re.compile(r'<div class="how-b.*?</div></details>', re.DOTALL)
    assert _only(pattern, preview) == _only(pattern, page)
    assert "<strong>Bold</strong>" in page
    assert f'src="{settings.HIT_ORIGIN}' in page


def test_preview_may_be_framed_by_the_site_only_and_names_missing_photos(
    staff_client: Client, project: Project
) -> None:
    reply = staff_client.post(
        editor_url(project, "instructions-preview"), form_of(replace(TEXT, body="![x](photo:9)"))
    )
    assert reply.status_code == 200
    assert "photo 9 is not in this project" in squeezed(reply)
    assert reply.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in reply.headers["Content-Security-Policy"]
    assert "script-src 'self'" in reply.headers["Content-Security-Policy"]


NASTY = """
<script>alert(1)</script>
<img src=x onerror=alert(1)>
<svg onload=alert(1)></svg>
<iframe src="https://example.org"></iframe>
<style>body { display: none }</style>
<p style="position:fixed" onclick="alert(1)" class="btn" id="task">styled</p>
[js](javascript:alert(1)) [js2](JaVaScRiPt:alert(1)) [data](data:text/html,<script>alert(1)</script>)
[photo](photo:1) ![foreign](https://example.org/x.png) ![d](data:image/svg+xml,<svg/onload=alert(1)>)
<a href="//example.org" target="_top">relative</a> <form action="/"><input name="x"></form>
![tricky](photo:1 "onerror=alert(1)") <img alt="a><script>alert(1)</script>" src="photo:1">
"""


@pytest.mark.parametrize("where", ["body", "weak", "good", "why", "summary"])
def test_scripts_and_foreign_links_are_removed(staff_client: Client, project: Project, where: str) -> None:
    text = replace(TEXT, body=NASTY) if where == "body" else TEXT
    if where == "summary":
        text = replace(TEXT, summary=NASTY.replace("\n", " ")[:200])
    elif where != "body":
        text = replace(TEXT, examples=(replace(Example(good="g"), **{where: NASTY.replace("\n", " ")}),))
    page = staff_client.post(editor_url(project, "instructions-preview"), form_of(text)).text
    block = page[page.index("<details") : page.index("</details>")]
    tags = re.findall(r"<([a-z0-9]+)((?:\s[^>]*)?)>", block)
    assert {name for name, _ in tags} <= {
        "details", "summary", "b", "span", "div", "p", "a", "img", "em", "strong", "ul", "ol", "li",
    }  # fmt: skip
    attributes = " ".join(rest for _, rest in tags)
    assert not re.search(r"\son\w+=|style=|srcset=|id=|javascript:|data:", attributes, re.IGNORECASE)
    assert "example.org" not in attributes.replace('alt="', "")
    assert "src=" not in attributes  # photo 1 is not this project's


def test_a_photo_that_is_taken_down_later_is_no_longer_shown(project: Project, make_image: MakeImage) -> None:
    shown, asked = make_image(1), make_image(2)
    row = Example(good="g", image=shown.pk, boxes=(Box(1, 1, 5, 5),))
    version = put(project, replace(TEXT, body=f"![a door](photo:{shown.pk})", examples=(row,)))
    launched(project, [asked], terms=LaunchTerms(eligibility=Eligibility(instructions=version)))
    address = shown.file.name
    assert _page(Hit.objects.get()).text.count(address) == 2
    Image.objects.filter(pk=shown.pk).update(taken_down_at=timezone.now())
    page = _page(Hit.objects.get()).text
    assert address not in page
    assert 'alt="a door"' in page


def test_the_difference_has_signs_and_words(staff_client: Client, project: Project) -> None:
    put(project)
    put(project, replace(TEXT, body="Look twice.\n\nWrite twice."), based_on=1)
    page = squeezed(staff_client.get(editor_url(project, "instructions-version", 2)))
    assert "Changes from version 1" in page
    assert '<b class="num">−</b> Removed</td><td><del>Write once.</del>' in page
    assert '<b class="num">+</b> Added</td><td><ins>Write twice.</ins>' in page
    assert "1 line added, 1 removed" in page
    assert "Changes from the built-in instructions" in squeezed(
        staff_client.get(editor_url(project, "instructions-version", 1))
    )


def test_compare_keeps_order_and_every_line() -> None:
    lines = diff_lines(["a", "b", "c"], ["a", "x", "c", "d"])
    assert [(line.sign.value, line.text) for line in lines] == [
        (" ", "a"), ("−", "b"), ("+", "x"), (" ", "c"), ("+", "d"),
    ]  # fmt: skip


# --- batches


def _page(hit: Hit) -> Any:
    Hit.objects.filter(pk=hit.pk).update(hit_id="3HIT")  # as if it stood on the marketplace
    query = f"assignmentId=3ASG&hitId=3HIT&workerId=AWILMA&turkSubmitTo={settings.PUBLIC_URL}/a/{SECRET}"
    host = settings.HIT_ORIGIN.removeprefix("http://")
    return Client(HTTP_HOST=host).get(f"{reverse('hit-page', args=[hit.unit.public_id])}?{query}")


def _only(pattern: "re.Pattern[str]", page: str) -> str:
    (found,) = pattern.findall(page)
    return str(found)


def _config(reply: Any) -> dict[str, Any]:
    found = re.search(r'id="hit-config" type="application/json">(.*?)</script>', reply.text, re.DOTALL)
    assert found
    config: dict[str, Any] = json.loads(found.group(1))
    return config


def test_a_batch_shows_its_version_or_the_kinds_own_text(project: Project, make_image: MakeImage) -> None:
    batch = launched(project, [make_image(1)])
    own = squeezed(_page(Hit.objects.get()))
    assert "Spot a clue." in own
    assert "sherlock_observation/example.svg" in own
    set_batch_instructions(batch=batch, version=put(project), by=None, replaces=None)
    page = squeezed(_page(Hit.objects.get()))
    assert "Look twice." in page
    assert TEXT.summary in page
    assert "Spot a clue." not in page


def test_a_judging_kind_keeps_its_template_until_a_version_is_shown(project: Project) -> None:
    version = put(project, kind="observation_review")
    batch = Batch(project=project, kind="observation_review")

    assert render_batch_instructions(batch) is None
    batch.instructions = version
    shown = render_batch_instructions(batch)
    assert shown is not None
    assert "Look twice." in shown.html


def test_each_answer_names_the_version_that_its_page_showed(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    batch = launched(project, [make_image(1)])
    Hit.objects.update(state="live", hit_id="3HIT")
    first = put(project)
    set_batch_instructions(batch=batch, version=first, by=None, replaces=None)
    opened = _config(_page(Hit.objects.get()))
    second = put(project, replace(TEXT, body="Newer."), based_on=1)
    set_batch_instructions(batch=batch, version=second, by=None, replaces=1)
    _send(Hit.objects.get(), opened["instructions"])
    assert Submission.objects.get().instructions == first
    page = squeezed(staff_client.get(reverse("batch-detail", args=[batch.pk])))
    assert "version 1: 1" in page
    rows = squeezed(staff_client.get(editor_url(project, "instructions-version", 1)))
    assert "No batch uses this version" in rows


def _send(hit: Hit, instructions: int | None) -> None:
    token = issue_token(PageKey(str(hit.unit.public_id), "3HIT", "3ASG", "AWILMA"))
    client = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))
    body = {"client_uuid": str(uuid.uuid4()), "answer": observations(), "active_seconds": 61.5}
    agreement: dict[str, Any] = {"version": 1, "country": "US"}
    for name, data in (("consent", agreement), ("submission", body | {"instructions": instructions})):
        reply = client.post(
            reverse(f"hit-api-{name}"),
            data=json.dumps(data),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        assert reply.status_code in {200, 201}, reply.content


def test_review_queue_names_the_instructions_version(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund()
    version = put(project)
    batch = published(project, [make_image(1), make_image(2)])
    worker = market.market_worker()
    for hit, seen in zip(Hit.objects.all(), (version.pk, None), strict=True):
        market.work(hit, worker, observations(salt=str(hit.pk)), instructions=seen)
    pages = [
        squeezed(staff_client.get(reverse("assignment-detail", args=[row.pk]))) for row in collected(batch)
    ]
    assert editor_url(project, "instructions-version", 1) in pages[0]
    assert "Built-in" in pages[1]


def test_choosing_a_version_is_audited_and_a_concurrent_choice_is_a_conflict(
    project: Project, make_image: MakeImage, researcher: User
) -> None:
    batch = launched(project, [make_image(1)])
    first = put(project)
    set_batch_instructions(batch=batch, version=first, by=researcher, replaces=None)
    event = AuditEvent.objects.get(action="batch.instructions")
    assert (event.actor, event.data) == (researcher, {"before": None, "after": 1})
    with pytest.raises(Conflict, match="somebody chose version 1"):
        set_batch_instructions(batch=batch, version=None, by=researcher, replaces=None)
    with pytest.raises(Refused, match="shows version 1 already"):
        set_batch_instructions(batch=batch, version=first, by=researcher, replaces=1)
    set_batch_instructions(batch=batch, version=None, by=researcher, replaces=1)
    batch.refresh_from_db()
    assert batch.instructions is None


def test_another_projects_version_another_kinds_and_a_closed_batch_are_refused(
    project: Project, make_image: MakeImage
) -> None:
    batch = launched(project, [make_image(1)])
    theirs = put(create_project(name="Elsewhere", by=None))
    for wrong in (theirs, put(project, kind="observation_review")):
        with pytest.raises(Refused, match="another project or another kind"):
            set_batch_instructions(batch=batch, version=wrong, by=None, replaces=None)
    Batch.objects.update(state=BatchState.CLOSED)
    with pytest.raises(Refused, match="closed"):
        set_batch_instructions(batch=batch, version=put(project), by=None, replaces=None)


def test_the_batchs_page_offers_the_newer_version_and_changes_to_it(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    batch = launched(project, [make_image(1)])
    page = reverse("batch-detail", args=[batch.pk])
    assert "instead…" not in squeezed(staff_client.get(page))
    put(project)
    shown = squeezed(staff_client.get(page))
    assert "Switch to version 1…" in shown
    assert "Pages that are already open keep the version that they show" in shown
    url = reverse("batch-instructions", args=[batch.pk])
    for wrong in ({}, {"version": "9", "instead_of": "0"}, {"version": "x"}, {"version": "1" * 40}):
        assert "Not changed" in squeezed(staff_client.post(url, wrong, follow=True))
    assert "show version 1" in squeezed(
        staff_client.post(url, {"version": "1", "instead_of": "0"}, follow=True)
    )
    assert Batch.objects.get().instructions == Instructions.objects.get()


def test_version_number_without_a_row_is_404(staff_client: Client, project: Project) -> None:
    for number in ("0", "7", str(10**17), str(10**40)):
        address = f"{editor_url(project)}versions/{number}"
        assert staff_client.get(address).status_code == 404, number
    assert staff_client.get(editor_url(project, "instructions-preview"), {"version": "7"}).status_code == 404
    assert staff_client.get(f"/projects/{project.slug}/instructions/crossword/").status_code == 404


# --- who may, and how much it costs to ask


def test_instruction_editor_of_another_project_is_404(
    client: Client, project: Project, outsider: User
) -> None:
    put(project)
    client.force_login(outsider)
    for url in (editor_url(project), editor_url(project, "instructions-preview")):
        assert client.post(url, form_of(TEXT)).status_code == 404
    assert Instructions.objects.count() == 1


@pytest.mark.parametrize("name", ["project-instructions", "instructions-edit", "instructions-version"])
def test_instruction_pages_use_a_fixed_number_of_queries(
    staff_client: Client, project: Project, make_image: MakeImage, name: str
) -> None:
    last = 0

    def more(number: int) -> None:
        nonlocal last
        version = put(project, replace(TEXT, body=f"Text {number}."), based_on=last)
        last = version.version
        launched(
            project, [make_image(number)], terms=LaunchTerms(eligibility=Eligibility(instructions=version))
        )

    def count() -> int:
        keys: dict[str, list[Any]] = {
            "project-instructions": [project.slug],
            "instructions-edit": [project.slug, KIND],
            "instructions-version": [project.slug, KIND, 2],
        }
        url = reverse(name, args=keys[name])
        staff_client.get(url)
        with CaptureQueriesContext(connection) as seen:
            assert staff_client.get(url).status_code == 200
        return len(seen)

    more(1), more(2)
    before = count()
    more(3), more(4), more(5)
    assert count() == before


def test_task_page_loads_all_photos_in_one_query(project: Project, make_image: MakeImage) -> None:
    images = [make_image(seed) for seed in range(5)]
    one, many = (
        InstructionText("s", " ".join(f"![p](photo:{image.pk})" for image in some))
        for some in (images[:1], images[:4])
    )
    batch = launched(project, images[4:])

    def count() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert _page(Hit.objects.get()).status_code == 200
        return len(seen)

    set_batch_instructions(batch=batch, version=put(project, one), by=None, replaces=None)
    before = count()
    set_batch_instructions(batch=batch, version=put(project, many, based_on=1), by=None, replaces=1)
    assert count() == before
