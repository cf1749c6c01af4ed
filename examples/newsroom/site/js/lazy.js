// Deferred: pictures marked with data-src are fetched when they come near the window.
"use strict";

const reveal = (image) => {
  image.src = image.dataset.src;
  image.removeAttribute("data-src");
};

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    reveal(entry.target);
  }
}, { rootMargin: "200px" });

document.querySelectorAll("img[data-src]").forEach((image) => watcher.observe(image));
