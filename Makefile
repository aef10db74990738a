# make demo    set everything up and show what Roslin does
# make quick   set everything up and run the fast tests: no browser, cluster, kill or PostgreSQL
# make test    set everything up and run all tests
# make sanitize   run the tests of the kernels with sanitizers in the kernels (needs gcc)
# make check   formatting, lint, types, direction of imports
# make docs    build the documentation as a site
# make lock    renew requirements.lock, the versions and checksums of everything that is installed (needs uv)

.DEFAULT_GOAL := help
.PHONY: help demo quick test sanitize check docs lock clean

help:
	@sed -n 's/^# //p' Makefile

demo: .venv/ready-demo
	@.venv/bin/roslin demo --output demo

quick: .venv/ready-test .venv/ready-docs
	@.venv/bin/python -m pytest -q -n 2 --dist loadfile -m "not (browser or cluster or kills or long or postgresql)"

test: .venv/ready-test .venv/ready-docs
	@tools/install_programs.sh
	@.venv/bin/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations 40 --durations-min 5

sanitize: .venv/ready-test
	@tools/sanitize.sh

check: .venv/ready-test .venv/ready-docs
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/python -m pytest -q tests/test_architecture.py

docs: .venv/ready-docs
	.venv/bin/python -m sphinx -W -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

lock:
	uv pip compile -q --universal --python-version 3.11 --all-extras --group build --group compiler --generate-hashes --upgrade \
		--annotation-style line --custom-compile-command "make lock" pyproject.toml -o requirements.lock

clean:
	rm -rf .venv demo docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/ready-%: pyproject.toml requirements.lock tools/environment.sh tools/locked.py
	@tools/environment.sh $*
	@touch $@
