/** What the observation page says, in one place so that a translation can replace it. */
const PART = { clue: 'clue', box: 'box', inference: 'inference', confidence: 'how sure' };
const ALONE = { clue: 'name a clue', box: 'draw a box', inference: 'say what it indicates', confidence: 'say how sure you are' };

export const words = {
  gap: (parts) => (parts.length === 1 ? ALONE[parts[0]] : parts.map((p) => PART[p]).join(', ')),
  notStartedGap: 'not started',
  bonusGap: (parts) => `${parts.length === 1 ? ALONE[parts[0]] : parts.map((p) => PART[p]).join(', ')}, or clear it`,
  missing: (n) => (n === 1 ? '1 thing missing' : `${n} things missing`),
  notStarted: 'Not started',
  complete: 'Complete',
  bonus: 'Bonus observation',
  bonusPay: (sum) => `+${sum} bonus`,
  observation: (n) => `Observation ${n}`,
  drawFirst: 'Draw a box',
  drawMore: 'Add another',
  deleteBox: (label) => `Delete box ${label}`,
  selectBox: (label, b) => `Select box ${label}, ${b.width} by ${b.height} pixels`,
  cleared: (n) => `Observation ${n} cleared.`,
  tally: (n, of) => [`${n} of ${of}`, ' complete'],
  hintDraw: (n) => `Drag over the photo to draw a box for observation ${n}.`,
  hintNoCard: 'Open a card to draw a box for it.',
  hintPan: 'Drag to move the photo. Press Draw to go on with boxes.',
  hintPreview: 'Accept the task to draw.',
  hintSelected: (label) => [`Box ${label} selected: arrows move it, `, { key: 'Shift' }, ' faster, ', { key: 'Alt' }, ' resizes.'],
  hintTouched: (label) => `Box ${label} selected: drag it, or drag its corners.`,
  place: (b) => `${b.width} × ${b.height} px at ${b.left}, ${b.top}`,
  size: (s) => `${s.width} × ${s.height} px`,
  field: { clue: 'I spy', inference: 'It might indicate that', confidence: 'How sure', boxes: 'Boxes', box: 'Boxes' },
};
