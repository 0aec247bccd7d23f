"""Calls of the API's older versions, up to 2014-08-15: what they are told.

Such a call names its operation in the query or in a form (``?Operation=CreateHIT&Version=2014-08-15``). Amazon ended
these versions in June 2019 and has answered since with this document, which the tools of that time print.
"""

from __future__ import annotations

import re

from .wire import ApiReply

FORM = "application/x-www-form-urlencoded"
SENTENCE = (
    "This Requester API is no longer supported. Use version 2017-01-17, for instance with boto3: "
    "boto3.client('mturk', endpoint_url=...)."
)
_OPERATION = re.compile(r"(?:^|&)Operation=")


def names_operation(fields: str) -> bool:
    """Tell whether a query or a form is a call of an older version."""
    return _OPERATION.search(fields) is not None


def refusal(request_id: str) -> ApiReply:
    """Return the answer to every such call."""
    body = (
        '<?xml version="1.0"?>\n'
        f"<Response><Errors><Error><Code>Forbidden</Code><Message>{SENTENCE}</Message></Error></Errors>"
        f"<RequestID>{request_id}</RequestID></Response>"
    ).encode()
    headers = {"Content-Type": "text/xml", "x-amzn-RequestId": request_id, "Content-Length": str(len(body))}
    return ApiReply(status=403, body=body, headers=headers)
