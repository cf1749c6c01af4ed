"""The classifier: requests in, classes out."""

from __future__ import annotations

import ipaddress
import random
from pathlib import Path

import pytest

from adaptc.core.diagnostics import UsageError
from adaptc.daemons.classify.classifier import AS_PUBLISHED, Classifier, Estimate, Limits, Retrieval, Rules, step
from adaptc.daemons.classify.hits import Hit, container, hits
from adaptc.daemons.classify.prefixes import Prefixes, address_of, cluster_of, read_routes
from adaptc.formats.accesslog.parser import compile_format


def base(at: float, path: str = "/a.html", client: str = "10.1.2.99", acted: bool = False, status: int = 200) -> Hit:
    return Hit(client, at, path, status, 1000, acted, None)


def objects(*times: float, client: str = "10.1.2.99", size: int = 1000) -> list[Hit]:
    return [Hit(client, at, f"/i{number}.png", 200, size, False, None) for number, at in enumerate(times)]


def estimate_after(classifier: Classifier, requests: list[Hit], client: str = "10.1.2.99") -> Estimate:
    list(classifier.feed(requests))
    list(classifier.finish())
    found = classifier.clients[client].estimate
    assert found is not None
    return found


# ---- the worked log of the paper's rule

WORKED = [
    (base(0), (2, 3, 6), 2, 6, "poor"),
    (base(60, "/b.html"), (61, 62), 1.7, 4.8, "normal"),
    (base(120), (120, 121), 1.19, 3.66, "normal"),
    (base(180), (180, 180), 0.833, 2.562, "normal"),
    (base(240, "/b.html"), (240, 241), 0.5831, 2.0934, "normal"),
    (base(300, "/b.html"), (300, 300), 0.40817, 1.46538, "rich"),
    (base(360, "/a.html.gz"), (360, 361), 0.40817, 1.46538, "rich"),
    (base(420), (428, 440), 2.685719, 7.025766, "poor"),
    (base(480), (481, 483), 2.180003, 5.818036, "poor"),
]


def test_the_worked_log() -> None:
    classifier = Classifier(AS_PUBLISHED)
    for page, times, first, last, believed in WORKED:
        found = estimate_after(classifier, [page, *objects(*times)])
        assert (round(found.first, 6), round(found.last, 6)) == (first, last)
        assert found.believed == believed


def test_the_worked_log_as_lines_of_a_log() -> None:
    lines = []
    for page, times, *_ in WORKED:
        for at, path in [(page.at, page.path), *((at, "/x.gif") for at in times)]:
            clock = f"10/Oct/2000:13:{int(at) // 60:02}:{int(at) % 60:02} +0000"
            lines.append(f'10.1.2.99 - - [{clock}] "GET {path} HTTP/1.0" 200 512')
    found = estimate_after(Classifier(AS_PUBLISHED), list(hits(lines, compile_format("common"), frozenset("-"))))
    assert (round(found.first, 6), round(found.last, 6), found.pages) == (2.180003, 5.818036, 8)


# ---- page retrievals


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_clock_that_is_set_costs_the_retrievals_that_go_on_and_no_others(jump: float) -> None:
    classifier = Classifier(AS_PUBLISHED)
    list(classifier.feed([base(7200), *objects(7201)]))
    list(classifier.sweep(7202))
    list(classifier.feed(objects(7203 + jump)))
    for second in range(5, 40, 5):  # pages whose last object comes after several reads of the log
        begun = 7200 + jump + 100 * second
        list(classifier.feed([base(begun), *objects(begun + 6)]))
        list(classifier.sweep(begun + 7))
        list(classifier.feed(objects(begun + 20)))
        list(classifier.sweep(begun + 60))
    (client,) = classifier.clients.values()
    assert client.estimate is not None
    assert client.estimate.first == pytest.approx(6, abs=0.5)
    assert client.estimate.last == pytest.approx(20, abs=2)


