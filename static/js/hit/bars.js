import { element, icon } from '../ui/dom.js';

/**
 * The notes above the work: one for each name at a time, the work itself untouched.
 * @param {HTMLElement} place
 */
export function barsIn(place) {
  const bars = new Map();
  return {
    /**
     * @param {string} name @param {{text: string, more?: string, kind?: 'info'|'warn'|'bad',
     *   actions?: {text: string, primary?: boolean, run: () => void}[]}} content
     */
    show(name, { text, more = '', kind = 'warn', actions = [] }) {
      bars.get(name)?.remove();
      const buttons = actions.map(({ text: label, primary, run }) => element('button',
        { type: 'button', class: `btn btn--small${primary ? ' btn--primary' : ''}`, text: label, on: { click: run } }));
      const bar = element('div', { class: `note-bar note-bar--${kind}`, role: kind === 'info' ? 'status' : 'alert' },
        icon(kind === 'info' ? 'ok' : 'alert'),
        element('p', {}, element('b', { text }), more ? ` ${more}` : ''),
        ...(buttons.length ? [element('span', { class: 'row' }, ...buttons)] : []));
      bars.set(name, bar);
      place.append(bar);
    },
    /** Takes a note away. Focus that stood on it goes on to what follows, not to the top of the page. */
    hide(name) {
      const bar = bars.get(name);
      const focused = bar?.contains(document.activeElement);
      bar?.remove();
      bars.delete(name);
      if (focused) (place.querySelector('button') ?? place.nextElementSibling?.querySelector('summary'))?.focus();
    },
  };
}
