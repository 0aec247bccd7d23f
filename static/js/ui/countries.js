import { language } from './i18n.js';

/**
 * Names the countries of a list in the page's language. The browser has the names, so catalogues do not.
 * @param {HTMLSelectElement} select its options' values are ISO 3166-1 codes, but for an empty first one
 */
export function nameCountries(select) {
  if (language === 'en') return; // as the server wrote them
  const names = new Intl.DisplayNames(language, { type: 'region' });
  const options = [...select.options].filter((option) => option.value);
  for (const option of options) option.textContent = names.of(option.value);
  options.sort((a, b) => a.textContent.localeCompare(b.textContent, language));
  select.append(...options);
}

/**
 * Names one country in the page's language.
 * @param {HTMLElement} shown its data-country is an ISO 3166-1 code
 */
export function nameCountry(shown) {
  if (language === 'en') return; // as the server wrote it
  shown.textContent = new Intl.DisplayNames(language, { type: 'region' }).of(shown.dataset.country);
}