def test_the_next_page_ends_a_retrieval() -> None:
    found = estimate_after(Classifier(AS_PUBLISHED), [base(0), *objects(1), base(5, "/b.html"), *objects(7)])
    assert (found.pages, found.last) == (2, pytest.approx(0.7 * 1 + 0.3 * 2))


def test_silence_ends_a_retrieval() -> None:
    found = estimate_after(Classifier(AS_PUBLISHED), [base(0), *objects(1, 31), *objects(62)])
    assert (found.pages, found.last) == (1, 31)


def test_silence_is_noticed_without_further_requests() -> None:
    classifier = Classifier(AS_PUBLISHED)
    list(classifier.feed([base(0), *objects(1)]))
    assert list(classifier.sweep(30)) == []
    assert [verdict.believed for verdict in classifier.sweep(32)] == ["rich"]


def test_what_is_not_used() -> None:
    classifier = Classifier(AS_PUBLISHED)
    list(classifier.feed([base(0), base(1, acted=True), *objects(9), base(20, status=404), *objects(29)]))
    list(classifier.finish())
    assert classifier.clients["10.1.2.99"].estimate is None


def test_pages_may_be_restricted() -> None:
    classifier = Classifier(AS_PUBLISHED, pages=frozenset({"/a.html"}))
    found = estimate_after(classifier, [base(0), *objects(1), base(10, "/b.html"), *objects(19)])
    assert found.pages == 1


def test_clients_do_not_disturb_each_other() -> None:
    mixed = [base(0), base(0, client="10.1.2.7"), *objects(1, client="10.1.2.7"), *objects(6)]
    classifier = Classifier(AS_PUBLISHED)
    assert estimate_after(classifier, mixed).believed == "poor"
    assert estimate_after(classifier, [], "10.1.2.7").believed == "rich"


def test_a_log_that_is_not_in_order_has_no_negative_delays() -> None:
    found = estimate_after(Classifier(AS_PUBLISHED), [base(10), *objects(9)])
    assert (found.first, found.last) == (0, 0)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", True),
        ("/docs/", True),
        ("/docs", True),
        ("/a.html", True),
        ("/v1.2/a.HTM", True),
        ("/index.php", True),
        ("/a.html.gz", False),
        ("/foo.html.p_lc.gz", False),
        ("/a.png", None),
        ("/jquery.min.js", None),
        ("/style.css", None),
        ("/archive.tar.gz", None),
    ],
)
def test_containers_by_their_names(path: str, kind: bool | None) -> None:
    assert container(path) is kind


# ---- warm-up, patience, weight, round-trip time


def test_a_class_is_believed_after_some_pages_and_changes_after_some_more() -> None:
    rules, found, seen = Rules(warm_up=2, patience=2), None, []
    for last in (9, 9, 0, 0, 0, 0, 0, 0):
        found = step(found, Retrieval(0, last), rules)
        seen.append(found.believed)
    # E_last: 9, 9, 6.3, 4.4, 3.1, 2.2, 1.5, 1.1
    assert seen == [None, "poor", "poor", "poor", "normal", "normal", "normal", "rich"]


def test_light_pages_do_not_make_a_slow_client_rich() -> None:
    light = [hit for n in range(40) for hit in (base(1000 + 60 * n), *objects(1001.5 + 60 * n, size=2000))]
    heavy = [
        hit
        for n in range(60)
        for hit in (base(n, client="10.9.9.9"), *objects(*[n + 0.1] * 8, client="10.9.9.9", size=20_000))
    ]
    plain, scaled = Classifier(normalise=False), Classifier()
    assert estimate_after(plain, heavy + light).believed == "normal"
    list(scaled.feed(heavy + light))
    list(scaled.finish())
    assert scaled.clients["10.1.2.99"].estimate is None  # too light to tell anything


