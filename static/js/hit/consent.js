import { nameCountries } from '../ui/countries.js';
import { words } from './words.js';

/**
 * Shows the consent panel until it is agreed to; the task stays hidden meanwhile.
 * @param {{consent: {version: number, ask_country: boolean}|null}} config
 * @param {{consent: (agreement: {version: number, country?: string, about_me?: object}) => Promise<any>}} api
 * @param {{panel: HTMLElement|null, task: HTMLElement}} parts
 * @returns {Promise<void>} resolves when the task may begin
 */
export function consentGate(config, api, { panel, task }) {
  if (!config.consent || !panel) {
    if (panel) panel.hidden = true;
    task.hidden = false;
    return Promise.resolve();
  }
  panel.hidden = false;
  task.hidden = true;
  const country = panel.querySelector('#country');
  if (country) nameCountries(country);
  const button = panel.querySelector('[data-agree]');
  button.disabled = false; // a press before the script was ready would have been lost
  return new Promise((resolve) => {
    panel.querySelector('form').addEventListener('submit', async (e) => {
      e.preventDefault();
      if (button.getAttribute('aria-disabled') === 'true') return;
      const hasError = await agree(config.consent, api, panel, button);
      if (hasError) return;
      panel.hidden = true;
      task.hidden = false;
      resolve();
    });
  });
}

/** @returns {Promise<boolean>} whether an error occurred; the panel shows it */
async function agree(consent, api, panel, button) {
  const country = panel.querySelector('#country');
  if (country && !country.value) return showMessage(panel, words.countryMissing, country);
  button.setAttribute('aria-disabled', 'true');
  showMessage(panel, '', country);
  try {
    await api.consent({ version: consent.version, ...answers(panel, country) });
    return false;
  } catch (failure) {
    return showMessage(panel, failure.isTransient ? words.consentFailed : failure.message);
  } finally {
    button.removeAttribute('aria-disabled');
  }
}

function answers(panel, country) {
  if (!country) return {};
  const chosen = [...panel.querySelectorAll('[data-about-me]')].filter((field) => field.value);
  return { country: country.value, about_me: Object.fromEntries(chosen.map((field) => [field.name, field.value])) };
}

function showMessage(panel, text, field = null) {
  const error = panel.querySelector('[data-error]');
  error.textContent = text;
  error.hidden = !text;
  if (field && text) {
    field.setAttribute('aria-invalid', 'true');
    field.setAttribute('aria-describedby', error.id);
    field.focus();
  } else field?.removeAttribute('aria-invalid');
  return Boolean(text);
}
