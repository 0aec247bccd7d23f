/** Messages of the observation page, in the page's language. */
import { list } from '../ui/format.js';
import { gettext, interpolate, ngettext, pieces } from '../ui/i18n.js';

const PART = {
  clue: gettext('clue'), box: gettext('box'), inference: gettext('inference'), confidence: gettext('how sure'),
};
const ALONE = {
  clue: gettext('name a clue'),
  box: gettext('draw a box'),
  inference: gettext('write what it indicates'),
  confidence: gettext('choose how sure you are'),
};
const gap = (parts) => (parts.length === 1 ? ALONE[parts[0]] : parts.map((p) => PART[p]).join(', '));

export const words = {
  gap,
  notStartedGap: gettext('not started'),
  bonusGap: (parts) => interpolate(gettext('%(gap)s, or clear it'), { gap: gap(parts) }),
  missing: (n) => interpolate(ngettext('%(n)s thing missing', '%(n)s things missing', n), { n }),
  notStarted: gettext('Not started'),
  complete: gettext('Complete'),
  bonus: gettext('Bonus observation'),
  bonusPay: (sum) => interpolate(gettext('+%(sum)s bonus'), { sum }),
  observation: (n) => interpolate(gettext('Observation %(n)s'), { n }),
  drawFirst: gettext('Draw a box'),
  drawMore: gettext('Add another'),
  deleteBox: (label) => interpolate(gettext('Delete box %(label)s'), { label }),
  selectBox: (label, b) => interpolate(gettext('Select box %(label)s, %(width)s by %(height)s pixels'), { label, ...b }),
  cleared: (n) => interpolate(gettext('Observation %(n)s cleared.'), { n }),
  // The count is shown bold, so a translation begins with it, too.
  tally: (n, of) => pieces(gettext('%(count)s complete'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  summary: (done, of, boxes) => [
    interpolate(gettext('%(count)s complete'), { count: interpolate(gettext('%(n)s of %(of)s'), { n: done, of }) }),
    interpolate(ngettext('%(n)s box', '%(n)s boxes', boxes), { n: boxes }),
  ].join(', '),
  differ: (cards) => (cards.length ? interpolate(ngettext('Observation %(cards)s differs.', 'Observations %(cards)s differ.', cards.length), { cards: list(cards) }) : ''),
  hintDraw: (n) => interpolate(gettext('Drag over the photo to draw a box for observation %(n)s.'), { n }),
  hintNoCard: gettext('Open a card to draw a box for it.'),
  hintPan: gettext('Drag to move the photo. Press Draw to draw boxes again.'),
  hintPreview: gettext('You can draw after you take the task.'),
  hintSelected: (label) => pieces(
    gettext('Box %(label)s selected: arrows move it, %(shift)s faster, %(alt)s resizes.'),
    { label, shift: { key: gettext('Shift') }, alt: { key: 'Alt' } },
  ),
  hintPicked: (label, at, count) => interpolate(gettext('Box %(label)s selected, %(at)s of %(count)s here: press again for the next one.'), { label, at, count }),
  hintTouched: (label) => interpolate(gettext('Box %(label)s selected: drag it, or drag its corners.'), { label }),
  place: (b) => interpolate(gettext('%(width)s × %(height)s px at %(left)s, %(top)s'), b),
  size: (s) => interpolate(gettext('%(width)s × %(height)s px'), s),
  field: {
    clue: gettext('I spy'),
    inference: gettext('It might indicate that'),
    confidence: gettext('How sure'),
    boxes: gettext('Boxes'),
    box: gettext('Boxes'),
  },
};
