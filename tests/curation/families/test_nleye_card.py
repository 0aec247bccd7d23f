"""The card of an exported version: typed texts stay texts, in its YAML head and in its Markdown."""

import re

import pytest
import yaml

from curation.families.nleye.card import card, public_card
from curation.families.nleye.columns import default_columns
from curation.families.nleye.rows import PROVENANCE
from curation.models import DatasetVersion, VersionRow
from hits.models import Project

pytestmark = pytest.mark.django_db
LICENCE = 'CC0\n---\nlicense: "mit"\n# Mine <script>alert(1)</script>'
GENERATOR = "painter\n\n## New | part\n![a](https://a.example/b.png) `x` *y* _z_"


def version_of(project: Project, licence: str, generator: str) -> DatasetVersion:
    """Return a version with the origin of one image, as its rows are sealed."""
    Project.objects.filter(pk=project.pk).update(name="Eyes\n# <b>")
    version = DatasetVersion.objects.create(project=Project.objects.get(pk=project.pk), name="v1")
    version.provenance = {
        "languages": ["de", "no"],
        "audits": [
            {"name": "mixed: generators", "why": "60 % by <i>\n# x</i>", "flagged": True, "n": 3},
        ],
    }
    image = {"generator": generator, "model": "", "revision": "", "licence": licence}
    VersionRow.objects.create(
        version=version,
        part=PROVENANCE,
        instance_id="1",
        split="test",
        row={"premise": image},
        sha256="0" * 64,
    )
    return version


def test_typed_texts_cannot_add_parts_to_the_card(project: Project) -> None:
    version = version_of(project, LICENCE, GENERATOR)
    text = card(version, default_columns())
    _, head, body = re.split(r"^---$", text, flags=re.MULTILINE)
    assert yaml.safe_load(head) == {
        "license": 'CC0 --- license: "mit" # Mine <script>alert(1)</script>',
        "language": ["de", "no"],  # unquoted, YAML reads the code of Norwegian as false
        "task_categories": ["visual-question-answering"],
        "tags": ["visual abductive reasoning", "image triplets"],
        "pretty_name": "Eyes # <b> v1",
        "configs": [{"config_name": "default", "data_files": None}],
    }
    assert re.findall(r"^#+ .*$", body, re.MULTILINE) == [
        r"# Eyes \# &lt;b&gt;, version v1",
        "## Files",
        "## Pictures",
        "## People and gold",
        "## Audits",
    ]
    shown = r"painter \#\# New / part \!\[a\](https://a.example/b.png) \`x\` \*y\* \_z\_"
    assert f"\n| {shown} | 1 |\n" in body
    assert not re.search(r"<(?!split>|sample_id>)", body)
    assert public_card(version, 3).startswith("# Eyes \\# &lt;b&gt;, version v1\n\n3 instances")
