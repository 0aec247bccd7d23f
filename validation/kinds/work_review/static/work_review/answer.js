/** Between the form's fields (`question-1`, `advice`) and the answer's format. */
const PARTS = ['question', 'answer', 'rationale', 'tags'];

/** @param {Object<string, any>} fields @param {number} count triplets @returns {object} the answer; unmade choices are left out */
export function toAnswer(fields, count) {
  const triplets = Array.from({ length: count }, (_, at) => {
    const made = PARTS.flatMap((part) => (fields[`${part}-${at + 1}`] ? [[part, fields[`${part}-${at + 1}`]]] : []));
    return { triplet: at + 1, ...Object.fromEntries(made) };
  });
  return { triplets, advice: fields.advice ?? '', ...(fields.overall ? { overall: fields.overall } : {}) };
}

/** @param {object|null} answer @returns {Object<string, any>|null} the fields of an answer or a draft */
export function toFields(answer) {
  if (!answer) return null;
  const rows = Array.isArray(answer.triplets) ? answer.triplets : [];
  const parts = rows.flatMap((row) => PARTS.map((part) => [`${part}-${row?.triplet}`, row?.[part] ?? null]));
  return { ...Object.fromEntries(parts), advice: answer.advice ?? '', overall: answer.overall ?? null };
}

/** @param {string} path such as "triplets[0].question" @returns {string} the field's name */
export function fieldOf(path) {
  const match = /^triplets(?:\[(\d+)\](?:\.(\w+))?)?/.exec(path);
  return match ? `${PARTS.includes(match[2]) ? match[2] : PARTS[0]}-${Number(match[1] ?? 0) + 1}` : path;
}
