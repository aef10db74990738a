// The microphone: sound in pieces, until it is closed. Nothing is kept and nothing is sent.

import { _ } from "./words.js";

// What browsers call the reasons, and what people can do about them.
const REASONS = {
  NotAllowedError: _("The browser does not let this page use the microphone. Allow it in the browser’s settings for this page."),
  NotFoundError: _("No microphone was found. Connect one and try again."),
  NotReadableError: _("Another program is using the microphone. Close it and try again."),
};
const NOT_SECURE = _(
  "Browsers allow microphone access only on HTTPS pages and on localhost. Ask the operator of this page to use HTTPS.",
);
const TOO_OLD = _("This browser cannot use a microphone.");

// What browsers do to speech spoils a melody: it cuts quiet notes, and long ones for noise.
const AS_IT_IS = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

// Opens the microphone and hands pieces of sound to `take(samples, rate)`. Refuses with a sentence for people.
export async function openMicrophone(take) {
  if (!window.isSecureContext) throw new Error(NOT_SECURE);
  if (!navigator.mediaDevices?.getUserMedia || !("AudioWorkletNode" in window)) throw new Error(TOO_OLD);
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: AS_IT_IS });
  } catch (error) {
    throw new Error(REASONS[error.name] || _("The microphone could not be opened: {reason}", { reason: error.message }));
  }
  const audio = new AudioContext();
  const close = () => {
    stream.getTracks().forEach(track => track.stop());
    audio.close();
  };
  try {
    await audio.audioWorklet.addModule(new URL("./microphone-worklet.js", import.meta.url));
    const worklet = new AudioWorkletNode(audio, "microphone", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
    worklet.port.onmessage = ({ data }) => take(data, audio.sampleRate);
    audio.createMediaStreamSource(stream).connect(worklet);
    await audio.resume();
  } catch (error) {
    close();
    throw error;
  }
  return { close };
}
