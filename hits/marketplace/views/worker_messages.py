"""Fixed messages of services and models that workers read on this site.

Services use English, like the requester API; a view translates what it shows to a worker. This list is for the tool
that collects messages for translation. A message with a name, a date or a number is shown in English.
tests/annotation_site/test_translation.py checks that each message is still used.
"""

from django.utils.translation import gettext_noop as _

WORKER_MESSAGES = (
    # hits/marketplace/services
    _("There was a problem submitting your results: you can no longer submit this task."),
    _("This task is not open, so there is nothing to return."),
    _("This task has its own form: submit it from the task's page."),
    _("No task of this kind is left for you right now."),
    _("The time for this task ran out before you submitted it."),
    _("Enter the country you work from before you take your first task."),
    _("Choose a country from the list."),
    _("Choose a state from the list."),
    _("You cannot request this qualification right now."),
    _("You have no test to submit here."),
    _("The answers are too long: at most 256 kB can be submitted."),
    # hits/marketplace/models: outcomes of attempts, kinds of ledger entries
    _("Submitted"),
    _("Returned"),
    _("Time ran out"),
    _("Reward"),
    _("Bonus"),
    _("Paid out"),
    _("Adjustment"),
    # hits/domain/workers/notices: subjects of messages
    _("You passed the qualification task."),
    _("You passed the qualification task: its training is open to you."),
    _("Your qualification task was graded: you did not pass."),
    _("Your trainer answered: you are ready for the tasks."),
    _("Your trainer answered: please try again."),
    _("Your trainer answered: please try once more."),
    _("Another worker read your work and advises you."),
    _("A decision was made about a scene that you wrote."),
)
