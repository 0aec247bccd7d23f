"""``manage.py deduplicate``: ways to cut, members to keep, filters, and what stopping leaves."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from curation.management.commands import deduplicate
from tests.benchmarks._embeddings import make


@pytest.fixture
def features(tmp_path: Path) -> Path:
    np.save(tmp_path / "f.npy", make(300, 96, 4))
    return tmp_path / "f.npy"


def run(features: Path, *flags: str) -> dict[str, Any]:
    out = StringIO()
    call_command("deduplicate", "--features", str(features), *flags, "--json", stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def fails(match: str, features: Path, *flags: str) -> CommandError:
    with pytest.raises(CommandError, match=match) as caught:
        call_command("deduplicate", "--features", str(features), *flags, stdout=StringIO())
    return caught.value


def test_the_three_cuts_agree(features: Path) -> None:
    by_number = run(features, "--clusters", "222", "--keep", "first")
    assert by_number["clusters"] == 222
    assert by_number["method"] == "dense"
    assert "scipy’s dense method is the fastest" in by_number["why"]
    assert run(features, "--fraction", "0.74", "--keep", "first")["kept"] == by_number["kept"]
    above = str(by_number["threshold"] * (1 + 1e-9))
    assert run(features, "--distance", above, "--keep", "first")["kept"] == by_number["kept"]


def test_no_merge_has_no_threshold(features: Path) -> None:
    result = run(features, "--clusters", "300")
    assert (result["clusters"], result["threshold"], result["method"]) == (300, None, "none")


@pytest.mark.parametrize("flags", [(), ("--clusters", "3", "--fraction", "0.5")])
def test_exactly_one_cut(features: Path, flags: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        call_command("deduplicate", "--features", str(features), *flags, stdout=StringIO())


@pytest.mark.parametrize("linkage", ["average", "complete", "single", "ward"])
def test_members_that_are_kept(features: Path, linkage: str, tmp_path: Path) -> None:
    sizes, out = tmp_path / "sizes.npy", tmp_path / "labels.npy"
    np.save(sizes, np.arange(300)[::-1].copy())
    cut = ["--clusters", "200", "--linkage", linkage, "--out", str(out)]
    first = run(features, *cut, "--keep", "first")["kept"]
    assert run(features, *cut, "--keep", "largest", "--sizes", str(sizes))["kept"] == first
    medoids = run(features, *cut, "--keep", "medoid")["kept"]
    labels = np.load(out)
    assert labels[medoids].tolist() == labels[first].tolist() == list(range(200))


@pytest.mark.parametrize("which", ["fp32", "bf16", "auto"])
def test_filters_change_nothing(features: Path, which: str) -> None:
    products = pytest.importorskip("curation.pipelines.matmul_backends")
    if which == "bf16" and not products.has_bfloat16_instructions():
        assert (
            fails("does not support bfloat16", features, "--clusters", "9", "--filter", which).returncode == 2
        )
        return
    assert run(features, "--clusters", "222", "--filter", which) | {"seconds": 0, "peak_mib": 0} == (
        run(features, "--clusters", "222") | {"seconds": 0, "peak_mib": 0}
    )


def test_sizes_and_largest_belong_together(features: Path, tmp_path: Path) -> None:
    assert fails("give both or neither", features, "--clusters", "9", "--keep", "largest").returncode == 2
    np.save(tmp_path / "s.npy", np.ones(7))
    flags = ["--clusters", "9", "--keep", "largest", "--sizes", str(tmp_path / "s.npy")]
    assert fails(r"sizes \(.*s\.npy\): .* for 300 labels", features, *flags).returncode == 2


def test_too_little_memory_is_one_line(features: Path) -> None:
    np.save(features, make(3000, 96, 4))
    error = fails("memory: 1 MiB is too little", features, "--clusters", "2000", "--memory-mib", "1")
    assert error.returncode == 2


def test_stopping_leaves_nothing(features: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(deduplicate, "cluster", interrupted)
    before = sorted(tmp_path.iterdir())
    error = fails("stopped", features, "--clusters", "9", "--out", str(tmp_path / "labels.npy"))
    assert error.returncode == 130
    assert sorted(tmp_path.iterdir()) == before
