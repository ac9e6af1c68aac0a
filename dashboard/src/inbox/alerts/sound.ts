let audio: AudioContext | undefined;

/** Two soft bell tones, generated so that there is no file to load. Browsers block sound until the first click. */
export function playBell(): void {
  if (!navigator.userActivation?.hasBeenActive) return;
  audio ??= new AudioContext();
  const at = audio.currentTime;
  for (const [offset, pitch] of [
    [0, 1318.5],
    [0.12, 1760],
  ] as const) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0, at + offset);
    volume.gain.linearRampToValueAtTime(0.05, at + offset + 0.01);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + offset + 0.7);
    tone.connect(volume).connect(audio.destination);
    tone.start(at + offset);
    tone.stop(at + offset + 0.75);
  }
}
