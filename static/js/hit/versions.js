/**
 * Two versions of one work, told in words so that a person can choose: another window's, or what this device kept
 * of an earlier try.
 */
import { fingerprint } from './canonical.js';
import { timeOfDay } from '../ui/format.js';
import { words } from './words.js';

/**
 * Names one worker's work on one unit on this device. The marketplace may give the same assignment id to another
 * worker, and the same worker another assignment of the same unit: worker and unit together decide, unread by others.
 * @param {string} address of the page @returns {string}
 */
export function workOf(address) {
  const { pathname, searchParams } = new URL(address);
  return fingerprint([searchParams.get('workerId') ?? '', pathname]);
}

/** Where the draft of one work under one assignment is kept. */
export const draftKey = (work, assignmentId) => `draft:${work}:${assignmentId}`;

/**
 * @param {{keys: Function, get: Function}} storage @param {string} work @param {string} own the key in use now
 * @returns {{key: string, content: any}[]} what this device kept of the same work otherwise, newest first
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
export function described(kind, content) {
  const parts = [kind.summary?.(content?.answer) ?? '', content?.at ? words.changedAt(timeOfDay(content.at)) : ''];
  return parts.filter(Boolean).join(', ') || words.somethingElse;
}
