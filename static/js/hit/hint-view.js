/** Live hints on the page: one amber note per hint, in the element that the kind names for the card. */
import { element, icon } from '../ui/dom.js';
import { LiveHints, keyOf } from './hints.js';
import { hintSentence, words } from './hint-words.js';

/**
 * Live hints for a kind whose module has `hintPlace(card)`; for other kinds nothing is requested.
 * @param {{read: () => object, hintPlace?: (card: number) => HTMLElement|null}} kind a TaskKind of page.js (named, not imported: static files follow imports in comments, too)
 * @param {{rules: string[], ask: (answer: object) => Promise<any>, changed: () => void}} options
 * @returns {LiveHints}
 */
export function hintsFor(kind, { rules, ask, changed }) {
  const hints = new LiveHints({
    rules: kind.hintPlace ? rules : [],
    read: () => kind.read(),
    ask,
    changed,
    show: (card, list) => showHints(kind.hintPlace(card), list, (hint) => hints.dismiss(hint)),
  });
  // A hint in a closed card counts as shown only after the card is opened. `toggle` does not bubble.
  document.addEventListener('toggle', () => hints.render(), true);
  return hints;
}

/**
 * Shows hints in `place`. An existing note stays, so that it is not read out twice.
 * @param {HTMLElement|null} place @param {import('./hints.js').Hint[]} hints @param {(hint: object) => void} dismiss
 * @returns {import('./hints.js').Hint[]} the visible ones
 */
export function showHints(place, hints, dismiss) {
  if (!place) return [];
  const known = hints.filter((hint) => hintSentence(hint) !== null);
  const before = new Map([...place.children].map((note) => [note.dataset.hint, note]));
  const now = known.map((hint) => before.get(noteKey(hint)) ?? note(hint, dismiss));
  for (const old of before.values()) if (!now.includes(old)) remove(old, place);
  for (const [at, made] of now.entries()) if (place.children[at] !== made) place.insertBefore(made, place.children[at] ?? null);
  return place.checkVisibility?.() === false ? [] : known;
}

const noteKey = (hint) => `${keyOf(hint)} ${hint.other ?? ''} ${hint.params?.box ?? ''}`;

function note(hint, dismiss) {
  const sentence = hintSentence(hint).map((part) => (part.mark === undefined ? part : element('mark', { text: part.mark })));
  return element('div', { class: 'hint', 'data-hint': noteKey(hint) },
    icon('bulb'), element('span', {}, ...sentence), element('button', { type: 'button', text: words.ignore, on: { click: () => dismiss(hint) } }));
}

// If the removed note had focus, the next note gets it, or the field above.
function remove(old, place) {
  const focused = old.contains(document.activeElement);
  old.remove();
  if (focused) (place.querySelector('button') ?? place.previousElementSibling?.querySelector('textarea, input, button'))?.focus();
}
