// A module: draws the curve of the day's tide above the table.
import { height, MEAN_LEVEL } from "./lib/harmonics.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, TOP] = [720, 240, 6];

const element = (name, attributes, text = "") => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
};

const x = (hour) => 40 + (hour / 24) * (WIDTH - 50);
const y = (metres) => HEIGHT - 24 - (metres / TOP) * (HEIGHT - 40);
const curve = Array.from({ length: 97 }, (_, step) => `${x(step / 4).toFixed(1)},${y(height(step / 4)).toFixed(1)}`);

const picture = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Height of the tide by the hour" });
for (let metres = 0; metres <= TOP; metres += 2) {
  picture.append(element("line", { x1: 40, x2: WIDTH - 10, y1: y(metres), y2: y(metres), stroke: "#d5dde2" }));
  picture.append(element("text", { x: 32, y: y(metres) + 4, "text-anchor": "end", "font-size": 12 }, `${metres} m`));
}
for (let hour = 0; hour <= 24; hour += 6) {
  picture.append(element("text", { x: x(hour), y: HEIGHT - 6, "text-anchor": hour === 24 ? "end" : "middle", "font-size": 12 }, `${hour}:00`));
}
picture.append(element("polygon", { points: `${x(0)},${y(0)} ${curve.join(" ")} ${x(24)},${y(0)}`, fill: "#bcd6e6" }));
picture.append(element("polyline", { points: curve.join(" "), fill: "none", stroke: "#1d4a6b", "stroke-width": 3 }));
picture.append(element("line", { x1: 40, x2: WIDTH - 10, y1: y(MEAN_LEVEL), y2: y(MEAN_LEVEL), stroke: "#9b2d1f", "stroke-dasharray": "6 5" }));

document.querySelector("#curve").replaceChildren(picture);
