import { element, icon } from '../ui/dom.js';

/**
 * Notes above the task, at most one per name.
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
    /** Removes a note. If it had focus, the next control gets it, so that focus does not jump to the top of the page. */
    hide(name) {
      const bar = bars.get(name);
      const focused = bar?.contains(document.activeElement);
      bar?.remove();
      bars.delete(name);
      if (focused) (place.querySelector('button') ?? place.nextElementSibling?.querySelector('summary'))?.focus();
    },
  };
}
