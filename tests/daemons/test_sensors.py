"""Sensors: texts of kernels and servers in, numbers out."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from adaptc.daemons.sensors.cpu import (
    CpuCount,
    GroupCpu,
    HostCpu,
    WorkersCpu,
    busy_share,
    parse_cpu_stat,
    parse_proc_stat,
    processes_in,
    processes_of,
    usable_cpus,
)
from adaptc.daemons.sensors.panel import Panel, PassiveOpens, Reading, Sample, difference, parse_snmp
from adaptc.daemons.sensors.status_page import ServerStatus, parse_status
from adaptc.daemons.sensors.waiting import HOST, ListenQueue, Pending, Pressure, open_pressure, parse_pressure

PROC_STAT = "cpu  100 5 45 800 40 2 8 0 30 0\ncpu0 100 5 45 800 40 2 8 0 30 0\nintr 1\n"
SNMP = """Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails
Tcp: 1 200 120000 -1 17 4321 3
"""
APACHE = """localhost
ServerVersion: Apache/2.4.66 (Debian)
Total Accesses: 212
Total kBytes: 1500
BusyWorkers: 3
IdleWorkers: 72
Scoreboard: ___W_
"""
NGINX = """Active connections: 3
server accepts handled requests
 95 95 812
Reading: 0 Writing: 1 Waiting: 2
"""
PSI = "some avg10=0.00 avg60=0.02 avg300=0.00 total=1234567\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


def test_cpu_of_the_host_waiting_for_disks_is_idle() -> None:
    assert parse_proc_stat(PROC_STAT) == CpuCount(160, 1000)


def test_busy_share_of_counted_time_and_of_the_clock() -> None:
    assert busy_share(CpuCount(100, 1000), CpuCount(150, 1100), 5, 1) == 0.5
    assert busy_share(CpuCount(10), CpuCount(12), 2, 4) == 0.25
    assert busy_share(CpuCount(10), CpuCount(99), 2, 4) == 1.0  # more than the clock allows: rounding of the kernel


def test_counters_that_go_back_say_nothing() -> None:
    assert busy_share(CpuCount(150), CpuCount(100), 5, 1) is None
    assert busy_share(CpuCount(1, 9), CpuCount(1, 9), 0, 1) is None


def test_control_groups_version_2(tmp_path: Path) -> None:
    folder = tmp_path / "system.slice/nginx.service"
    folder.mkdir(parents=True)
    (folder / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\nsystem_usec 1\n")
    (folder / "cpu.max").write_text("150000 100000\n")
    found = GroupCpu("/system.slice/nginx.service", 4, tmp_path)
    assert (found.read(), found.cpus) == (CpuCount(2.5, source="group"), 1.5)


def test_control_groups_version_1(tmp_path: Path) -> None:
    for folder in ("cpuacct/web", "cpu/web", "cpuacct/free"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "cpuacct/web/cpuacct.usage").write_text("7000000000\n")
    (tmp_path / "cpuacct/free/cpuacct.usage").write_text("0\n")
    (tmp_path / "cpu/web/cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu/web/cpu.cfs_period_us").write_text("100000\n")
    found = GroupCpu("web", 4, tmp_path)
    assert (found.read(), found.cpus) == (CpuCount(7.0, source="group"), 0.5)
    assert cpus_of("free", 4, tmp_path) == 4


def cpus_of(group: str, most: int, root: Path) -> float:
    sensor = GroupCpu(group, most, root)
    sensor.read()
    return sensor.cpus


@pytest.mark.parametrize("version", [1, 2])
def test_a_control_group_that_ends_with_its_server_and_comes_back(tmp_path: Path, version: int) -> None:
    """systemd removes the group of a service that is stopped; the daemon may also start before the server."""
    folders = [tmp_path / "cpuacct", tmp_path / "cpu"] if version == 1 else [tmp_path]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    sensor = GroupCpu("web", 4, tmp_path)
    panel = Panel(sensor)

    def start(seconds: int, quota: float) -> None:
        for folder in folders:
            (folder / "web").mkdir()
        if version == 1:
            (tmp_path / "cpuacct/web/cpuacct.usage").write_text(f"{seconds}000000000\n")
            (tmp_path / "cpu/web/cpu.cfs_quota_us").write_text(f"{quota * 100000:.0f}\n")
            (tmp_path / "cpu/web/cpu.cfs_period_us").write_text("100000\n")
        else:
            (tmp_path / "web/cpu.stat").write_text(f"usage_usec {seconds}000000\n")
            (tmp_path / "web/cpu.max").write_text(f"{quota * 100000:.0f} 100000\n")

    missing = panel.read(0)
    assert [name for name, _ in missing.failures] == ["cpu"]
    start(50, 1)
    before = panel.read(1)
    assert difference(missing, before, sensor.cpus).cpu is None
    for folder in folders:
        shutil.rmtree(folder / "web")
    assert panel.read(2).cpu is None
    start(1, 2)
    readings = [panel.read(3 + number) for number in range(5)]
    assert sensor.cpus == 2  # its quota was changed meanwhile
    assert difference(before, readings[0], sensor.cpus).cpu is None  # it counts from 0 again
    assert difference(readings[0], readings[1], sensor.cpus).cpu == 0


def test_quotas(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 1\n")
    assert cpus_of("", 8, tmp_path) == 8
    for text, cpus in (("max 100000\n", 8), ("25000 100000\n", 0.25), ("900000 100000\n", 8)):
        (tmp_path / "cpu.max").write_text(text)
        assert cpus_of("", 8, tmp_path) == cpus


def test_a_group_of_few_threads_is_full_when_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker of nginx never uses more than one CPU: as a share of the host's 8 it would never be above .125."""
    monkeypatch.setattr("adaptc.daemons.sensors.cpu.allowed_cpus", lambda _process: 8.0)
    (tmp_path / "web").mkdir()
    (tmp_path / "web/cpu.stat").write_text("usage_usec 1\n")
    (tmp_path / "web/cgroup.procs").write_text("10\n11\n")
    processes(tmp_path / "proc", p10=(1, 1), p11=(10, 1))
    sensor = GroupCpu("web", 8, tmp_path, tmp_path / "proc")
    sensor.read()
    assert sensor.cpus == 1


