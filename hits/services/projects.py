"""Make projects and say who may work in them."""

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
You are asked to look at photos and to write down what you can work out from them.

- **What is kept.** Your answers, how long you worked on them, and a worker id of the marketplace.
  Your name and address are not asked for.
- **What is published.** Answers may become part of an open research dataset. Workers appear there
  only as a scrambled code that cannot be turned back into the id.
- **Your choice.** You may stop at any time and return a task without a reason. What you submitted
  is paid once it is approved. You may ask for your answers to be left out of later versions.
- **Take care.** Do not write names, addresses or anything private about people in a photo.
"""


LONGEST_SHORT_NAME = 60
DEFAULT_FAMILY = "sherlock"


def short_name_of(name: str) -> str:
    """Return a name's letters as ASCII, words joined by hyphens and none cut in two: ``Straßen`` is ``strassen``."""
    whole = slugify(anyascii(name))
    if len(whole) <= LONGEST_SHORT_NAME:
        return whole
    return whole[: LONGEST_SHORT_NAME + 1].rpartition("-")[0] or whole[:LONGEST_SHORT_NAME]


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

    short_name: what addresses and commands call it; made from the name where it is empty. family: the dataset family
    of its versions.

    Raises:
        Refused: the name is empty, the short name is taken or no short name, or the family is unknown.
    """
    if family not in registry.family_names():
        raise Refused(f"family: {family!r} is not known; use {', '.join(registry.family_names())}")
    if short_name and short_name != slugify(short_name)[:LONGEST_SHORT_NAME]:
        raise Refused(
            f"short name: use at most {LONGEST_SHORT_NAME} small letters, digits and hyphens, such as street-scenes"
        )
    slug = short_name or short_name_of(name)
    if not slug:
        raise Refused("name: use letters or digits, for instance Street scenes")
    if Project.objects.filter(slug=slug).exists():
        raise Refused(f"short name: a project called {slug} exists already; choose another short name")
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
    """Give ``user`` a role in the project, replacing an earlier one.

    Raises:
        Refused: the change would leave the project without an admin.
    """
    others = project.memberships.filter(role=Role.ADMIN).exclude(user_id=user.pk)
    mine = project.memberships.filter(user_id=user.pk).first()
    if mine is not None and mine.role == Role.ADMIN and role != Role.ADMIN and not others.exists():
        raise Refused("a project keeps at least one admin: name another one first")
    membership, _ = Membership.objects.update_or_create(
        project=project, user_id=user.pk, defaults={"role": role.value}
    )
    audit.record(project=project, actor=by, action="member.role", subject=user.pk, role=role.value)
    return membership


@transaction.atomic
def publish_consent(*, project: Project, body: str, by: AbstractBaseUser | None) -> ConsentText:
    """Publish a new version of the consent text; workers agree again before their next HIT.

    Raises:
        Refused: the text is empty.
    """
    if not body.strip():
        raise Refused("consent: write what people agree to")
    latest = project.consent_texts.first()
    text = ConsentText.objects.create(
        project=project, version=(latest.version if latest else 0) + 1, body=body
    )
    audit.record(project=project, actor=by, action="consent.publish", subject=text.version)
    return text
