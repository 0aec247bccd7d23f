"""Detect that records of different collections show the same photograph, by published ids.

Half of Visual Genome is COCO: ``image_data.json`` gives ``coco_id`` for 51,208 of its images (counted by
data/genome/create_splits.py of peteanderson80/bottom-up-attention) and ``flickr_id`` for more. COCO's addresses end
in the same number, and Flickr's contain the photograph's id. Images that share an id are copies, whatever their
pixels.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_COCO_FILE_PATTERN = re.compile(r"(?:COCO_(?:train|val|test)20\d\d_)?(\d{12})\.jpg")
_COCO_HOSTS = frozenset({"images.cocodataset.org", "mscoco.org", "www.mscoco.org", "cocodataset.org"})
_FLICKR_FILE_PATTERN = re.compile(r"(\d{4,})_[0-9a-f]+(?:_[a-z0-9]+)?\.(?:jpg|png|gif)")


def find_identities(url: str, facts: Mapping[str, Any]) -> frozenset[str]:
    """Return an image's ids in other collections, such as ``coco:547168``.

    Args:
        url: the image's published address; may be empty.
        facts: the collection's facts about it; ``coco_id`` and ``flickr_id`` are used.
    """
    found = set()
    for key, collection in (("coco_id", "coco"), ("flickr_id", "flickr")):
        value = facts.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            found.add(f"{collection}:{value}")
    found |= _ids_from_url(url)
    return frozenset(found)


def _ids_from_url(url: str) -> set[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    host, file = parts.hostname or "", parts.path.rpartition("/")[2]
    if host in _COCO_HOSTS and (match := _COCO_FILE_PATTERN.fullmatch(file)):
        return {f"coco:{int(match[1])}"}
    if host.endswith(("staticflickr.com", ".flickr.com")) and (match := _FLICKR_FILE_PATTERN.fullmatch(file)):
        return {f"flickr:{int(match[1])}"}
    return set()
