"""Units from a file: each line through its kind's schema, all of them launched or none."""

import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from hits import registry
from hits.domain.states import AssignmentStatus
from hits.models import Batch, Image, Project, Unit, UnitFile
from hits.services.errors import Refused
from hits.services.launching.unit_files import BadUnitFile, build_example_file, kinds_launched_from_files
from tests.support import market
from tests.support.judging.work import Work
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.round_material import RecordToJudge
from validation.models import JudgingRound, QualityCheck
from validation.selectors.judging import review_spec
from validation.services.units import find_unit_file_kind, launch_from_file, read_unit_file

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
WORDS = "word_list"


def lines(*units: Any) -> bytes:
    return b"".join(json.dumps(unit).encode() + b"\n" for unit in units)


def read(project: Project, data: bytes, kind: str = WORDS) -> Any:
    return read_unit_file(
        project=project, kind=registry.get_kind(kind), file=io.BytesIO(data), name="units.jsonl"
    )


def refused(project: Project, data: bytes, kind: str = WORDS) -> list[str]:
    with pytest.raises(BadUnitFile) as caught:
        read(project, data, kind)
    assert str(caught.value).startswith("units.jsonl: ")
    return caught.value.problems


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty; write one unit per line"),
        (b'{"topic": "rain"}\n\n{"topic": "snow"}\n', "line 2: is empty; delete it"),
        (b'{"topic": "rain"\n', "line 1: is not JSON at character 18"),
        (b'["rain"]\n', "line 1: is not a JSON object"),
        (b'{"topic": "rain", "topic": "snow"}\n', "line 1: topic: occurs twice; write it once"),
        (b'{"topic": NaN}\n', "line 1: NaN is not a JSON number"),
        (b'{"topic": "\xff"}\n', "line 1: byte 12 is not UTF-8"),
        (b"[" * 100_000 + b"\n", "line 1: is nested too deeply"),
        (b'{"topic": 5}\n', "line 1: topic: Input should be a valid string"),
        (b'{"topic": "rain", "colour": "red"}\n', "line 1: colour: Extra inputs are not permitted"),
        (b'{"topic": "rain"}\r{"topic": "snow"}\r', "line 1: has carriage returns inside"),
        (b'{"topic": "a\\u0000b"}\n', "line 1: topic: contains the control character U+0000: remove it"),
        (b'{"topic": "a\\ud800b"}\n', "line 1: topic: contains the control character U+D800"),
        (b'{"topic": "a", "\\u0000": 1}\n', "line 1: has a name with a control character"),
        (b'{"topic": ["photo:\\ud800"]}\n', "line 1: topic[0]: contains the control character"),
        (b'{"topic": "photo:' + b"x" * 900_000 + b'"}\n', "line 1: a photo’s name is longer than"),
        (b'{"topic": 1180591620717411303424}\n', "line 1: topic: is too large a number"),
        (b'{"topic": -' + b"9" * 5000 + b"}\n", "line 1: a number has more than 4,000 digits"),
        (b'{"topic": ' + b"[" * 900 + b"]" * 900 + b"}\n", "line 1: topic"),
        (
            b'{"topic": "rain"}\n{"topic": "snow"}\n{"topic": "rain"}\n',
            "line 3: is the same unit as line 1; leave one of them out",
        ),
        (b'{"topic": "' + b"x" * 10_485_760 + b'"}\n', "line 1: is longer than 1,048,576 bytes"),
    ],
)
def test_bad_line_is_refused_with_field_and_correction(project: Project, data: bytes, message: str) -> None:
    assert refused(project, data)[0].startswith(message)


def test_byte_order_mark_and_windows_line_ends_are_accepted(project: Project) -> None:
    found = read(project, b'\xef\xbb\xbf{"topic": "rain"}\r\n{"topic": "snow"}\r\n')
    assert [unit["topic"] for _, unit in found] == ["rain", "snow"]


