/** The texts of the writing page that its script shows. */
import { gettext, interpolate, ngettext } from '../js/ui/i18n.js';

const PROBLEMS = {
  control: () => gettext('it has a control character, remove it'),
  empty: (name) => (name === 'why' ? gettext('say why it fits better') : gettext('describe what the picture shows')),
  alike: () => gettext('it has the same words as the more plausible one'),
  long: (name, count, most) => interpolate(ngettext('%(n)s character too many', '%(n)s characters too many', count - most), { n: count - most }),
};

export const words = {
  /** @param {string} code @param {string} name of the field @param {number} count @param {number} most characters */
  problem: (code, name, count, most) => PROBLEMS[code](name, count, most),
  count: (n, characters, most) => interpolate(ngettext('%(n)s word, %(characters)s of %(most)s characters', '%(n)s words, %(characters)s of %(most)s characters', n), { n, characters, most }),
  writeBoth: gettext('shown as soon as both hypotheses are written'),
  nothingDiffers: gettext('nothing, both have the same words'),
  allDiffers: gettext('everything'),
  nothing: gettext('nothing'),
  becomes: gettext('becomes'),
  more: (n) => interpolate(ngettext('and %(n)s more', 'and %(n)s more', n), { n }),
  notWritten: gettext('Not written yet'),
};
