"""Remove secrets from log messages, whichever module logs them."""

import logging
import re

# The address of a worker's attempt: anybody who knows it can submit that worker's task.
_ATTEMPT_PATH_PATTERN = re.compile(r"/a/[^/\s]+")
# The address of marketplace notifications: anybody who knows it can cause needless polling.
_NOTIFICATION_PATH_PATTERN = re.compile(r"/notifications/[^/\s]+")


class SecretFilter(logging.Filter):
    """Replace secret addresses in messages. Django logs the path of every request that it refuses."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record, without the secret."""
        message = record.getMessage()
        cleaned = _NOTIFICATION_PATH_PATTERN.sub(
            "/notifications/…", _ATTEMPT_PATH_PATTERN.sub("/a/…", message)
        )
        if cleaned != message:
            record.msg, record.args = cleaned, ()
        return True
