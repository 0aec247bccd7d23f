/** Messages of the exam page, in the page's language. */
import { gettext, interpolate, ngettext } from '../js/ui/i18n.js';

export const words = {
  question: (n) => interpolate(gettext('Question %(n)s'), { n }),
  questions: (n) => interpolate(ngettext('%(n)s question to answer', '%(n)s questions to answer', n), { n }),
  written: (gap) => interpolate(gettext('Your own question: %(gap)s'), { gap }),
  mention: gettext('Mention an object in your own question'),
  of: (n, of) => interpolate(gettext('%(n)s of %(of)s'), { n, of }),
  notStarted: gettext('Not started'),
  begun: gettext('Begun'),
  complete: gettext('Complete'),
};
