/**
 * Translation, as gettext does it: the English sentence is the key. A page in another language contains a
 * catalogue as JSON (`{{ catalog|json_script:"i18n-catalog" }}`); an English page has none, and the keys are shown.
 *
 * @typedef {object} Catalog
 * @property {Object<string, string|string[]>} messages a translation, or one for each plural form
 * @property {string} plurals the plural form of 0, 1, 2 … as a row of digits; it repeats its last hundred
 */
const ENGLISH = { messages: {}, plurals: '' };
const page = typeof document === 'undefined' ? null : document;
const embedded = page?.getElementById?.('i18n-catalog');

/** @type {Catalog} */
const catalog = embedded ? JSON.parse(embedded.textContent) : ENGLISH;

/** The page's language, for Intl: "en", "de". */
export const language = page?.documentElement?.lang || 'en';

const own = (key) => (Object.hasOwn(catalog.messages, key) ? catalog.messages[key] : undefined);

/** @param {string} text in English @returns {string} in the page's language */
export function gettext(text) {
  const found = own(text);
  return typeof found === 'string' ? found : text;
}

/** @param {string} one @param {string} many @param {number} n @returns {string} the form that fits n */
export function ngettext(one, many, n) {
  const forms = own(one);
  if (!Array.isArray(forms)) return n === 1 ? one : many;
  return forms[pluralForm(n)] ?? forms.at(-1);
}

/** @param {string} format with %(name)s @param {Object<string, string|number>} values @returns {string} */
export function interpolate(format, values) {
  return pieces(format, values).join('');
}

/**
 * Like interpolate, but in parts, for a sentence of which some parts are elements.
 * @template T
 * @param {string} format @param {Object<string, T>} values @returns {(string|T)[]} no empty strings
 */
export function pieces(format, values) {
  // Odd positions are the names, since the pattern captures them.
  return format.split(/%\((\w+)\)s/).map((part, place) => (place % 2 ? values[part] ?? '' : part)).filter((part) => part !== '');
}

// Plural rules depend on small numbers and on the last two digits only, so a table is enough. The page's content
// security policy forbids to evaluate a rule as code.
function pluralForm(n) {
  const rule = catalog.plurals;
  const place = n < rule.length ? n : rule.length - 100 + (n % 100);
  return Number(rule[place] ?? (n === 1 ? 0 : 1));
}