def test_lines_after_a_long_one_keep_their_numbers(project: Project) -> None:
    data = b'{"topic": "' + b"x" * 3_000_000 + b'"}\n{"topic": 1}\n'
    assert [problem.split(":")[0] for problem in refused(project, data)] == ["line 1", "line 2"]


def test_all_bad_lines_are_reported_in_order(project: Project) -> None:
    data = lines({"topic": 1}, {"topic": "rain"}, {}, {"topic": "rain"})
    assert [problem.split(":")[0] for problem in refused(project, data)] == ["line 1", "line 3", "line 4"]


def test_photos_are_found_by_name_hash_or_number(project: Project, make_image: MakeImage) -> None:
    left, right = make_image(1), make_image(2)
    for one in (f"photo:{left.name}", f"photo:{left.sha256}", f"photo:{left.original_sha256}", left.pk):
        found = read(project, lines({"left": one, "right": right.pk}), "two_photos")
        assert [unit for _, unit in found] == [{"left": left.pk, "right": right.pk}]


def test_foreign_or_taken_down_photo_is_refused_by_line(
    project: Project, make_image: MakeImage, admin: User
) -> None:
    from hits.services import projects

    left, right = make_image(1), make_image(2)
    other = projects.create_project(name="Elsewhere", by=admin)
    Image.objects.filter(pk=right.pk).update(project=other)
    data = lines({"left": left.pk, "right": right.pk})
    assert refused(project, data, "two_photos") == [
        f"line 1: photo {right.pk} is not in this project, is a duplicate, or was taken down"
    ]
    data = lines({"left": left.pk, "right": f"photo:{right.name}"})
    assert refused(project, data, "two_photos")[0].startswith(
        f"line 1: photo:{right.name} is no usable photo"
    )


def test_ambiguous_photo_name_is_refused(project: Project, make_image: MakeImage) -> None:
    left, right = make_image(1), make_image(2)
    Image.objects.update(name="same.jpg")
    data = lines({"left": "photo:same.jpg", "right": right.pk})
    assert "names 2 photos; name one by its SHA-256" in refused(project, data, "two_photos")[0]
    assert read(project, lines({"left": f"photo:{left.sha256}", "right": right.pk}), "two_photos")


@pytest.mark.parametrize("name", [kind.name for kind in kinds_launched_from_files()])
def test_each_kinds_example_can_be_launched_unchanged(
    name: str, project: Project, make_image: MakeImage, tmp_path: Path
) -> None:
    market.fund()
    for seed in (1, 2, 3, 4):
        make_image(seed)
    path = tmp_path / "units.jsonl"
    out = io.StringIO()
    call_command("launch_units", name, "--project", project.slug, "--example", stdout=out)
    path.write_text(out.getvalue(), encoding="utf-8")
    call_command("launch_units", name, "--project", project.slug, "--units", str(path), stdout=io.StringIO())
    batch = Batch.objects.get()
    assert batch.units.count() == len(path.read_text().splitlines())
    assert batch.provenance["unit_file"]["name"] == "units.jsonl"
    assert batch.state == "live"


@pytest.mark.parametrize(
    "name", ["compensation", "html_template", "sherlock_qualification", "sherlock_training"]
)
def test_kinds_with_their_own_launch_are_refused(name: str, project: Project) -> None:
    with pytest.raises(Refused, match="has its own page or command"):
        find_unit_file_kind(name)
    with pytest.raises(CommandError, match="has its own page"):
        call_command("launch_units", name, "--project", project.slug, "--example")


