/**
 * Height of the tide from its four largest constituents.
 * Amplitudes in metres, speeds in degrees an hour, phases in degrees.
 */
export const CONSTITUENTS = Object.freeze([
  { name: "M2", amplitude: 1.5, speed: 28.9841, phase: 154 },
  { name: "S2", amplitude: 0.28, speed: 30, phase: 160 },
  { name: "N2", amplitude: 0.1, speed: 28.4397, phase: 154 },
  { name: "K1", amplitude: 0.09, speed: 15.0411, phase: 260 },
]);

export const MEAN_LEVEL = 3.15;

export const height = (hour) =>
  CONSTITUENTS.reduce(
    (level, { amplitude, speed, phase }) => level + amplitude * Math.cos(((speed * hour - phase) * Math.PI) / 180),
    MEAN_LEVEL,
  );
