"""363,000 judgments: tables, every coefficient and interval within the stated time and memory."""

import json
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

SCRIPT = """
import json, time
from itertools import product
from pathlib import Path
import numpy as np
from validation.domain.agreement.coefficients import coefficients
from validation.domain.agreement.fleiss import agreement_by_item, agreement_by_rater
from validation.domain.agreement.krippendorff import Metric, coincidence_matrix, hardest_items
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.rating_tables import build_tables
from validation.kinds.observation_review.judging import SPEC

rng = np.random.default_rng(0)
scales = {one.name: one.labels for one in SPEC.dimensions}
answers = [dict(zip(scales, words)) for words in product(*scales.values())]
given = rng.integers(len(answers), size=363_000)
items = [f"{item:032x}" for item in range(121_000)]
raters = [f"w{rater}" for rater in range(60)]

def judgments():
    for at in range(363_000):
        item = at // 3
        yield JudgmentRow(
            kind="observation_review", item=items[item], rater=raters[(item + 7 * (at % 3)) % 60],
            answer=answers[given[at]])

start = time.process_time()
found = build_tables(judgments(), SPEC)
read = time.process_time()
for table in found.values():
    coefficients(table, rng=rng, replicates=1000)
    coincidence_matrix(table), agreement_by_item(table), agreement_by_rater(table)
    hardest_items(table, Metric.ORDINAL, 50)
end = time.process_time()
# Of this program alone: ru_maxrss remembers the process that it was forked from.
status = Path("/proc/self/status").read_text()
peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
ratings = sum(table.size for table in found.values())
print(json.dumps({"reading": read - start, "seconds": end - start, "mib": peak, "ratings": ratings}))
"""


@pytest.mark.nightly
def test_all_judgments_of_a_large_corpus_in_under_five_seconds_and_500_mb() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
        cwd=ROOT,
    )
    figures = json.loads(done.stdout)
    assert figures["ratings"] == 3 * 363_000
    assert figures["seconds"] < 5
    assert figures["mib"] * 1.048576 < 500
