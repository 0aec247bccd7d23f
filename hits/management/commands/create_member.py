"""``manage.py create_member NAME --project P [--role researcher|admin]``."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from hits.domain.states import Role
from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.rows import project_called
from hits.services.projects import set_role


class Command(DeerstalkerCommand):
    """Make an account for somebody who works on a project, and print its password once."""

    help = "Make an account with a role in a project. (An annotator's account: create_worker.)"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--project", required=True)
        parser.add_argument("--role", choices=[Role.RESEARCHER.value, Role.ADMIN.value], default="researcher")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create, and print."""
        project = project_called(options["project"])
        name, password = options["name"], secrets.token_urlsafe(12)
        users = get_user_model()
        if users.objects.filter(username=name).exists():
            raise bad_input(f"{name}: has an account already; add it on the project's People page")
        with transaction.atomic():
            user = users.objects.create_user(username=name, password=password)
            set_role(project=project, user=user, role=Role(options["role"]), by=None)
        result = {"username": name, "password": password, "project": project.slug, "role": options["role"]}
        if options["json"]:
            emit_json(self, result)
        else:
            self.stdout.write(f"{name} is {options['role']} in {project.slug}. Password: {password}")
