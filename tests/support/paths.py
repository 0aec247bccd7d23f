"""Where the repository, its documents and the tests' cases are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CASES = ROOT / "tests" / "cases"