def test_passive_opens() -> None:
    assert parse_snmp(SNMP) == 4321


def test_pages_of_servers() -> None:
    assert parse_status(APACHE) == ServerStatus(212, 1500, None, 72)
    assert parse_status("BusyWorkers: 3\nIdleWorkers: 0\n") == ServerStatus(idle=0)  # ExtendedStatus Off
    assert parse_status(NGINX) == ServerStatus(812, None, 95, None)


def test_pressure() -> None:
    assert parse_pressure(PSI) == 1234567


def test_pressure_is_that_of_the_group_where_it_has_one(tmp_path: Path) -> None:
    (tmp_path / "cpuacct").mkdir()  # version 1
    assert open_pressure("web", tmp_path).path == open_pressure("", tmp_path).path == HOST
    (tmp_path / "cpuacct").rmdir()
    (tmp_path / "web").mkdir()
    (tmp_path / "web/cpu.pressure").write_text(PSI)
    assert open_pressure("web", tmp_path).read() == 1234567
    assert open_pressure("web", tmp_path).remark == ""
    assert open_pressure("", tmp_path).remark.startswith(
        "pressure: it is the host's, in which other programs wait, too"
    )


@pytest.mark.parametrize("parse", [parse_proc_stat, parse_cpu_stat, parse_snmp, parse_status, parse_pressure])
def test_other_texts_are_refused(parse) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):
        parse("<html> 404\n")


# ---- together


def test_a_sample_is_the_difference_of_two_readings() -> None:
    before = Reading(10, CpuCount(1), 100, ServerStatus(idle=3), {"pressure": 1_000_000})
    now = Reading(12, CpuCount(2), 130, ServerStatus(idle=2), {"pressure": 1_500_000})
    assert difference(before, now, 2) == Sample(12, 0.25, 15, 2, {"pressure": 0.25})


def test_the_first_reading_has_only_idle_workers() -> None:
    assert difference(None, Reading(1, CpuCount(5), 7, ServerStatus(idle=4), {"pressure": 9}), 1) == Sample(1, idle=4)


def test_connections_that_the_server_counts_come_before_those_of_the_kernel() -> None:
    before = Reading(0, opens=0, status=ServerStatus(connections=50))
    assert difference(before, Reading(1, opens=900, status=ServerStatus(connections=60)), 1).rate == 10


def test_a_server_that_was_started_again_has_no_rate_for_once() -> None:
    assert difference(Reading(0, opens=50), Reading(1, opens=2), 1).rate is None


