"""What must not reach a log, whoever writes the line."""

import logging
import re

# The address of a worker's attempt: whoever knows it can hand in that worker's task.
_ATTEMPT = re.compile(r"/a/[^/\s]+")
# Where a marketplace tells us what happened: whoever knows it can make us look for nothing.
_NOTIFICATIONS = re.compile(r"/notifications/[^/\s]+")


class SecretFilter(logging.Filter):
    """Takes attempt secrets out of messages. Django logs the path of every request that it refuses."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record through, without the secret."""
        message = record.getMessage()
        cleaned = _NOTIFICATIONS.sub("/notifications/…", _ATTEMPT.sub("/a/…", message))
        if cleaned != message:
            record.msg, record.args = cleaned, ()
        return True