def test_authors_are_excluded_and_checks_are_added(project: Project) -> None:
    market.fund()
    work = Work(project)
    pairs = [work.observed(work.image(seed), worker="AUTHOR")[0] for seed in range(1, 5)]
    kind = registry.get_kind("observation_review")
    data = lines(
        *(
            review_spec().build_unit(
                RecordToJudge(pair.instance_id, pair.index, [pair.image_id], pair.fields)
            )
            for pair in pairs
        )
    )
    found = read_unit_file(project=project, kind=kind, file=io.BytesIO(data), name="u")
    batch, _ = launch_from_file(project=project, kind=kind, units=found, by=None, rates=CheckRates(repeat=50))
    assert batch.units.count() == 6
    assert QualityCheck.objects.filter(unit__batch=batch).count() == 2
    assert JudgingRound.objects.get(batch=batch).repeat_percent == 50
    for unit in Unit.objects.filter(batch=batch):
        assert [worker.worker_id for worker in unit.excluded_workers.all()] == ["AUTHOR"]


def test_unit_with_a_records_id_has_to_equal_the_record(project: Project) -> None:
    work = Work(project)
    approved, other = work.observed(work.image(1), worker="AUTHOR")[:2]
    waiting = work.observed(work.image(2), worker="SLOW", status=AssignmentStatus.SUBMITTED)[0]
    units = [
        review_spec().build_unit(RecordToJudge(pair.instance_id, pair.index, [pair.image_id], pair.fields))
        for pair in (approved, other, waiting)
    ]
    units[1]["inference"] = "something that nobody wrote"
    assert refused(project, lines(*units), "observation_review") == [
        f"line 2: observation: the unit differs from record {other.instance_id}; launch it from Judging, "
        "or use another id",
        f"line 3: observation: record {waiting.instance_id} is not approved; leave this line out",
    ]


@pytest.mark.parametrize("item", ["2024/01", "..", " a", "a" * 65])
def test_invalid_item_id_is_refused(project: Project, make_image: MakeImage, item: str) -> None:
    data = lines({"item": item, "image": make_image(1).pk, "text": "a dog"})
    assert refused(project, data, "photo_verdict")[0].startswith("line 1: item: ")


def test_key_of_invalid_length_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"rain": "", "snow": "b" * 5_000}
    monkeypatch.setattr(registry.get_kind(WORDS), "unit_key", lambda unit: keys[unit["topic"]])
    assert refused(project, lines(*({"topic": topic} for topic in keys))) == [
        "line 1: key '' has 0 characters; use 1 to 80",
        f"line 2: key {'b' * 20 + '…'!r} has 5000 characters; use 1 to 80",
    ]


def test_a_pipe_is_read_once(project: Project, tmp_path: Path) -> None:
    market.fund()
    pipe = tmp_path / "units.fifo"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[lines({"topic": "rain"})])
    writer.start()
    call_command("launch_units", WORDS, "--project", project.slug, "--units", str(pipe), stdout=io.StringIO())
    writer.join()
    assert Batch.objects.get().units.count() == 1


def test_file_with_a_bad_line_launches_nothing(project: Project, tmp_path: Path) -> None:
    market.fund()
    path = tmp_path / "units.jsonl"
    path.write_bytes(lines({"topic": "rain"}, {"topic": ""}))
    with pytest.raises(CommandError, match="line 2: topic: String should have at least 1 character"):
        call_command("launch_units", WORDS, "--project", project.slug, "--units", str(path))
    assert not Batch.objects.exists()


def test_quality_checks_are_refused_for_collecting_kinds(project: Project) -> None:
    market.fund()
    found = read(project, lines({"topic": "rain"}))
    with pytest.raises(Refused, match="quality checks: kind word_list is not a judging kind"):
        launch_from_file(
            project=project, kind=registry.get_kind(WORDS), units=found, by=None, rates=CheckRates(repeat=50)
        )


# The page


@pytest.fixture
def researcher_client(client: Client, researcher: User) -> Client:
    """Return a browser that a researcher of the project signed in to."""
    client.force_login(researcher)
    market.fund()
    return client


def _sent(data: bytes, name: str = "topics.jsonl") -> dict[str, Any]:
    return {
        "file": SimpleUploadedFile(name, data),
        "name": "Topics",
        "reward": "0.20",
        "assignments": "2",
        "step": "estimate",
    }


