"""Settings that have to stand in the environment before Django reads its own: the kinds and families of the tests."""

import os

os.environ.setdefault("EXTRA_KIND_PACKAGES", "tests.kinds")
os.environ.setdefault("EXTRA_FAMILY_PACKAGES", "tests.families")
