/** What pages share on which several items are judged one after another. */
import { element } from '../ui/dom.js';

const byId = (id) => document.getElementById(id);

/** @returns {boolean} whether keys may change the answer: not in a preview, and not while the page saves or asks */
export const acceptsKeys = (preview) => !preview && !byId('work').disabled && !byId('work').inert;

/**
 * Shows how many items are judged; a preview has no progress bar.
 * @param {number} done @param {number} of @param {[string, string]} texts the count, shown bold, and what follows it
 */
export function showProgress(done, of, [count, rest]) {
  if (!byId('count')) return;
  byId('count').replaceChildren(element('b', { text: count }), rest);
  const bar = byId('progress');
  bar.setAttribute('aria-valuenow', String(done));
  bar.firstElementChild.style.setProperty('--v', `${(100 * done) / of}%`);
}
