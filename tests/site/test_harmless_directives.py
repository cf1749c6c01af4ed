"""Directives that most .htaccess files have keep nothing from being built: those of well-known projects, by shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.memory import MemoryTree

from adaptc.site.docroot import load_directory
from adaptc.site.server_rules import ServerRules

# As of HTML5 Boilerplate's server configuration
BOILERPLATE = r"""
<IfModule mod_setenvif.c>
    <IfModule mod_headers.c>
        <FilesMatch "\.(avifs?|bmp|cur|gif|ico|jpe?g|a?png|svgz?|webp)$">
            SetEnvIf Origin ":" IS_CORS
            Header set Access-Control-Allow-Origin "*" env=IS_CORS
        </FilesMatch>
    </IfModule>
</IfModule>
<IfModule mod_headers.c>
    <FilesMatch "\.(eot|otf|tt[cf]|woff2?)$">
        Header set Access-Control-Allow-Origin "*"
    </FilesMatch>
</IfModule>
ErrorDocument 404 /404.html
Options -MultiViews
<IfModule mod_headers.c>
    Header set X-UA-Compatible "IE=edge" "expr=%{CONTENT_TYPE} =~ m#text/html#i"
    Header always set X-Frame-Options "DENY" "expr=%{CONTENT_TYPE} =~ m#text\/html#i"
    Header always set Content-Security-Policy "default-src 'self'; base-uri 'none'; form-action 'self'"
    Header always set Strict-Transport-Security "max-age=16070400; includeSubDomains" "expr=%{HTTPS} == 'on'"
    Header always set X-Content-Type-Options "nosniff"
    Header unset X-Powered-By
    Header always unset X-Powered-By
    Header merge Cache-Control "no-transform"
    Header unset ETag
</IfModule>
<IfModule mod_mime.c>
    AddType application/json                            json map topojson
    AddType text/javascript                             js mjs
    AddType image/svg+xml                               svg svgz
    AddType image/x-icon                                cur ico
    AddType font/woff2                                  woff2
    AddCharset utf-8 .atom \
                     .css \
                     .js \
                     .xml
    AddEncoding gzip                                    svgz
</IfModule>
AddDefaultCharset utf-8
<IfModule mod_rewrite.c>
    RewriteEngine On
    Options +FollowSymlinks
    RewriteCond %{HTTPS} =on
    RewriteRule ^ - [env=proto:https]
    RewriteCond %{HTTPS} !=on
    RewriteRule ^ - [env=proto:http]
    RewriteCond %{HTTPS} !=on
    RewriteCond %{REQUEST_URI} !^/\.well-known/acme-challenge/
    RewriteRule ^ https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]
    RewriteCond %{HTTP_HOST} ^www\.(.+)$ [NC]
    RewriteRule ^ %{ENV:PROTO}://%1%{REQUEST_URI} [R=301,L]
    RewriteCond %{REQUEST_URI} "!(^|/)\.well-known/([^./]+./?)+$" [NC]
    RewriteCond %{SCRIPT_FILENAME} -d [OR]
    RewriteCond %{SCRIPT_FILENAME} -f
    RewriteRule "(^|/)\." - [F]
</IfModule>
<IfModule mod_authz_core.c>
    <FilesMatch "(^#.*#|\.(bak|conf|dist|fla|in[ci]|log|orig|psd|sh|sql|sw[op])|~)$">
        Require all denied
    </FilesMatch>
</IfModule>
ServerSignature Off
<IfModule mod_deflate.c>
    SetEnvIfNoCase ^(Accept-EncodXng|X{15}|~{15}|-{15})$ ^((gzip|deflate)\s*,?\s*)+|[X~-]{4,13}$ HAVE_Accept-Encoding
    RequestHeader append Accept-Encoding "gzip,deflate" env=HAVE_Accept-Encoding
    <IfModule mod_filter.c>
        AddOutputFilterByType DEFLATE "application/atom+xml" \
                                      "text/css" \
                                      "text/html"
    </IfModule>
