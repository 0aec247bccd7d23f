"""Forms about projects, their people and what workers agree to."""

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from hits.domain.states import Role
from hits.forms.parts import PageForm


class ProjectForm(PageForm):
    """A new project."""

    name = forms.CharField(
        max_length=120, help_text="For instance “Street scenes”. It appears on every page."
    )
    short_name = forms.CharField(
        max_length=60,
        required=False,
        label="Short name",
        help_text="What addresses and commands call it, such as street-scenes. Left empty, it is made from the name.",
    )
    is_rehearsal = forms.BooleanField(
        required=False,
        label="This is a rehearsal",
        help_text="For practice and scripts. What is collected is never exported as real data.",
    )


class MemberForm(PageForm):
    """Somebody who shall work on the project."""

    username = forms.CharField(max_length=150, label="User name")
    role = forms.ChoiceField(
        choices=[(Role.RESEARCHER.value, "Researcher"), (Role.ADMIN.value, "Admin")],
        initial=Role.RESEARCHER.value,
    )
    user: AbstractBaseUser

    def clean_username(self) -> str:
        """Find the account."""
        name = str(self.cleaned_data["username"]).strip()
        found = get_user_model().objects.filter(username=name, is_active=True).first()
        if found is None:
            raise forms.ValidationError(
                f"There is no account called {name}. Whoever runs this server makes one with "
                f"“manage.py create_member {name} --project …”."
            )
        self.user = found
        return name


class ConsentForm(PageForm):
    """A new version of the consent text."""

    body = forms.CharField(
        max_length=20_000,
        label="Text",
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text="Markdown: blank lines make paragraphs, “- ” makes a list, **two stars** make bold.",
    )
