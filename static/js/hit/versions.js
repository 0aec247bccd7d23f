/**
 * Versions of one worker's unfinished work, described so that the person can choose: another window's, or one that
 * this device kept from an earlier attempt.
 */
import { fingerprint } from './canonical.js';
import { timeOfDay } from '../ui/format.js';
import { words } from './words.js';

/**
 * Returns the key of one worker's work on one unit. An assignment id is not enough: it may pass to another worker, and
 * a worker may get another assignment of the same unit. The key is a hash, so that it does not show the worker id.
 * @param {string} address of the page @returns {string}
 */
export function workKey(address) {
  const { pathname, searchParams } = new URL(address);
  return fingerprint([searchParams.get('workerId') ?? '', pathname]);
}

/** Returns the storage key of the draft for one assignment; `work` is from workKey. */
export const draftKey = (work, assignmentId) => `draft:${work}:${assignmentId}`;

/**
 * @param {{keys: Function, get: Function}} storage @param {string} work @param {string} own the key in use now
 * @returns {{key: string, content: any}[]} other drafts of the same work on this device, newest first
 */
export function earlierVersions(storage, work, own) {
  return storage.keys(draftKey(work, '')).filter((key) => key !== own)
    .map((key) => ({ key, content: storage.get(key)?.content }))
    .filter(({ content }) => content?.answer)
    .sort((a, b) => (b.content.at ?? 0) - (a.content.at ?? 0));
}

/**
 * @param {{summary?: (answer: any) => string}} kind @param {any} content of a draft
 * @returns {string} "2 of 3 complete, changed 12:31"
 */
export function describeContent(kind, content) {
  const parts = [kind.summary?.(content?.answer) ?? '', content?.at ? words.changedAt(timeOfDay(content.at)) : ''];
  return parts.filter(Boolean).join(', ') || words.somethingElse;
}
