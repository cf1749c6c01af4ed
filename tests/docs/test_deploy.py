"""The recipes of examples/deploy, each run as it stands, with stand-ins for the network."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from configparser import ConfigParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import click
import pytest
import yaml

from tests.places import EXAMPLES, ROOT
from tests.servers import web
from tests.sites.built import BuiltSite

from adaptc.cli.main import cli

RECIPES = EXAMPLES / "deploy"
FILES = {
    "index.html": "<!DOCTYPE html>\n<html lang=en><title>a</title>\n<p>  a page\n",
    "one.css": ".a  {  color : #112233 }\n" * 9,
}

# What rsync and ssh do in the recipe, on one machine. rsync is used where it is installed.
SSH = '#!/bin/sh\nshift\nexec sh -c "$*"\n'
RSYNC = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
mkdir -p "${2#*:}"
cp -a "$1." "${2#*:}"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a site in public/, and adaptc, ssh and pip on the path."""
    site = BuiltSite(tmp_path).write(FILES)
    site.docroot.rename(tmp_path / "public")
    scripts = {"adaptc": f'#!/bin/sh\nexec {sys.executable} -P -m adaptc "$@"\n', "ssh": SSH, "pip": "#!/bin/sh\n"}
    (tmp_path / "bin").mkdir()
    if shutil.which("rsync") is None:
        scripts["rsync"] = RSYNC
    for name, text in scripts.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def shell(place: Path, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{place}/bin:{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}
    return subprocess.run(command, cwd=place, env=given, capture_output=True, text=True, check=False)


def run(place: Path, command: list[str], **environment: str) -> str:
    done = shell(place, command, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class _Strict(yaml.SafeLoader):
    """Refuses a key that stands twice."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]  # type: ignore[no-untyped-call]
    assert len(keys) == len(set(keys)), keys
    return dict(loader.construct_pairs(node, deep=True))  # type: ignore[no-untyped-call]


_Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.load((RECIPES / name).read_text(), _Strict)
    return found


def test_make(place: Path) -> None:
    make = ["make", "-f", str(RECIPES / "Makefile")]
    assert shell(place, [*make, "check"]).returncode != 0
    run(place, [*make, "opt", "check"])
    (place / "public/index.html").write_text("changed")
    assert "tree-stale" in shell(place, [*make, "check"]).stderr


def test_github(place: Path) -> None:
    workflow = read("github.yml")
    assert set(workflow) == {"name", True, "permissions", "env", "jobs"}  # YAML 1.1 reads the key "on" as true
    (job,) = workflow["jobs"].values()
    assert set(job) == {"runs-on", "timeout-minutes", "steps"}
    for one in job["steps"]:
        assert set(one) <= {"name", "uses", "with", "run"}
        assert ("uses" in one) != ("run" in one)
        assert "@v" in one.get("uses", "@v")
    commands = [one["run"] for one in job["steps"] if "run" in one]
    printed = [run(place, ["bash", "-e", "-c", command]) for command in commands]
    assert printed[-1].startswith("::notice title=adaptc check::fresh")
    if linter := shutil.which("actionlint"):  # the judge of such files, where there is one
        run(place, [linter, str(RECIPES / "github.yml")])


def _action_steps() -> list[dict[str, Any]]:
    action = read("action/action.yml")
    assert set(action) == {"name", "description", "inputs", "outputs", "runs"}
    assert all(set(one) == {"description", "default"} for one in action["inputs"].values())
    steps: list[dict[str, Any]] = action["runs"]["steps"]
    assert all(set(one) <= {"id", "name", "if", "uses", "with", "shell", "env", "run"} for one in steps)
    assert all(one.get("shell") == "bash" for one in steps if "run" in one)
    return steps


def _run_action(place: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the steps of the action one after the other, as GitHub does; return the last one or the first that failed."""
    defaults = {name: one["default"] for name, one in read("action/action.yml")["inputs"].items()}
    given = {**defaults, **inputs}
    surroundings = {"RUNNER_TEMP": str(place), "GITHUB_STEP_SUMMARY": str(place / "summary.md")}
    surroundings |= {"GITHUB_ACTION_PATH": str(RECIPES / "action"), "GITHUB_REPOSITORY": "me/site"}
    surroundings |= {"GITHUB_OUTPUT": str(place / "output.txt"), "GITHUB_SERVER_URL": f"file://{place}/host"}
    failed = None
    for one in _action_steps():
        condition = one.get("if", "")
        is_asked_for = "inputs.pictures != ''" not in condition or given["pictures"]
        if "run" not in one or not is_asked_for or (failed and not condition.startswith("always()")):
            continue
        environment = {name: str(value) for name, value in one.get("env", {}).items()}
        for name, value in {
            **{f"inputs.{key}": value for key, value in given.items()},
            "github.event.number": "7",
        }.items():
            environment = {key: text.replace(f"${{{{ {name} }}}}", value) for key, text in environment.items()}
        assert not [text for text in environment.values() if "${{" in text.replace("${{ github.token }}", "")]
        done = shell(place, ["bash", "-eo", "pipefail", "-c", one["run"]], **surroundings, **environment)
        failed = failed or (done if done.returncode else None)
    return failed or done


# A stand-in for gh: a folder of comments, of which it lists those that begin with the marker
GH = """#!/bin/sh
echo "$@" >> gh.args
mkdir -p comments
case "$*" in
*--jq*) cd comments && grep -lFx -- "$MARKER" * 2> /dev/null ;;
*PATCH*) cp "${6#body=@}" "comments/${4##*/}" ;;
*) cp "${6#body=@}" "comments/$(ls comments | wc -l)" ;;
esac
exit 0
"""


def test_the_action_builds_checks_comments_and_exports(place: Path) -> None:
    (place / "bin/gh").write_text(GH)
    (place / "bin/gh").chmod(0o755)
    done = _run_action(place, comment="true", dest="www", prove="0")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (place / "www").iterdir()) == ["index.html", "one.css"]
    assert (place / "www/one.css").stat().st_size < (place / "public/one.css").stat().st_size
    assert "web" in (place / "summary.md").read_text()
    assert "repos/me/site/issues/7/comments" in (place / "gh.args").read_text()
    shutil.copytree(place / "public", place / "other")
    for site in ("other", "public"):  # another site has a comment of its own, and the same site replaces its own
        assert _run_action(place, comment="true", dest=f"www-{site}", prove="0", site=site).returncode == 0
    comments = sorted((place / "comments").iterdir())
    assert [file.read_text().splitlines()[0] for file in comments] == [
        "<!-- adaptc ci: public -->",
        "<!-- adaptc ci: other -->",
    ]
    assert (place / "output.txt").read_text().splitlines() == ["slug=public", "slug=other", "slug=public"]


def test_the_action_compares_with_the_last_push(place: Path) -> None:
    """The step that keeps the manifest ran on the branch; the caches of GitHub bring it to the pull request."""
    (place / "adaptc.toml").write_text("[budgets.web]\npage_growth = 20\n")
    (place / "bin/gh").write_text(GH)
    (place / "bin/gh").chmod(0o755)
    assert _run_action(place, prove="0").returncode == 0
    assert (place / "opt/baseline-public.json").is_file()
    (place / "public/index.html").write_text(FILES["index.html"] + "<p>" + " ".join(map(str, range(300))))
    done = _run_action(place, prove="0", comment="true")
    assert done.returncode == 1
    assert "::error file=public/index.html,title=budget-growth::" in done.stdout
    (comment,) = (place / "comments").iterdir()
    assert "| index.html | web | bytes |" in comment.read_text()
    assert "| bytes a page, last 2 runs |" in comment.read_text()


@pytest.mark.chromium
def test_comments_show_pictures_of_changed_pages(place: Path, chromium: str) -> None:
    (place / "bin/gh").write_text(GH)
    (place / "bin/gh").chmod(0o755)
    repository = place / "host/me/site.git"
    run(place, ["git", "init", "--quiet", "--bare", str(repository)])
    (place / "public/other.html").write_text(FILES["index.html"])
    assert _run_action(place, prove="0").returncode == 0
    for words in ("some other words", "and others again"):
        (place / "public/other.html").write_text(FILES["index.html"] + words)
        done = _run_action(place, prove="1", comment="true", pictures="adaptc-pictures", site="public")
        assert done.returncode == 0, done.stdout + done.stderr
        names = run(place, ["git", "-C", str(repository), "ls-tree", "-r", "--name-only", "adaptc-pictures"]).split()
        (comment,) = (place / "comments").iterdir()
        text = comment.read_text()
        assert "<details><summary>other.html, as it is now</summary>" in text
        shown = re.findall(r'<img src="([^"]+)"', text)
        assert sorted(shown) == [f"file://{place}/host/me/site/raw/adaptc-pictures/{name}" for name in sorted(names)]
        assert names
        assert all(name.startswith("7/public/") for name in names)
        assert run(place, ["git", "-C", str(repository), "rev-list", "--count", "adaptc-pictures"]) == "1\n"
        # what a push keeps
        shutil.copy(place / "opt/public/manifest.json", place / "opt/baseline-public.json")


def test_the_action_fails_where_a_budget_is_exceeded_and_says_so_in_the_summary(place: Path) -> None:
    (place / "adaptc.toml").write_text("[budgets.web]\npage_bytes = 10\n")
    (place / "bin/gh").write_text(GH)
    (place / "bin/gh").chmod(0o755)
    done = _run_action(place, prove="0")
    assert done.returncode == 1
    assert "::error" in done.stdout
    assert "web" in (place / "summary.md").read_text()
    assert not (place / "adapted").exists()


def test_the_workflow_for_pages_uses_the_action_and_publishes_what_it_exports(place: Path) -> None:
    jobs = read("pages.yml")["jobs"]
    assert set(jobs) == {"site", "publish"}
    (own,) = (one for one in jobs["site"]["steps"] if "adaptc" in one.get("uses", ""))
    assert own["uses"] == "OWNER/adaptc/examples/deploy/action@main"
    assert set(own["with"]) <= set(read("action/action.yml")["inputs"])
    (upload,) = (one for one in jobs["site"]["steps"] if "upload" in one.get("uses", ""))
    assert upload["with"]["path"] == read("action/action.yml")["inputs"]["dest"]["default"]
    if linter := shutil.which("actionlint"):
        run(place, [linter, str(RECIPES / "pages.yml")])


def test_github_annotates_what_is_not_fresh(place: Path) -> None:
    (job,) = read("github.yml")["jobs"].values()
    *_, check = (one["run"] for one in job["steps"] if "run" in one)
    done = shell(place, ["bash", "-e", "-c", check])
    assert done.returncode == 1
    assert "::error file=public/index.html,title=tree-missing::" in done.stdout


def test_gitlab(place: Path) -> None:
    jobs = read("gitlab-ci.yml")
    job, baseline = jobs["trees"], jobs["baseline"]
    assert set(job) == {"image", "variables", "cache", "before_script", "script", "artifacts", "rules", "after_script"}
    (place / "adaptc.toml").write_text("[budgets.full]\npage_growth = 20\n[browser]\nprogram = '/none'\n")
    script = ["bash", "-e", "-c", "\n".join([*job["before_script"], *job["script"]])]
    run(place, script)
    report = (place / job["artifacts"]["reports"]["junit"]).read_text()
    assert "budget-unchecked" in report
    run(place, ["bash", "-e", "-c", "\n".join(baseline["script"])])
    assert (place / baseline["cache"]["paths"][0]).is_file()
    run(place, script)
    assert 'failures="0"' in (place / job["artifacts"]["reports"]["junit"]).read_text()
    (place / "public/index.html").write_text(FILES["index.html"] + "<p>" + " ".join(map(str, range(300))))
    assert shell(place, script).returncode == 1
    assert "budget-growth" in (place / "summary.md").read_text()


def test_forgejo(place: Path) -> None:
    (job,) = read("forgejo.yml")["jobs"].values()
    *_, keep, ci, _ = (one["run"] for one in job["steps"] if "run" in one)
    (place / "adaptc.toml").write_text("[browser]\nprogram = '/none'\n")
    for _ in range(2):
        run(place, ["bash", "-e", "-c", keep])
        assert run(place, ["bash", "-e", "-c", ci]).startswith("::notice title=adaptc ci::")
    assert (place / "baseline.json").is_file()


class _Comments(BaseHTTPRequestHandler):
    """A stand-in for GitLab and Forgejo: the bodies of comments by number, and what was asked for."""

    bodies: ClassVar[dict[int, str]] = {}
    asked: ClassVar[list[tuple[str, str, str]]] = []

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        token = self.headers.get("PRIVATE-TOKEN") or self.headers["Authorization"]
        self.asked.append((self.command, self.path.partition("?")[0], token))
        if size:
            last = self.path.rpartition("/")[2]
            self.bodies[int(last) if last.isdigit() else len(self.bodies) + 1] = json.loads(self.rfile.read(size))[
                "body"
            ]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps([{"id": key, "body": text} for key, text in self.bodies.items()]).encode())

    do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    _Comments.bodies, _Comments.asked = {1: "of a person"}, []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Comments) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api"
        server.shutdown()


