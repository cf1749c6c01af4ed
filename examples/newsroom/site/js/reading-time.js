// Asynchronous: order does not matter. Adds "3 min read" to each by-line.
(() => {
  const show = () => {
    for (const article of document.querySelectorAll("article.article")) {
      const byline = article.querySelector(".byline");
      if (!byline || byline.querySelector(".reading-time")) continue;
      const words = article.textContent.trim().split(/\s+/u).length;
      const note = document.createElement("span");
      note.className = "reading-time";
      note.textContent = `${Math.max(1, Math.round(words / 220))} min read`;
      byline.append(" ", note);
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", show);
  else show();
})();
