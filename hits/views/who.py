"""Who is asking."""

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest


def person(request: HttpRequest) -> AbstractBaseUser:
    """Return the signed-in user; only for views behind the sign-in, which all but a listed few are."""
    assert request.user.is_authenticated
    return request.user
