// `node --import …/shift-clock.mjs`: this process' wall clock is wrong by CLOCK_SHIFT_MS. Monotonic time goes on as always.
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const RightDate = Date;

globalThis.Date = class Date extends RightDate {
  constructor(...parts) {
    if (parts.length === 0) super(RightDate.now() + shiftMs);
    else super(...parts);
  }
  static now() {
    return RightDate.now() + shiftMs;
  }
};
