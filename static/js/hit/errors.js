import { element } from '../ui/dom.js';
import { words } from './words.js';

/**
 * Shows the server's errors: a summary with links on top, and each message at its field.
 *
 * @param {HTMLElement} summary where the list goes
 * @param {{field: string, message: string}[]} errors
 * @param {(field: string) => {control: HTMLElement, name: string, reveal?: () => void}|null} place
 * @returns {() => void} removes the summary and the messages
 */
export function showErrors(summary, errors, place) {
  const cleanups = [];
  const items = errors.map(({ field, message }, index) => {
    const spot = place(field);
    if (!spot) return element('li', { text: message });
    const id = `server-error-${index}`;
    cleanups.push(markField(spot.control, id, message));
    const link = element('a', {
      href: `#${spot.control.id}`,
      text: `${spot.name}: ${message}`,
      on: { click: (e) => { e.preventDefault(); spot.reveal?.(); spot.control.focus(); } },
    });
    return element('li', {}, link);
  });
  summary.replaceChildren(
    element('h2', { text: words.fix(errors.length) }), element('ul', {}, ...items));
  summary.hidden = false;
  summary.focus();
  return () => {
    summary.hidden = true;
    summary.replaceChildren();
    cleanups.forEach((clean) => clean());
  };
}

function markField(control, id, message) {
  const host = control.closest('.field, fieldset') ?? control.parentElement;
  const text = element('p', { class: 'error', id, text: message });
  const described = control.getAttribute('aria-describedby');
  host.append(text);
  control.setAttribute('aria-invalid', 'true');
  control.setAttribute('aria-describedby', [described, id].filter(Boolean).join(' '));
  const clean = () => {
    text.remove();
    control.removeAttribute('aria-invalid');
    if (described) control.setAttribute('aria-describedby', described);
    else control.removeAttribute('aria-describedby');
  };
  host.addEventListener('input', clean, { once: true });
  return clean;
}
