/* Counts a view of the banner the way such scripts do: by asking for a picture of one pixel. */
(function (root) {
  var banners = document.querySelectorAll(".advert img");
  if (!banners.length) { return; }
  new Image().src = root + "track/pixel.gif?event=view&n=" + banners.length;
  for (var i = 0; i < banners.length; i++) {
    banners[i].title = "Advertisement";
  }
}(document.currentScript ? document.currentScript.getAttribute("data-root") : ""));
