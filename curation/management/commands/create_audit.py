"""``manage.py create_audit --project P --name NAME --codebook ID|FILE [--n N] [--how H] [--seed S] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.audits.codebook import Codebook
from curation.audits.parsing import MAX_BYTES, parse_codebook, shipped_codebooks
from curation.audits.sampling import SampleRecipe, SamplingMethod, default_sample_size
from curation.records import InvalidInput
from curation.services.audits import create_audit
from hits.management.base import DeerstalkerCommand, emit_json, input_error
from hits.management.lookups import find_project


class Command(DeerstalkerCommand):
    """Sample the pairs of an audit; they are labelled on its page."""

    help = "Create an audit: a sample of the project's accepted pairs, to be labelled with a codebook."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True)
        parser.add_argument("--name", required=True)
        parser.add_argument(
            "--codebook",
            required=True,
            help=f"one of {', '.join(shipped_codebooks())}, or a TOML or JSON file",
        )
        parser.add_argument(
            "--how", choices=[how.value for how in SamplingMethod], default=SamplingMethod.RANDOM.value
        )
        parser.add_argument("--n", type=int, help="pairs in all, or of each split; the paper's by default")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--split", help="only this split")
        parser.add_argument("--analysis", type=int, help="the analysis whose scores choose, for --how top")
        parser.add_argument("--readers", type=int, default=2, help="readers of each pair, 1 to 5")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read the codebook, sample the pairs, and print their number."""
        project = find_project(options["project"])
        try:
            codebook = _read_codebook(options["codebook"])
            audit = create_audit(
                project=project,
                by=None,
                name=options["name"],
                codebook=codebook,
                recipe=_recipe(options, codebook),
                readers=options["readers"],
            )
        except InvalidInput as error:
            raise input_error(str(error)) from error
        pairs, missing = audit.items.count(), audit.sample["missing"]
        if options["json"]:
            emit_json(
                self,
                {
                    "audit": audit.pk,
                    "name": audit.name,
                    "codebook": codebook.id,
                    "codebook_version": codebook.version,
                    "pairs": pairs,
                    "missing": missing,
                    "readers": audit.readers,
                    "sample": audit.sample,
                },
            )
            return
        short = f", {missing} fewer than requested" if missing else ""
        self.stdout.write(
            f"audit {audit.pk}, {audit.name}: {pairs} pairs{short}, {audit.readers} readers each"
        )


def _read_codebook(name: str) -> Codebook:
    known = shipped_codebooks()
    if name in known:
        return known[name]
    path = Path(name)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"--codebook {name}: over {MAX_BYTES:,} bytes; a codebook is a page or two")
        return parse_codebook(path.read_text("utf-8-sig"), str(path))
    except OSError as error:
        raise InvalidInput(
            f"--codebook {name}: {error.strerror}; use a file, or one of {', '.join(known)}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"--codebook {name}: is not UTF-8 text; save it as UTF-8") from error


def _recipe(options: dict[str, Any], codebook: Codebook) -> SampleRecipe:
    how = SamplingMethod(options["how"])
    n = options["n"] if options["n"] is not None else default_sample_size(codebook, how)
    return SampleRecipe(how, n, options["seed"], options["split"], options["analysis"])
