import { defaultIndex } from '../ui/dom.js';

/**
 * A task whose answer is a form: every control with a name inside `#work` is a field of the answer.
 *
 * Values: a text, radio buttons and a select give a string; a number and a range a number; a multiple select, and
 * checkboxes with values, a list; a checkbox without a value true or false. An empty text is "". Unmade choices, empty
 * numbers and disabled controls are left out.
 *
 * Gaps: a control that is `required` and empty is listed with its label or its `data-gap`; a control whose value breaks
 * a rule (`min`, `step`, `pattern`, `type=email`, …) with its label and the browser's message. Controls in a block with
 * `hidden` give no gap. `data-name` is the name of a field in errors of the server. Radio buttons and lists have these
 * attributes on their fieldset or on an element with `data-field`, whose legend is their label.
 *
 * After a draft is restored, each control fires `change`, so that scripts that show or hide blocks can react.
 *
 *     boot(new PlainForm());
 *
 * @implements {import('./page.js').TaskKind}
 */
export class PlainForm {
  start({ config, changed }) {
    this.config = config;
    this.work = document.getElementById('work');
    this.fields = fieldsIn(this.work);
    for (const { controls } of this.fields.values()) {
      for (const control of controls) control.addEventListener('input', changed);
    }
    // After the person's input, a script may hide or disable controls, which changes the answer.
    this.blocks = new MutationObserver((seen) => seen.some(({ target }) => target !== this.work) && changed());
    this.blocks.observe(this.work, { subtree: true, attributeFilter: ['hidden', 'disabled'] });
  }

  /** Keeps `null` for emptied fields, so that a draft does not restore the page's default. */
  read() {
    return Object.fromEntries([...this.fields.values()].map(({ name, kind, controls }) => [name, valueOf(kind, controls)]));
  }

  write(answer) {
    for (const field of this.fields.values()) {
      if (answer && Object.hasOwn(answer, field.name)) show(field, answer[field.name]);
      else reset(field);
    }
    for (const { controls } of this.fields.values()) {
      for (const control of controls) control.dispatchEvent(new Event('change', { bubbles: true }));
    }
    this.blocks.takeRecords(); // the caller updates the page itself
  }