def test_a_sensor_that_fails_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(PROC_STAT)
    (tmp_path / "psi").write_text("nonsense")
    limits = {"pressure": Pressure(tmp_path / "psi")}
    panel = Panel(HostCpu(tmp_path / "stat"), PassiveOpens(tmp_path / "gone"), limits=limits)
    reading = panel.read(1)
    assert (reading.cpu, reading.opens, reading.counters) == (CpuCount(160, 1000), None, {})
    assert [name for name, _ in reading.failures] == ["connections", "pressure"]


def test_a_counter_is_compared_with_itself_only() -> None:
    """A lost page made a rate of the difference between the server's connections and the kernel's: 98,624 a second."""
    page = ServerStatus(connections=1_000, at=10.0)
    before = Reading(10, opens=50_000, status=page)
    lost = Reading(11, opens=50_080, status=page, unanswered=True)
    assert difference(before, lost, 1).rate is None
    assert difference(before, lost, 1).unanswered == 1
    gone = Reading(11, opens=50_080)
    assert difference(before, gone, 1).rate is None
    assert difference(gone, Reading(12, opens=50_160, status=ServerStatus(connections=1_160)), 1).rate is None
    back = Reading(12, opens=50_160, status=ServerStatus(connections=1_160, at=12.0))
    assert difference(lost, back, 1).rate == 80
    assert difference(gone, Reading(13, opens=50_240), 1).rate == 80


def test_cpu_seconds_of_two_sources_have_no_difference() -> None:
    assert busy_share(CpuCount(5, source="workers"), CpuCount(900), 1, 2) is None


def test_quotas_of_groups_above_count(tmp_path: Path) -> None:
    folder = tmp_path / "system.slice/web"
    folder.mkdir(parents=True)
    (folder / "cpu.stat").write_text("usage_usec 1\n")
    (folder.parent / "cpu.max").write_text("200000 100000\n")
    assert cpus_of("system.slice/web", 8, tmp_path) == 2
    (folder.parent / "cpu.max").write_text("max 100000\n")
    assert cpus_of("system.slice/web", 8, tmp_path) == 8


def processes(proc: Path, title: str = "worker process", **rows: tuple[int, int]) -> None:
    """Write /proc of processes ``pNUMBER=(parent, threads)`` of nginx, which gives itself a title and fills it up."""
    for name, (parent, threads) in rows.items():
        folder = proc / name[1:]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "comm").write_text("nginx\n")
        (folder / "cmdline").write_text(f"nginx: {title}\0\0\0")
        fields = ["S", str(parent), *["0"] * 15, str(threads), "0", f"start{name}", "0"]
        (folder / "stat").write_text(f"{name[1:]} (nginx) {' '.join(fields)}\n")


def test_the_processes_of_a_server_are_counted_through_a_reload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptc.daemons.sensors.cpu.allowed_cpus", lambda _process: 4.0)
    used = {10: 1.0, 11: 100.0}
    processes(tmp_path, p10=(1, 1), p11=(10, 1))
    (tmp_path / "stat").write_text("cpu 5 0 0 5 0 0 0 0\n")
    sensor = WorkersCpu({"nginx"}, proc=tmp_path, seconds=used.__getitem__, host=HostCpu(tmp_path / "stat"))
    assert sensor.read() == CpuCount(0.0, source="workers")
    assert sensor.cpus == 1.0  # one worker has one thread; the master only waits
    used[11] += 0.5
    assert sensor.read().busy == 0.5
    shutil.rmtree(tmp_path / "11")  # a reload: the old worker ends, a new one begins
    processes(tmp_path, p12=(10, 1))
    used[12] = 0.25
    counts = [sensor.read().busy for _ in range(5)]
    assert counts == sorted(counts)
    assert counts[-1] == 0.75
    for number in (10, 12):
        shutil.rmtree(tmp_path / str(number))
    assert sensor.read() == CpuCount(5, 10)  # the host


