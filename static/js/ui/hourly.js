/**
 * Says under a reward field what the typed reward makes per hour. Each [data-hourly] names its field by id and carries
 * the expected seconds and the project's target in cents. A form that asks for usual minutes (html templates) uses those.
 */

/** @returns {number|null} cents an hour for dollars as typed, null where no rate can be said */
export function centsPerHour(typed, seconds) {
  const text = typed.trim().replace(/^\$/, '');
  if (!/^\d+(\.\d{1,2})?$/.test(text) || !(seconds > 0)) return null;
  return Math.round((Math.round(Number(text) * 100) * 3600) / seconds);
}

/** @returns {string} what stands under the field */
export function hourlyText(cents, target) {
  const dollars = (value) => `$${(value / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return cents < target ? `${dollars(cents)}/h, ${dollars(target - cents)} under the target` : `${dollars(cents)}/h`;
}

/** Keeps one line current while its field, or the minutes that it rests on, change. */
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