</IfModule>
FileETag None
<IfModule mod_expires.c>
    ExpiresActive on
    ExpiresDefault                                      "access plus 1 month"
    ExpiresByType text/css                              "access plus 1 year"
    ExpiresByType application/json                      "access plus 0 seconds"
</IfModule>
"""
# As WordPress and its plug-ins for caching write it
WORDPRESS = r"""
# BEGIN WordPress
<IfModule mod_rewrite.c>
RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
</IfModule>
# END WordPress
<IfModule mod_php7.c>
php_value upload_max_filesize 64M
</IfModule>
<files wp-config.php>
order allow,deny
deny from all
</files>
<IfModule mod_setenvif.c>
BrowserMatch ^Mozilla/4 gzip-only-text/html
BrowserMatch \bMSIE !no-gzip !gzip-only-text/html
</IfModule>
<IfModule mod_headers.c>
<FilesMatch "\.(css|htc|less|js|js2|js3|js4)$">
FileETag None
Header set X-Powered-By "cache"
Header append Vary User-Agent env=!dont-vary
</FilesMatch>
</IfModule>
<IfModule pagespeed_module>
ModPagespeed on
ModPagespeedEnableFilters rewrite_css,combine_css
</IfModule>
"""
# As Drupal's
DRUPAL = r"""
<FilesMatch "\.(engine|inc|sh|.*sql|theme|tpl(\.php)?|yml)(~|\.sw[op]|\.bak)?$|\
^(\.(?!well-known).*|Entries.*|Root|composer\.(json|lock)|web\.config)$|^#.*#$|\.php(~|\.sw[op]|\.bak)$">
  <IfModule mod_authz_core.c>
    Require all denied
  </IfModule>
  <IfModule !mod_authz_core.c>
    Order allow,deny
  </IfModule>
</FilesMatch>
Options -Indexes
DirectoryIndex index.php index.html index.htm
AddType image/svg+xml svg svgz
AddEncoding gzip svgz
<Files favicon.ico>
  ErrorDocument 404 "The requested file favicon.ico was not found.
</Files>
<IfModule mod_php.c>
  php_value assert.active                   0
</IfModule>
<IfModule mod_expires.c>
  ExpiresActive On
  ExpiresDefault A1209600
  <FilesMatch \.php$>
    ExpiresActive Off
  </FilesMatch>
</IfModule>
<IfModule mod_fcgid.c>
</IfModule>
<IfModule mod_rewrite.c>
  RewriteEngine on
  RewriteRule ^ - [E=protossl]
  RewriteCond %{HTTPS} on
  RewriteRule ^ - [E=protossl:s]
  RewriteRule "/\.|^\.(?!well-known/)" - [F]
  RewriteCond %{REQUEST_URI} ^(.*)?/(install\.php) [OR]
  RewriteCond %{REQUEST_URI} ^(.*)?/(rebuild\.php)
  RewriteCond %{REQUEST_URI} !core
  RewriteRule ^(install|rebuild)\.php$ %1/core/%2 [L,QSA,R=301]
  RewriteCond %{REQUEST_FILENAME} !-f
  RewriteCond %{REQUEST_FILENAME} !-d
  RewriteCond %{REQUEST_URI} !=/favicon.ico
  RewriteRule ^ index.php [L]
  RewriteRule "^(.+/.*|autoload)\.php($|/)" - [F]
  <IfModule mod_headers.c>
    RewriteCond %{HTTP:Accept-encoding} gzip
    RewriteCond %{REQUEST_FILENAME}\.gz -s
    RewriteRule ^(.*css_[a-zA-Z0-9-_]+)\.css$ $1\.css\.gz [QSA]
    RewriteRule \.css\.gz$ - [T=text/css,E=no-gzip:1,E=no-brotli:1]
    <FilesMatch "(\.js\.gz|\.css\.gz)$">
      Header set Content-Encoding gzip
      Header append Vary Accept-Encoding
    </FilesMatch>
  </IfModule>