def test_processes_of_nginx_that_take_no_requests_have_no_cpu_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one worker that is busy all the time would count as half busy while an old one sends what it has begun."""
    monkeypatch.setattr("adaptc.daemons.sensors.cpu.allowed_cpus", lambda _process: 8.0)
    processes(tmp_path, "master process /usr/sbin/nginx -g daemon off;", p10=(1, 1))
    processes(tmp_path, p11=(10, 1), p12=(10, 1))
    for number, title in enumerate(
        ("worker process is shutting down", "cache manager process", "cache loader process")
    ):
        processes(tmp_path, title, **{f"p{20 + number}": (10, 1)})
    assert usable_cpus([10, 11, 12, 20, 21, 22], tmp_path) == 2
    assert usable_cpus([10, 20], tmp_path) == 0


FOREIGN = 999  # inode of a socket of another server, at which 129 connections wait


def tables(proc: Path, **queues: int) -> None:
    """Write /proc/net/tcp with a socket that listens for each ``iINODE=length``, and the foreign one."""
    (proc / "net").mkdir(exist_ok=True)
    rest = "00:00000000 00000000     0        0"
    rows = [f"0100007F:0050 00000000:0000 0A 00000000:{length:08X} {rest} {inode[1:]} 1 0 100 0 0 10 0"
            for inode, length in {f"i{FOREIGN}": 129, **queues}.items()]  # fmt: skip
    rows.append(f"0100007F:0050 0100007F:1234 01 00000000:00009999 {rest} 5 1 0 20 4 30 10 -1")
    (proc / "net/tcp").write_text("head\n" + "".join(f"  {number}: {row}\n" for number, row in enumerate(rows)))


def opened(proc: Path, process: int, *inodes: int) -> None:
    """Give a process descriptors: a file, and sockets."""
    folder = proc / str(process) / "fd"
    folder.mkdir(exist_ok=True)
    for number, target in enumerate(["/dev/null", "pipe:[7]", *(f"socket:[{inode}]" for inode in inodes)]):
        (folder / str(number)).unlink(missing_ok=True)
        (folder / str(number)).symlink_to(target)


def queue_of_nginx(proc: Path) -> ListenQueue:
    return ListenQueue(lambda: processes_of({"nginx"}, proc), proc)


def test_only_the_queues_of_the_server_count(tmp_path: Path) -> None:
    processes(tmp_path, p10=(1, 1), p11=(10, 1))
    opened(tmp_path, 10, 50, 51)
    tables(tmp_path, i50=3, i51=7)
    sensor = queue_of_nginx(tmp_path)
    assert (sensor.read(), sensor.remark) == (7, "")


def test_workers_are_looked_at_where_their_parent_has_no_socket_that_listens(tmp_path: Path) -> None:
    processes(tmp_path, p10=(1, 1), p11=(10, 1))
    opened(tmp_path, 10, 77)
    opened(tmp_path, 11, 50)
    tables(tmp_path, i50=3)
    assert queue_of_nginx(tmp_path).read() == 3


def test_a_restart_is_found_at_once_and_a_new_socket_soon(tmp_path: Path) -> None:
    processes(tmp_path, p10=(1, 1))
    opened(tmp_path, 10, 50)
    tables(tmp_path, i50=3)
    sensor = queue_of_nginx(tmp_path)
    assert sensor.read() == 3
    shutil.rmtree(tmp_path / "10")
    processes(tmp_path, p20=(1, 1))
    opened(tmp_path, 20, 60)
    tables(tmp_path, i60=5)
    assert sensor.read() == 5
    opened(tmp_path, 20, 60, 61)
    tables(tmp_path, i60=5, i61=9)
    assert 9 in [sensor.read() for _ in range(5)]


def test_a_server_that_listens_nowhere_has_no_queue(tmp_path: Path) -> None:
    processes(tmp_path, p10=(1, 1))
    opened(tmp_path, 10)
    tables(tmp_path)
    sensor = queue_of_nginx(tmp_path)
    assert (sensor.read(), sensor.remark) == (0, "")


def test_all_queues_count_where_the_servers_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables(tmp_path)
    unknown = queue_of_nginx(tmp_path)
    assert unknown.read() == 129
    assert unknown.remark.startswith("listen_queue: which sockets are the server's is not known")

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    processes(tmp_path, p10=(1, 1))
    monkeypatch.setattr("adaptc.daemons.sensors.waiting.os.scandir", refuse)
    hidden = queue_of_nginx(tmp_path)
    assert (hidden.read(), hidden.remark) == (129, unknown.remark)


def test_the_queue_of_a_real_socket_is_that_of_its_process() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server, socket.create_server(("127.0.0.1", 0)) as other:
        own = ListenQueue(lambda: [os.getpid()])
        with socket.create_connection(server.getsockname()), socket.create_connection(server.getsockname()):
            assert own.read() == 2
            assert own.remark == ""
        assert other.fileno() > 0
    with subprocess.Popen(["sleep", "60"]) as foreign:  # descriptors are not inherited
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
            assert ListenQueue(lambda: [foreign.pid]).read() == 0
        foreign.kill()


def test_views_wait_in_accepted_connections_whose_requests_are_unread(tmp_path: Path) -> None:
    processes(tmp_path, p10=(1, 1))
    opened(tmp_path, 10, 50)
    tables(tmp_path, i50=3)  # and one connection with unread bytes
    assert queue_of_nginx(tmp_path).views() == 3.5


def test_the_queue_of_a_server_in_a_container_is_that_of_its_network_namespace(tmp_path: Path) -> None:
    processes(tmp_path, p10=(1, 1), p11=(10, 1))
    opened(tmp_path, 10, 50)
    tables(tmp_path)  # of the daemon's namespace
    tables(tmp_path / "10", i50=7)
    tables(tmp_path / "11", i50=7)
    sensor = queue_of_nginx(tmp_path)
    assert (sensor.read(), sensor.remark) == (7, "")
    tables(tmp_path / "10", i50=9)
    assert sensor.read() == 9


@pytest.mark.parametrize("version", [1, 2])
def test_processes_of_a_control_group_and_those_below_it(tmp_path: Path, version: int) -> None:
    folder = tmp_path / "cpuacct/web" if version == 1 else tmp_path / "web"
    (folder / "sub").mkdir(parents=True)
    (folder / "cgroup.procs").write_text("10\n0\n")
    (folder / "sub/cgroup.procs").write_text("11\n")
    assert sorted(processes_in("/web", tmp_path)) == [10, 11]


def scheduled(proc: Path, process: int, *threads: float) -> None:
    """Give a process threads that have so many seconds in which they ran, or waited to."""
    for number, seconds in enumerate(threads):
        task = proc / str(process) / "task" / str(process + number)
        task.mkdir(parents=True, exist_ok=True)
        (task / "schedstat").write_text(f"{seconds * 0.1e9:.0f} {seconds * 0.9e9:.0f} 7\n")


def test_work_that_is_pending_counts_whatever_cpu_the_server_gets(tmp_path: Path) -> None:
    sensor = Pending(lambda: [10, 11], tmp_path)
    scheduled(tmp_path, 10, 0.0)  # nginx's parent, which only waits
    scheduled(tmp_path, 11, 5.0)
    assert sensor.share(1.0) is None
    scheduled(tmp_path, 11, 5.9)
    assert sensor.share(1.0) == pytest.approx(0.9)
    scheduled(tmp_path, 11, 6.2)
    assert sensor.share(1.0) == pytest.approx(0.3)


def test_threads_that_share_a_cpu_are_pending_by_their_mean_number(tmp_path: Path) -> None:
    sensor = Pending(lambda: [10], tmp_path)
    scheduled(tmp_path, 10, 1.0, 1.0, 1.0)
    sensor.share(1.0)
    scheduled(tmp_path, 10, 1.5, 1.9, 1.6)
    assert sensor.share(1.0) == pytest.approx(2 / 3, abs=0.001)


def test_threads_with_a_cpu_each_are_not_pending_for_more_than_they_use(tmp_path: Path) -> None:
    sensor = Pending(lambda: [10], tmp_path)
    scheduled(tmp_path, 10, *[1.0] * 16)
    sensor.share(1.0, 16)
    scheduled(tmp_path, 10, *[1.4] * 16)  # 6.4 of 16 CPUs are at work
    assert sensor.share(1.0, 16) == pytest.approx(0.4, abs=0.01)


def test_a_kernel_that_does_not_count_what_waits_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "10/task/10").mkdir(parents=True)
    sensor = Pending(lambda: [10], tmp_path)
    assert [sensor.share(1.0) for _ in range(7)] == [None] * 7


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count what waits")
def test_a_busy_process_is_pending_all_the_time() -> None:
    sensor = Pending(lambda: [os.getpid()])
    begun = time.monotonic()
    sensor.share(1.0)
    while time.monotonic() < begun + 0.2:
        pass
    assert (sensor.share(time.monotonic() - begun) or 0) > 0.4  # whatever else the machine does
