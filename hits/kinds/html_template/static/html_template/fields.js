/** Messages between an old page's frame and the page around it. Pure functions. */
const LOWEST = 240;
const HIGHEST = 12_000;

/**
 * The fields that another window sent, validated.
 * @param {any} fields @returns {[string, string][]}
 */
export function fieldList(fields) {
  if (!Array.isArray(fields)) return [];
  return fields.filter((row) => Array.isArray(row) && row.length === 2).map(([name, value]) => [String(name), String(value)]);
}

/**
 * The frame's address: ours with the marketplace's parameters, as old scripts expect them. Only the origin of
 * turkSubmitTo is passed on, since the rest has the attempt's secret.
 * @param {string} address this page's @returns {string}
 */
export function documentAddress(address) {
  const url = new URL('document', address.replace(/[?#].*$/, ''));
  const query = new URL(address).searchParams;
  const submitTo = query.get('turkSubmitTo');
  if (submitTo && URL.canParse(submitTo)) query.set('turkSubmitTo', new URL(submitTo).origin);
  url.search = query.toString();
  return url.href;
}

/**
 * The frame's height, limited to valid values.
 * @param {any} value @returns {number} pixels, or 0 for an invalid height
 */
export function parseHeight(value) {
  const height = Number(value);
  return height > 0 && Number.isFinite(height) ? Math.min(HIGHEST, Math.max(LOWEST, Math.ceil(height))) : 0;
}
