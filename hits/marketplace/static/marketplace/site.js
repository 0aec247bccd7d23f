/**
 * Behaviour of the worker site, controlled by attributes, so that its pages need no inline scripts:
 * - command="show-modal" and command="close" with commandfor="ID" open and close a <dialog>, in older browsers too;
 *   data-open-now opens one at load
 * - data-countdown="SECONDS" counts down; at zero it fires "countdown-over" on the document and shows [data-when-over]
 * - <time data-local="day|minute"> is rewritten in the browser's time zone
 * - data-shown-for="VALUE" with data-shown-by="ID" shows a field only while the select of that id has the value
 * - <select data-countries> and <b data-country="CODE"> are rewritten with the countries' names in the page's language
 */
import { nameCountries, nameCountry } from '../js/ui/countries.js';
import { language } from '../js/ui/i18n.js';

const LATE_SECONDS = 120;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const SHORT = { day: 'numeric', month: 'short' };
const padTwo = (n) => String(n).padStart(2, '0');

/** @param {number} seconds @returns {string} "21:40", "1:02:05" */
export function clock(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours ? `${hours}:${padTwo(minutes)}:${padTwo(whole % 60)}` : `${minutes}:${padTwo(whole % 60)}`;
}

/** @param {Date} moment @param {"day"|"minute"} precision @returns {string} "20 Nov", "20 Nov 16:42"; "20. Nov." in German */
export function localTime(moment, precision) {
  if (language !== 'en') return moment.toLocaleString(language, precision === 'day' ? SHORT : { ...SHORT, hour: '2-digit', minute: '2-digit' });
  const day = `${moment.getDate()} ${MONTHS[moment.getMonth()]}`;
  return precision === 'day' ? day : `${day} ${padTwo(moment.getHours())}:${padTwo(moment.getMinutes())}`;
}

function countDown(shown) {
  const end = performance.now() + Number(shown.dataset.countdown) * 1000;
  const tick = () => {
    const left = (end - performance.now()) / 1000;
    shown.textContent = clock(left);
    shown.classList.toggle('late', left <= LATE_SECONDS);
    if (left > 0) return;
    clearInterval(timer);
    document.dispatchEvent(new CustomEvent('countdown-over'));
  };
  const timer = setInterval(tick, 1000);
}

/** Shows a field only while its select has the matching value. */
function bindVisibility(field) {
  const select = document.getElementById(field.dataset.shownBy);
  const update = () => { field.hidden = select.value !== field.dataset.shownFor; };
  select.addEventListener('change', update);
  update();
}

/** For browsers before 2026, which do not support button commands. */
function runButtonCommand(event) {
  const button = event.target.closest('button[commandfor]');
  const dialog = button && document.getElementById(button.getAttribute('commandfor'));
  if (button?.getAttribute('command') === 'show-modal') dialog?.showModal();
  if (button?.getAttribute('command') === 'close') dialog?.close();
}

if (typeof document !== 'undefined') {
  if (!('command' in HTMLButtonElement.prototype)) document.addEventListener('click', runButtonCommand);
  for (const shown of document.querySelectorAll('[data-countdown]')) countDown(shown);
  for (const notice of document.querySelectorAll('[data-when-over]')) {
    document.addEventListener('countdown-over', () => { notice.hidden = false; });
  }
  for (const field of document.querySelectorAll('[data-shown-for]')) bindVisibility(field);
  for (const select of document.querySelectorAll('select[data-countries]')) nameCountries(select);
  for (const shown of document.querySelectorAll('[data-country]')) nameCountry(shown);
  for (const dialog of document.querySelectorAll('dialog[data-open-now]')) dialog.showModal();
  for (const time of document.querySelectorAll('time[data-local]')) {
    time.textContent = localTime(new Date(time.dateTime), time.dataset.local);
  }
}
