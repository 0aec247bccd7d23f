/** Messages about objects and mentions, in the page's language. */
import { gettext, interpolate, ngettext } from '../ui/i18n.js';

const FIELD = { question: gettext('question'), answer: gettext('answer'), rationale: gettext('reason'), likelihood: gettext('how likely') };
const GAPS = {
  few: ({ least, count }) => interpolate(ngettext('%(n)s word more', '%(n)s words more', least - count), { n: least - count }),
  many: ({ most }) => interpolate(gettext('at most %(n)s words'), { n: most }),
  long: ({ most }) => interpolate(gettext('at most %(n)s characters'), { n: most }),
  control: () => gettext('remove the control character'),
  tag: () => gettext('remove the unknown object'),
  likelihood: () => gettext('choose'),
};
const IF_EMPTY = { question: gettext('write a question'), answer: gettext('answer it'), rationale: gettext('say why'), likelihood: gettext('choose how likely') };

export const words = {
  space: gettext('Space'),
  suggested: (object) => interpolate(gettext('Suggestion: %(object)s. Space accepts it, Escape keeps the number.'), { object }),
  listed: (n) => interpolate(ngettext('%(n)s object. Arrow keys choose, Enter inserts it.', '%(n)s objects. Arrow keys choose, Enter inserts one.', n), { n }),
  inserted: (object) => interpolate(gettext('%(object)s inserted.'), { object }),
  kept: (n) => interpolate(gettext('%(n)s stays a number.'), { n }),
  picked: (object, at, count) => interpolate(gettext('%(object)s inserted, %(at)s of %(count)s here. Press again for the next one.'), { object, at, count }),
  object: (object) => interpolate(gettext('Insert %(object)s'), { object }),
  zoomed: (percent) => interpolate(gettext('%(percent)s percent.'), { percent }),
  question: (n) => interpolate(gettext('Question %(n)s'), { n }),
  notStarted: gettext('Not started'),
  complete: gettext('Complete'),
  missing: (n) => interpolate(ngettext('%(n)s thing missing', '%(n)s things missing', n), { n }),
  bonusPay: (sum) => interpolate(gettext('+%(sum)s bonus'), { sum }),
  counted: (n) => interpolate(ngettext('%(n)s word', '%(n)s words', n), { n }),
  count: {
    ...GAPS,
    few: ({ count, least }) => (count === 0 ? interpolate(gettext('min. %(n)s words'), { n: least })
      : interpolate(gettext('%(n)s of %(least)s words'), { n: count, least })),
  },
  field: { question: gettext('Question'), answer: gettext('Answer'), rationale: gettext('Reason'), likelihood: gettext('How likely') },
  /** What a card lacks: short if several parts are missing, with the number of words if one is. */
  gap: (problems) => {
    const [first] = problems;
    if (problems.length > 1) return problems.map(({ field }) => FIELD[field]).join(', ');
    if (first.code === 'few' && first.count > 0) return `${FIELD[first.field]}: ${GAPS.few(first)}`;
    return first.code === 'few' || first.code === 'likelihood' ? IF_EMPTY[first.field] : `${FIELD[first.field]}: ${GAPS[first.code](first)}`;
  },
};