  answer() {
    const answer = {};
    for (const { name, kind, controls } of this.fields.values()) {
      const enabled = controls.filter((control) => this.#isEnabled(control));
      const value = enabled.length ? valueOf(kind, enabled) : null;
      if (value !== null) answer[name] = value;
    }
    return answer;
  }

  gaps() {
    return [...this.fields.values()].flatMap((field) => this.#gap(field) ?? []);
  }

  cents() { return this.config.pay.reward_cents; }

  place(path) {
    const field = this.fields.get(path.split(/[.[]/, 1)[0]);
    return field ? { control: field.controls[0], name: field.host.dataset.name ?? field.label } : null;
  }

  #gap({ name, kind, controls, host, required, label }) {
    const open = controls.filter((control) => this.#isEnabled(control) && !isHidden(control, this.work));
    if (!open.length) return null;
    const broken = open.find(isBroken);
    if (!broken && !(required && isEmpty(valueOf(kind, open)))) return null;
    const missing = host.dataset.gap ?? label;
    const control = broken ?? open[0];
    return {
      key: name,
      href: `#${control.id}`,
      text: broken ? [label, broken.validationMessage].filter(Boolean).join(': ') : missing,
      focus: () => control.focus(),
    };
  }

  // Until the task is open, all of `#work` is disabled: then only a control's own attribute counts.
  #isEnabled(control) {
    return !control.disabled && (this.work.disabled || !control.matches(':disabled'));
  }
}

const NO_FIELD = ['submit', 'button', 'reset', 'image'];
const RULES = [
  'badInput', 'customError', 'patternMismatch', 'rangeOverflow', 'rangeUnderflow', 'stepMismatch', 'tooLong', 'tooShort', 'typeMismatch',
];

function fieldsIn(work) {
  const fields = new Map();
  for (const control of work.querySelectorAll('input[name], select[name], textarea[name]')) {
    if (!control.name || NO_FIELD.includes(control.type)) continue;
    if (control.type === 'file') fail(`"${control.name}" is a file, which no answer can hold`);
    const known = fields.get(control.name);
    if (known) join(known, control);
    else fields.set(control.name, fieldOf(control));
    control.id ||= freeId(control.name);
  }
  return fields;
}

function fieldOf(control) {
  const kind = kindOf(control);
  const set = isGroup(kind) ? control.closest('[data-field], fieldset:not(#work)') : null;
  const label = textOf(set?.querySelector('legend') ?? control.labels?.[0]) || control.ariaLabel || control.name;
  const host = set ?? control;
  const required = isRequired(control) || host.hasAttribute('data-required');
  return { name: control.name, kind, controls: [control], host, required, label, defaultValue: defaultValueOf(control) };
}

/** Adds one more button of a group; the value of any other second control would be lost. */
function join(field, control) {
  if (!isGroup(field.kind) || kindOf(control) !== field.kind) {
    fail(`two controls are named "${field.name}"; only radio buttons, and checkboxes with values, share a name`);
  }
  field.controls.push(control);
  field.required ||= isRequired(control);
}

function fail(problem) {
  const error = new Error(`PlainForm: ${problem}`);
  console.error(error);
  throw error;
}

const isGroup = (kind) => kind === 'radio' || kind === 'list';
const isRequired = (control) => control.required || control.hasAttribute('data-required');

function kindOf(control) {
  return control.type === 'checkbox' && control.hasAttribute('value') ? 'list' : control.type;
}

function freeId(name) {
  let id = `field-${name}`;
  for (let number = 2; document.getElementById(id); number += 1) id = `field-${name}-${number}`;
  return id;
}

/** The text of a label, without that of a select or textarea inside it. */
function textOf(label) {
  if (!label) return '';
  const copy = label.cloneNode(true);
  for (const control of copy.querySelectorAll('select, textarea')) control.remove();
  return copy.textContent.trim().replace(/\s+/g, ' ');
}

/** The value of a field; null for an unmade choice or an empty number. */
function valueOf(kind, controls) {
  const [first] = controls;
  switch (kind) {
    case 'radio': return controls.find((one) => one.checked)?.value ?? null;
    case 'list': return controls.filter((one) => one.checked).map((one) => one.value);
    case 'checkbox': return first.checked;
    case 'select-one': return first.value || null;
    case 'select-multiple': return [...first.selectedOptions].map((option) => option.value);
    case 'number':
    case 'range': return Number.isNaN(first.valueAsNumber) ? null : first.valueAsNumber;
    default: return first.value;
  }
}

function show({ kind, controls }, value) {
  const isChosen = (one) => Array.isArray(value) && value.includes(one.value);
  for (const control of controls) {
    if (kind === 'radio') control.checked = control.value === value;
    else if (kind === 'list') control.checked = isChosen(control);
    else if (kind === 'checkbox') control.checked = value === true;
    else if (kind === 'select-multiple') for (const option of control.options) option.selected = isChosen(option);
    else control.value = value ?? '';
  }
}

/** The page's default value, read at the start: setting a hidden input's value overwrites its default. */
function defaultValueOf(control) {
  return control.type === 'select-one' ? defaultIndex(control) : control.defaultValue;
}

/** Restores the page's default values. */
function reset({ kind, controls, defaultValue }) {
  for (const control of controls) {
    if (isGroup(kind) || kind === 'checkbox') control.checked = control.defaultChecked;
    else if (kind === 'select-one') control.selectedIndex = defaultValue;
    else if (kind === 'select-multiple') for (const option of control.options) option.selected = option.defaultSelected;
    else control.value = defaultValue;
  }
}

function isHidden(control, work) {
  const block = control.closest('[hidden]');
  return control.type === 'hidden' || (block !== null && block !== work && work.contains(block));
}

/** Whether a value breaks its control's attributes. Lengths are checked here, since browsers check only typed text. */
function isBroken(control) {
  if (!control.willValidate) return false;
  const { length } = control.value;
  const fits = !length || (length >= (control.minLength ?? 0) && (!(control.maxLength >= 0) || length <= control.maxLength));
  return !fits || RULES.some((rule) => control.validity[rule]);
}

function isEmpty(value) {
  return value === null || value === false || (typeof value === 'string' && !value.trim()) || (Array.isArray(value) && !value.length);
}
