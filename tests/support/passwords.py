"""A password hasher that is quick to run in tests."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickHasher(PBKDF2PasswordHasher):
    """The real algorithm with one round, so that a server started by a test can check it too."""

    iterations = 1
