/** How money, time and lists are written in the page's language. */
import { gettext, interpolate, language } from './i18n.js';

const dollars = new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' });
// The English of these pages is British: no comma before "and".
const lists = new Intl.ListFormat(language === 'en' ? 'en-GB' : language, { type: 'conjunction' });

/** @param {number} cents @returns {string} "$1.10" */
export function money(cents) {
  return `${cents < 0 ? '−' : ''}${dollars.format(Math.abs(cents) / 100)}`;
}

/** @param {number} seconds @returns {string} "21:40", "1:02:05" */
export function clock(seconds) {
  const s = Math.max(0, Math.ceil(seconds));
  const two = (n) => String(n).padStart(2, '0');
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

/** @param {number} seconds @returns {string} "5 min", "1 min 30 s", "45 s", "2 h 5 min" */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  const [hours, minutes] = [interpolate(gettext('%(n)s h'), { n: h }), interpolate(gettext('%(n)s min'), { n: m })];
  if (h > 0) return m ? `${hours} ${minutes}` : hours;
  const rest = interpolate(gettext('%(n)s s'), { n: s });
  if (m === 0) return rest;
  return s ? `${minutes} ${rest}` : minutes;
}

/** @param {number} seconds @returns {string} "3 s", "2 min", coarse on purpose */
export function ago(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return interpolate(gettext('%(n)s s'), { n: s });
  if (s < 3600) return interpolate(gettext('%(n)s min'), { n: Math.floor(s / 60) });
  return interpolate(gettext('%(n)s h'), { n: Math.floor(s / 3600) });
}

const times = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { hour: '2-digit', minute: '2-digit' });

/** @param {number} at ms since 1970 @returns {string} "12:31", on this device's clock */
export const timeOfDay = (at) => times.format(at);

/** @param {string[]} parts @returns {string} "a", "a and b", "a, b and c" */
export function list(parts) {
  return lists.format(parts);
}
