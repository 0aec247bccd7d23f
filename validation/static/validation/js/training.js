/**
 * The training queue, in addition to ui/staff.js and ui/review.js. A click on a box opens its remark. A phrase is
 * added to the last focused field. Typed text is saved on this device until the attempt is answered.
 * Without this script the remarks still open, and the form sends them.
 */
const STORAGE_PREFIX = 'deerstalker:training:';
const MAX_AGE_DAYS = 14;
const form = document.getElementById('answer');

/** Opens a remark and focuses its text field. */
function openRemark(remark) {
  remark.open = true;
  remark.querySelector('textarea').focus();
}

function remarkOfBox(event) {
  const box = event.target.closest('.stage .box');
  const label = box?.querySelector('text')?.textContent.trim();
  return label ? document.querySelector(`[data-box="${CSS.escape(label)}"]`) : null;
}

function textFields() {
  return [...document.querySelectorAll('textarea[form="answer"], #answer textarea')];
}

function showRemarkCount() {
  const count = textFields().filter((field) => field.id !== 'summary' && field.value.trim()).length;
  const line = document.querySelector('[data-remarks]');
  line.hidden = !count;
  line.textContent = count === 1 ? 'Includes 1 remark' : `Includes ${count} remarks`;
}

function saveDraft(name) {
  const typed = Object.fromEntries(textFields().filter((f) => f.value).map((f) => [f.name, f.value]));
  try {
    if (Object.keys(typed).length) localStorage.setItem(name, JSON.stringify({ at: Date.now(), typed }));
    else localStorage.removeItem(name);
  } catch { /* storage is blocked or full: the text is on the page only */ }
}

function restoreDraft(name) {
  let saved;
  try {
    for (const key of Object.keys(localStorage).filter((k) => k.startsWith(STORAGE_PREFIX))) {
      const { at } = JSON.parse(localStorage.getItem(key));
      if (Date.now() - at > MAX_AGE_DAYS * 86_400_000) localStorage.removeItem(key);
    }
    saved = JSON.parse(localStorage.getItem(name));
  } catch { /* storage is blocked, or its content is not ours */ }
  for (const field of saved ? textFields() : []) {
    if (field.value || !saved.typed[field.name]) continue;
    field.value = saved.typed[field.name];
    const remark = field.closest('details');
    if (remark) remark.open = true;
  }
}

if (form) {
  const name = STORAGE_PREFIX + document.querySelector('[data-attempt]').dataset.attempt;
  let lastField = document.getElementById('summary');
  restoreDraft(name);
  showRemarkCount();
  document.querySelector('[data-scripted]').hidden = false;
  for (const part of document.querySelectorAll('[data-phrases]')) part.hidden = false;

  document.addEventListener('focusin', (event) => {
    if (event.target.matches('textarea')) lastField = event.target;
  });
  document.addEventListener('input', () => {
    saveDraft(name);
    showRemarkCount();
  });
  document.addEventListener('click', (event) => {
    const remark = remarkOfBox(event);
    if (remark) openRemark(remark);
    const phrase = event.target.closest('[data-phrase]');
    if (!phrase) return;
    lastField.value = [lastField.value.trim(), phrase.textContent.trim()].filter(Boolean).join(' ');
    lastField.focus();
    saveDraft(name);
    showRemarkCount();
  });
  document.addEventListener('keydown', (event) => {
    const remark = event.key === 'Enter' && event.target.matches('.box') ? remarkOfBox(event) : null;
    if (!remark) return;
    event.preventDefault();
    openRemark(remark);
  });
  for (const remark of document.querySelectorAll('details.remark')) {
    remark.querySelector('summary').addEventListener('click', () => {
      // After the browser has opened the remark.
      setTimeout(() => remark.open && remark.querySelector('textarea').focus());
    });
  }
}
