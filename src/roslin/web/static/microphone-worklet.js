// Hands the sound of the microphone over, in pieces of about twenty milliseconds.

const PIECE = 1024; // samples

class Microphone extends AudioWorkletProcessor {
  piece = new Float32Array(PIECE);
  filled = 0;

  process([[channel]]) {
    if (!channel) return true; // the microphone has not begun
    for (const sample of channel) {
      this.piece[this.filled++] = sample;
      if (this.filled === PIECE) {
        this.port.postMessage(this.piece);
        this.filled = 0;
      }
    }
    return true;
  }
}

registerProcessor("microphone", Microphone);
