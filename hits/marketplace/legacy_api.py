"""The reply to calls of the API's older versions, up to 2014-08-15.

Such a call names its operation in the query or in a form (``?Operation=CreateHIT&Version=2014-08-15``). Amazon ended
these versions in June 2019 and has answered with this document since then. Old tools print it.
"""

import re

from .wire import ApiReply

FORM_CONTENT_TYPE = "application/x-www-form-urlencoded"
MESSAGE = (
    "This Requester API is no longer supported. Use version 2017-01-17, for instance with boto3: "
    "boto3.client('mturk', endpoint_url=...)."
)
_OPERATION_FIELD_PATTERN = re.compile(r"(?:^|&)Operation=")


def is_legacy_call(encoded_fields: str) -> bool:
    """Return whether a query or a form is a call of an older version."""
    return _OPERATION_FIELD_PATTERN.search(encoded_fields) is not None


def refusal_reply(request_id: str) -> ApiReply:
    """Return the 403 reply to a call of an older version."""
    body = (
        '<?xml version="1.0"?>\n'
        f"<Response><Errors><Error><Code>Forbidden</Code><Message>{MESSAGE}</Message></Error></Errors>"
        f"<RequestID>{request_id}</RequestID></Response>"
    ).encode()
    headers = {"Content-Type": "text/xml", "x-amzn-RequestId": request_id, "Content-Length": str(len(body))}
    return ApiReply(status=403, body=body, headers=headers)
