/** Messages of the question page, in the page's language. */
import { list } from '../js/ui/format.js';
import { gettext, interpolate, ngettext, pieces } from '../js/ui/i18n.js';

export const words = {
  gap: (n, gap, bonus) => interpolate(bonus ? gettext('Question %(n)s: %(gap)s, or clear it') : gettext('Question %(n)s: %(gap)s'), { n, gap }),
  mentions: (n) => interpolate(ngettext('Mention %(n)s more object', 'Mention %(n)s more objects', n), { n }),
  interest: gettext('Say whether the photo is interesting'),
  interestName: gettext('Interesting'),
  named: (n, field) => interpolate(gettext('Question %(n)s, %(field)s'), { n, field }),
  cleared: (n) => interpolate(gettext('Question %(n)s cleared.'), { n }),
  // The count is shown bold, so a translation begins with it, too.
  tally: (n, of) => pieces(gettext('%(count)s complete'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  summary: (n) => interpolate(ngettext('%(n)s question', '%(n)s questions', n), { n }),
  differ: (cards) => (cards.length ? interpolate(ngettext('Question %(cards)s differs.', 'Questions %(cards)s differ.', cards.length), { cards: list(cards) }) : ''),
};
