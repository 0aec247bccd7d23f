"""Sentences of the services and models that workers read on this site and that never vary.

The services speak English, as the requester API does; a view translates what it hands on to a worker. This list is
for the tool that collects what there is to translate; a sentence that holds a name, a date or a number is shown in
English. tests/annotation_site/test_translation.py checks that each is still said.
"""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

MESSAGES = (
    # hits/marketplace/services
    _("There was a problem submitting your results: this task is not yours to submit any more."),
    _("This task is not open, so there is nothing to return."),
    _("This task has a form of its own: submit it from the task's page."),
    _("There is no task of this kind left for you right now."),
    _("The time for this task ran out before it was submitted, so it could not be taken."),
    _("Say which country you work from before you take your first task."),
    _("Choose a country from the list."),
    _("Choose a state from the list."),
    _("This qualification cannot be asked for right now."),
    _("There is no test of yours to hand in here."),
    _("The answers are too long: at most 256 kB can be handed in."),
    # hits/marketplace/models: how an attempt ended, what moved money
    _("Submitted"),
    _("Returned"),
    _("Time ran out"),
    _("Reward"),
    _("Bonus"),
    _("Paid out"),
    _("Adjustment"),
    # hits/domain/notices: subjects of messages
    _("You passed the qualification task."),
    _("You passed the qualification task: its training is open to you."),
    _("Your qualification task was graded: you did not pass."),
    _("Your trainer answered: you are ready for the tasks."),
    _("Your trainer answered: please try once more."),
)