</IfModule>
<IfModule mod_headers.c>
  Header always set X-Content-Type-Options nosniff
  RequestHeader unset Proxy
</IfModule>
"""
# As static directories of Hugo sites and themes have it
HUGO = r"""
# Apache error pages
ErrorDocument 404 /404.html
ErrorDocument 403 "Not for you
RewriteEngine On
RewriteCond %{HTTPS} off
RewriteCond %{HTTP:X-Forwarded-Proto} !https
RewriteRule ^ https://%{HTTP_HOST}%{REQUEST_URI} [L,R=301,NE]
<IfModule mod_headers.c>
  <FilesMatch "\.(ico|pdf|flv|jpg|jpeg|png|gif|js|css|swf|woff2)$">
    Header set Cache-Control "max-age=31536000, public"
  </FilesMatch>
  Header set Referrer-Policy "same-origin"
  Header edit Set-Cookie ^(.*)$ $1;HttpOnly
</IfModule>
Redirect 301 /old/feed.xml /index.xml
RedirectMatch 301 ^/20[0-9]{2}/(.*)$ /posts/$1
AddDefaultCharset UTF-8
AddLanguage en .en
IndexIgnore *
"""
PROJECTS = {"boilerplate": BOILERPLATE, "wordpress": WORDPRESS, "drupal": DRUPAL, "hugo": HUGO}
FILES = (
    "index.html", "css/css_a-1.css", "css/x.css", "js/x.js", "favicon.ico", "img/x.svg", "a.woff2", "posts/a.html",
)  # fmt: skip


def left_out(text: str, **files: str) -> list[str]:
    tree = MemoryTree({**dict.fromkeys(FILES, b"x"), ".htaccess": text.encode()})
    return [
        str(diagnostic)
        for diagnostic in load_directory(tree, rules=ServerRules(tree)).diagnostics
        if "built" in str(diagnostic)
    ]


@pytest.mark.parametrize("project", PROJECTS)
def test_files_of_well_known_projects_keep_nothing_from_being_built(project: str) -> None:
    assert left_out(PROJECTS[project]) == []


def test_what_is_not_repeated_for_copies_is_said_once_for_a_file() -> None:
    text = "ExpiresActive On\nExpiresDefault A60\nHeader set X-A b\nHeader unset ETag\nSetEnvIf Host x y"
    tree = MemoryTree({"a.html": b"x", "b/c.html": b"x", ".htaccess": text.encode()})
    assert [str(each) for each in load_directory(tree, rules=ServerRules(tree)).diagnostics] == [
        ".htaccess:1: note: ExpiresActive On changes fields of answers; the emitted configuration does not repeat it "
        "for copies in the trees [server-rule-altered]"
    ]


PAGE = (
    '<!DOCTYPE html><html lang=en><title>A</title><link rel="stylesheet" href="assets/site.css"><p class=a>words</html>'
)


@pytest.mark.parametrize("project", PROJECTS)
@pytest.mark.parametrize("place", ["", "assets/"])
def test_pages_keep_their_style_sheets(tmp_path: Path, project: str, place: str) -> None:
    site = BuiltSite(tmp_path).write({
        "index.html": PAGE, "assets/site.css": ".a{color:#010203}", f"{place}.htaccess": PROJECTS[project],
    })  # fmt: skip
    found = {diagnostic.id for diagnostic in site.build(build__levels=["full", "lossless"]).diagnostics}
    assert not found & {"server-rule", "server-rule-unknown", "missing-target"}
    # one of them forbids styles in pages
    has_policy = "Content-Security-Policy" in PROJECTS[project] and not place
    assert (b"assets/site.css" if has_policy else b"#010203") in site.read("index.html")
