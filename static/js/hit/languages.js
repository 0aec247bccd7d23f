/** Longer than a save takes, and short enough for a link. */
const MAX_WAIT_MS = 3000;

/**
 * Makes the links to the page's other languages save first, so that the page shows the same work afterwards.
 * @param {Iterable<HTMLAnchorElement>} links @param {() => Promise<void>} save
 * @param {(address: string) => void} [go]
 */
export function saveBeforeLeaving(links, save, go = (address) => location.assign(address)) {
  for (const link of links) {
    link.addEventListener('click', async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // it opens in another tab
      event.preventDefault();
      // Work that cannot be sent is stored on this device.
      await Promise.race([save().catch(() => {}), new Promise((done) => { setTimeout(done, MAX_WAIT_MS); })]);
      go(link.href);
    });
  }
}
