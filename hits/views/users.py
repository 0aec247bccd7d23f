"""The signed-in user of a request."""

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest


def signed_in_user(request: HttpRequest) -> AbstractBaseUser:
    """Return the signed-in user; only for views that require a sign-in."""
    assert request.user.is_authenticated
    return request.user