def test_gitlab_and_forgejo_replace_their_comment(place: Path, host: str) -> None:
    (after,) = read("gitlab-ci.yml")["trees"]["after_script"]
    (job,) = read("forgejo.yml")["jobs"].values()
    *_, comment = (one for one in job["steps"] if "run" in one)
    assert set(comment["env"]) == {"TOKEN", "NUMBER"}
    gitlab = {"CI_API_V4_URL": host, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7", "ADAPTC_TOKEN": "secret"}
    forgejo = {"GITHUB_API_URL": host, "GITHUB_REPOSITORY": "me/site", "NUMBER": "7", "TOKEN": "secret"}
    shell(place, ["bash", "-c", after], **{**gitlab, "ADAPTC_TOKEN": ""})
    assert _Comments.asked == []
    for script, surroundings, token, changes in (
        (
            after,
            gitlab,
            "secret",
            [("POST", "projects/5/merge_requests/7/notes"), ("PUT", "projects/5/merge_requests/7/notes/2")],
        ),
        (
            comment["run"],
            forgejo,
            "token secret",
            [("POST", "repos/me/site/issues/7/comments"), ("PATCH", "repos/me/site/issues/comments/2")],
        ),
    ):
        _Comments.bodies, _Comments.asked = {1: "of a person"}, []
        for words in ("first", "sécond"):
            (place / "summary.md").write_text(f"<!-- adaptc ci: docs -->\n{words}\n", "utf-8")
            run(place, ["bash", "-e", "-c", script], **surroundings)
        assert _Comments.bodies == {1: "of a person", 2: "<!-- adaptc ci: docs -->\nsécond\n"}
        assert [(method, f"/api/{path}", token) for method, path in changes] == [
            asked for asked in _Comments.asked if asked[0] != "GET"
        ]


def test_the_release_is_of_the_version_that_its_tag_names() -> None:
    from adaptc.core.version import VERSION

    workflow = yaml.load((ROOT / ".github/workflows/release.yml").read_text(), _Strict)
    (check,) = (one["run"] for one in workflow["jobs"]["build"]["steps"] if one.get("name", "").startswith("The tag"))
    for tag, code in ((f"v{VERSION}", 0), ("v0.0.0", 1)):
        surroundings = {"GITHUB_REF_NAME": tag, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        given = {**os.environ, **surroundings}
        assert subprocess.run(["bash", "-c", check], cwd=ROOT, env=given, check=False).returncode == code
    for name, job in workflow["jobs"].items():
        assert ("id-token" in job.get("permissions", {})) == (name in ("python", "npm"))


def test_the_release_writes_a_formula_with_the_digest_of_its_archive(tmp_path: Path) -> None:
    workflow = yaml.load((ROOT / ".github/workflows/release.yml").read_text(), _Strict)
    (step,) = (one["run"] for one in workflow["jobs"]["build"]["steps"] if "Homebrew" in one.get("name", ""))
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/adaptc-1.2.3.tar.gz").write_bytes(b"archive")
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    surroundings = {"GITHUB_REPOSITORY": "me/adaptc", "GITHUB_REF_NAME": "v1.2.3"}
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step], cwd=tmp_path, env={**os.environ, **surroundings}, check=True
    )
    formula = (tmp_path / "adaptc.rb").read_text()
    assert "@" not in formula.replace("python@3.13", "")
    assert 'url "https://github.com/me/adaptc/releases/download/v1.2.3/adaptc-1.2.3.tar.gz"' in formula
    assert f'sha256 "{hashlib.sha256(b"archive").hexdigest()}"' in formula
    manifest = (ROOT / "MANIFEST.in").read_text()
    assert "requirements.lock" in manifest and re.search(r"recursive-include docs .*[*][.]1", manifest)
    if ruby := shutil.which("ruby"):
        run(tmp_path, [ruby, "-c", "adaptc.rb"])


