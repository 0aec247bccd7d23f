import { ago } from '../ui/format.js';
import { setIcon, setText } from '../ui/dom.js';
import { words } from './words.js';

const savedText = (seconds) => (seconds < 2 ? words.savedNow : words.saved(ago(seconds)));
const ICONS = { clean: 'ok', saved: 'ok', saving: 'sync', dirty: 'sync' };

/**
 * Keeps the line "Saved 3 s ago" current. Only problems and their end are announced, not each save.
 * @param {HTMLElement} shown the visible line @param {(text: string) => void} announce
 * @param {import('./draft.js').Draft} draft
 */
export function showSaveState(shown, announce, draft) {
  const text = shown.querySelector('[data-text]');
  const picture = shown.querySelector('svg');
  let trouble = false;
  const message = () => {
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
    setText(text, message());
    if (picture) setIcon(picture, ICONS[draft.state] ?? (draft.state === 'offline' ? 'offline' : 'alert'));
    shown.classList.toggle('save--trouble', bad);
    shown.classList.toggle('save--quiet', draft.state === 'clean');
    if (bad && !trouble) announce(message());
    if (trouble && draft.state === 'saved') announce(words.savedAgain);
    trouble = bad || (trouble && draft.state !== 'saved');
  };
  draft.addEventListener('state', render);
  setInterval(render, 1000);
  render();
}
