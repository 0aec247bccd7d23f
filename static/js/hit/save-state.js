import { ago } from '../ui/format.js';
import { setIcon, setText } from '../ui/dom.js';
import { words } from './words.js';

const savedText = (seconds) => (seconds < 2 ? words.savedNow : words.saved(ago(seconds)));
const ICONS = { clean: 'ok', saved: 'ok', saving: 'sync', dirty: 'sync' };

/**
 * Keeps "Saved 3 s ago" true. Only trouble and its end are spoken: a save every few seconds is not news.
 * @param {HTMLElement} shown the visible line @param {(text: string) => void} say
 * @param {import('./draft.js').Draft} draft
 */
export function showSaveState(shown, announce, draft) {
  const text = shown.querySelector('[data-text]');
  const picture = shown.querySelector('svg');
  let trouble = false;
  const sentence = () => {
    switch (draft.state) {
      case 'clean': return words.nothingYet;
      case 'saved': return draft.savedAt === null ? words.savedEarlier : savedText((draft.now() - draft.savedAt) / 1000);
      case 'saving': case 'dirty': return words.saving;
      case 'conflict': return words.twoVersions;
      case 'refused': return words.refused;
      case 'expired': return words.expired;
      default: return draft.keptHere ? words.keptHere : words.notKept;
    }
  };
  const render = () => {
    const bad = !(draft.state in ICONS);
    setText(text, sentence());
    if (picture) setIcon(picture, ICONS[draft.state] ?? (draft.state === 'offline' ? 'offline' : 'alert'));
    shown.classList.toggle('save--trouble', bad);
    shown.classList.toggle('save--quiet', draft.state === 'clean');
    if (bad && !trouble) announce(sentence());
    if (trouble && draft.state === 'saved') announce(words.savedAgain);
    trouble = bad || (trouble && draft.state !== 'saved');
  };
  draft.addEventListener('state', render);
  setInterval(render, 1000);
  render();
}
