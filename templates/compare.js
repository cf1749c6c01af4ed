"use strict";
/* Lays the first picture of a group over each other one: a slider says how much of it is seen. */
(() => {
  for (const group of document.querySelectorAll(".shots")) {
    const [first, ...others] = group.querySelectorAll("figure");
    for (const figure of others) {
      const picture = figure.querySelector("img"), over = first.querySelector("img").cloneNode();
      const stack = document.createElement("div"), slider = document.createElement("input");
      over.alt = "";
      stack.className = "stack";
      picture.replaceWith(stack);
      stack.append(picture, over);
      Object.assign(slider, {type: "range", min: 0, max: 100, value: 50});
      slider.setAttribute("aria-label", `How much of ${first.querySelector("b").textContent} lies over ${picture.alt}`);
      const show = () => {
        slider.setAttribute("aria-valuetext", `${slider.value} %`);
        stack.style.setProperty("--at", `${slider.value}%`);
      };
      slider.addEventListener("input", show);
      show();
      stack.after(slider);
    }
  }
})();