def test_the_hook_runs_a_command_that_there_is() -> None:
    (hook,) = yaml.load((ROOT / ".pre-commit-hooks.yaml").read_text(), _Strict)
    program, command = hook["entry"].split()
    assert program == "adaptc" and cli.get_command(click.Context(cli), command)
    assert not hook["pass_filenames"]


def test_the_image_is_made_of_files_that_there_are() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert 'ENTRYPOINT ["adaptc"]' in lines
    assert (ROOT / "requirements.lock").is_file() and any("-r requirements.lock" in line for line in lines)


def test_a_push_publishes(place: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    run(place, ["git", "init", "-q", "--bare", "site.git"])
    shutil.copy(RECIPES / "post-receive", place / "site.git/hooks/post-receive")
    work = place / "public"
    run(work, ["git", "init", "-q", "-b", "main"])
    where = {"SITE": str(place / "www"), "OPT": str(place / "opt"), "PATH": f"{place}/bin:{os.environ['PATH']}"}
    for text in ("first", "second"):
        (work / "index.html").write_text(f"<!DOCTYPE html><title>a</title><p>{text}")
        if text == "second":
            (work / "one.css").unlink()
        run(work, [*git, "add", "-A"])
        run(work, [*git, "commit", "-q", "-m", text])
        run(work, ["git", "push", "-q", str(place / "site.git"), "main"], **where)
        assert text in (place / "opt/lossless/id/index.html").read_text()
        run(place, ["adaptc", "check", "www", "-o", "opt"])
        (place / "opt/run").mkdir(exist_ok=True)
        (place / "opt/run/opt.do").touch()  # switched on by the time of the second push
    assert (place / "opt/run/opt.do").exists()
    assert not (place / "www/one.css").exists()


def test_a_release_is_swapped_in(place: Path) -> None:
    release = [str(RECIPES / "release.sh"), "public", "opt", "server", str(place / "srv")]
    assert shell(place, [*release, "1"]).returncode == 1  # not built: nothing is released
    assert not (place / "srv").exists()
    for name, text in (("1", "first"), ("2", "other")):
        (place / "public/index.html").write_text(f"<!DOCTYPE html><title>a</title><p>{text}")
        run(place, ["adaptc", "build", "public", "-o", "opt"])
        for file in (each for top in ("public", "opt") for each in (place / top).rglob("*") if each.is_file()):
            os.utime(file, ns=(0, file.stat().st_mtime_ns % 10**9))  # in one second, as fast machines may
        assert run(place, [*release, name]) == f"{name} is served\n"
        current = place / "srv/current"
        assert os.readlink(current) == f"releases/{name}"
        assert text in (current / "opt/lossless/id/index.html").read_text()
        run(place, ["adaptc", "check", str(current / "site"), "-o", str(current / "opt")])
        (place / "srv/state/opt.do").touch()
    assert (place / "srv/state/opt.do").exists()
    assert "first" in (place / "srv/releases/1/site/index.html").read_text()


# ---- containers


def test_containers_share_the_trees_and_the_run_directory(place: Path) -> None:
    compose = read("docker/compose.yaml")
    services = compose["services"]
    assert set(services) == {"build", "nginx", "watch", "switch"}
    for name in set(services) - {"nginx"}:
        assert cli.get_command(click.Context(cli), services[name]["command"][0])
        assert services[name]["volumes"] == services["build"]["volumes"]
    assert set(services["nginx"]["volumes"]) >= {"./site:/srv/site:ro", "opt:/srv/opt:ro"}
    assert "opt:/srv/opt" in services["build"]["volumes"] and "opt" in compose["volumes"]
    file = (RECIPES / "docker/Dockerfile").read_text()
    assert "WORKDIR /srv\n" in file and 'ENTRYPOINT ["adaptc"]' in file
    assert "--require-hashes -r requirements.lock" in file


LOCKS = {"requirements.lock": (), "requirements-ci.lock": ("test", "check", "browser")}


@pytest.mark.parametrize(("name", "extras"), LOCKS.items(), ids=LOCKS)
def test_locked_versions_are_those_that_setup_cfg_allows(name: str, extras: tuple[str, ...]) -> None:
    """The command that renews them: make lock."""
    from packaging.requirements import Requirement

    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    wanted = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in extras)]
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))
    for line in "".join(wanted).split("\n"):
        if line:
            requirement = Requirement(line)
            version = locked[re.sub(r"[-_.]+", "-", requirement.name).lower()]
            assert version in requirement.specifier, line
    for entry in re.split(r"\n(?=\S)", (ROOT / name).read_text().partition("\n")[2]):
        assert "--hash=sha256:" in entry, entry[:80]


def test_third_party_notices_name_all_libraries() -> None:
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)) - {"colorama"}
    named = re.findall(r"^\| ([\w.-]+) \| [A-Z]", (ROOT / "THIRD_PARTY_NOTICES.md").read_text(), re.MULTILINE)
    assert set(named) == locked


@pytest.mark.servers
def test_what_containers_run_is_a_server_that_adapts(place: Path) -> None:
    """The paths of the containers become those of this machine; what runs is the same."""
    (place / "public").rename(place / "site")
    shutil.copy(RECIPES / "docker/adaptc.toml", place)
    run(place, ["adaptc", *read("docker/compose.yaml")["services"]["build"]["command"]])
    os.chmod(place, 0o755)
    text = re.sub("/(srv|tmp)\\b", lambda _: str(place), (RECIPES / "docker/nginx.conf").read_text())
    scratch = " ".join(
        f"{kind}_temp_path {place}/t-{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (place / "nginx.conf").write_text(text.replace("http {", f"http {{ access_log off; {scratch}"))
    done = web.nginx_check(place / "nginx.conf", place)
    assert "test is successful" in done.stderr, done.stderr
