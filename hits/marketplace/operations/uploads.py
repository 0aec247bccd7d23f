"""GetFileUploadURL: a known operation that is not served."""

from typing import Any

from hits.marketplace.errors import ApiError

from .registry import Call, operation


@operation("GetFileUploadURL")
def get_file_upload_url(_call: Call, _params: dict[str, Any]) -> dict[str, Any]:
    """Refuse the call: Amazon withdrew FileUploadAnswer, and no question here can hold one."""
    raise ApiError(
        "NotImplemented",
        "GetFileUploadURL is not served: FileUploadAnswer was withdrawn from the service, so no answer has a file. "
        "Let workers upload to your own page (ExternalQuestion).",
    )
