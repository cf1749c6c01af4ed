# make demo    build the example site and show what came of it
# make test    run the tests
# make recipes what needs Node.js 20 and npm: recipes of docs/static-hosts.md, plugins of js/, the script at the edge
# make check   format, lint, types, direction of imports
# make lock    renew the versions and hashes of all libraries (requirements.lock, requirements-ci.lock)
# make docs    the documentation as a site, adapted by adaptc, in documentation/public
# make zipapp  one file with all libraries, dist/adaptc.pyz, for this system and version of Python
# make papers  repeat the papers, docs/papers; PART=gopshtein one of them. An hour, root, Debian's apache2
#
# All of them install the package into .venv as a user would, and again when a source changed. To work on the
# sources without that: .venv/bin/pip install -e '.[test,check]' once, then .venv/bin/pytest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
SOURCES := $(shell find adaptc rules templates -type f -not -name '*.pyc') setup.py setup.cfg pyproject.toml README.md
SITE := examples/newsroom/site
LEVELS := full lossless moderate extreme text

.PHONY: demo test recipes check lock docs zipapp papers clean

demo: $(VENV)/installed
	$(BIN)/adaptc build $(SITE) -o demo $(LEVELS:%=--level %)
	@echo
	@echo "Look at demo/report.html (what was saved, page by page) and demo/LEVEL/id (the trees),"
	@echo "and ask why: $(BIN)/adaptc explain index.html -o demo"

# Pytest keeps its plugins compiled, and commands their modules, also where Python is told to keep none
unexport PYTHONDONTWRITEBYTECODE
test: $(VENV)/tests-installed
	$(BIN)/pytest -n 4 --dist worksteal

recipes: $(VENV)/tests-installed
	$(BIN)/pytest -m npm tests/docs/test_static_hosts.py tests/workflow/test_js.py tests/workflow/test_export_ladder.py

check: $(VENV)/checks-installed
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

# For Python 3.11 and newer, on all systems. The container takes the first, .ci/run the second
lock = $(VENV)/lock/bin/uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-header --quiet
LOCK_HEAD := \# Versions of all libraries with their hashes, for the container and CI, from setup.cfg. To renew them: make lock
lock: $(BIN)/python
	$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install --quiet 'uv >=0.5,<1'
	echo '$(LOCK_HEAD)' > requirements.lock && $(lock) setup.cfg >> requirements.lock
	echo '$(LOCK_HEAD)' > requirements-ci.lock && $(lock) --extra test --extra check --extra browser setup.cfg >> requirements-ci.lock

docs: $(VENV)/docs-installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir documentation/site
	$(BIN)/adaptc build documentation/site -o documentation/opt --level full --level web
	$(BIN)/adaptc export web documentation/public documentation/site -o documentation/opt

# Libraries with the hashes that were written down; programs that adaptc starts find them by PYTHONPATH
zipapp: $(BIN)/python
	$(PYTHON) -m venv $(VENV)/zipapp && $(VENV)/zipapp/bin/pip install --quiet 'shiv >=1.0.8,<2'
	rm -rf build && $(VENV)/zipapp/bin/pip install --quiet --target build/zipapp --require-hashes -r requirements.lock
	$(VENV)/zipapp/bin/pip install --quiet --target build/zipapp --no-deps .
	mkdir -p dist && $(VENV)/zipapp/bin/shiv --site-packages build/zipapp --python '/usr/bin/env python3' --extend-pythonpath \
		--console-script adaptc --compressed --output-file dist/adaptc.pyz && rm -rf build

papers: $(VENV)/papers-installed
	$(BIN)/python -m benchmarks.papers $(PART)

clean:
	rm -rf $(VENV) demo documentation build dist adaptc.egg-info

# build/ would keep modules that are gone from the sources, and pip would install them again.
install = echo "pip installs $(1) and its libraries into $(VENV): a minute or two" && rm -rf build && $(PIP) '$(1)' && rm -rf build

$(VENV)/installed: $(BIN)/python $(SOURCES)
	@$(call install,.)
	@touch $@

$(VENV)/tests-installed: $(BIN)/python $(SOURCES)
	@$(call install,.[test])
	@touch $@ $(VENV)/installed

$(VENV)/docs-installed: $(BIN)/python $(SOURCES)
	@$(call install,.[docs])
	@touch $@ $(VENV)/installed

$(VENV)/papers-installed: $(BIN)/python $(SOURCES)
	@$(call install,.[papers])
	@touch $@ $(VENV)/installed

$(VENV)/checks-installed: $(BIN)/python $(SOURCES)
	@$(call install,.[check])
	@touch $@ $(VENV)/installed

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "adaptc needs Python 3.11 or newer; name one: make PYTHON=python3.13 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || \
	  { echo "Python cannot make virtual environments here. On Debian: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