def test_delays_are_scaled_to_the_mean_page() -> None:
    heavy = [
        hit
        for n in range(60)
        for hit in (base(n, client="10.9.9.9"), *objects(*[n + 0.1] * 8, client="10.9.9.9", size=20_000))
    ]
    fewer = [base(1000), *objects(*[1001.5] * 6, size=20_000)]
    found = estimate_after(Classifier(), heavy + fewer)
    # four objects are on their way when the last one is asked for: of 8 the half has arrived, of 6 a third
    assert found.last == pytest.approx(1.5 * (11_000 + 240_000 / 2) / (11_000 + 180_000 / 3), rel=0.02)
    assert found.first == pytest.approx(1.5, rel=0.02)
    large = [base(1000)._replace(size=23_000), *objects(*[1001.5] * 8, size=20_000)]
    assert estimate_after(Classifier(), heavy + large).first == pytest.approx(1.5 * 11_000 / 33_000, rel=0.05)
    few = [base(1000), *objects(1001.5, 1001.5, size=20_000)]
    assert estimate_after(Classifier(), heavy + few).last == 4.5  # three times at most


def test_the_round_trip_time_counts_where_it_is_known() -> None:
    assert step(None, Retrieval(0, 0, 0.7), Rules(warm_up=1)).believed == "poor"
    assert step(None, Retrieval(0, 0, 0.3), Rules(warm_up=1)).believed == "normal"
    assert step(None, Retrieval(0, 0, 0.1), Rules(warm_up=1)).believed == "rich"
    assert step(Estimate(0, 0, 0.1, 5, "rich"), Retrieval(0, 0, None), Rules()).rtt == 0.1


# ---- lines of the log


LINE = '10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "{} /a.html HTTP/1.1" 200 5 "-" "Agent =x at=7"'


def read(line: str) -> Hit:
    [found] = hits([line], compile_format(), frozenset({"-", "full"}))
    return found


def test_times_actions_and_round_trips_at_the_end_of_a_line() -> None:
    found = read(LINE.format("GET") + " at=971186136.250 took=0.004s served=lossless/br class=- rtt=250000")
    assert (found.at, found.acted, found.rtt) == (971186136.25, True, 0.25)
    assert not read(LINE.format("GET") + " at=971186136.250 took=1us served=full/br class=-").acted
    assert not read(LINE.format("GET") + " at=971186136.250 took=1us served=- class=-").acted


def test_lines_without_an_end() -> None:
    found = read(LINE.format("GET"))
    assert (found.at, found.acted, found.rtt) == (971186136, False, None)
    assert read(LINE.format("GET") + " at=soon rtt=-").at == 971186136


def test_the_fields_at_the_end_stand_in_any_order() -> None:
    found = read(LINE.format("GET") + " rtt=250000 mine=1 served=text/id at=971186136.250")
    assert (found.at, found.acted, found.rtt) == (971186136.25, True, 0.25)


def test_other_methods_and_other_lines() -> None:
    skipped = [0]
    lines = [LINE.format("POST"), LINE.format("HEAD"), "rubbish", ""]
    assert list(hits(lines, compile_format(), frozenset(), skipped)) == []
    assert skipped == [1]


# ---- clusters


def test_longest_prefix_match() -> None:
    table: Prefixes[str] = Prefixes()
    table.add(ipaddress.ip_network("10.1.0.0/16"), "normal")
    table.add(ipaddress.ip_network("10.1.2.0/24"), "poor")
    table.add(ipaddress.ip_network("2001:db8::/32"), "rich")
    table.add(ipaddress.ip_network("2001:db8:7::/48"), "poor")

    def found(text: str) -> str | None:
        address = address_of(text)
        assert address is not None
        match = table.find(address)
        return match[1] if match else None

    assert [found(text) for text in ("10.1.2.99", "10.1.9.9", "10.2.0.1")] == ["poor", "normal", None]
    assert [found(text) for text in ("2001:db8:7::1", "2001:db8:8::1", "2001:db9::1")] == ["poor", "rich", None]
    assert found("::ffff:10.1.2.99") == "poor"


