/**
 * Adds any number of photos from the Photos page: one request per photo, two at a time, so that no request is large.
 * Outcomes are counted; refused photos are listed with the reason; photos that were not received can be sent again.
 * Sending a photo twice is harmless: the same file is the same photo.
 */
export const AT_ONCE = 2;
const ZIP = /\.zip$/i;
const PICTURES = /\.(jpe?g|png|webp)$/i;

/** Sends files one after the other, `atOnce` at a time. `send(file)` resolves to {state: added|known|refused|failed, error}. */
export class UploadQueue {
  constructor(send, { atOnce = AT_ONCE, changed = () => {} } = {}) {
    this.send = send;
    this.atOnce = atOnce;
    this.changed = changed;
    this.waiting = [];
    this.running = 0;
    this.cancelled = false;
    this.total = 0;
    this.counts = { added: 0, known: 0, refused: 0, failed: 0 };
    this.problems = new Map(); // outcomes of refused and failed photos, by file
  }

  get done() {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  get over() {
    return this.running === 0 && (this.waiting.length === 0 || this.cancelled);
  }

  /** Adds files and sends them; resolves when all are over. */
  async add(files) {
    this.cancelled = false;
    this.waiting.push(...files);
    this.total += files.length;
    this.changed(this);
    await Promise.all(Array.from({ length: this.atOnce }, () => this.work()));
  }

  async work() {
    while (this.waiting.length && !this.cancelled) {
      const file = this.waiting.shift();
      this.running += 1;
      const outcome = await this.send(file).catch(() => ({ state: 'failed', error: 'the server did not answer' }));
      this.running -= 1;
      this.counts[outcome.state] += 1;
      if (outcome.error) this.problems.set(file, outcome);
      this.changed(this);
    }
  }

  /** Stops sending; requests in progress are completed. */
  cancel() {
    this.cancelled = true;
    this.total -= this.waiting.length;
    this.waiting = [];
    this.changed(this);
  }

  /** Sends failed photos again, but not refused ones. */
  retry() {
    const again = [...this.problems].filter(([, outcome]) => outcome.state === 'failed').map(([file]) => file);
    for (const file of again) this.problems.delete(file);
    this.counts.failed -= again.length;
    this.total -= again.length;
    return this.add(again);
  }
}

/** @returns {string} such as "31 of 104 photos: 29 added, 1 already here, 1 refused" */
export function countWords({ counts, done, total }) {
  const words = { added: 'added', known: 'already here', refused: 'refused', failed: 'not sent' };
  const parts = Object.entries(words).filter(([state]) => counts[state]).map(([state, word]) => `${counts[state]} ${word}`);
  return `${done} of ${total} photo${total === 1 ? '' : 's'}${parts.length ? `: ${parts.join(', ')}` : ''}`;
}

/** @returns {object} a file's row in the manifest: by its path below the chosen folder, else by its name */
export function rowOf(rows, file) {
  const path = file.webkitRelativePath ?? '';
  return rows[path] ?? rows[path.split('/').slice(1).join('/')] ?? rows[file.name] ?? {};
}

/** Sends one photo. */
export async function sendPhoto(file, fields, { address, token, post = fetch }) {
  const body = new FormData();
  body.append('file', file, file.name);
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  const reply = await post(address, { method: 'POST', body, headers: { 'X-CSRFToken': token, Accept: 'application/json' } });
  if (reply.ok) return { state: (await reply.json()).new ? 'added' : 'known' };
  const answer = (await reply.json().catch(() => null)) ?? {};
  const refused = reply.status === 422 || reply.status === 413;
  return { state: refused ? 'refused' : 'failed', error: answer.error ?? `the server answered ${reply.status}` };
}

/**
 * Sends a zip in one XMLHttpRequest, since fetch reports no upload progress. Resolves to the {address} of the job that
 * imports its photos, or to {error}; `started` gets a function that aborts the upload.
 */
export function sendZip(file, fields, { address, token, progress = () => {}, started = () => {}, Request = XMLHttpRequest }) {
  const body = new FormData();
  body.append('zip', file, file.name);
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  return new Promise((resolve) => {
    const request = new Request();
    request.open('POST', address);
    request.setRequestHeader('X-CSRFToken', token);
    request.setRequestHeader('Accept', 'application/json');
    request.responseType = 'json';
    request.upload.onprogress = (event) => progress(event.loaded, event.total);
    request.onload = () => resolve(request.status === 200 ? request.response : { error: request.response?.error ?? `the server answered ${request.status}` });
    request.onerror = () => resolve({ error: 'the server did not answer; nothing was added' });
    request.onabort = () => resolve({ error: 'cancelled; nothing was added' });
    started(() => request.abort());
    request.send(body);
  });
}

async function filesIn(entry, path = '') {
  if (entry.isFile) return [await new Promise((done, failed) => entry.file(done, failed))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return found;
    for (const one of some) found.push(...(await filesIn(one, `${path}${entry.name}/`)));
  }
}

function start(form) {
  const part = (name) => form.querySelector(`[data-upload-${name}]`);
  for (const hidden of form.querySelectorAll('[data-with-script]')) hidden.hidden = false;
  const state = form.querySelector('[data-upload-state]');
  const input = form.querySelector('#files');
  const token = form.elements.namedItem('csrfmiddlewaretoken').value;
  let dropped = [];
  let stopZip = null; // while a zip is on its way
  let rows = {};
  input.required = false;

  const queue = new UploadQueue(
    (file) => {
      const shared = { credit: form.elements.namedItem('credit').value, licence: form.elements.namedItem('licence').value };
      return sendPhoto(file, { ...shared, ...rowOf(rows, file) }, { address: form.dataset.upload, token });
    },
    { changed: show },
  );

  function show() {
    state.hidden = false;
    part('count').textContent = countWords(queue);
    const bar = state.querySelector('progress');
    bar.max = Math.max(queue.total, 1);
    bar.value = queue.done;
    part('cancel').hidden = queue.over;
    part('retry').hidden = !queue.over || !queue.counts.failed;
    part('done').hidden = !queue.over || !(queue.counts.added + queue.counts.known);
    if (!part('done').hidden) document.querySelector('[data-no-photos]')?.remove();
    const list = part('problems');
    list.hidden = queue.problems.size === 0;
    if (list.children.length !== queue.problems.size) list.replaceChildren(...[...queue.problems.values()].map(({ error }) => Object.assign(document.createElement('li'), { textContent: error })));
  }

  async function readManifest() {
    const file = form.querySelector('#manifest').files[0];
    if (!file) return true;
    const body = new FormData();
    body.append('manifest', file, file.name);
    const reply = await fetch(form.dataset.manifest, { method: 'POST', body, headers: { 'X-CSRFToken': token, Accept: 'application/json' } });
    const answer = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
    rows = answer.rows ?? {};
    if (answer.rows) return true;
    state.hidden = false;
    part('count').textContent = 'Nothing was sent: the manifest has a mistake';
    part('cancel').hidden = true;
    part('problems').hidden = false;
    part('problems').replaceChildren(Object.assign(document.createElement('li'), { textContent: answer.error }));
    return false;
  }

  function showProblems(words, errors = []) {
    state.hidden = false;
    part('count').textContent = words;
    part('problems').hidden = errors.length === 0;
    part('problems').replaceChildren(...errors.map((text) => Object.assign(document.createElement('li'), { textContent: text })));
  }

  async function addZip(file) {
    const bar = state.querySelector('progress');
    part('done').hidden = true;
    part('retry').hidden = true;
    const fields = { credit: form.elements.namedItem('credit').value, licence: form.elements.namedItem('licence').value };
    const answer = await sendZip(file, fields, {
      address: form.dataset.zip,
      token,
      started: (stop) => {
        stopZip = stop;
        part('cancel').hidden = false;
      },
      progress: (sent, total) => {
        bar.max = total;
        bar.value = sent;
        showProblems(sent < total ? `${Math.floor((100 * sent) / total)}% of ${file.name} sent` : `${file.name} is being checked`);
      },
    });
    stopZip = null;
    part('cancel').hidden = true;
    if (answer.address) window.location.assign(answer.address);
    else showProblems('Nothing was added', [answer.error]);
  }

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const zips = form.querySelector('#zip');
    const chosen = [...input.files, ...form.querySelector('#folder').files, ...zips.files, ...dropped];
    const zip = chosen.find((file) => ZIP.test(file.name));
    if (zip) {
      dropped = [];
      zips.value = '';
      if (chosen.length > 1) showProblems('Nothing was sent', ['Send a zip on its own, and other photos in another upload.']);
      else if (form.querySelector('#manifest').files.length) showProblems('Nothing was sent', ['Put the manifest into the zip, and empty its field here.']);
      else await addZip(zip);
      return;
    }
    const files = chosen.filter((file) => PICTURES.test(file.name) || [...input.files].includes(file));
    if (!files.length) {
      input.setCustomValidity('Choose photos or a folder first.');
      input.reportValidity();
      input.setCustomValidity('');
      return;
    }
    if (!(await readManifest())) return;
    dropped = [];
    part('problems').replaceChildren();
    queue.add(files);
    form.querySelector('#folder').value = '';
    input.value = '';
  });
  part('cancel').addEventListener('click', () => (stopZip ? stopZip() : queue.cancel()));
  part('retry').addEventListener('click', () => queue.retry());
  part('done').href = window.location.href;
  const place = form.querySelector('[data-drop]');
  for (const name of ['dragover', 'dragleave', 'drop']) place.addEventListener(name, (event) => {
    event.preventDefault();
    place.classList.toggle('is-over', name === 'dragover');
  });
  place.addEventListener('drop', async (event) => {
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    dropped = (await Promise.all(entries.map((entry) => filesIn(entry)))).flat();
    form.requestSubmit();
  });
  window.addEventListener('beforeunload', (event) => {
    if (!queue.over || stopZip) event.preventDefault();
  });
}

if (typeof document !== 'undefined') document.querySelectorAll('form[data-upload]').forEach(start);
