/* Classic script: runs where it stands and fills in the line below the masthead. */
document.documentElement.className += " scripted";
(function () {
  "use strict";
  var place = document.getElementById("edition");
  if (!place) { return; }
  var day = new Date(place.getAttribute("data-issue") + "T12:00:00Z");
  var first = Date.UTC(1903, 4, 1, 12);
  var number = 1 + Math.round((day.getTime() - first) / 86400000);
  place.textContent = "No. " + number.toLocaleString("en-GB") + " \u00b7 " +
    day.toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}());
