"""CSV downloads, streamed row by row, so that their length does not matter."""

from collections.abc import Iterable, Sequence

from django.http import StreamingHttpResponse

from hits.domain.files.csv_download import csv_lines


def csv_response(
    *, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> StreamingHttpResponse:
    """Return a download called ``name`` with a header line; caches must not store it."""
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response
