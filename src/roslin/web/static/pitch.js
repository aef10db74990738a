// Which pitch sounds, every ten milliseconds. The autocorrelation of a window of sound, divided by that of the window
// itself (Boersma 1993), has a peak at every multiple of the period; the first peak that is nearly as high as the
// highest is taken (McLeod and Wyvill 2005), and a parabola through its neighbours places it between two samples.
//
// Frames are parallel arrays, one entry every HOP seconds:
//   pitch    MIDI number with cents as fractions, NaN where nothing periodic was found
//   clarity  how periodic the sound is: 1 a pure tone, near 0 noise
//   level    loudness in decibels below full scale
// Frame k is about the sound around start + k * HOP seconds.

export const HOP = 0.01;

const LOWEST = 70, HIGHEST = 4000; // Hz: from a low bass voice to a high whistle
const PERIODS = 2.9; // of the lowest pitch must fit into a window: 43 ms at 48,000 Hz, shorter than any note
const BAND = [30, 5000]; // Hz: what is lower is no voice, and hiss above says nothing about the pitch; the lowest tone needs this width
const NEARLY = 0.9; // a peak this near to the highest may be the period; a lower share hears octaves too high
const SILENT = 1e-7; // an amplitude below the last bit of any microphone
const HERTZ_OF_A = 440, MIDI_OF_A = 69;

export const midiOf = hertz => MIDI_OF_A + 12 * Math.log2(hertz / HERTZ_OF_A);

// The discrete Fourier transform in place, for a power of two; the inverse of a real, even spectrum is the same.
function makeTransform(size) {
  const cos = new Float64Array(size / 2), sin = new Float64Array(size / 2), swapped = new Uint32Array(size);
  for (let k = 0; k < size / 2; k++) {
    cos[k] = Math.cos((2 * Math.PI * k) / size);
    sin[k] = Math.sin((2 * Math.PI * k) / size);
  }
  const bits = Math.log2(size);
  for (let k = 0; k < size; k++) swapped[k] = (swapped[k >> 1] >> 1) | ((k & 1) << (bits - 1));
  return (real, imaginary) => {
    for (let k = 0; k < size; k++) {
      const j = swapped[k];
      if (j > k) {
        [real[k], real[j]] = [real[j], real[k]];
        [imaginary[k], imaginary[j]] = [imaginary[j], imaginary[k]];
      }
    }
    for (let half = 1; half < size; half *= 2) {
      const step = size / (2 * half);
      for (let start = 0; start < size; start += 2 * half) {
        for (let k = 0; k < half; k++) {
          const a = start + k, b = a + half, c = cos[k * step], s = sin[k * step];
          const re = real[b] * c + imaginary[b] * s, im = imaginary[b] * c - real[b] * s;
          real[b] = real[a] - re;
          imaginary[b] = imaginary[a] - im;
          real[a] += re;
          imaginary[a] += im;
        }
      }
    }
  };
}

// Reads windows of sound: `frame(samples, start)` gives the pitch, clarity and level of one.
function makeReader(rate) {
  const length = 2 ** Math.ceil(Math.log2((PERIODS * rate) / LOWEST)), size = 2 * length;
  const transform = makeTransform(size), real = new Float64Array(size), imaginary = new Float64Array(size);
  const shape = new Float64Array(length), ofShape = new Float64Array(length);
  const shortest = Math.floor(rate / HIGHEST), longest = Math.ceil(rate / LOWEST);
  const lowBin = Math.ceil((BAND[0] * size) / rate), highBin = Math.floor((BAND[1] * size) / rate);
  const middle = [length / 4, (3 * length) / 4]; // loudness changes faster than a whole window shows

  function correlate() {
    transform(real, imaginary);
    for (let k = 0; k < size; k++) {
      const bin = Math.min(k, size - k);
      real[k] = bin < lowBin || bin > highBin ? 0 : real[k] ** 2 + imaginary[k] ** 2;
      imaginary[k] = 0;
    }
    transform(real, imaginary);
  }

  for (let k = 0; k < length; k++) shape[k] = 0.5 - 0.5 * Math.cos((2 * Math.PI * (k + 0.5)) / length);
  for (let lag = 0; lag < length; lag++) {
    for (let k = 0; k + lag < length; k++) ofShape[lag] += shape[k] * shape[k + lag];
  }

  // The lag of the first peak that is nearly as high as the highest, and its height.
  function period() {
    const value = lag => (real[lag] * ofShape[0]) / (real[0] * ofShape[lag]);
    const peaks = [];
    let lag = 1;
    while (lag <= longest && value(lag) > 0) lag++; // down from the peak at no lag at all
    for (; lag <= longest; lag++) {
      const here = value(lag);
      if (lag < shortest || here <= 0 || here < value(lag - 1) || here < value(lag + 1)) continue;
      const bend = value(lag - 1) - 2 * here + value(lag + 1), slope = (value(lag + 1) - value(lag - 1)) / 2;
      const shift = bend < 0 ? -slope / bend : 0;
      peaks.push([lag + shift, here + (slope * shift) / 2]);
    }
    const highest = Math.max(0, ...peaks.map(([, height]) => height));
    return peaks.find(([, height]) => height >= NEARLY * highest) || [NaN, 0];
  }

  function frame(samples, start) {
    let mean = 0, power = 0;
    for (let k = 0; k < length; k++) mean += samples[start + k] / length;
    for (let k = 0; k < length; k++) {
      const sample = samples[start + k] - mean;
      real[k] = sample * shape[k];
      imaginary[k] = 0;
      if (k >= middle[0] && k < middle[1]) power += sample ** 2 / (middle[1] - middle[0]);
    }
    real.fill(0, length);
    imaginary.fill(0, length);
    const level = 10 * Math.log10(power + SILENT ** 2);
    correlate();
    if (real[0] <= SILENT) return { pitch: NaN, clarity: 0, level };
    const [lag, clarity] = period();
    return { pitch: midiOf(rate / lag), clarity: Math.min(clarity, 1), level };
  }

  return { length, frame };
}

// Takes sound as it comes, in pieces of any length, and keeps the frames heard so far.
export class PitchTracker {
  constructor(rate) {
    this.reader = makeReader(rate);
    this.hop = HOP * rate;
    this.rest = new Float32Array(0); // sound that the next frames need
    this.next = 0; // where the next window starts in it, in samples; a hop need not be whole
    this.frames = { start: this.reader.length / 2 / rate, pitch: [], clarity: [], level: [] };
  }

  push(samples) {
    const { reader, frames } = this;
    const sound = new Float32Array(this.rest.length + samples.length);
    sound.set(this.rest);
    sound.set(samples, this.rest.length);
    for (; Math.round(this.next) + reader.length <= sound.length; this.next += this.hop) {
      const heard = reader.frame(sound, Math.round(this.next));
      for (const name of ["pitch", "clarity", "level"]) frames[name].push(heard[name]);
    }
    const done = Math.min(Math.floor(this.next), sound.length);
    this.rest = sound.slice(done);
    this.next -= done;
    return frames;
  }
}

export const trackPitch = (samples, rate) => new PitchTracker(rate).push(samples);
