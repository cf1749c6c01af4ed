"""Every directive of .htaccess files, alone, in sections and oddly spelled: trees give nothing that Apache refuses.

Each case is a directory with a .htaccess file. One Apache serves the site as it is, another one with the trees.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from tests.servers import web
from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite
from tests.waiting import PATIENCE

# What Debian enables, and what .htaccess files of sites use most
MODULES = """
    unixd access_compat negotiation status reqtimeout expires include cgid auth_digest authz_groupfile
    actions ssl session session_cookie socache_shmcb speling usertrack substitute request charset_lite cern_meta buffer
    asis imagemap authn_anon authn_dbm authz_dbm authz_owner authn_socache auth_form allowmethods ext_filter
    version macro proxy
"""
# Those of "apache2 -L" (2.4.71) that are allowed in .htaccess files, each with arguments that it accepts, if its module
# is there; a few cannot be used there all the same.
DIRECTIVES = """
AddDefaultCharset On
AcceptPathInfo On
Error x
AccessFileName x
ErrorDocument 404 /x
Options
DefaultType On
FileETag
EnableMMAP On
EnableSendfile On
ServerSignature On
ContentDigest On
LimitRequestBody 1
LimitXMLRequestBody On
RLimitCPU On
RLimitMEM On
RLimitNPROC On
CGIPassAuth On
CGIVar REQUEST_URI rule
QualifyRedirectURL On
ForceType On
SetHandler server-status
SetOutputFilter On
SetInputFilter On
LogIOTrackTTFB On
AuthType On
AuthName On
Require all denied
AuthMerging off
AuthzSendForbiddenOnFailure On
LDAPTrustedClientCert x
LDAPReferrals On
LDAPReferralHopLimit 1
Session On
SessionMaxAge On
SessionHeader On
SessionEnv On
SessionInclude On
SessionExclude On
SessionExpiryUpdateInterval On
xml2EncDefault utf-8
xml2StartParse On
order deny,allow
allow from all
deny from all
Satisfy all
Action x y
Redirect /x
RedirectMatch x y
RedirectTemp 100 200
RedirectPermanent 100 200
RedirectRelative On
AliasPreservePath On
AuthBasicProvider file
AuthBasicAuthoritative On
AuthBasicFake On
AuthBasicUseDigestAlgorithm off
AuthDigestProvider file
AuthDigestQop auth
AuthDigestNonceLifetime 1
AuthDigestNcCheck On
AuthDigestAlgorithm MD5
AuthDigestDomain On
AuthFormProvider file
AuthFormUsername On
AuthFormPassword On
AuthFormLocation On
AuthFormMethod On
AuthFormMimetype On
AuthFormBody On
AuthFormLoginRequiredLocation On
AuthFormLoginSuccessLocation On
AuthFormLogoutLocation On
AuthFormSitePassphrase On
AuthFormAuthoritative On
AuthFormFakeBasicAuth On
AuthFormDisableNoStore On
Anonymous On
Anonymous_MustGiveEmail On
Anonymous_NoUserId On
Anonymous_VerifyEmail On
Anonymous_LogEmail On
AuthDBMUserFile On
AuthDBMType On
AuthUserFile On
AuthnCacheProvideFor On
AuthnCacheTimeout On
AuthnzFcgiCheckAuthnProvider On
AuthLDAPBindDN On
AuthLDAPBindPassword On
AuthLDAPBindAuthoritative On
AuthLDAPRemoteUserIsDN On
AuthLDAPRemoteUserAttribute On
AuthLDAPCompareDNOnServer On
AuthLDAPSubGroupAttribute On
AuthLDAPSubGroupClass On
AuthLDAPMaxSubGroupDepth On
AuthLDAPGroupAttribute On
AuthLDAPGroupAttributeIsDN On
AuthLDAPDereferenceAliases On
AuthLDAPAuthorizePrefix On
AuthLDAPInitialBindAsUser On
AuthLDAPInitialBindPattern x y
AuthLDAPSearchAsUser On
AuthLDAPCompareAsUser On
AuthDBMGroupFile On
AuthzDBMType On
AuthGroupFile On
AddIcon x y
AddIconByType x y
AddIconByEncoding x y
AddAlt x y
AddAltByType x y
AddAltByEncoding x y
IndexOptions
IndexOrderDefault Ascending Name
IndexIgnore On
IndexIgnoreReset On
AddDescription x y
HeaderName On
ReadmeName On
FancyIndexing x
DefaultIcon On
IndexStyleSheet On
IndexHeadInsert On
MetaFiles On
MetaDir On
MetaSuffix On
CharsetSourceEnc On
CharsetDefault On
CharsetOptions DebugLevel=0
DeflateInflateLimitRequestBody 1
DeflateInflateRatioLimit 1
DeflateInflateRatioBurst 1
FallbackResource On
DirectoryIndex
DirectorySlash On
DirectoryCheckHandler On
DirectoryIndexRedirect On
PassEnv On
SetEnv On
UnsetEnv On
ExpiresActive On
ExpiresByType text/html A60
ExpiresDefault all
FilterDeclare On
FilterProvider x INCLUDES "%{HTTP_HOST} == 'x'"
FilterChain On
AddOutputFilterByType SUBSTITUTE text/css
FilterProtocol x change=yes
Header set X-A b
RequestHeader set X-A b
ImapMenu On
ImapDefault On
ImapBase On
XBitHack On
SSIErrorMsg On
SSITimeFormat On
SSIUndefinedEcho On
SSILegacyExprParser On
SSILastModified On
SSIEtag On
LuaRoot On
LuaPackagePath /x
LuaPackageCPath /x
LuaHookPreTranslateName x y
LuaHookTranslateName /nowhere.lua f
LuaHookFixups /nowhere.lua f
LuaHookMapToStorage x y
LuaHookCheckUserID x y
LuaHookTypeChecker x y
LuaHookAccessChecker x y
LuaHookAuthChecker x y
LuaHookInsertFilter /nowhere.lua f
LuaHookLog x y
LuaScope thread
LuaInherit None
LuaCodeCache never
LuaQuickHandler x
Lua_____ByteCodeHack
LuaMapHandler /nowhere /nowhere.lua f
LuaOutputFilter x /nowhere.lua f
LuaInputFilter x /nowhere.lua f
Use x
UndefMacro x
MacroIgnoreEmptyArgs
MacroIgnoreBadNesting
AddCharset x y
AddEncoding x y
AddHandler x y
AddInputFilter x y
AddLanguage x y
AddOutputFilter x y
AddType x y
DefaultLanguage On
MultiviewsMatch Any
RemoveCharset On
RemoveEncoding On
RemoveHandler On
RemoveInputFilter On
RemoveLanguage On
RemoveOutputFilter On
RemoveType On
LanguagePriority On
ForceLanguagePriority None
ProxyExpressEnable x
ProxyExpressDBMFile x
ProxyExpressDBMType x
ProxyFCGIBackendType x
ProxyFCGISetEnvIf x
ProxyHCTemplate x
ProxyHCExpr x
ReflectorHeader On
RewriteEngine On
RewriteOptions Inherit
RewriteBase /x
RewriteCond x y
RewriteRule ^ - [F]
SessionCookieName
SessionCookieName2 On
SessionCookieRemove On
SessionCryptoPassphrase On
SessionCryptoCipher On
SessionDBDSelectLabel On
SessionDBDInsertLabel On
SessionDBDUpdateLabel On
SessionDBDDeleteLabel On
SessionDBDPerUser On
SessionDBDCookieRemove On
SessionDBDCookieName On
SessionDBDCookieName2 On
SetEnvIf a b c
SetEnvIfNoCase a b c
SetEnvIfExpr "%{HTTP_HOST} == 'x'" x
BrowserMatch x y
BrowserMatchNoCase x y
CheckSpelling On
CheckCaseOnly On
CheckBasenameMatch On
SSLCipherSuite On
SSLCACertificatePath x
SSLCACertificateFile x
SSLVerifyClient On
SSLVerifyDepth On
SSLUserName On
SSLOptions
SSLRequireSSL
SSLRequire %{SSL_CIPHER_USEKEYSIZE} >= 128
SSLRenegBufferSize On
SSLLog x
SSLLogLevel x
Substitute s/a/b/
SubstituteMaxLineLength 1
SubstituteInheritBefore On
CookieExpires 1
CookieDomain .example.org
CookieStyle Cookie
CookieTracking On
CookieName On
CookieSameSite None
CookieSecure On
CookieHttpOnly On
"""
SECTIONS = (
    '<Files "style.css">\n{}\n</Files>',
    '<Files ~ "\\.(css|js)$">\n{}\n</Files>',
    '<FilesMatch "^[[:alpha:]]+\\.txt$">\n{}\n</FilesMatch>',
    '<If "%{{REQUEST_URI}} =~ m#css#">\n{}\n</If>',
    "<IfModule mod_headers.c>\n{}\n</IfModule>",
    "<IfModule !mod_nowhere.c>\n{}\n</IfModule>",
    "<IfModule mod_nowhere.c>\n{}\n</IfModule>",
    "<IfDefine !NOWHERE>\n{}\n</IfDefine>",
    "<IfVersion >= 2.4>\n{}\n</IfVersion>",
    "<Limit GET>\n{}\n</Limit>",
    "<LimitExcept POST>\n{}\n</LimitExcept>",
    "<RequireAll>\n{}\n</RequireAll>",
    "<RequireAny>\n{}\n</RequireAny>",
    "<RequireNone>\n{}\n</RequireNone>",
    '<If "false">\nSetEnv A b\n</If>\n<Else>\n{}\n</Else>',
    "<Directory />\n{}\n</Directory>",
)
DENIED = "Require all denied"
ODD = {
    "bom": "\ufeffAddDefaultCharset utf-8",
    "bom-comment": "\ufeff# nothing",
    "nul": "Require all denied\0",
    "unknown": "NoSuchDirective on",
    "php": "php_value x y",
    "php-guarded": "<IfModule mod_php.c>\nphp_value x y\n</IfModule>",
    "continued-word": "Requi\\\nre all den\\\nied",
    "continued-comment": "# nothing \\\nRequire all denied",
    "continued-crlf": "Require all \\\r\ndenied\r\n",
    "continued-end": "Require all denied \\",
    "crlf": "Require all denied\r\n",
    "cr": "# x\rRequire all denied",
    "quoted-name": '"Require" all denied',
    "quoted-args": "Require \"all\" 'denied'",
    "comment-behind": "Require all granted # nothing",
    "upper": "REQUIRE ALL DENIED",
    "tabs": "\tRequire\tall\tdenied",
    "variable": "Require all ${NOWHERE}",
    "unclosed": "<IfModule mod_dir.c>\nDirectoryIndex index.html",
    "crossed": "<IfModule mod_dir.c>\n<Files x>\n</IfModule>\n</Files>",
    "closed": "</Files>",
    "no-bracket": "<Files x\n</Files>",
    "space-bracket": "< Files x>\n</Files>",
    "close-space": "<Files x>\n</Files >",
    "empty-none": "<RequireNone>\n</RequireNone>",
    "bad-pattern": '<FilesMatch "[">\n</FilesMatch>',
    "bad-rewrite": "RewriteEngine On\nRewriteRule ( -",
    "bad-flag": "RewriteEngine On\nRewriteRule x - [Nonsense]",
    "bad-if": '<If "nonsense">\n</If>',
    "class": f'<FilesMatch "^[[:alpha:]]+\\.css$">\n{DENIED}\n</FilesMatch>',
    "class-digit": f'<FilesMatch "^[^[:digit:]]+$">\n{DENIED}\n</FilesMatch>',
    "files-not": f'<Files "[^z]*">\n{DENIED}\n</Files>',
    "files-bang": f'<Files "[!z]*">\n{DENIED}\n</Files>',
    "files-backslash": f'<Files "st\\yle.css">\n{DENIED}\n</Files>',
    "files-question": f'<Files "styl?.css">\n{DENIED}\n</Files>',
    "files-star": f'<Files "*">\n{DENIED}\n</Files>',
    "files-dot": f'<Files "./style.css">\n{DENIED}\n</Files>',
    "possessive": f'<FilesMatch "^s++tyle">\n{DENIED}\n</FilesMatch>',
    "horizontal": f'<FilesMatch "^style\\H">\n{DENIED}\n</FilesMatch>',
    "quoted": f'<FilesMatch "^\\Qstyle.css\\E$">\n{DENIED}\n</FilesMatch>',
    "reset": f'<FilesMatch "(?|style|note)">\n{DENIED}\n</FilesMatch>',
    "recursion": f'<FilesMatch "^(s|t(?1))">\n{DENIED}\n</FilesMatch>',
    "atomic": f'<FilesMatch "(?>sty)le">\n{DENIED}\n</FilesMatch>',
    "case": f'<FilesMatch "(?i)STYLE">\n{DENIED}\n</FilesMatch>',
    "case-late": f'<FilesMatch "^(?i)STYLE">\n{DENIED}\n</FilesMatch>',
    "newline": f'<FilesMatch "\\N+">\n{DENIED}\n</FilesMatch>',
    "not-newline": f'<FilesMatch "^style\\.\\X+">\n{DENIED}\n</FilesMatch>',
    "unicode": f'<FilesMatch "\\p{{L}}tyle">\n{DENIED}\n</FilesMatch>',
    "bracket-first": f'<FilesMatch "[]s]tyle">\n{DENIED}\n</FilesMatch>',
    "off-in-section": "RewriteEngine On\nRewriteRule ^ - [F]\n<IfModule mod_nowhere.c>\nRewriteEngine Off\n</IfModule>",
    "off-in-files": "RewriteEngine On\nRewriteRule css - [F]\n<Files x>\nRewriteEngine Off\n</Files>",
    "on-again": "RewriteEngine Off\nRewriteRule css - [F]\nRewriteEngine On",
    "forbidden": "RewriteEngine On\nRewriteRule css - [forbidden]",
    "gone": "RewriteEngine On\nRewriteRule css - [gone]",
    "gone-spaces": 'RewriteEngine On\nRewriteRule css - "[L, G ]"',
    "redirect": "RewriteEngine On\nRewriteRule css /x [Redirect=301]",
    "status": "RewriteEngine On\nRewriteRule css - [R=404]",
    "cookie": "RewriteEngine On\nRewriteCond %{HTTP_COOKIE} !x [nocase]\nRewriteRule css - [F]",
    "ornext": "RewriteEngine On\nRewriteCond %{HTTPS} z [ornext]\nRewriteCond %{REQUEST_URI} css\nRewriteRule ^ - [F]",
    "rewrite-class": "RewriteEngine On\nRewriteRule ^[[:lower:]]+\\.css$ - [F]",
    "rewrite-not": "RewriteEngine On\nRewriteRule !\\.html$ - [F]",
    "rewrite-in-files": '<Files "style.css">\nRewriteEngine On\nRewriteRule ^ - [F]\n</Files>',
    "inherit": "RewriteEngine On\nRewriteOptions Inherit",
    "rewrite-expr": 'RewriteEngine On\nRewriteCond expr "true"\nRewriteRule ^ - [F]',
    "not-only": "<RequireAll>\nRequire not ip 10.0.0.1\n</RequireAll>",
    "none": "<RequireAll>\nRequire all granted\n<RequireNone>\nRequire all granted\n</RequireNone>\n</RequireAll>",
    "all-not": "<RequireAll>\nRequire all granted\nRequire not ip 127.0.0.1\n</RequireAll>",
    "require-unknown": "<Files nothing>\nRequire nonsense\n</Files>",
    "no-links": "Options -FollowSymLinks\nRewriteEngine On",
    "no-options": "Options None\nRewriteEngine On",
    "options-mixed": "Options Indexes -MultiViews",
    "options-unknown": "Options +Nonsense",
    "includes": "Options +Includes\nAddOutputFilter INCLUDES .html",
    "lua": "LuaHookAccessChecker /nowhere.lua f",
    "satisfy": "AuthType Basic\nAuthName x\nAuthUserFile /dev/null\nRequire valid-user\nSatisfy All",
    "password": "AuthType Basic\nAuthName x\nAuthUserFile /dev/null\nRequire valid-user",
    "order": "Order allow,deny\nAllow from 10.0.0.0/8",
    "order-files": '<Files "style.css">\nOrder deny,allow\nDeny from all\n</Files>',
    "address": "Require ip 300.1.1.1",
    "redirects": "Redirect gone /redirects/style.css\nRedirect 403 //redirects//note.txt",
    "redirect-status": "Redirect 999 /x",
    "redirect-match": "RedirectMatch 410 [[:alpha:]]\\.css$",
    "redirect-all": "<Files style.css>\nRedirect 301 https://example.org/\n</Files>",
    "type-php": "AddType application/x-httpd-php .css",
    "header-value": 'Header set X-A "%q"',
    "header-name": "Header set X-A",
    "header-expr": 'Header set X-A b "expr=nonsense"',
    "expires-value": 'ExpiresDefault "sometimes"',
    "document": "ErrorDocument 200 /x",
    "charset-none": "AddCharset utf-8",
    "set-env-pattern": "SetEnvIf Host ( x",
    "index-options": "IndexOptions Nonsense",
    "etag": "FileETag Nonsense",
    "index": "DirectoryIndex note.txt",
    "index-none": "DirectoryIndex disabled",
    "nested-files": f'<Files "*.css">\n<Files "*.css">\n{DENIED}\n</Files>\n</Files>',
    "else": f"<If \"%{{REQUEST_URI}} == 'x'\">\nSetEnv A\n</If>\n<ElseIf \"%{{HTTPS}} == 'off'\">\n{DENIED}\n</ElseIf>",
    "if-file": f"<IfFile /etc/passwd>\n{DENIED}\n</IfFile>",
    "if-directive": f"<IfDirective Require>\n{DENIED}\n</IfDirective>",
    "macro": "<Macro x>\nRequire all denied\n</Macro>\nUse x",
    "define": "Define X denied\nRequire all ${X}",
    "include": "Include /nowhere",
    "location": "<Location />\nRequire all denied\n</Location>",
    "speling": "<IfModule mod_speling.c>\nCheckSpelling On\n</IfModule>",
    "empty": "",
    "blank": " \n\t\n#\n",
}
FILES = ("index.html", "style.css", "script.js", "note.txt", "picture.svg")
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><!-- {} --><rect width="9" height="9"/></svg>'


def cases() -> Mapping[str, str]:
    """Return the .htaccess files by directory."""
    directives = DIRECTIVES.split("\n")[1:-1]
    plain = {f"plain-{line.split()[0].lower()}": line for line in directives}
    sections = cycle(SECTIONS)
    inside = {f"in-{line.split()[0].lower()}": next(sections).format(line) for line in directives[::4]}
    denied = {f"denied-{number}": text.format(DENIED) for number, text in enumerate(SECTIONS)}
    granted = {f"granted-{number}": text.format("Require all granted") for number, text in enumerate(SECTIONS)}
    return {**ODD, **plain, **inside, **denied, **granted}


def files_of(directory: str) -> Mapping[str, str]:
    """Return the files of a case; each holds the words "secret-DIRECTORY-"."""
    words = f"secret-{directory}-"
    page = f'<!DOCTYPE html><title>{words}</title><link rel="stylesheet" href="style.css"><p>{words}'
    texts = (page, f".{words}c{{color:red}}", f'document.title = "{words}"', words, SVG.format(words))
    return {f"{directory}/{name}": text for name, text in zip(FILES, texts, strict=True)}


def statuses(server: web.Server, paths: list[str]) -> Iterator[int]:
    """Yield the status of each path, 0 where the server breaks down, by one connection as long as it is kept."""
    with closing(http.client.HTTPConnection(server.address, server.port, timeout=PATIENCE)) as connection:
        for path in paths:
            try:
                connection.request("GET", path, headers={"Accept-Encoding": "br"})
                response = connection.getresponse()
                response.read()
            except (http.client.HTTPException, ConnectionError):
                connection.close()
                yield 0
            else:
                yield response.status


@pytest.mark.servers
def test_nobody_gets_from_the_trees_what_apache_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MODULES", f"{web.MODULES} {MODULES}")
    site = BuiltSite(tmp_path)
    links = "".join(f'<link rel="stylesheet" href="{directory}/style.css">' for directory in cases())
    site.write({"index.html": f"<!DOCTYPE html><title>all</title>{links}<p>words"})
    for directory, text in cases().items():
        site.write({**files_of(directory), f"{directory}/.htaccess": text})
    paths = [f"/{directory}/{name}" for directory in cases() for name in (*FILES, "")]
    assert len(cases()) > 400
    with web.apache(tmp_path / "plain", site.docroot, "") as server:
        plain = dict(zip(paths, statuses(server, paths), strict=True))
        # In the hook of its log a server breaks down right before an answer is sent, or right after
        answering = {path.rpartition("/")[0] for path in paths if plain[path]}
        for _ in range(3):
            silent = [path for path in paths if not plain[path] and path.rpartition("/")[0] in answering]
            plain |= zip(silent, statuses(server, silent), strict=True)
    with ServedSite(site, "apache", {}).start(flag=False) as server:
        adapted = dict(zip(paths, statuses(server, paths), strict=True))
    more = [path for path in paths if plain[path] != adapted[path] and 0 < adapted[path] < 400]
    assert not more, "\n".join(f"{path}: {plain[path]} {adapted[path]}" for path in more)
    refused = {path for path, status in plain.items() if status != 200 and not path.endswith("/")}
    copied = [
        path for path in refused if any((site.output / f"{level}/id{path}").exists() for level in ("full", "lossless"))
    ]
    assert not copied
    trees = b"".join(site.trees().values())
    assert not [
        path for path in refused if path.endswith(".css") and f".secret-{path.split('/')[1]}-c{{".encode() in trees
    ]
    assert len(refused) > 500


# ---- what is harmless: adapted, and with the fields that it says

HARMLESS = {
    "header": "Header set X-Own yes\nHeader always set X-Frame-Options DENY",
    "files": '<FilesMatch "\\.css$">\nHeader set X-Own css\n</FilesMatch>',
    "taken-back": 'Header set X-Own yes\n<FilesMatch "\\.css$">\nHeader unset X-Own\n</FilesMatch>',
    "condition": "SetEnvIf Host ^127 LOCAL\nHeader set X-Own local env=LOCAL",
    "expression": 'Header set X-Own page "expr=%{CONTENT_TYPE} =~ m#text/html#i"',
    "if": '<If "%{REQUEST_URI} =~ m#css#">\nHeader set X-Own if\n</If>',
    "guarded": '<IfModule mod_headers.c>\nHeader set X-Own "a \\"b\\" c"\n</IfModule>',
    "unguarded": "<IfModule !mod_headers.c>\nHeader set X-Own no\n</IfModule>",
    "csp": "Header set Content-Security-Policy \"default-src 'self'\"",
    "charset": "AddDefaultCharset iso-8859-2",
    "charsets": "AddCharset utf-8 .css .js",
    "language": "AddLanguage de .html",
    "type": "AddType text/markdown .txt",
    "https": "RewriteEngine On\nRewriteCond %{HTTPS} !=on\nRewriteRule ^ https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]",
    "not-https": "RewriteEngine On\nRewriteCond %{HTTPS} on\nRewriteRule ^ https://x%{REQUEST_URI} [R=301,L]",
    "proxy": "RewriteEngine On\nRewriteCond %{HTTP:X-Forwarded-Proto} !https\nRewriteRule (.*) "
    "https://%{SERVER_NAME}%{REQUEST_URI} [R=301,NE,L]",
    "www": "RewriteEngine On\nRewriteCond %{HTTP_HOST} ^(127.*)$ [NC]\nRewriteRule ^(.*)$ "
    "%{REQUEST_SCHEME}://www.%1%{REQUEST_URI} [R=301,L]",
    "caching": "ExpiresActive On\nExpiresDefault A60\nFileETag None\nHeader set Cache-Control max-age=60",
    "document": 'ErrorDocument 404 /x\nErrorDocument 403 "no',
    "options": "Options -Indexes -MultiViews",
    "index": "DirectoryIndex index.html index.php",
    "compressed": "AddOutputFilterByType DEFLATE text/html text/css\nSetOutputFilter DEFLATE",
    "slash": "DirectorySlash On\nFallbackResource /index.html",
}
OWN_FIELDS = ("location", "x-own", "x-frame-options", "content-security-policy", "content-type", "content-language")


def asked(server: web.Server, path: str) -> web.Reply:
    """Return the answer for a path, without the number of the server's port."""
    reply = server.get(path, accept_encoding="br")
    return replace(reply, headers={name: value.replace(f":{server.port}", "") for name, value in reply.headers.items()})


@pytest.mark.servers
def test_harmless_directives_keep_their_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MODULES", f"{web.MODULES} {MODULES}")
    site = BuiltSite(tmp_path)
    for directory, text in HARMLESS.items():
        site.write({**files_of(directory), f"{directory}/inner/note.txt": "words", f"{directory}/.htaccess": text})
    paths = [f"/{directory}/{name}" for directory in HARMLESS for name in (*FILES, "", "inner/note.txt")]
    with web.apache(tmp_path / "plain", site.docroot, "") as server:
        plain = [asked(server, path) for path in paths]
    with ServedSite(site, "apache", {}).start(flag=False) as server:
        adapted = [asked(server, path) for path in paths]
    for path, before, after in zip(paths, plain, adapted, strict=True):
        assert before.status == after.status, path
        fields = [(before.headers.get(name), after.headers.get(name)) for name in OWN_FIELDS]
        assert all(one == other for one, other in fields), (path, fields)
        is_redirected = path.split("/")[1] in ("https", "proxy", "www")
        assert is_redirected or after.headers.get("x-adapt"), path
