"""Forms for importing collections from the server's import folder.

No path is typed: files are chosen from those in the folder, and checked again on submission.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from curation.models import Source
from curation.records import InvalidInput
from curation.services.source_images import ImportOptions
from curation.services.sources import SOURCE_TITLES, CollectionSpec
from curation.sources.folders import FoundCollection, ImportableContents, resolve_inside, scan_folder
from curation.sources.records import SPLITS, MissingImagePolicy
from curation.sources.vcr import MIN_ENTITIES, find_vcr_source
from curation.sources.visual_genome import IMAGE_DATA, VisualGenomeSource
from curation.views.fields import checkbox, choice_field, integer_field, text_field
from hits.forms import PageForm

ChoiceList = list[tuple[str, str]]
MAX_LICENCE_LENGTH = 120
DENSECAP_FILE = "densecap_splits.json"
REGIONS_FILE = "region_descriptions.json"
VISUAL_COMET_FILES = frozenset(f"{split}_annots.json" for split in SPLITS)
NO_CHOICE = ("", "None")
ROOT_LABEL = "The import folder itself"


@dataclass(frozen=True, slots=True)
class ImportFolderContents:
    """The contents of the server's import folder; ``root`` is ``None`` if none is configured.

    ``problem`` is why the folder could not be read.
    """

    root: Path | None
    contents: ImportableContents
    problem: str = ""


def read_import_folder() -> ImportFolderContents:
    """Return the contents of the import folder."""
    empty = ImportableContents((), (), (), is_cut=False)
    root: Path | None = settings.IMPORTS_ROOT
    if root is None:
        return ImportFolderContents(None, empty)
    try:
        return ImportFolderContents(root, scan_folder(root))
    except InvalidInput as error:
        return ImportFolderContents(root, empty, str(error))


def selectable_files(contents: ImportableContents, *, suffix: str = "") -> list[str]:
    """Return the files that may be lists or proposals, without those that describe a collection's pictures."""
    described = {IMAGE_DATA, REGIONS_FILE}
    named = (name for name in contents.lists if name.lower().endswith(suffix))
    return [name for name in named if Path(name).name not in described]


def _as_choices(names: Iterable[str]) -> ChoiceList:
    return [(name, name) for name in names]


class ImportForm(PageForm):
    """Base form of all collections: the folder, and how much to import. Two buttons choose dry run or import."""

    source: ClassVar[Source]
    folder = choice_field("Folder")
    allowed = forms.MultipleChoiceField(
        required=False, label="Only images in these lists", widget=forms.CheckboxSelectMultiple
    )
    limit = integer_field("Maximum images", "Leave empty for all.", low=1, required=False)
    licence = text_field(
        "Licence", "Stored and shown with every photo.", required=False, max_length=MAX_LICENCE_LENGTH
    )
    skip_missing = checkbox("Skip missing images")
    dry_run = forms.BooleanField(required=False)

    def __init__(self, import_folder: ImportFolderContents, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"{self.source.value}_%s", **kwargs)
        assert import_folder.root is not None
        self.root = import_folder.root
        self.found = self.find_folders(import_folder.contents)
        self._set_choices("folder", [(found.name, self.folder_label(found)) for found in self.found])
        self.fields["folder"].help_text = f"In {self.root} on the server."
        self._set_choices("allowed", _as_choices(selectable_files(import_folder.contents)))

    @property
    def title(self) -> str:
        """The collection's name."""
        return SOURCE_TITLES[self.source]

    @staticmethod
    def find_folders(contents: ImportableContents) -> Sequence[FoundCollection]:
        """Return the folders that contain this collection."""
        raise NotImplementedError

    def folder_label(self, found: FoundCollection) -> str:
        """Return a folder's label."""
        return ROOT_LABEL if found.name == "." else found.name

    def collection_spec(self, folder: Path, given: Mapping[str, Any]) -> CollectionSpec:
        """Return the chosen collection as a spec.

        Raises:
            InvalidInput: a file is outside the import folder.
        """
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        """Resolve the chosen files."""
        given: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                given["spec"] = replace(
                    self.collection_spec(resolve_inside(self.root, given["folder"]), given),
                    allowed=tuple(self.resolve_file(name) for name in given["allowed"]),
                    missing=MissingImagePolicy.SKIP if given["skip_missing"] else MissingImagePolicy.REFUSE,
                    limit=given["limit"],
                    within=str(self.root),
                )
            except InvalidInput as error:
                raise forms.ValidationError(f"Not started: {error}.") from error
        return given

    def resolve_file(self, name: str) -> str:
        """Return the path of a chosen file; empty if none was chosen."""
        return str(resolve_inside(self.root, name)) if name else ""

    @property
    def options(self) -> ImportOptions:
        """The import options; the form must be valid."""
        given = self.cleaned_data
        return ImportOptions(licence=given["licence"], dry_run=given["dry_run"])

    def _set_choices(self, name: str, choices: ChoiceList, *, preset: Iterable[str] = ()) -> None:
        """Set a field's choices, preselecting files with one of the names."""
        field = self.fields[name]
        field.choices = choices  # type: ignore[attr-defined]
        chosen = [value for value, _ in choices if Path(value).name in set(preset)]
        if isinstance(field, forms.MultipleChoiceField):
            field.initial = chosen
        elif len(chosen) == 1:
            field.initial = chosen[0]


