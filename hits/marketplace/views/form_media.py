"""What a page that shows a QuestionForm may load besides our own files: requesters' pictures, sound and films."""

from __future__ import annotations

FORM_MEDIA = {"img-src": ["https:"], "media-src": ["https:"]}
