"""What is sealed of a project with image triplets, what is left out and why, and what statistics and the card say."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.families.nleye.family import FAMILY
from curation.models import (
    DatasetVersion,
    GeneratedImage,
    ImageTriplet,
    PickOrigin,
    TripletAudit,
    TripletVerdict,
    VersionRow,
)
from curation.selectors.triplets.triplets import Facets, triplet_facts
from curation.services.triplets.images import pick_image, release_image
from curation.services.triplets.settings import SettingsChange, change_settings
from curation.services.triplets.triplets import (
    build_triplets,
    check_triplet,
    decide_triplet,
    write_gold_explanation,
)
from curation.services.versions import create_sealed_version
from curation.versions.export import export_version
from curation.versions.selection import AuditChoice, Selection
from hits.domain.answers.scene_facets import CATEGORIES
from hits.domain.states import Role
from hits.models import Project
from hits.services import projects
from hits.services.errors import Refused
from hits.services.images.take_down import take_down_image
from tests.support.nleye_published import read_lines
from tests.support.nleye_stored import (
    ROLES,
    explain,
    judge,
    judged_triplets,
    keep_scenes,
    nleye_project,
    pick_images,
    store_image,
    store_scenes,
)

pytestmark = pytest.mark.django_db
RIGHT, WRONG = ("right", "right", "wrong"), ("wrong", "wrong", "right")


def seal(project: Project, name: str = "v1") -> DatasetVersion:
    return create_sealed_version(project=project, name=name, by=None)


def sealed_ids(version: DatasetVersion) -> list[str]:
    rows = VersionRow.objects.filter(version=version, part="nleye_triplet").order_by("pk")
    return list(rows.values_list("instance_id", flat=True))


def triplet_of(project: Project, by: User, *, role: str = "b", **provenance: Any) -> ImageTriplet:
    """Build a triplet one of whose images has another provenance."""
    (scene,) = store_scenes(nleye_project(project), 1)
    keep_scenes([scene], by)
    for own in ROLES:
        row = store_image(scene, own, **(provenance if own == role else {}))
        if row.flags:
            release_image(image=row, is_safe=True, by=by)
        pick_image(scene=scene, role=own, image=row, by=by, origin=PickOrigin.QUEUE)
    (built,) = build_triplets(project=project, by=by).triplets
    return built


def decide(
    project: Project, triplet: ImageTriplet, verdict: TripletVerdict, by: User, note: str = ""
) -> None:
    (facts,) = triplet_facts(project, [triplet])
    decide_triplet(facts=facts, verdict=verdict, by=by, note=note)


@pytest.fixture
def crowd(project: Project, researcher: User) -> Callable[..., None]:
    """Return a function that explains triplets and lets people judge all of them."""

    def work(triplets: list[ImageTriplet], choices: tuple[str, ...] = RIGHT) -> None:
        explain(triplets, researcher)
        judge(project, {row.public_id: choices for row in triplets}, researcher)

    return work


def test_each_reason_is_counted_once_for_a_triplet(
    project: Project, researcher: User, crowd: Callable[..., None]
) -> None:
    good = judged_triplets(project, 2, researcher)
    drawn = triplet_of(project, researcher, generator="drawing")
    unknown = triplet_of(project, researcher, role="premise", licence=" Unknown ")
    both = triplet_of(project, researcher, generator="drawing", licence="")
    flagged = triplet_of(project, researcher, role="a", flags=["violence"])
    dropped, revised, gone = (triplet_of(project, researcher) for _ in range(3))
    rated = [drawn, unknown, both, flagged, dropped, revised, gone]
    crowd(rated)
    decide(project, dropped, TripletVerdict.DROP, researcher)
    decide(project, revised, TripletVerdict.REVISE, researcher)
    release_image(image=flagged.a, is_safe=False, by=researcher)
    take_down_image(image=gone.h2.image, reason="withdrawn", by=researcher)
    bare, unaligned, few, against, kept = (triplet_of(project, researcher) for _ in range(5))
    explain([unaligned, few, against, kept], researcher)
    check_triplet(
        triplet=bare, facets=Facets("social", "parallel", "", "Home"), alignment=yes(), by=researcher
    )
    check_triplet(
        triplet=unaligned,
        facets=Facets("social", "parallel", "", "Home"),
        alignment=yes() | {"h2": "partly"},
        by=researcher,
    )
    judge(
        project,
        {few.public_id: RIGHT[:2], against.public_id: WRONG, kept.public_id: ("right", "wrong") * 2},
        researcher,
    )
    decide(project, kept, TripletVerdict.KEEP, researcher, "Both can happen, but seldom.")
    version = seal(project)
    assert version.exclusions == {
        "test_drawing": 2,
        "unknown_licence": 1,
        "hidden_image": 1,
        "triplet_dropped": 1,
        "triplet_to_revise": 1,
        "image_taken_down": 1,
        "no_gold_explanation": 1,
        "not_aligned": 1,
        "too_few_answers": 1,
        "against_gold_undecided": 1,
    }
    assert set(version.exclusions) <= set(FAMILY.all_exclusion_labels())
    assert sealed_ids(version) == [row.public_id for row in (*good, kept)]
    assert version.provenance["against_gold"] == {"judged": 3, "against": 1, "kept": 1}


def yes() -> dict[str, str]:
    return dict.fromkeys(("premise", "h1", "h2"), "yes")


def test_keeping_before_people_judged_is_no_decision_about_their_majority(
    project: Project, researcher: User, crowd: Callable[..., None]
) -> None:
    good = judged_triplets(project, 1, researcher)
    early = triplet_of(project, researcher)
    decide(project, early, TripletVerdict.KEEP, researcher)
    crowd([early], WRONG)
    version = seal(project)
    assert version.exclusions == {"against_gold_undecided": 1}
    assert sealed_ids(version) == [good[0].public_id]


def test_a_project_of_drawings_alone_cannot_be_sealed(
    project: Project, researcher: User, crowd: Callable[..., None]
) -> None:
    crowd([triplet_of(project, researcher, generator="drawing") for _ in range(2)])
    with pytest.raises(Refused, match=r"^rows: there is nothing to seal: .*2 triplets with test drawings"):
        seal(project)
    assert not DatasetVersion.objects.exists()


def test_a_rehearsal_takes_drawings_and_is_marked_as_no_data(
    rehearsal: Project, admin: User, tmp_path: Path
) -> None:
    triplet = triplet_of(rehearsal, admin, generator="drawing", licence="unknown")
    explain([triplet], admin)
    judge(rehearsal, {triplet.public_id: RIGHT}, admin)
    version = seal(rehearsal)
    assert (version.exclusions, version.statistics["triplets"]) == ({}, 1)
    export_version(version, tmp_path / "D")
    assert "This is no data" in (tmp_path / "D" / "README.md").read_text()
    assert (tmp_path / "D" / "REHEARSAL.txt").exists()


def test_only_an_admin_allows_unknown_licences(
    project: Project, researcher: User, admin: User, crowd: Callable[..., None]
) -> None:
    triplet = triplet_of(project, researcher, licence="unknown")
    crowd([triplet])
    allow = SettingsChange(allows_unknown_licence=True)
    for person in (researcher, None):
        with pytest.raises(Refused, match="unknown licences: an admin of the project allows them"):
            change_settings(project=project, change=allow, by=person)
    with pytest.raises(Refused, match="1 triplets with images of unknown licence"):
        seal(project)
    change_settings(project=project, change=allow, by=admin)
    version = seal(project)
    assert sealed_ids(version) == [triplet.public_id]
    change_settings(project=project, change=SettingsChange(allows_unknown_licence=False), by=researcher)
    with pytest.raises(Refused, match="1 triplets with images of unknown licence"):
        seal(project, "v2")


def test_selection_of_records_does_not_apply_to_triplets(project: Project, researcher: User) -> None:
    judged_triplets(project, 1, researcher)
    chosen = Selection(audits=(AuditChoice(1, "style", ("yes",)),))
    with pytest.raises(
        Refused, match=r"^selection: decisions and audits choose records, and triplets are none"
    ):
        create_sealed_version(project=project, name="v1", by=None, selection=chosen)


def test_statistics_and_card_equal_a_count_of_the_rows(
    project: Project, researcher: User, admin: User, tmp_path: Path
) -> None:
    triplets = judged_triplets(project, 7, researcher, choices=("right", "right", "right", "wrong"))
    odd = triplet_of(
        project, researcher, generator="openai:dall-e-3", model="dall-e-3", licence="Terms | of use"
    )
    explain([odd], researcher)
    judge(project, {odd.public_id: WRONG}, researcher)
    decide(project, odd, TripletVerdict.KEEP, researcher, "Rare, but possible.")
    TripletAudit.objects.create(
        project=project,
        figures={
            "audits": [
                {
                    "name": "label_balance: social",
                    "why": "gold is 1 in 51 %",
                    "flagged": False,
                    "n": 8,
                    "figures": {},
                },
                {
                    "name": "single_hypothesis: pixels",
                    "why": "74 % by brightness",
                    "flagged": True,
                    "n": 1234,
                    "figures": {},
                },
            ]
        },
    )
    version = seal(project)
    export_version(version, tmp_path / "D")
    rows = read_lines(tmp_path / "D" / "nleye_triplet_test.jsonl")
    answers = read_lines(tmp_path / "D" / "nleye_answer.jsonl")
    statistics = version.statistics
    assert (statistics["triplets"], statistics["answers"]) == (8, 7 * 4 + 3)
    right = sum(
        line["choice"] == f"h{row['gold']}"
        for line in answers
        for row, triplet in zip(rows, [*triplets, odd], strict=True)
        if line["triplet"] == triplet.public_id
    )
    assert right == 7 * 3 + 1
    assert statistics["right_answers"] == pytest.approx(right / 31)
    assert statistics["images"] == len({digest for row in rows for digest in row["images"].values()}) == 24
    assert statistics["categories"] == Counter(row["reasoning_category"] for row in rows)
    assert set(statistics["categories"]) == set(CATEGORIES)
    assert statistics["gold"] == Counter(str(row["gold"]) for row in rows)
    assert statistics["temporal"] == Counter(
        "-".join(filter(None, (row["time_direction"], row["time_duration"]))) for row in rows
    )
    assert statistics["explanations"] == len(read_lines(tmp_path / "D" / "nleye_explanation.jsonl")) == 8
    assert statistics["annotators"] == len({line["worker"] for line in answers}) == 4
    card = (tmp_path / "D" / "README.md").read_text("utf-8")
    assert "8 image triplets" in card
    assert "Three or more people judged 8 triplets. In 1 (12.5 %), gold has no majority." in card
    assert "A person looked at 1 of these and kept them." in card
    assert "| folder:drawn-by-us | 23 |" in card
    assert "| openai:dall-e-3 dall-e-3 | 1 |" in card
    assert "| CC BY 4.0 | 23 |" in card
    assert "| Terms / of use | 1 |" in card
    assert re.search(r"^license: \"other\"$", card, re.MULTILINE)
    assert "- Balance of gold, social: gold is 1 in 51 % (not flagged, n = 8)" in card
    assert "- Brightness, contrast and colour: 74 % by brightness (**flagged**, n = 1,234)" in card
    assert version.manifest_sha256[:32] in card  # the canary


def test_card_names_the_language_of_scenes_and_a_single_licence(
    project: Project, researcher: User, tmp_path: Path
) -> None:
    scenes = store_scenes(nleye_project(project), 2, language="de")
    keep_scenes(scenes, researcher)
    pick_images(scenes, researcher)
    triplets = build_triplets(project=project, by=researcher).triplets
    explain(triplets, researcher)
    judge(project, {row.public_id: RIGHT for row in triplets}, researcher)
    export_version(seal(project), tmp_path / "D")
    head = (tmp_path / "D" / "README.md").read_text("utf-8").split("---")[1]
    assert 'license: "CC BY 4.0"\nlanguage:\n- "de"\ntask_categories:' in head
    assert "  - split: test\n    path: test_set.csv" in head


def test_newest_check_and_explanation_are_sealed(project: Project, researcher: User) -> None:
    (triplet,) = judged_triplets(project, 1, researcher)
    check_triplet(
        triplet=triplet, facets=Facets("cultural", "backward", "long", "Home"), alignment=yes(), by=researcher
    )
    write_gold_explanation(triplet=triplet, text="  Balls roll \n far. ", by=researcher)
    row = VersionRow.objects.get(version=seal(project), part="nleye_triplet").row
    assert (row["reasoning_category"], row["time_direction"], row["time_duration"]) == (
        "cultural",
        "backward",
        "long",
    )
    assert row["gold_explanation"] == "Balls roll far."


def test_an_image_taken_down_later_leaves_the_files_and_the_next_version(
    project: Project, researcher: User, tmp_path: Path
) -> None:
    triplets = judged_triplets(project, 3, researcher)
    version = seal(project)
    gone: GeneratedImage = triplets[1].premise
    take_down_image(image=gone.image, reason="withdrawn", by=researcher)
    export_version(version, tmp_path / "D")
    assert not (tmp_path / "D" / "images" / "2" / "premise.png").exists()
    assert (tmp_path / "D" / "images" / "2" / "hypothesis1.png").exists()
    names = [line["sample_id"] for line in read_lines(tmp_path / "D" / "images" / "metadata.jsonl")]
    assert names == [1, 3]
    assert FAMILY.check(tmp_path / "D") == 3  # what was sealed is still proven
    later = seal(project, "v2")
    assert later.exclusions == {"image_taken_down": 1}
    assert sealed_ids(later) == [triplets[0].public_id, triplets[2].public_id]


def test_provenance_of_an_edit_names_the_picture_that_it_was_made_from(
    project: Project, researcher: User
) -> None:
    (scene,) = store_scenes(nleye_project(project), 1)
    keep_scenes([scene], researcher)
    first = store_image(scene, "b")
    box = [{"left": 1, "top": 2, "width": 30, "height": 20}]
    edit = store_image(scene, "b", seed=5, parent=first, mask=box, strength=0.5)
    for own, row in (("premise", store_image(scene, "premise")), ("a", store_image(scene, "a")), ("b", edit)):
        pick_image(scene=scene, role=own, image=row, by=researcher, origin=PickOrigin.QUEUE)
    (triplet,) = build_triplets(project=project, by=researcher).triplets
    explain([triplet], researcher)
    judge(project, {triplet.public_id: RIGHT}, researcher)
    row = VersionRow.objects.get(version=seal(project), part="nleye_provenance").row
    role = "hypothesis1" if triplet.first == "b" else "hypothesis2"
    assert (row[role]["edited_from"], row[role]["mask"], row[role]["strength"]) == (
        first.image.sha256,
        box,
        0.5,
    )
    assert row["premise"]["edited_from"] is None


@pytest.mark.parametrize(
    ("facets", "problem"),
    [
        (Facets("moral", "parallel", "", "Home"), "category and direction: choose one of each"),
        (Facets("social", "parallel", "short", "Home"), "duration: leave it out"),
        (Facets("social", "forward", "", "Home"), "duration: use short or long"),
        (Facets("social", "parallel", "", " "), "domain: is empty; choose one"),
        (Facets("social", "parallel", "", "d" * 61), "domain: has 61 characters: use 60 or fewer"),
    ],
)
def test_check_with_a_wrong_facet_is_refused(
    project: Project, researcher: User, facets: Facets, problem: str
) -> None:
    triplet = triplet_of(project, researcher)
    with pytest.raises(Refused, match=f"^{problem}"):
        check_triplet(triplet=triplet, facets=facets, alignment=yes(), by=researcher)


def test_texts_of_people_have_no_control_characters(project: Project, researcher: User) -> None:
    triplet = triplet_of(project, researcher)
    with pytest.raises(Refused, match=r"^explanation: contains the control character U\+0000"):
        write_gold_explanation(triplet=triplet, text="a\0b", by=researcher)
    with pytest.raises(Refused, match=r"^explanation: is empty"):
        write_gold_explanation(triplet=triplet, text=" \n", by=researcher)
    with pytest.raises(Refused, match=r"^explanation: has 1001 characters: use 1000 or fewer"):
        write_gold_explanation(triplet=triplet, text="x" * 1001, by=researcher)
    with pytest.raises(Refused, match=r"^note: contains the control character"):
        decide(project, triplet, TripletVerdict.KEEP, researcher, "a\0")


def test_members_of_another_project_allow_nothing_here(project: Project, outsider: User) -> None:
    nleye_project(project)
    their_project = projects.create_project(name="Theirs", by=outsider)
    projects.set_role(project=their_project, user=outsider, role=Role.ADMIN, by=None)
    with pytest.raises(Refused, match="unknown licences: an admin of the project"):
        change_settings(project=project, change=SettingsChange(allows_unknown_licence=True), by=outsider)