class VisualGenomeForm(ImportForm):
    """Options for Visual Genome, including lists of splits, since it has none."""

    source = Source.VISUAL_GENOME
    splits = choice_field(
        "List of splits",
        help_text="Visual Genome has no official splits. Choose a JSON file with the ids of train, val and test.",
        required=False,
    )
    train = choice_field("Ids of train", required=False)
    val = choice_field("Ids of val", required=False)
    test = choice_field("Ids of test", required=False)
    rest = choice_field(
        "Images not in a list",
        [
            ("", "Leave out, or put into train if there is no list"),
            *((name, f"Put into {name}") for name in SPLITS),
        ],
        required=False,
    )
    regions = choice_field("Region descriptions", required=False)

    def __init__(self, import_folder: ImportFolderContents, *args: Any, **kwargs: Any) -> None:
        super().__init__(import_folder, *args, **kwargs)
        lists = selectable_files(import_folder.contents)
        described = [name for name in import_folder.contents.lists if Path(name).name == REGIONS_FILE]
        one_file = selectable_files(import_folder.contents, suffix=".json")
        self._set_choices("splits", [NO_CHOICE, *_as_choices(one_file)], preset=[DENSECAP_FILE])
        self._set_choices(
            "regions", [NO_CHOICE, *_as_choices([*described, *one_file])], preset=[REGIONS_FILE]
        )
        for split in SPLITS:
            self._set_choices(split, [NO_CHOICE, *_as_choices(lists)])

    @staticmethod
    def find_folders(contents: ImportableContents) -> Sequence[FoundCollection]:
        """Return the folders with pictures and ``image_data.json``."""
        return contents.visual_genome

    def collection_spec(self, folder: Path, given: Mapping[str, Any]) -> VisualGenomeSource:
        """Return the chosen collection with its lists as a spec."""
        lists = {"": given["splits"]} | {split: given[split] for split in SPLITS}
        return VisualGenomeSource(
            folder=str(folder),
            regions=self.resolve_file(given["regions"]),
            splits={split: self.resolve_file(name) for split, name in lists.items() if name},
            rest=given["rest"],
        )

    @property
    def has_split_list(self) -> bool:
        """Whether a list of splits is chosen."""
        return any(self[name].value() for name in ("splits", *SPLITS))

    @property
    def shows_more(self) -> bool:
        """Whether a collapsed field is used or has an error."""
        names = (*SPLITS, "rest", "allowed")
        return self.is_bound and any(name in self.errors or self.data.get(name) for name in names)


class VcrForm(ImportForm):
    """Options for VCR."""

    source = Source.VCR
    min_entities = integer_field(
        "Minimum entities",
        f"Images with fewer entities are left out. Hessel et al. (2022) use {MIN_ENTITIES}.",
        low=0,
        initial=MIN_ENTITIES,
    )

    def __init__(self, import_folder: ImportFolderContents, *args: Any, **kwargs: Any) -> None:
        super().__init__(import_folder, *args, **kwargs)
        self._set_choices(
            "allowed", _as_choices(selectable_files(import_folder.contents)), preset=VISUAL_COMET_FILES
        )

    @staticmethod
    def find_folders(contents: ImportableContents) -> Sequence[FoundCollection]:
        """Return the folders with ``vcr1images``."""
        return contents.vcr

    def folder_label(self, found: FoundCollection) -> str:
        """Return a folder's label, with the splits of its annotation files."""
        splits = [split for split in SPLITS if f"{split}.jsonl" in found.files]
        without_files = "no annotation files: all images are put into train"
        splits_text = f"splits {', '.join(splits)}" if splits else without_files
        return f"{super().folder_label(found)} ({splits_text})"

    def collection_spec(self, folder: Path, given: Mapping[str, Any]) -> CollectionSpec:
        """Return the chosen collection as a spec, with the annotation files in the folder."""
        return replace(find_vcr_source(folder, {}), min_entities=given["min_entities"])


FORMS: dict[Source, type[ImportForm]] = {form.source: form for form in (VisualGenomeForm, VcrForm)}
