"""Pages of film clips and of objects: what they show, what they start, and who may see them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import Clip, DetectionRun
from curation.selectors.jobs import DETECT_OBJECTS, EXTRACT_FRAMES
from curation.views.command_lines import command_lines
from hits.models import Image, Job, Project
from tests.support.curation.clips import made_clip, made_objects
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def clip(project: Project, make_image: Callable[..., Image]) -> Clip:
    """A clip with three frames."""
    return made_clip(project, [make_image(seed) for seed in range(3)])


@pytest.fixture
def imports(tmp_path: Path, settings: Any) -> Path:
    """An import folder with two clips of one film, a clip beside it, captions, and a secret outside."""
    root = tmp_path / "imports"
    (root / "Moor").mkdir(parents=True)
    for name in ("Moor/a.mp4", "Moor/b.mkv", "hall.mp4"):
        (root / name).write_bytes(b"film")
    (root / "annotations.csv").write_text("captions")
    (tmp_path / "secret.mp4").write_bytes(b"film")
    settings.IMPORTS_ROOT = root
    return root


@pytest.fixture
def seen_by(client: Client) -> Callable[[User], Client]:
    """Return a function that signs somebody in."""

    def sign_in(user: User) -> Client:
        client.force_login(user)
        return client

    return sign_in


GIVEN = {
    "path": "Moor",
    "movie": "The Moor",
    "licence": "CC BY 4.0",
    "origin": "our own camera",
    "every": "frame",
    "threshold": "30",
    "captions": "annotations.csv",
}


class TestClips:
    def test_list_shows_clips_with_frames_and_shot_lengths(
        self, project: Project, clip: Clip, researcher: User, seen_by: Any
    ) -> None:
        page = squeezed(seen_by(researcher).get(reverse("clips", args=[project.slug])))
        assert "<b>arrival</b>" in page
        assert "The Moor" in page
        assert "3 shots" in page
        assert "median 2.0 s" in page
        assert "CC BY 4.0" in page
        assert "manage.py" in page
        assert "extract_frames" in page

    def test_list_can_be_limited_to_a_film(
        self, project: Project, clip: Clip, researcher: User, seen_by: Any
    ) -> None:
        made_clip(project, [], name="departure", movie="The Hall")
        address = reverse("clips", args=[project.slug])
        page = squeezed(seen_by(researcher).get(address, {"film": "The Hall"}))
        assert "departure" in page
        assert "arrival" not in page

    def test_clip_shows_its_frames_with_captions_and_facts(
        self, project: Project, clip: Clip, researcher: User, seen_by: Any
    ) -> None:
        page = squeezed(seen_by(researcher).get(reverse("clip", args=[project.slug, clip.pk])))
        assert page.count("Somebody opens a gate.") == 3
        assert "&lt;b&gt;Rain&lt;/b&gt; &amp; wind." in page
        assert "<b>@2</b>" in page
        assert "Shot 1: 2.00 to 4.00 s" in page
        assert "made for a test" in page
        assert "a" * 64 in page

    def test_take_down_and_put_back_from_the_page(
        self, project: Project, clip: Clip, researcher: User, seen_by: Any
    ) -> None:
        client = seen_by(researcher)
        arguments = [project.slug, clip.pk]
        page = squeezed(
            client.post(reverse("clip-take-down", args=arguments), {"reason": "asked"}, follow=True)
        )
        assert "The Moor/arrival is taken down with 3 frames." in page
        assert "Nobody sees the frames of this clip" in page
        assert "<img" not in page
        assert not Image.objects.filter(taken_down_at=None).exists()
        back = squeezed(
            client.post(reverse("clip-put-back", args=arguments), {"reason": "a mistake"}, follow=True)
        )
        assert "The Moor/arrival is back." in back
        assert Image.objects.filter(taken_down_at=None).count() == 3

    def test_take_down_without_a_reason_is_refused(
        self, project: Project, clip: Clip, researcher: User, seen_by: Any
    ) -> None:
        page = squeezed(
            seen_by(researcher).post(reverse("clip-take-down", args=[project.slug, clip.pk]), follow=True)
        )
        assert "Not taken down: reason: write the reason" in page
        assert not Clip.objects.exclude(taken_down_at=None).exists()

    def test_form_queues_an_extraction(
        self, project: Project, imports: Path, researcher: User, seen_by: Any
    ) -> None:
        client, address = seen_by(researcher), reverse("clips", args=[project.slug])
        page = squeezed(client.get(address))
        assert "Moor (2 clips)" in page
        assert "The import folder itself (3 clips)" in page
        assert client.post(address, GIVEN).status_code == 302
        job = Job.objects.get(task=EXTRACT_FRAMES)
        assert job.args["options"] == {
            "path": str(imports / "Moor"),
            "licence": "CC BY 4.0",
            "origin": "our own camera",
            "movie": "The Moor",
            "every": None,
            "threshold": 30.0,
            "pixel_step": 1,
            "captions": str(imports / "annotations.csv"),
            "within": str(imports),
        }
        (line,) = command_lines([job])
        assert line == (
            f"manage.py extract_frames {imports}/Moor --project {project.slug} --licence 'CC BY 4.0' "
            f"--source 'our own camera' --movie 'The Moor' --every frame --captions {imports}/annotations.csv"
        )

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"licence": ""}, "Licence"),
            ({"origin": ""}, "Source"),
            ({"path": "../secret.mp4"}, "Select a valid choice"),
            ({"movie": "a/b"}, "Has a slash"),
            ({"threshold": "900"}, "255"),
        ],
    )
    def test_form_refuses_bad_input(
        self,
        project: Project,
        imports: Path,
        researcher: User,
        seen_by: Any,
        changes: dict[str, str],
        message: str,
    ) -> None:
        reply = seen_by(researcher).post(reverse("clips", args=[project.slug]), GIVEN | changes)
        assert reply.status_code == 400
        errors = squeezed(reply)
        assert message.lower() in errors.lower()
        assert 'class="error"' in errors
        assert not Job.objects.exists()

    def test_sources_lead_to_clips(self, project: Project, researcher: User, seen_by: Any) -> None:
        page = squeezed(seen_by(researcher).get(reverse("curation-sources", args=[project.slug])))
        assert reverse("clips", args=[project.slug]) in page


class TestObjects:
    def test_list_shows_runs(
        self, project: Project, make_image: Callable[..., Image], researcher: User, seen_by: Any
    ) -> None:
        made_objects(make_image(1), "person", "dog")
        page = squeezed(seen_by(researcher).get(reverse("object-runs", args=[project.slug])))
        assert "hf:made/up" in page
        assert "Detect objects" in page

    def test_run_shows_counts_by_class_rules_and_numbered_photos(
        self, project: Project, make_image: Callable[..., Image], researcher: User, seen_by: Any
    ) -> None:
        found = made_objects(make_image(1), "person", "person", "dog")
        made_objects(make_image(2), "person", run=found.run)
        page = squeezed(seen_by(researcher).get(reverse("object-run", args=[project.slug, found.run_id])))
        assert '<td class="long">person</td><td class="n">3</td>' in page
        assert '<td class="long">dog</td><td class="n">1</td>' in page
        assert "<dt>Photos that meet the rules</dt><dd>1</dd>" in page
        assert "3 objects" in page
        assert page.count('class="object-number"') == 4
        assert 'd="M5 4L9 4L9 20z"' in page
        assert "2 people, 1 other object<" in page

    def test_photo_shows_its_newest_list_and_older_ones_on_request(
        self, project: Project, make_image: Callable[..., Image], researcher: User, seen_by: Any
    ) -> None:
        image = make_image(1)
        old = made_objects(image, "person", "dog")
        new = made_objects(image, "cat")
        client, address = seen_by(researcher), reverse("image-objects", args=[project.slug, image.pk])
        newest, earlier = squeezed(client.get(address)), squeezed(client.get(address, {"list": old.pk}))
        assert new.sha256 in newest
        assert "A newer list of this photo" not in newest
        assert old.sha256 in earlier
        assert "A newer list of this photo" in earlier
        assert client.get(address, {"list": 99}).status_code == 404

    def test_names_of_classes_are_escaped(
        self, project: Project, make_image: Callable[..., Image], researcher: User, seen_by: Any
    ) -> None:
        image = make_image(1)
        made_objects(image, "<script>x</script>")
        page = squeezed(seen_by(researcher).get(reverse("image-objects", args=[project.slug, image.pk])))
        assert "<script>x" not in page
        assert "&lt;script&gt;x&lt;/script&gt;" in page

    def test_form_queues_a_detection(
        self, project: Project, make_image: Callable[..., Image], researcher: User, seen_by: Any
    ) -> None:
        make_image(1)
        given = {"kind": "mask:", "model": "made/up", "min_score": "0.8", "limit": "50"}
        assert seen_by(researcher).post(reverse("object-runs", args=[project.slug]), given).status_code == 302
        job = Job.objects.get(task=DETECT_OBJECTS)
        run = DetectionRun.objects.get(pk=job.args["run"])
        assert (run.detector, run.options["min_score"], run.options["limit"]) == ("mask:made/up", 0.8, 50)
        assert command_lines([job]) == [
            f"manage.py detect_objects --project {project.slug} --detector mask:made/up --min-score 0.8 --limit 50"
        ]

    @pytest.mark.parametrize("model", ["", "./folder", "/etc", "classical"])
    def test_form_takes_hub_ids_only(
        self, project: Project, make_image: Callable[..., Image], researcher: User, seen_by: Any, model: str
    ) -> None:
        make_image(1)
        given = {"kind": "hf:", "model": model, "min_score": "0.7", "limit": "50"}
        assert seen_by(researcher).post(reverse("object-runs", args=[project.slug]), given).status_code == 400
        assert not DetectionRun.objects.exists()


class TestAccess:
    def addresses(
        self, project: Project, clip: Clip, image: Image, run: DetectionRun
    ) -> list[tuple[str, str]]:
        return [
            ("get", reverse("clips", args=[project.slug])),
            ("post", reverse("clips", args=[project.slug])),
            ("get", reverse("clip", args=[project.slug, clip.pk])),
            ("post", reverse("clip-take-down", args=[project.slug, clip.pk])),
            ("post", reverse("clip-put-back", args=[project.slug, clip.pk])),
            ("get", reverse("object-runs", args=[project.slug])),
            ("post", reverse("object-runs", args=[project.slug])),
            ("get", reverse("object-run", args=[project.slug, run.pk])),
            ("get", reverse("image-objects", args=[project.slug, image.pk])),
        ]

    @pytest.mark.parametrize("who", ["outsider", "annotator"])
    def test_people_outside_the_project_find_no_page(
        self, project: Project, clip: Clip, seen_by: Any, who: str, request: pytest.FixtureRequest
    ) -> None:
        image = Image.objects.first()
        assert image is not None
        found = made_objects(image, "person")
        client = seen_by(request.getfixturevalue(who))
        for method, address in self.addresses(project, clip, image, found.run):
            assert getattr(client, method)(address, {"reason": "x"}).status_code == 404, address
        assert not Clip.objects.exclude(taken_down_at=None).exists()
        assert not Job.objects.exists()

    def test_rows_of_another_project_are_not_found(
        self, project: Project, rehearsal: Project, clip: Clip, researcher: User, admin: User, seen_by: Any
    ) -> None:
        image = Image.objects.first()
        assert image is not None
        found = made_objects(image, "person")
        client = seen_by(admin)
        for method, address in self.addresses(rehearsal, clip, image, found.run):
            if address not in (
                reverse("clips", args=[rehearsal.slug]),
                reverse("object-runs", args=[rehearsal.slug]),
            ):
                assert getattr(client, method)(address, {"reason": "x"}).status_code == 404, address
        assert not Clip.objects.exclude(taken_down_at=None).exists()

    def test_a_visitor_is_asked_to_sign_in(self, project: Project, clip: Clip, client: Client) -> None:
        reply = client.get(reverse("clip", args=[project.slug, clip.pk]))
        assert reply.status_code == 302
        assert "sign-in" in reply["Location"] or "login" in reply["Location"]