def test_a_cluster_is_a_route_or_a_fixed_prefix(tmp_path: Path) -> None:
    routes = tmp_path / "routes.txt"
    routes.write_text("# from a routing table\n192.0.2.0/25  AS64496\n\n2001:db8::/32\n")
    table = read_routes(routes)
    for text, network in (
        ("192.0.2.1", "192.0.2.0/25"),
        ("192.0.2.200", "192.0.2.0/24"),
        ("2001:db8:1::1", "2001:db8::/32"),
        ("2001:db9:1:2:3::1", "2001:db9:1:2::/64"),
    ):
        address = address_of(text)
        assert address is not None
        assert str(cluster_of(address, table)) == network


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("10.0.0.0/8\nten\n", "routes.txt:2: 'ten' does not appear"), ("0.0.0.0/0", "default route")],
)
def test_a_routing_table_that_is_none(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "routes.txt").write_text(text)
    with pytest.raises(UsageError, match=complaint):
        read_routes(tmp_path / "routes.txt")


def test_a_cluster_averages_its_members() -> None:
    classifier = Classifier(AS_PUBLISHED)
    list(classifier.feed([base(0), *objects(2), base(0, client="10.1.2.7"), *objects(4, client="10.1.2.7")]))
    list(classifier.finish())
    estimate, _ = classifier.clusters[ipaddress.ip_network("10.1.2.0/24")]
    assert (estimate.pages, estimate.last) == (2, pytest.approx(0.7 * 2 + 0.3 * 4))


def test_a_host_name_has_no_cluster() -> None:
    classifier = Classifier(AS_PUBLISHED)
    estimate_after(classifier, [base(0, client="example.org"), *objects(1, client="example.org")], "example.org")
    assert classifier.clusters == {}


# ---- bounds


def test_memory_is_bounded_and_the_latest_clients_stay() -> None:
    classifier = Classifier(limits=Limits(clients=100))
    list(classifier.feed([base(n, client=f"10.0.{n // 250}.{n % 250}") for n in range(1000)]))
    list(classifier.sweep())
    assert len(classifier.clients) <= 100
    assert "10.0.3.249" in classifier.clients


def test_who_was_not_seen_for_long_is_forgotten() -> None:
    classifier = Classifier(AS_PUBLISHED, Limits(expire=100))
    estimate_after(classifier, [base(0), *objects(1)])
    list(classifier.sweep(90))
    assert classifier.clients
    list(classifier.sweep(300))
    assert (classifier.clients, classifier.clusters) == ({}, {})


# ---- emulated links: the aim of the issue


def emulated(rtt: float, kilobytes: float, client: str, source: random.Random, pages: int = 60) -> list[Hit]:
    """Retrievals over a link: seconds of round trip, kB a second; log times are whole seconds, as servers write."""
    found, at = [], 0.0
    for _ in range(pages):
        at += 60
        found.append(base(int(at), client=client))
        now = at + rtt + 12 / kilobytes
        for size in [source.choice([1, 3, 8, 15]) for _ in range(source.randint(4, 20))]:
            now += rtt / 4 + size / kilobytes  # four connections share the link
            found += objects(int(now), client=client, size=size * 1000)
        at = now
    return found


@pytest.mark.parametrize(
    ("rtt", "kilobytes", "wanted", "share"),
    [(0.25, 7, "poor", 0.97), (0.02, 500, "rich", 0.88), (0.05, 30, "normal", 0.9)],
)
def test_links_get_their_class(rtt: float, kilobytes: float, wanted: str, share: float) -> None:
    classifier, source = Classifier(), random.Random(1)
    verdicts = []
    for number in range(20):
        verdicts += classifier.feed(emulated(rtt, kilobytes, f"10.0.{number}.1", source))
    believed = [one.believed for one in verdicts if one.believed]
    assert believed.count(wanted) / len(believed) >= share
    assert not {"poor", "rich"} <= set(believed)
