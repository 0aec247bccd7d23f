"""One step of the records benchmark, as a process of its own, in whichever tree PYTHONPATH names.

It calls only what the earlier tree had under the same name, so that both trees do the same work.
"""

import json
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import django

COLLECTED = 60
Sizes = dict[str, int]


def timed(act: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds of an act by the clock and of the processor."""
    started, used = time.perf_counter(), time.process_time()
    act()
    return {"seconds": time.perf_counter() - started, "cpu": time.process_time() - used}


def fill(sizes: Sizes) -> dict[str, Any]:
    """Make a project with pairs, half of them waiting for review, and another one with judgments."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from hits.services import projects
    from hits.services.images.import_image import import_image
    from tests.support.judging.many_judgments import Crowd
    from tests.support.judging.many_judgments import fill as fill_judgments
    from tests.support.many_pairs import fill_pairs
    from tests.support.pictures import picture

    def make() -> None:
        call_command("migrate", verbosity=0)
        by = User.objects.create_superuser("bench")
        approved = projects.create_project(name="Sealed", by=by)
        fill_pairs(approved, sizes["photos"], sizes["pairs"])
        waiting = projects.create_project(name="Waiting", by=by)
        fill_pairs(waiting, 2_000, 8_000, statuses=("submitted",))
        judged = projects.create_project(name="Judged", by=by)
        images = [
            import_image(project=judged, name=f"{n}.png", data=picture(64, 48, seed=n))[0] for n in range(20)
        ]
        fill_judgments(judged, images, Crowd(items=sizes["judged"]))

    return timed(make)


def collect(sizes: Sizes) -> dict[str, Any]:
    """Hand in sixty answers with three pairs each, and copy them from the marketplace."""
    from hits.marketplace.services.accounts import create_worker_account
    from hits.models import Hit, Image, Project
    from hits.mturk.boto import marketplace
    from hits.services.collecting import assignment_sync as service
    from hits.services.images.import_image import import_image
    from tests.support import market
    from tests.support.loop import published
    from tests.support.pictures import picture

    project = Project.objects.get(name="Waiting")
    market.fund()
    salt = uuid.uuid4().hex
    worker = create_worker_account(username=f"worker-{salt}", password="a long pass phrase")
    first = Image.objects.count() + 1_000
    images = [
        import_image(project=project, name=f"{salt}-{n}.png", data=picture(64, 48, seed=first + n))[0]
        for n in range(COLLECTED)
    ]
    batch = published(project, images)
    for hit in Hit.objects.filter(unit__batch=batch):
        market.work(hit, worker)
    return timed(lambda: service.sync_batch(batch=batch, marketplace=marketplace()))


def review(sizes: Sizes) -> dict[str, Any]:
    """Open the review page of a project whose submissions wait, five times."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client, override_settings
    from django.urls import reverse

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    client = Client(HTTP_HOST=settings.PUBLIC_URL.removeprefix("http://"))
    client.force_login(User.objects.get(username="bench"))
    address = reverse("project-review", args=["waiting"])
    with override_settings(STORAGES=settings.STORAGES | {"staticfiles": plain}):
        assert client.get(address).status_code == 200
        return timed(lambda: [client.get(address) for _ in range(5)])


def report(sizes: Sizes) -> dict[str, Any]:
    """Compute the report of all reviews."""
    from hits.models import Project
    from validation.services.report import compute_report

    project = Project.objects.get(name="Judged")
    return timed(lambda: compute_report(project=project, kind="observation_review"))


def seal(sizes: Sizes) -> dict[str, Any]:
    """Seal all pairs as a version."""
    from curation.services.versions import create_sealed_version
    from hits.models import Project

    project = Project.objects.get(name="Sealed")
    name = f"v{project.versions.count()}"
    return timed(lambda: create_sealed_version(project=project, name=name, by=None))


def search(sizes: Sizes) -> dict[str, Any]:
    """Look for a text in the sets of a comparison round, which looks through all pairs."""
    from django.contrib.auth.models import User

    from curation.models import ComparisonRound
    from curation.selectors.round_sets import find_sets
    from hits.models import Project
    from tests.support.any_row import Rows

    project = Project.objects.get(name="Sealed")
    found = ComparisonRound.objects.filter(project=project).first()
    if found is None:
        found = Rows(project, User.objects.get(username="bench")).of(ComparisonRound)
    return timed(lambda: list(find_sets(found, text="no such words")))


def strata(sizes: Sizes) -> dict[str, Any]:
    """Draw a sample of pairs by confidence."""
    from hits.models import Project
    from validation.domain.judging.sampling import Selection, SelectionMethod, Stratum
    from validation.selectors.judging import find_pairs

    project = Project.objects.get(name="Sealed")
    selection = Selection(method=SelectionMethod.STRATIFIED, n=300, seed=1, stratify_by=Stratum.CONFIDENCE)
    return timed(lambda: find_pairs(project, selection))


STEPS = {one.__name__: one for one in (fill, collect, review, report, seal, search, strata)}

if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(STEPS[sys.argv[1]](json.loads(sys.argv[2]))) + "\n")
