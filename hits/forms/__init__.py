"""What people type on console pages, checked before a service sees it."""

from hits.forms.instructions import ExampleForms, InstructionsForm, example_forms
from hits.forms.launch import BatchTermsForm, LaunchForm, Photos, launch_key, typed_cost
from hits.forms.parts import MoneyField, PageForm
from hits.forms.projects import ConsentForm, MemberForm, ProjectForm

__all__ = [
    "BatchTermsForm",
    "ConsentForm",
    "ExampleForms",
    "InstructionsForm",
    "LaunchForm",
    "MemberForm",
    "MoneyField",
    "PageForm",
    "Photos",
    "ProjectForm",
    "example_forms",
    "launch_key",
    "typed_cost",
]
