/**
 * A task whose answer is a form: every control with a name inside `#work` is a field of the answer.
 *
 * A text, a choice of radio buttons or a select is a string, a number field a number, checkboxes that have values a
 * list of them, and a checkbox without a value yes or no. What is `required` and empty stands in the list of what is
 * missing, as its label says or its own `data-gap`; `data-name` is what a server's remark calls it. Radio buttons and
 * lists say all this on their fieldset, which is named like them (`data-field="faults"`), or by its legend.
 *
 *     boot(new PlainForm());
 *
 * @implements {import('./page.js').TaskKind}
 */
export class PlainForm {
  start({ config, changed }) {
    this.config = config;
    this.fields = fieldsIn(document.getElementById('work'));
    for (const field of this.fields.values()) {
      for (const control of field.controls) control.addEventListener('input', changed);
    }
  }

  read() {
    const filled = [...this.fields.values()].map((field) => [field.name, valueOf(field)]);
    return Object.fromEntries(filled.filter(([, value]) => value !== null));
  }

  write(answer) {
    for (const field of this.fields.values()) show(field, answer?.[field.name] ?? null);
  }

  answer() { return this.read(); }

  gaps() {
    return [...this.fields.values()].filter((field) => field.required && isEmpty(valueOf(field))).map((field) => ({
      key: field.name,
      href: `#${field.controls[0].id}`,
      text: field.host.dataset.gap ?? field.label,
      focus: () => field.controls[0].focus(),
    }));
  }

  cents() { return this.config.pay.reward_cents; }

  place(path) {
    const field = this.fields.get(path.split(/[.[]/, 1)[0]);
    return field ? { control: field.controls[0], name: field.host.dataset.name ?? field.label } : null;
  }
}

function fieldsIn(work) {
  const fields = new Map();
  for (const control of work?.querySelectorAll('input[name], select[name], textarea[name]') ?? []) {
    const known = fields.get(control.name);
    if (known) known.controls.push(control);
    else fields.set(control.name, fieldOf(control));
  }
  return fields;
}

function fieldOf(control) {
  const { name, type } = control;
  const group = type === 'radio' || (type === 'checkbox' && control.hasAttribute('value'));
  const set = group ? control.closest('[data-field], fieldset:not(#work)') : null;
  const said = set?.querySelector('legend') ?? control.labels?.[0];
  const host = set ?? control;
  const required = control.required || host.hasAttribute('data-required');
  return { name, kind: group && type === 'checkbox' ? 'list' : type, controls: [control], host, required, label: said?.textContent.trim() ?? name };
}

/** What a field holds; null where a choice or a number is not made yet. */
function valueOf({ kind, controls }) {
  const [first] = controls;
  switch (kind) {
    case 'radio': return controls.find((one) => one.checked)?.value ?? null;
    case 'list': return controls.filter((one) => one.checked).map((one) => one.value);
    case 'checkbox': return first.checked;
    case 'number': return Number.isNaN(first.valueAsNumber) ? null : first.valueAsNumber;
    default: return first.value;
  }
}

function show({ kind, controls }, value) {
  for (const control of controls) {
    if (kind === 'radio') control.checked = control.value === value;
    else if (kind === 'list') control.checked = Array.isArray(value) && value.includes(control.value);
    else if (kind === 'checkbox') control.checked = value === true;
    else control.value = value ?? '';
  }
}

function isEmpty(value) {
  return value === null || value === false || (typeof value === 'string' && !value.trim()) || (Array.isArray(value) && !value.length);
}
