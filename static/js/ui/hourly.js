/**
 * Shows the hourly rate of a typed reward under its field. Each [data-hourly] names its field by id and has the
 * expected seconds and the project's target in cents. If the form asks for expected minutes, those are used.
 */

/** @returns {number|null} cents an hour for dollars as typed, null if there is no valid rate */
export function centsPerHour(typed, seconds) {
  const text = typed.trim().replace(/^\$/, '');
  if (!/^\d+(\.\d{1,2})?$/.test(text) || !(seconds > 0)) return null;
  return Math.round((Math.round(Number(text) * 100) * 3600) / seconds);
}

/** @returns {string} the text under the field */
export function hourlyText(cents, target) {
  const dollars = (value) => `$${(value / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return cents < target ? `${dollars(cents)}/h, ${dollars(target - cents)} under the target` : `${dollars(cents)}/h`;
}

/** Updates one line whenever its field or the expected minutes change. */
export function watchHourly(line) {
  const field = document.getElementById(line.dataset.hourly);
  if (!field) return;
  const minutes = field.form?.elements.namedItem('expected_minutes');
  const update = () => {
    const seconds = minutes ? Number(minutes.value) * 60 : Number(line.dataset.seconds);
    const target = Number(line.dataset.target);
    const cents = centsPerHour(field.value, seconds);
    const rate = line.querySelector('[data-rate]');
    if (rate) rate.textContent = cents === null ? '–' : hourlyText(cents, target);
    line.classList.toggle('is-low', cents !== null && cents < target);
  };
  for (const input of [field, minutes]) input?.addEventListener('input', update);
  update();
}

if (typeof document !== 'undefined') document.querySelectorAll('[data-hourly]').forEach(watchHourly);
