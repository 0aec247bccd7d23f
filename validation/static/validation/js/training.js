/**
 * The trainer desk beyond what ui/staff.js and ui/review.js do: a click on a box opens its remark; ready-made
 * phrases go where the trainer wrote last; what is typed is kept on this device until the attempt is answered.
 * Without this script each place for a remark still opens, and all is sent by the form itself.
 */
const KEPT = 'deerstalker:training:';
const DAYS_KEPT = 14;
const form = document.getElementById('answer');

/** Opens a place for a remark and puts the cursor there. */
function openSpot(spot) {
  spot.open = true;
  spot.querySelector('textarea').focus();
}

function boxOf(event) {
  const box = event.target.closest('.stage .box');
  const label = box?.querySelector('text')?.textContent.trim();
  return label ? document.querySelector(`[data-box="${CSS.escape(label)}"]`) : null;
}

function fields() {
  return [...document.querySelectorAll('textarea[form="answer"], #answer textarea')];
}

function count() {
  const written = fields().filter((field) => field.id !== 'summary' && field.value.trim()).length;
  const line = document.querySelector('[data-remarks]');
  line.hidden = !written;
  line.textContent = written === 1 ? '1 remark goes with it' : `${written} remarks go with it`;
}

function keep(name) {
  const typed = Object.fromEntries(fields().filter((f) => f.value).map((f) => [f.name, f.value]));
  try {
    if (Object.keys(typed).length) localStorage.setItem(name, JSON.stringify({ at: Date.now(), typed }));
    else localStorage.removeItem(name);
  } catch { /* storage is forbidden or full: the page still holds it */ }
}

function recall(name) {
  let kept;
  try {
    for (const key of Object.keys(localStorage).filter((k) => k.startsWith(KEPT))) {
      const { at } = JSON.parse(localStorage.getItem(key));
      if (Date.now() - at > DAYS_KEPT * 86_400_000) localStorage.removeItem(key);
    }
    kept = JSON.parse(localStorage.getItem(name));
  } catch { /* storage is forbidden, or somebody else wrote there */ }
  for (const field of kept ? fields() : []) {
    if (field.value || !kept.typed[field.name]) continue;
    field.value = kept.typed[field.name];
    const spot = field.closest('details');
    if (spot) spot.open = true;
  }
}

if (form) {
  const name = KEPT + document.querySelector('[data-attempt]').dataset.attempt;
  let last = document.getElementById('summary');
  recall(name);
  count();
  document.querySelector('[data-scripted]').hidden = false;
  for (const part of document.querySelectorAll('[data-phrases]')) part.hidden = false;

  document.addEventListener('focusin', (event) => {
    if (event.target.matches('textarea')) last = event.target;
  });
  document.addEventListener('input', () => {
    keep(name);
    count();
  });
  document.addEventListener('click', (event) => {
    const spot = boxOf(event);
    if (spot) openSpot(spot);
    const phrase = event.target.closest('[data-phrase]');
    if (!phrase) return;
    last.value = [last.value.trim(), phrase.textContent.trim()].filter(Boolean).join(' ');
    last.focus();
    keep(name);
    count();
  });
  document.addEventListener('keydown', (event) => {
    const spot = event.key === 'Enter' && event.target.matches('.box') ? boxOf(event) : null;
    if (!spot) return;
    event.preventDefault();
    openSpot(spot);
  });
  for (const spot of document.querySelectorAll('details.remark')) {
    spot.querySelector('summary').addEventListener('click', () => {
      // After the browser has opened it.
      setTimeout(() => spot.open && spot.querySelector('textarea').focus());
    });
  }
}
