/** Small helpers for making elements without markup strings. */

/**
 * @param {string} tag @param {Object<string, any>} [props] `class`, `text`, `on` {type: handler}, else attributes;
 *   false and null leave an attribute out, true sets it empty
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
export function element(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === 'text') made.textContent = value;
    else if (key === 'on') for (const [type, handler] of Object.entries(value)) made.addEventListener(type, handler);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

/** @returns {SVGSVGElement} a symbol of the shared sprite, hidden from assistive technology */
export function icon(name) {
  const NS = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(NS, 'svg');
  const use = document.createElementNS(NS, 'use');
  use.setAttribute('href', `${document.documentElement.dataset.icons ?? ''}#i-${name}`);
  svg.setAttribute('aria-hidden', 'true');
  svg.append(use);
  return svg;
}

/** Points the `<use>` of an existing icon at another symbol. */
export function setIcon(svg, name) {
  const use = svg.querySelector('use');
  const href = `${document.documentElement.dataset.icons ?? ''}#i-${name}`;
  if (use && use.getAttribute('href') !== href) use.setAttribute('href', href);
}

/** Changes text only where it differs, so that live regions do not repeat themselves. */
export function setText(node, text) {
  if (node && node.textContent !== text) node.textContent = text;
}

/** @param {HTMLSelectElement} select of one choice @returns {number} the option with which the page came, -1 for none */
export function defaultIndex(select) {
  const options = [...select.options];
  const chosen = options.findLastIndex((option) => option.defaultSelected);
  return chosen < 0 && select.size <= 1 ? options.findIndex((option) => !option.disabled) : chosen;
}
