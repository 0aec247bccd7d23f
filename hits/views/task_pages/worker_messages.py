"""Messages for workers that services, selectors, kinds and the domain return without variable parts.

Those layers return English, and views translate their messages. This list is for ``makemessages``. A message that is
missing here, or that contains a variable part, appears in English. test_translation.py checks that each is in use.
"""

from django.utils.translation import gettext_noop as _

WORKER_MESSAGES = (
    # hits/views/task_pages/hit_page.py
    _("This task is about your own work, or you judged it before, so somebody else has to do it."),
    _("This photo was taken down, so there is nothing to do here."),
    _("This task is not open."),
    _("This page was opened from a marketplace that is not on our list."),
    # hits/services/collecting/submit.py, hits/api
    _("A newer draft of this task was saved in another tab or window."),
    _("This task did not load completely. Reload it."),
    _("This page belongs to an earlier attempt at this task. Reload the task."),
    _("You have seen this task before. Each worker sees it once. Return it and take another one."),
    _("This page's key is missing. Reload the task."),
    _("This page's key is not valid. Reload the task."),
    _("This page is too old. Reload the task."),
    _("This task is not known here. Return it and take another one."),
    _("country: choose one from the list"),
    _("The text has changed since you opened this page. Reload it and read it again."),
    _("This submission was sent before with other content. Reload the task and submit again."),
    _("First read and accept the consent text, and choose the country that you work from."),
    _("The request is too large; shorten the texts."),
    # hits/selectors/eligibility/eligibility.py
    _("Each worker can do this once. You have accepted or done it already."),
    # hits/domain/images/geometry.py
    _("a box needs exactly four numbers: left, top, width and height"),
    _("left, top, width and height are whole pixels"),
    # hits/domain/answers/triplets.py, hits/domain/images/objects_unit.py
    _("mention at least one object of the photo"),
    _("this answer belongs to another unit's object list: reload the task"),
    # hits/domain/workers/demographics.py
    _("Age"),
    _("18 to 24"),
    _("25 to 34"),
    _("35 to 44"),
    _("45 to 54"),
    _("55 to 64"),
    _("65 or older"),
    _("Gender"),
    _("Woman"),
    _("Man"),
    _("Non-binary"),
    _("Another"),
    _("Highest education"),
    _("School"),
    _("Vocational training"),
    _("Bachelor’s degree"),
    _("Master’s degree or higher"),
    _("How well you know English"),
    _("My first language"),
    _("Fluent"),
    _("Good enough for this work"),
    # titles of the kinds, where a page has no heading of its own
    _("Write observations about one photo"),
    _("Match statements to the marked parts of a photo"),
    _("Rate ten statements about a photo"),
    _("Judge one observation about a photo"),
    _("Say how interesting twenty photos are"),
    _("Review another person's questions about a photo, and advise them"),
    _("Choose the right one of four answers about a photo"),
    # validation/kinds/vcr_choice
    _("this task asks for one choice: leave the tick out"),
)
