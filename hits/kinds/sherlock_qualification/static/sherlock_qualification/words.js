/** Messages of the qualification page, in the page's language. */
import { gettext, interpolate, ngettext, pieces } from '../js/ui/i18n.js';

const FIELD = { clue: gettext('clue'), inference: gettext('inference'), confidence: gettext('how sure') };
const ALONE = { clue: gettext('name a clue'), inference: gettext('write what it indicates'), confidence: gettext('choose how sure you are') };
const fields = (names) => (names.length === 1 ? ALONE[names[0]] : names.map((name) => FIELD[name]).join(', '));

export const words = {
  gapPhoto: (n) => interpolate(gettext('Photo %(n)s: not started'), { n }),
  gapMissing: (n) => interpolate(gettext('Photo %(n)s: describe it'), { n }),
  gapLong: (n) => interpolate(gettext('Photo %(n)s: describe it in one or two sentences'), { n }),
  gapPair: (photo, pair, names) => (names.length === 3
    ? interpolate(gettext('Photo %(photo)s, pair %(pair)s: not started'), { photo, pair })
    : interpolate(gettext('Photo %(photo)s, pair %(pair)s: %(gap)s'), { photo, pair, gap: fields(names) })),
  gapQuestion: (n) => interpolate(gettext('Question %(n)s'), { n }),
  gapQuestions: (n) => interpolate(ngettext('%(n)s question to answer', '%(n)s questions to answer', n), { n }),
  pair: (n) => interpolate(gettext('Pair %(n)s'), { n }),
  missing: (n) => interpolate(ngettext('%(n)s thing missing', '%(n)s things missing', n), { n }),
  notStarted: gettext('Not started'),
  complete: gettext('Complete'),
  of: (n, of) => interpolate(gettext('%(n)s of %(of)s'), { n, of }),
  // The count is shown bold, so a translation begins with it, too.
  tally: (n, of) => pieces(gettext('%(count)s pairs complete'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  shown: (n, of, state) => interpolate(gettext('Photo %(n)s of %(of)s. %(state)s.'), { n, of, state }),
  questionsShown: (n) => interpolate(ngettext('%(n)s question.', '%(n)s questions.', n), { n }),
  zoomed: (percent) => interpolate(gettext('%(percent)s percent.'), { percent }),
  field: {
    description: gettext('description'), clue: gettext('I spy'), inference: gettext('It might indicate that'), confidence: gettext('How sure'),
  },
  named: (photo, field) => interpolate(gettext('Photo %(photo)s, %(field)s'), { photo, field }),
  namedPair: (photo, pair, field) => interpolate(gettext('Photo %(photo)s, pair %(pair)s, %(field)s'), { photo, pair, field }),
};
