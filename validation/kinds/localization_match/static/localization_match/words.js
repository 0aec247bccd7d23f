/** The page's texts about sentences and parts. */
import { gettext, interpolate, pieces } from '../js/ui/i18n.js';

export const words = {
  // The count is shown in bold and comes first, in translations too.
  matched: (n, of) => pieces(gettext('%(count)s matched'), { count: interpolate(gettext('%(n)s of %(of)s'), { n, of }) }),
  sentence: (n) => interpolate(gettext('Sentence %(n)s'), { n }),
  part: (letter) => interpolate(gettext('Part %(letter)s'), { letter }),
  partOf: (letter, n) => interpolate(gettext('Part %(letter)s, has sentence %(n)s'), { letter, n }),
  partFree: (letter) => interpolate(gettext('Part %(letter)s, no sentence yet'), { letter }),
  given: (n, letter) => interpolate(gettext('Sentence %(n)s: part %(letter)s.'), { n, letter }),
  swapped: (n, letter, other, its) => interpolate(gettext('Sentence %(n)s: part %(letter)s. Sentence %(other)s: part %(its)s.'), { n, letter, other, its }),
  takenFrom: (n, letter, other) => interpolate(gettext('Sentence %(n)s: part %(letter)s. Sentence %(other)s has no part now.'), { n, letter, other }),
  cleared: (n) => interpolate(gettext('Sentence %(n)s: no part.'), { n }),
  undone: gettext('Undone.'),
  redone: gettext('Redone.'),
  nothingToUndo: gettext('Nothing to undo.'),
  zoomIn: gettext('Zoom to the part'),
  zoomOut: gettext('Show the whole photo'),
};
