# make demo    set everything up and show what Roslin does
# make quick   set everything up and run the fast tests: no browser, cluster, kill or PostgreSQL
# make test    set everything up and run all tests
# make sanitize   run the tests of the kernels with sanitizers in the kernels (needs gcc); SANITIZED="FILE ..." for some of them
# make check   formatting, lint, types, direction of imports
# make docs    build the documentation as a site
# make wheels   a wheel for each platform and the source distribution in dist/, checked
# make release-check   everything of a release that one machine can do: wheels, the wheel tried, documentation, paper
# make lock    renew requirements.lock, the versions and checksums of everything that is installed (needs uv)

.DEFAULT_GOAL := help
.PHONY: help demo quick test sanitize check docs wheels release-check lock clean

# Workers and the commands that tests start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

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
	@tools/sanitize.sh $(SANITIZED)

check: .venv/ready-test .venv/ready-docs
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/python -m pytest -q tests/test_architecture.py
	.venv/bin/zizmor --offline --no-progress --quiet .github
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/wish.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	! command -v actionlint >/dev/null || actionlint

docs: .venv/ready-docs
	.venv/bin/python -m sphinx -W -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

wheels: .venv/ready-test
	@tools/wheels.sh

release-check: wheels docs
	@tools/try_wheel.sh dist/roslin-*-manylinux*_$$(uname -m).manylinux*.whl
	.venv/bin/python -m pytest -q tests/test_release.py
	! command -v pandoc >/dev/null || pandoc paper/paper.md --citeproc --bibliography paper/paper.bib -s -o dist/paper.html

lock:
	uv pip compile -q --universal --python-version 3.11 --all-extras --group build --group compiler --group wheels --generate-hashes --upgrade \
		--annotation-style line --custom-compile-command "make lock" pyproject.toml -o requirements.lock

clean:
	rm -rf .venv .venv-wheels demo dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/ready-%: pyproject.toml requirements.lock tools/environment.sh tools/locked.py
	@tools/environment.sh $*
	@touch $@
