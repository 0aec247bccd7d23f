"""``manage.py create_member NAME --project P [--role researcher|admin]``."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from hits.domain.states import Role
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from hits.services.projects import set_role


class Command(DeerstalkerCommand):
    """Create an account for a project member, and print its password once."""

    help = "Create an account with a role in a project. For workers, use create_worker."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--project", required=True)
        parser.add_argument("--role", choices=[Role.RESEARCHER.value, Role.ADMIN.value], default="researcher")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the account and print its password."""
        project = find_project(options["project"])
        name, password = options["name"], secrets.token_urlsafe(12)
        users = get_user_model()
        if users.objects.filter(username=name).exists():
            raise input_error(f"{name}: this account exists already; add it on the project's People page")
        with transaction.atomic():
            user = users.objects.create_user(username=name, password=password)
            set_role(project=project, user=user, role=Role(options["role"]), by=None)
        result = {"username": name, "password": password, "project": project.slug, "role": options["role"]}
        self.report(options, result, f"{name} is {options['role']} in {project.slug}. Password: {password}")
