"""Programs that tests start and talk to: web servers, a crawled server, S3, a cluster, Chromium with axe."""
