import { words } from './words.js';

/**
 * Shows the consent panel until it is agreed to; the task stays hidden meanwhile.
 * @param {{consent: {version: number}|null}} config
 * @param {{consent: (version: number) => Promise<any>}} api
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
  const button = panel.querySelector('[data-agree]');
  const error = panel.querySelector('[data-error]');
  button.disabled = false; // a press before the script was ready would have been lost
  return new Promise((resolve) => {
    button.addEventListener('click', async () => {
      if (button.getAttribute('aria-disabled') === 'true') return;
      button.setAttribute('aria-disabled', 'true');
      error.hidden = true;
      try {
        await api.consent(config.consent.version);
        panel.hidden = true;
        task.hidden = false;
        resolve();
      } catch (failure) {
        error.textContent = failure.passing ? words.consentFailed : failure.message;
        error.hidden = false;
      } finally {
        button.removeAttribute('aria-disabled');
      }
    });
  });
}
