import { element } from '../ui/dom.js';

/**
 * One missing part of the answer, identified by `key`.
 * @typedef {{key: string, href: string, text: string, name?: string, obs?: number, begun?: boolean, focus: () => void}} Gap
 */

/**
 * Lists the gaps, each with a link to its field.
 * @param {HTMLElement} list a <ul> @param {Gap[]} gaps
 */
export function showGaps(list, gaps) {
  const now = gaps.map((g) => `${g.key}\u0000${g.text}\u0000${g.begun}`).join('\u0001');
  if (list.dataset.shown === now) return;
  list.dataset.shown = now;
  list.replaceChildren(...gaps.map((gap) => {
    const link = element('a', { href: gap.href, 'aria-label': gap.name, on: { click: (e) => { e.preventDefault(); gap.focus(); } } });
    if (gap.obs) link.append(element('span', { class: `dot obs obs-${gap.obs}${gap.begun ? '' : ' dot--empty'}`, text: String(gap.obs) }), ' ');
    link.append(gap.text);
    return element('li', {}, link);
  }));
}