def test_a_file_is_sent_confirmed_and_launched_once(researcher_client: Client, project: Project) -> None:
    address = reverse("units-new", args=[project.slug]) + f"?kind={WORDS}"
    page = researcher_client.post(address, _sent(lines({"topic": "rain"}, {"topic": "snow"})))
    assert page.status_code == 200
    assert "topics.jsonl, 2 topics" in page.content.decode()
    kept = UnitFile.objects.get()
    again = {"kept": str(kept.pk), "name": "Topics", "reward": "0.20", "assignments": "2"}
    key = page.context["idempotency_key"]
    for _ in range(2):
        reply = researcher_client.post(address, again | {"step": "launch", "idempotency_key": key})
        assert reply.status_code == 302
    batch = Batch.objects.get()
    assert batch.units.count() == 2
    assert batch.provenance["unit_file"] == {"name": "topics.jsonl", "sha256": kept.sha256, "units": 2}


@pytest.mark.parametrize("name", [kind.name for kind in kinds_launched_from_files() if kind.name != WORDS])
def test_each_kinds_example_can_be_launched_on_the_page(
    name: str, researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    for seed in (1, 2, 3, 4):
        make_image(seed)
    address = reverse("units-new", args=[project.slug]) + f"?kind={name}"
    data = build_example_file(project=project, kind=registry.get_kind(name)).encode()
    page = researcher_client.post(address, _sent(data) | {"reward": "0.90", "bonus": "0.10"})
    assert page.status_code == 200
    kept = {
        "kept": str(UnitFile.objects.get().pk),
        "name": "Units",
        "reward": "0.90",
        "bonus": "0.10",
        "assignments": "2",
    }
    reply = researcher_client.post(
        address, kept | {"step": "launch", "idempotency_key": page.context["idempotency_key"]}
    )
    assert reply.status_code == 302
    assert Batch.objects.get().units.count() == len(data.splitlines())


def test_kind_with_its_own_launch_has_no_page(researcher_client: Client, project: Project) -> None:
    address = reverse("units-new", args=[project.slug])
    for name in ("compensation", "nope", ""):
        assert researcher_client.get(f"{address}?kind={name}").status_code == 404


def test_page_lists_bad_lines_and_keeps_input(researcher_client: Client, project: Project) -> None:
    address = reverse("units-new", args=[project.slug]) + f"?kind={WORDS}"
    page = researcher_client.post(address, _sent(lines({"topic": 1}, {"topic": "rain"}, {"topic": "rain"})))
    assert page.status_code == 400
    text = page.content.decode()
    assert "line 1: topic: Input should be a valid string" in text
    assert "line 3: is the same unit as line 2" in text
    assert 'value="Topics"' in text
    assert not UnitFile.objects.exists()


def test_file_of_another_project_or_kind_is_refused(researcher_client: Client, project: Project) -> None:
    address = reverse("units-new", args=[project.slug])
    researcher_client.post(f"{address}?kind={WORDS}", _sent(lines({"topic": "rain"})))
    kept = UnitFile.objects.get()
    again = {"kept": str(kept.pk), "name": "Topics", "reward": "0.20", "assignments": "2", "step": "launch"}
    page = researcher_client.post(f"{address}?kind=two_photos", again)
    assert page.status_code == 400
    assert "Choose a file" in page.content.decode()
    assert not Batch.objects.exists()


def test_the_example_is_downloaded_with_the_projects_photos(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    image = make_image(1)
    reply = researcher_client.get(
        reverse("units-example", args=[project.slug]) + "?kind=sherlock_observation"
    )
    assert reply.content.decode() == json.dumps({"image": f"photo:{image.name}"}) + "\n"
    assert (
        build_example_file(project=project, kind=registry.get_kind("sherlock_observation"))
        == reply.content.decode()
    )
