/**
 * Submitting: first to our server (JSON), then the frame itself posts a real form to the marketplace.
 *
 * Each retry of the same content has the same client uuid and active time, so that the server can answer with the
 * first submission's id. Other content gets another uuid.
 *
 * @typedef {{submission_id: string, sha256: string, schema_version: string|number}} Receipt
 * @typedef {{hash: string, client_uuid: string, active_seconds: number, receipt?: Receipt}} Sending
 */
import { fingerprint, uuid4 } from './canonical.js';

/** Stores what is being sent, on the device and (with the draft) on the server. */
export class Outbox {
  /**
   * @param {{storage: {get: Function, set: Function, remove: Function}, assignmentId: string, makeUuid?: () => string}} options
   */
  constructor({ storage, assignmentId, makeUuid = uuid4 }) {
    Object.assign(this, { storage, makeUuid, prefix: `sending:${assignmentId}:` });
    /** @type {Sending|null} the latest one, for the draft */
    this.latest = null;
  }

  /** Restores what a draft of the server contains. */
  restore(sending) {
    if (sending?.hash && sending.client_uuid && !this.storage.get(this.prefix + sending.hash)) this.#keep(sending);
    else if (sending?.hash) this.latest = this.storage.get(this.prefix + sending.hash);
  }

  /** @returns {Sending} uuid and active time for this answer: those of an earlier try, or new ones */
  sendingFor(answer, activeSeconds) {
    const hash = fingerprint(answer);
    return this.storage.get(this.prefix + hash)
      ?? this.#keep({ hash, client_uuid: this.makeUuid(), active_seconds: activeSeconds });
  }

  /** Records the server's receipt. */
  stored(sending, receipt) { return this.#keep({ ...sending, receipt }); }

  /** Deletes everything about this task: nothing will be sent again. */
  forget() { for (const key of this.storage.keys(this.prefix)) this.storage.remove(key); }

  /** Deletes an entry whose uuid belongs to other content: the next try gets a new one. */
  drop(sending) { this.storage.remove(this.prefix + sending.hash); }

  /** @returns {boolean} whether this very answer was sent before */
  knows(answer) { return this.storage.get(this.prefix + fingerprint(answer)) !== null; }

  #keep(sending) {
    this.latest = sending;
    this.storage.set(this.prefix + sending.hash, sending);
    return sending;
  }
}

/**
 * Sends an answer until it has a receipt or fails.
 * `seen` is sent beside the answer: which instructions and hints were shown.
 * @param {{submit: (submission: object) => Promise<Receipt>}} api @param {Outbox} outbox
 * @returns {Promise<Sending>} with its receipt
 * @throws {import('./api.js').ApiError}
 */
export async function sendAnswer(api, outbox, answer, activeSeconds, seen = {}) {
  for (let attempt = 0; ; attempt += 1) {
    const sending = outbox.sendingFor(answer, activeSeconds);
    const { client_uuid, active_seconds } = sending;
    try {
      return outbox.stored(sending, await api.submit({ client_uuid, answer, active_seconds, ...seen }));
    } catch (error) {
      if (error.code !== 'conflict' || attempt > 0) throw error;
      outbox.drop(sending);
    }
  }
}

/** @returns {Object<string, string>} the fields that the marketplace gets */
export function marketplaceFields(assignmentId, receipt, activeSeconds) {
  return {
    assignmentId,
    submission_id: String(receipt.submission_id ?? receipt.id),
    sha256: String(receipt.sha256),
    schema_version: String(receipt.schema_version),
    active_seconds: String(activeSeconds),
  };
}

/** Posts the page's marketplace form: a navigation of this frame, never a fetch. */
export function submitToMarketplace(form, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const input = form.elements.namedItem(name) ?? form.appendChild(Object.assign(document.createElement('input'), { type: 'hidden', name }));
    input.value = value;
  }
  HTMLFormElement.prototype.submit.call(form);
}
