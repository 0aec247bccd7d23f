"""``export_version --regions``: what judges saw goes out with their ratings."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.families.sherlock.read import BrokenExport, read_version
from curation.models import ComparisonRound, Pair
from curation.services.comparison import (
    BuiltRound,
    BuiltSet,
    RoundOptions,
    launch_comparison_batch,
    store_round,
)
from curation.services.versions import create_sealed_version, create_version
from curation.versions.export import ExportRefused, export_version
from hits.models import Hit, Image
from tests.support.judging.work import Work, ratings

pytestmark = pytest.mark.django_db


@pytest.fixture
def pairs(work: Work) -> list[Pair]:
    """Return a pair that is compared, then three candidates of somebody else."""
    return [work.observed(work.image(1), worker="W1")[0], *work.observed(work.image(2), worker="W2")]


@pytest.fixture
def judged(work: Work, pairs: list[Pair]) -> ComparisonRound:
    """Return a round of one set, rated by two."""
    built = BuiltRound(
        encoder="made up",
        provenance={"code": "test"},
        instances=4,
        inferences=4,
        sets=[BuiltSet(pairs[0].pk, [p.instance_id for p in pairs[1:]], 1, {"available": 30})],
        skipped={},
    )
    found = store_round(project=work.project, options=RoundOptions(), built=built)
    batch, _ = launch_comparison_batch(round=found, by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    for number in range(2):
        work.answered(hit, f"JUDGE{number}", ratings(hit, 1 + number, 3, 2))
    found.refresh_from_db()
    return found


def _export(*args: Any) -> dict[str, Any]:
    out = StringIO()
    call_command("export_version", *map(str, args), "--json", stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def _name(pairs: list[Pair]) -> str:
    return f"comparison/regions/{pairs[0].instance_id}.jpg"


def test_the_export_carries_the_very_picture_of_the_page(
    judged: ComparisonRound, pairs: list[Pair], tmp_path: Path
) -> None:
    result = _export("v1", "--out", tmp_path / "out", "--regions")
    assert judged.batch is not None
    frame = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))
    shown = frame.get(reverse("hit-region", args=[judged.batch.units.get().public_id])).content
    assert (tmp_path / "out" / _name(pairs)).read_bytes() == shown
    assert [file["name"] for file in result["files"]].count(_name(pairs)) == 1
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert _name(pairs) in {file["name"] for file in manifest["files"]}
    assert manifest["regions_left_out"] == []
    assert read_version(tmp_path / "out").name == "v1"
    assert _export("v1", "--out", tmp_path / "out", "--regions")["files"] == result["files"], (
        "once more is no error"
    )


def test_without_the_flag_nothing_changes(judged: ComparisonRound, pairs: list[Pair], tmp_path: Path) -> None:
    plain = _export("v1", "--out", tmp_path / "out")
    assert not (tmp_path / "out" / "comparison" / "regions").exists()
    assert "regions_left_out" not in json.loads((tmp_path / "out" / "manifest.json").read_text())
    with_regions = _export("v1", "--out", tmp_path / "more", "--regions")
    assert with_regions["seal"] == plain["seal"]
    rest = [file for file in with_regions["files"] if "regions/" not in file["name"]]
    assert rest == plain["files"]
    with pytest.raises(CommandError, match="is not empty; name a new or empty folder"):
        _export("v1", "--out", tmp_path / "out", "--regions")


def test_a_changed_picture_is_named(judged: ComparisonRound, pairs: list[Pair], tmp_path: Path) -> None:
    _export("v1", "--out", tmp_path / "out", "--regions")
    (tmp_path / "out" / _name(pairs)).write_bytes(b"another")
    with pytest.raises(BrokenExport, match=f"{_name(pairs)}: was changed"):
        read_version(tmp_path / "out")


def test_taken_down_photo_has_no_picture_and_is_in_manifest(
    work: Work, judged: ComparisonRound, pairs: list[Pair], tmp_path: Path
) -> None:
    version = create_sealed_version(project=work.project, name="v1", by=None)
    Image.objects.filter(pk=pairs[0].image_id).update(taken_down_at=timezone.now())
    export_version(version, tmp_path / "out", regions=True)
    assert not (tmp_path / "out" / _name(pairs)).exists()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["regions_left_out"] == [pairs[0].instance_id]


def test_a_lost_photo_is_named_and_nothing_is_half_written(
    work: Work, judged: ComparisonRound, pairs: list[Pair], tmp_path: Path
) -> None:
    create_sealed_version(project=work.project, name="v1", by=None)
    Path(pairs[0].image.file.path).unlink()
    with pytest.raises(CommandError, match="is missing; restore the media folder") as caught:
        _export("v1", "--out", tmp_path / "out", "--regions")
    assert caught.value.returncode == 2
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_a_draft_is_refused(work: Work, judged: ComparisonRound, tmp_path: Path) -> None:
    draft = create_version(project=work.project, name="v1", by=None)
    with pytest.raises(ExportRefused, match="is a draft"):
        export_version(draft, tmp_path / "out", regions=True)
