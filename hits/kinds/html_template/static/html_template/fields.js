/** What passes between an old page's frame and the page around it. Nothing here knows a document. */
const LOWEST = 240;
const HIGHEST = 12_000;

/**
 * What another window sent, made safe to keep.
 * @param {any} fields @returns {[string, string][]}
 */
export function fieldList(fields) {
  if (!Array.isArray(fields)) return [];
  return fields.filter((row) => Array.isArray(row) && row.length === 2).map(([name, value]) => [String(name), String(value)]);
}

/**
 * The frame's address: ours with the marketplace's parameters, as old scripts expect them. The attempt's secret in
 * turkSubmitTo stays here: the page needs no more of it than the origin.
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
 * How high the frame should be, whatever the page in it says.
 * @param {any} said @returns {number} pixels, or 0 for what is no height
 */
export function heightOf(said) {
  const height = Number(said);
  return height > 0 && Number.isFinite(height) ? Math.min(HIGHEST, Math.max(LOWEST, Math.ceil(height))) : 0;
}
