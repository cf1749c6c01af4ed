"""Access logs: formats of Apache and nginx, escapes, files that are packed, cut or something else."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from adaptc.core.diagnostics import UsageError
from adaptc.formats.accesslog.parser import Entry, compile_format
from adaptc.formats.accesslog.reader import SAMPLES, LogTally, log_files, read_log

TIME = 971211336.0  # 10/Oct/2000:13:55:36 -0700
COMMON = '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /docs/ HTTP/1.1" 200 2326'
COMBINED = f'{COMMON} "https://example.org/a" "Mozilla/5.0 (X11)"'
NGINX_MAIN = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" "$http_x_forwarded_for"'
)


def parsed(line: str, text: str = "auto") -> Entry:
    entry = compile_format(text).parse(line)
    assert entry is not None, line
    return entry


# ---- formats


def test_the_common_format() -> None:
    assert parsed(COMMON) == Entry("127.0.0.1", TIME, "GET", "/docs/", 200, 2326, "", "")


def test_the_combined_format() -> None:
    wanted = Entry("127.0.0.1", TIME, "GET", "/docs/", 200, 2326, "https://example.org/a", "Mozilla/5.0 (X11)")
    assert parsed(COMBINED) == parsed(COMBINED, "combined") == wanted


def test_by_default_a_log_may_mix_common_and_combined_with_more_fields_after_them() -> None:
    more = f'{COMBINED} "10.0.0.1" 0.003'
    assert parsed(more) == parsed(COMBINED)
    assert parsed(f"{COMMON} 1234") == parsed(COMMON)


CLOUDFRONT = (
    "2000-10-10\t20:55:36\tFRA2\t2326\t127.0.0.1\tGET\td111.cloudfront.net\t/docs/\t200\thttps://example.org/a\t"
    "Mozilla/5.0%20(X11)\ta=1\t-\tHit\tSOf4==\texample.org\thttps\t23\t0.001"
)
CLOUDFLARE = (
    '{"ClientIP":"127.0.0.1","ClientRequestMethod":"GET","ClientRequestURI":"/docs/?a=1","EdgeStartTimestamp":'
    '"2000-10-10T20:55:36Z","EdgeResponseBytes":2326,"EdgeResponseStatus":200,"ClientRequestReferer":"",'
    '"ClientRequestUserAgent":"curl/8"}'
)
FASTLY = (
    '{"timestamp": "2000-10-10T20:55:36+0000", "client_ip": "127.0.0.1", "host": "example.org", "url": "/docs/", '
    '"request_method": "GET", "request_referer": "", "request_user_agent": "curl/8", "response_state": "HIT", '
    '"response_status": 200, "response_body_size": 2326}'
)
CADDY = (
    '{"level":"info","ts":971211336.0,"logger":"http.log.access","msg":"handled request",'
    '"request":{"remote_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"example.org","uri":"/docs/?a=1","headers":{"User-Agent":["curl/8"]}},'
    '"duration":0.001,"size":2326,"status":200}'
)


# As the documentation of each has them, shortened
CLOUDFRONT_JSON = (
    '{"date":"2000-10-10","time":"20:55:36","x-edge-location":"MAD53-P3","sc-bytes":"2326","c-ip":"127.0.0.1",'
    '"cs-method":"GET","cs(Host)":"d111.cloudfront.net","cs-uri-stem":"/docs/","sc-status":"200","cs(Referer)":"-",'
    '"cs(User-Agent)":"curl/8","cs-uri-query":"a=1","time-taken":"0.078"}'
)
AKAMAI = (
    '{"version":"5","cp":"123456","reqId":"1239f220","reqTimeSec":"971211336.000","bytes":"2326","cliIP":"127.0.0.1",'
    '"statusCode":"200","proto":"HTTP/2","reqHost":"example.org","reqMethod":"GET","reqPath":"docs/","reqPort":"443",'
    '"rspContentLen":"5000","UA":"curl/8","queryStr":"a=1","referer":"-","turnAroundTimeMSec":"11"}'
)
VERCEL = (
    '{"id":"1573817250283254651097202070","source":"static","host":"x.vercel.app","timestamp":971211336000,'
    '"path":"/docs/","proxy":{"timestamp":971211336000,"method":"GET","scheme":"https","host":"example.org",'
    '"path":"/docs/?a=1","userAgent":["curl/8"],"statusCode":200,"clientIp":"127.0.0.1","responseByteSize":2326,'
    '"region":"sfo1"}}'
)
NETLIFY = (
    '{"account_id":"5c","client_ip":"127.0.0.1","content_type":"text/html","country":"IN","deploy_id":"6a",'
    '"duration":15,"log_type":"traffic","method":"GET","referrer":"","request_id":"01","request_size":120,'
    '"response_size":2326,"site_id":"3b","status_code":200,"timestamp":"2000-10-10T20:55:36.000Z",'
    '"url":"https://example.org/docs/?a=1","user_agent":"curl/8"}'
)
GOOGLE = (
    '{"httpRequest":{"requestMethod":"GET","requestUrl":"https://example.org/docs/","requestSize":"97","status":200,'
    '"responseSize":"2326","userAgent":"curl/8","remoteIp":"127.0.0.1","cacheHit":true},'
    '"timestamp":"2000-10-10T20:55:36.000000Z"}'
)
AZURE = (
    '{"time":"2000-10-10T20:55:36.0000000Z","category":"FrontDoorAccessLog","properties":{"httpMethod":"GET",'
    '"requestUri":"https://example.org:443/docs/?a=1","responseBytes":"2326","userAgent":"curl/8",'
    '"clientIp":"127.0.0.1","httpStatusCode":"200","referer":""}}'
)
TRAEFIK = (
    '{"ClientHost":"127.0.0.1","DownstreamContentSize":2326,"DownstreamStatus":200,"Duration":700,'
    '"RequestMethod":"GET","RequestPath":"/docs/?a=1","StartUTC":"2000-10-10T20:55:36Z","level":"info","msg":"",'
    '"request_User-Agent":"curl/8","time":"2000-10-10T20:55:37Z"}'
)
OBJECTS = {
    "Cloudflare": CLOUDFLARE,
    "Fastly": FASTLY,
    "Caddy": CADDY,
    "CloudFront": CLOUDFRONT_JSON,
    "Akamai": AKAMAI,
    "Vercel": VERCEL,
    "Netlify": NETLIFY,
    "Google": GOOGLE,
    "Azure": AZURE,
    "Traefik": TRAEFIK,
}


@pytest.mark.parametrize("line", OBJECTS.values(), ids=OBJECTS)
def test_objects_of_json_are_known_by_the_names_of_their_members(line: str) -> None:
    assert parsed(line) == Entry("127.0.0.1", TIME, "GET", "/docs/", 200, 2326, "", "curl/8")
    assert compile_format().request(line) == parsed(line)[:6]
    assert compile_format("combined").parse(line) is None


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_a_time_of_json_may_have_any_unit(unit: int) -> None:
    assert parsed(CLOUDFLARE.replace('"2000-10-10T20:55:36Z"', str(int(TIME) * unit))).time == TIME


def test_a_standard_log_of_cloudfront(tmp_path: Path) -> None:
    assert (
        parsed(CLOUDFRONT)[:6]
        == parsed(CLOUDFRONT, "cloudfront")[:6]
        == ("127.0.0.1", TIME, "GET", "/docs/", 200, 2326)
    )
    (tmp_path / "log").write_text(f"#Version: 1.0\n#Fields: date time x-edge-location\n{CLOUDFRONT}\n")
    tally = LogTally()
    assert len(list(read_log(str(tmp_path / "log"), compile_format(), tally))) == 1
    assert (tally.skipped, tally.diagnostics) == (0, [])


def test_a_log_of_cloudfront_names_its_fields(tmp_path: Path) -> None:
    fields = "timestamp(ms) c-ip sc-status cs-method cs-uri-stem cs(User-Agent)"
    line = "971211336000\t127.0.0.1\t200\tGET\t/docs/\tcurl/8"
    (tmp_path / "log").write_text(f"#Version: 1.0\n#Fields: {fields}\n{line}\n")
    for name in ("auto", "cloudfront"):
        compile_format.cache_clear()
        (entry,) = read_log(str(tmp_path / "log"), compile_format(name), LogTally())
        assert entry == Entry("127.0.0.1", TIME, "GET", "/docs/", 200, 0, "", "curl/8")
    compile_format.cache_clear()


BUNNY = "HIT|200|971211336000|2326|390|127.0.0.1|-|https://example.org/docs/?a=1|WA|curl/8|322b688bd63fb63f|DE"
HAPROXY = (
    "Oct 10 20:55:36 localhost haproxy[14389]: 127.0.0.1:33317 [10/Oct/2000:20:55:36.000] http-in static/srv1 "
    '10/0/30/69/109 200 2326 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /docs/?a=1 HTTP/1.1"'
)


def test_lines_of_bunny_and_of_haproxy() -> None:
    expected = ("127.0.0.1", TIME, "GET", "/docs/", 200, 2326)
    for name, line in (("bunny", BUNNY), ("haproxy", HAPROXY)):
        for text in ("auto", name):
            found = compile_format(text).request(line)
            assert found == parsed(line, text)[:6]
            assert found == (expected if name == "haproxy" else (*expected[:2], "", *expected[3:]))
    plain = HAPROXY.partition("]: ")[2]
    assert parsed(plain)[:6] == expected
    assert parsed(plain.replace("127.0.0.1:", "::ffff:127.0.0.1:")).client == "::ffff:127.0.0.1"
    assert parsed(plain.replace("109 200 2326", "109 -1 +0").replace("GET /docs/?a=1 HTTP/1.1", "<BADREQ>")).path == ""
    assert parsed(plain.removesuffix(' HTTP/1.1"')).path == "/docs/"


@pytest.mark.parametrize(
    "line",
    ["{}", "{",
     '{"uri": 1, "status": 200}', '{"uri": "/", "status": true}', '{"uri":' + "[" * 100_000, '{"status": 200}',
     '{"uri": "/", "status": "9' + "9" * 5000 + '"}', "\t" * 30],
)  # fmt: skip
def test_what_is_no_request_of_a_cdn(line: str) -> None:
    assert compile_format().parse(line) is None
    assert compile_format().request(line) is None


@pytest.mark.parametrize(
    "line", ["", "garbage", COMMON[:40], COMMON.replace("200", "ok"), f"{COMMON}x", COMMON + "9" * 40]
)
def test_what_is_no_line_of_the_format(line: str) -> None:
    assert compile_format().parse(line) is None


def test_a_named_format_is_taken_at_its_word() -> None:
    assert compile_format("common").parse(COMBINED) is None
    assert compile_format("combined").parse(COMMON) is None


def test_virtual_hosts_of_apache() -> None:
    assert parsed(f"example.org:443 {COMBINED}", "vhost_combined") == parsed(COMBINED)


def test_the_format_of_nginx() -> None:
    assert parsed(f'{COMBINED} "-"', NGINX_MAIN) == parsed(COMBINED)


def test_a_string_of_apache_with_the_backslashes_of_its_configuration() -> None:
    text = r"%a %l %u %t \"%r\" %>s %O %I \"%!200{Referer}i\" %D %{X}C %%"
    line = '::1 - - [10/Oct/2000:13:55:36 -0700] "HEAD /a HTTP/2" 304 10 20 "-" 55 - %'
    assert parsed(line, text) == Entry("::1", TIME, "HEAD", "/a", 304, 10, "", "")


def test_method_path_and_query_as_fields_of_their_own() -> None:
    line = '1.2.3.4 "GET /a%20b.html?x=1 HTTP/1.1" 200'
    entry = parsed(line, '%h "%m %U%q %H" %s')
    assert (entry.method, entry.path, entry.status) == ("GET", "/a%20b.html", 200)  # %U is decoded already
    nginx = parsed("1.2.3.4 GET /a%20b.html?x=1 200", "$remote_addr $request_method $request_uri $status")
    assert (nginx.method, nginx.path) == ("GET", "/a b.html")
    assert parsed("/a?b 200", "$uri$is_args$args $status").path == "/a"


def test_a_whole_request_line_counts_before_its_parts() -> None:
    entry = parsed('/index.html "GET / HTTP/1.1"', '%U "%r"')
    assert (entry.method, entry.path) == ("GET", "/")


def test_json_lines() -> None:
    text = '{"ip":"$remote_addr","at":"$time_iso8601","uri":"$request_uri","status":$status,"agent":"$http_user_agent"}'
    line = '{"ip":"1.2.3.4","at":"2000-10-10T13:55:36-07:00","uri":"\\/caf\\u00e9","status":200,"agent":"a \\"b\\""}'
    assert parsed(line, text) == Entry("1.2.3.4", TIME, "", "/café", 200, 0, "", 'a "b"')


def test_the_client_is_the_first_address_that_was_forwarded() -> None:
    assert parsed("1.2.3.4, 10.0.0.1 200", "%{X-Forwarded-For}i %>s").client == "1.2.3.4"
    assert parsed('"1.2.3.4" 200', '"$http_x_forwarded_for" $status').client == "1.2.3.4"


@pytest.mark.parametrize(
    ("notation", "written"),
    [
        ("%t", "[10/Oct/2000:13:55:36 -0700]"),
        ("%{sec}t", "971211336"),
        ("%{begin:msec}t", "971211336000"),
        ("%{end:usec}t", "971211336000000"),
        ("%{%F %T %z}t", "2000-10-10 13:55:36 -0700"),
        ("[%{%d/%b/%Y:%H:%M:%S}t.%{msec_frac}t]", "[10/Oct/2000:20:55:36.123]"),
        ("$time_iso8601", "2000-10-10T13:55:36-07:00"),
        ("$msec", "971211336.000"),
    ],
)
def test_times(notation: str, written: str) -> None:
    text = f"{notation} {'$status' if '$' in notation else '%s'}"
    assert parsed(f"{written} 200", text).time == TIME


@pytest.mark.parametrize("written", ["31/Foo/2000:00:00:00 +0000", "yesterday", ""])
def test_a_time_that_is_none_costs_the_time_only(written: str) -> None:
    assert parsed(f'h - - [{written}] "GET /a HTTP/1.0" 200 1') == Entry("h", None, "GET", "/a", 200, 1, "", "")


def test_an_offset_may_be_east() -> None:
    assert parsed(COMMON.replace("13:55:36 -0700", "22:25:36 +0130")).time == TIME


@pytest.mark.parametrize("text", ["commn", "", "no fields"])
def test_what_is_no_format(text: str) -> None:
    with pytest.raises(UsageError, match=r"a log format is one of auto, common, combined, .*, bunny, haproxy, or"):
        compile_format(text)


def test_fields_without_a_separator_are_refused() -> None:
    with pytest.raises(UsageError, match=r"nothing in the log format separates %h and %>s"):
        compile_format("%h%>s")


# ---- requests


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/", "/"),
        ("/a.html?q=/b.html", "/a.html"),
        ("/a%20b/%C3%A9.html", "/a b/é.html"),
        ("/caf\\xc3\\xa9", "/café"),
        ("/%E9", "/\udce9"),
        ("/a%2Fb", "/a%2Fb"),
        ("/100%", "/100%"),
        ('/say \\"hi\\"', ""),  # a blank in a target is no request line
        ("/say%20\\x22hi\\x22", '/say "hi"'),
        ("http://example.org/a?b", "/a"),
        ("https://example.org", "/"),
        ("*", ""),
        ("example.org:443", ""),
    ],
)
def test_targets(target: str, path: str) -> None:
    assert parsed(f'h - - [x] "GET {target} HTTP/1.1" 200 1').path == path


@pytest.mark.parametrize("request_line", ["-", "", "\\x16\\x03\\x01", "GET", 'a \\" b c d'])
def test_what_came_instead_of_a_request_is_a_line_all_the_same(request_line: str) -> None:
    entry = parsed(f'h - - [x] "{request_line}" 400 0')
    assert (entry.path, entry.status) == ("", 400)


def test_a_user_may_have_blanks_and_a_request_no_protocol() -> None:
    assert parsed('h - John Q. Public [x] "GET /a" 200 -').path == "/a"


def test_long_lines_that_almost_fit_are_refused_in_linear_time() -> None:
    assert compile_format().parse('h - - [x] "GET /' + "\\x41 " * 50_000) is None
    assert compile_format().parse("h - " + "- [" * 50_000) is None
    assert compile_format().parse("haproxy: a:1 [" * 20_000) is None


# ---- files


def read(path: Path, text: str = "auto") -> tuple[list[str], LogTally]:
    tally = LogTally()
    return [entry.path for entry in read_log(str(path), compile_format(text), tally)], tally


def lines(*paths: str) -> bytes:
    return "".join(f'h - - [x] "GET {path} HTTP/1.1" 200 1\n' for path in paths).encode()


def test_a_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(lines("/a", "/b").replace(b"\n", b"\r\n") + b"\n" + lines("/\xe9"))
    paths, tally = read(tmp_path / "log")
    assert paths == ["/a", "/b", "/é"]
    assert (tally.lines, tally.skipped, tally.diagnostics) == (4, 0, [])


def test_a_log_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    wanted = [f"/{number}" for number in range(20_000)]
    (tmp_path / "log").write_bytes(lines(*wanted))
    assert read(tmp_path / "log")[0] == wanted


def test_a_packed_log_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_bytes(gzip.compress(lines("/a")) + gzip.compress(lines("/b")))
    assert read(tmp_path / "log.1")[0] == ["/a", "/b"]


def test_a_packed_log_that_was_cut_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    wanted = [f"/{number * 7919 % 99991}" for number in range(50_000)]
    packed = gzip.compress(lines(*wanted))
    (tmp_path / "log.gz").write_bytes(packed[:-1000])
    paths, tally = read(tmp_path / "log.gz")
    assert paths == wanted[: len(paths)]
    assert len(paths) > 10_000
    assert [diagnostic.id for diagnostic in tally.diagnostics] == ["log-truncated"]


def test_lines_of_another_format_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(lines("/a") + b"nonsense\x1b \xff\n" * 9 + lines("/b"))
    paths, tally = read(tmp_path / "log")
    assert paths == ["/a", "/b"]
    assert (tally.lines, tally.skipped) == (11, 9)
    messages = [str(diagnostic) for diagnostic in tally.diagnostics]
    log = tmp_path / "log"
    assert messages[0] == rf"{log}:2: warning: is not in the log format: nonsense\x1b \xff [log-line-skipped]"
    assert len(messages) == SAMPLES + 1
    wanted = f"{log}: warning: 9 of 11 lines are not in the log format (auto) and do not count [log-lines-skipped]"
    assert messages[-1] == wanted


def test_the_second_log_counts_its_own_lines(tmp_path: Path) -> None:
    tally = LogTally()
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"?\n")
        assert list(read_log(str(tmp_path / name), compile_format(), tally)) == []
    assert (tally.lines, tally.skipped) == (2, 2)
    assert [diagnostic.location.line for diagnostic in tally.diagnostics if diagnostic.location] == [1, None, 1, None]


def test_an_incomplete_last_line_is_not_reported(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(lines("/a") + b'h - - [x] "GET /b HT')
    paths, tally = read(tmp_path / "log")
    assert (paths, tally.diagnostics) == (["/a"], [])


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(lines("/a", "/b").rstrip())
    assert read(tmp_path / "log")[0] == ["/a", "/b"]


def test_a_file_without_lines_does_not_fill_the_memory(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\0" * 5_000_000 + b"\n" + lines("/a"))
    paths, tally = read(tmp_path / "log")
    assert (paths, tally.skipped) == (["/a"], 1)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BufferedReader(io.BytesIO(gzip.compress(lines("/a"))))  # type: ignore[arg-type]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    assert [entry.path for entry in read_log("-", compile_format(), LogTally())] == ["/a"]


def test_files_are_named_by_path_or_pattern_each_once(tmp_path: Path) -> None:
    for name in ("access.log", "access.log.1", "[odd].log"):
        (tmp_path / name).touch()
    named = log_files([f"{tmp_path}/access.log*", f"{tmp_path}/access.log", "-", f"{tmp_path}/[odd].log"])
    assert named == [f"{tmp_path}/access.log", f"{tmp_path}/access.log.1", "-", f"{tmp_path}/[odd].log"]


@pytest.mark.parametrize("pattern", ["gone.log", "gone.*"])
def test_a_log_that_is_not_there(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match=r"there is no log .*gone"):
        log_files([f"{tmp_path}/{pattern}"])


def test_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"log .* cannot be read \(Is a directory\)"):
        read(tmp_path)
