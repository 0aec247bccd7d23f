"""Create projects and manage their members and consent texts."""

from anyascii import anyascii
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.text import slugify

from hits import registry
from hits.domain.states import Role
from hits.models import ConsentText, Membership, Project
from hits.services import audit
from hits.services.errors import Refused

DEFAULT_CONSENT = """\
You are asked to look at pictures, or to read or write short texts, and to answer questions about them.

- **What is kept.** Your answers, how long you worked on them, and a worker id of the marketplace.
  Your name and address are not asked for.
- **What is published.** Answers may become part of an open research dataset. Workers appear there
  only as a scrambled code that cannot be turned back into the id.
- **Your choice.** You may stop at any time and return a task without a reason. What you submitted
  is paid once it is approved. You may ask for your answers to be left out of later versions.
- **Take care.** Do not write names, addresses or anything private about people.
"""


MAX_SHORT_NAME_LENGTH = 60
DEFAULT_FAMILY = "sherlock"


def derive_short_name(name: str) -> str:
    """Return a name as ASCII words joined by hyphens, cut between words: ``Straßen`` is ``strassen``."""
    slug = slugify(anyascii(name))
    if len(slug) <= MAX_SHORT_NAME_LENGTH:
        return slug
    return slug[: MAX_SHORT_NAME_LENGTH + 1].rpartition("-")[0] or slug[:MAX_SHORT_NAME_LENGTH]


@transaction.atomic
def create_project(
    *,
    name: str,
    by: AbstractBaseUser | None,
    short_name: str = "",
    is_rehearsal: bool = False,
    consent: str = DEFAULT_CONSENT,
    family: str = DEFAULT_FAMILY,
) -> Project:
    """Return a new project with its first consent text; ``by`` becomes its admin.

    short_name: its name in URLs and commands, by default derived from the name. family: the dataset family of its
    versions.

    Raises:
        Refused: an empty name, a taken or invalid short name, or an unknown family.
    """
    if family not in registry.family_names():
        raise Refused(f"family: {family!r} is unknown; use {', '.join(registry.family_names())}")
    if short_name and short_name != slugify(short_name)[:MAX_SHORT_NAME_LENGTH]:
        raise Refused(
            f"short name: use at most {MAX_SHORT_NAME_LENGTH} small letters, digits and hyphens: street-scenes"
        )
    slug = short_name or derive_short_name(name)
    if not slug:
        raise Refused("name: use letters or digits, for example Street scenes")
    if Project.objects.filter(slug=slug).exists():
        raise Refused(f"short name: a project {slug} exists already; choose another short name")
    project = Project.objects.create(name=name.strip(), slug=slug, is_rehearsal=is_rehearsal, family=family)
    ConsentText.objects.create(project=project, version=1, body=consent)
    if by is not None:
        Membership.objects.create(project=project, user_id=by.pk, role=Role.ADMIN)
    audit.record(project=project, actor=by, action="project.create", subject=slug)
    return project


@transaction.atomic
def set_role(
    *, project: Project, user: AbstractBaseUser, role: Role, by: AbstractBaseUser | None
) -> Membership:
    """Set the role of ``user`` in the project.

    Raises:
        Refused: the project would have no admin.
    """
    others = project.memberships.filter(role=Role.ADMIN).exclude(user_id=user.pk)
    current = project.memberships.filter(user_id=user.pk).first()
    if current is not None and current.role == Role.ADMIN and role != Role.ADMIN and not others.exists():
        raise Refused("a project needs at least one admin: name another one first")
    membership, _ = Membership.objects.update_or_create(
        project=project, user_id=user.pk, defaults={"role": role.value}
    )
    audit.record(project=project, actor=by, action="member.role", subject=user.pk, role=role.value)
    return membership


@transaction.atomic
def publish_consent(*, project: Project, body: str, by: AbstractBaseUser | None) -> ConsentText:
    """Publish a new version of the consent text, which workers accept before their next HIT.

    Raises:
        Refused: the text is empty.
    """
    if not body.strip():
        raise Refused("consent: write the consent text")
    latest = project.consent_texts.first()
    text = ConsentText.objects.create(
        project=project, version=(latest.version if latest else 0) + 1, body=body
    )
    audit.record(project=project, actor=by, action="consent.publish", subject=text.version)
    return text
