// Deferred: the menu button of small screens, and the mark on the current section.
"use strict";

const list = document.querySelector(".nav ul");
const button = document.querySelector(".nav-button");

if (list && button) {
  button.addEventListener("click", () => {
    const open = list.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  });
}

const section = document.body.dataset.section;
for (const link of document.querySelectorAll(".nav a")) {
  if (link.dataset.section === section) link.setAttribute("aria-current", "page");
}
