"""Forms of console pages; they validate input before a service gets it."""

from hits.forms.fields import MoneyField, PageForm
from hits.forms.instructions import ExampleForms, InstructionsForm, build_example_forms
from hits.forms.launch import BatchTermsForm, LaunchForm, PhotoOptions, read_idempotency_key, typed_cost_cents
from hits.forms.projects import ConsentForm, MemberForm, ProjectForm
