/** How money and time are written. Pure. */

/** @param {number} cents @returns {string} "$1.10" */
export function money(cents) {
  const sign = cents < 0 ? '−' : '';
  const whole = Math.floor(Math.abs(cents) / 100);
  return `${sign}$${whole.toLocaleString('en-US')}.${String(Math.abs(cents) % 100).padStart(2, '0')}`;
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
  const s = Math.max(0, Math.round(seconds));
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  if (h > 0) return m ? `${h} h ${m} min` : `${h} h`;
  if (m === 0) return `${s} s`;
  return s % 60 ? `${m} min ${s % 60} s` : `${m} min`;
}

/** @param {number} seconds @returns {string} "3 s", "2 min", coarse on purpose */
export function ago(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h`;
}

/** @param {string[]} parts @returns {string} "a", "a and b", "a, b and c" */
export function list(parts) {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
