"""Guard a child process of the tests. Python imports this by itself from the first folder of ``PYTHONPATH``."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_spec = spec_from_file_location("isolation", Path(__file__).resolve().parents[1] / "isolation.py")
assert _spec is not None
assert _spec.loader is not None
_isolation = module_from_spec(_spec)
_spec.loader.exec_module(_isolation)
_isolation.refuse_outside()
