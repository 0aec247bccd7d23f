/** Messages of the page, in its language. */
import { gettext, interpolate } from '../js/ui/i18n.js';

export const words = {
  choice: gettext('your choice'),
  why: gettext('why it is plausible'),
  certainty: gettext('how certain you are'),
  rating: (name) => interpolate(gettext('how likely: %(name)s'), { name }),
  of5: (n) => interpolate(gettext('%(n)s of 5'), { n }),
};
