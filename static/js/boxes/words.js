/** Messages of the box editor, in the page's language. */
import { gettext, interpolate, ngettext } from '../ui/i18n.js';

export const words = {
  boxName: (label, b) => interpolate(gettext('Observation %(obs)s, box %(label)s: %(left)s, %(top)s, %(width)s by %(height)s pixels'), { label, ...b }),
  added: (label, b) => interpolate(gettext('Box %(label)s added: %(width)s by %(height)s pixels at %(left)s, %(top)s.'), { label, ...b }),
  addedMany: (n) => interpolate(ngettext('%(n)s box added.', '%(n)s boxes added.', n), { n }),
  moved: (label, b) => interpolate(gettext('Box %(label)s at %(left)s, %(top)s.'), { label, ...b }),
  resized: (label, b) => interpolate(gettext('Box %(label)s: %(width)s by %(height)s pixels.'), { label, ...b }),
  removed: (label) => interpolate(gettext('Box %(label)s deleted.'), { label }),
  removedMany: (n) => interpolate(ngettext('%(n)s box deleted.', '%(n)s boxes deleted.', n), { n }),
  undone: gettext('Undone.'),
  redone: gettext('Redone.'),
  nothingToUndo: gettext('Nothing to undo.'),
  nothingToRedo: gettext('Nothing to redo.'),
  selected: (label, b) => interpolate(gettext('Box %(label)s selected: %(width)s by %(height)s pixels at %(left)s, %(top)s.'), { label, ...b }),
  deselected: gettext('No box selected.'),
  noCard: gettext('Open a card first: a box belongs to the card that is open.'),
  tooSmall: (min) => interpolate(gettext('Too small. A box needs at least %(min)s pixels each way.'), { min }),
  tooMany: (most) => interpolate(gettext('No more than %(most)s boxes for one observation. Delete one first.'), { most }),
  handOn: gettext('Dragging moves the photo.'),
  handOff: gettext('Dragging draws a box.'),
  picked: (label, at, count) => interpolate(gettext('Box %(label)s, %(at)s of %(count)s here. Press again for the next one.'), { label, at, count }),
  zoomed: (percent) => interpolate(gettext('%(percent)s percent.'), { percent }),
};
