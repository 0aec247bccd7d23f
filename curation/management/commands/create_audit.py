"""``manage.py create_audit --project P --name NAME --codebook ID|FILE [--n N] [--how H] [--seed S] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.audits.codebook import Codebook
from curation.audits.parsing import MAX_BYTES, builtin_codebooks, parse_codebook
from curation.audits.sampling import SampleRecipe, SamplingMethod, default_sample_size
from curation.management.file_messages import convert_input_errors
from curation.records import InvalidInput
from curation.services.audits import create_audit
from hits.management.base import DeerstalkerCommand
from hits.management.lookups import find_project


class Command(DeerstalkerCommand):
    """Sample the pairs of an audit; they are labelled on its page."""

    help = "Create an audit: a sample of the project's accepted pairs, to be labelled with a codebook."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", required=True)
        add("--name", required=True)
        codebooks = f"one of {', '.join(builtin_codebooks())}, or a TOML or JSON file"
        add("--codebook", required=True, help=codebooks)
        add("--how", choices=[how.value for how in SamplingMethod], default=SamplingMethod.RANDOM.value)
        add("--n", type=int, help="number of pairs, in total or of each split; default: the codebook's")
        add("--seed", type=int, default=0, help="seed of the sample (0)")
        add("--split", help="sample only this split")
        add("--analysis", type=int, help="number of the analysis whose scores rank the pairs, for --how top")
        add("--readers", type=int, default=2, help="readers of each pair, 1 to 5 (2)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read the codebook, sample the pairs, and print their number."""
        project = find_project(options["project"])
        with convert_input_errors():
            codebook = _read_codebook(options["codebook"])
            audit = create_audit(
                project=project,
                by=None,
                name=options["name"],
                codebook=codebook,
                recipe=_recipe(options, codebook),
                readers=options["readers"],
            )
        pairs, missing = audit.items.count(), audit.sample["missing"]
        facts = {
            "audit": audit.pk,
            "name": audit.name,
            "codebook": codebook.id,
            "codebook_version": codebook.version,
            "pairs": pairs,
            "missing": missing,
            "readers": audit.readers,
            "sample": audit.sample,
        }
        short = f", {missing} fewer than requested" if missing else ""
        line = f"audit {audit.pk}, {audit.name}: {pairs} pairs{short}, {audit.readers} readers each"
        self.report(options, facts, line)


def _read_codebook(name_or_path: str) -> Codebook:
    known = builtin_codebooks()
    if name_or_path in known:
        return known[name_or_path]
    path = Path(name_or_path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"--codebook {name_or_path}: over {MAX_BYTES:,} bytes; shorten the codebook")
        return parse_codebook(path.read_text("utf-8-sig"), str(path))
    except OSError as error:
        problem = f"--codebook {name_or_path}: {error.strerror}; use a file, or one of {', '.join(known)}"
        raise InvalidInput(problem) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"--codebook {name_or_path}: is not UTF-8 text; save it as UTF-8") from error


def _recipe(options: dict[str, Any], codebook: Codebook) -> SampleRecipe:
    method = SamplingMethod(options["how"])
    n = options["n"] if options["n"] is not None else default_sample_size(codebook, method)
    return SampleRecipe(method, n, options["seed"], options["split"], options["analysis"])
