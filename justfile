set shell := ["bash", "-euo", "pipefail", "-c"]
export PATH := justfile_directory() / ".venv/bin:" + env("PATH")

[private]
default:
    @just --list --unsorted

# make .venv what the lock and the members say; does nothing when nothing changed (KIND: run, or dev for the tests)
[group('set up')]
setup KIND='run':
    #!/usr/bin/env bash
    set -euo pipefail
    have=$(cat .venv/.stamp 2>/dev/null || true)
    # what runs is a part of what the tests need: an environment for the tests stays one
    kind={{ KIND }}; [[ "$have" == dev* ]] && kind=dev
    lock=requirements.run.lock; [[ $kind == dev ]] && lock=requirements.lock
    client=tests/conformance/osmosis/requirements.lock
    want="$kind $(cat .python-version "$lock" "$client" libs/*/pyproject.toml services/*/pyproject.toml | sha256sum)"
    [[ "$have" == "$want" ]] && exit 0
    [[ -x .venv/bin/python ]] || uv venv --quiet --clear .venv
    uv pip sync --python .venv --quiet --require-hashes --compile-bytecode "$lock"
    editable=(); for m in libs/*/ services/*/; do editable+=(--editable "./$m"); done
    uv pip install --python .venv --quiet --no-deps "${editable[@]}"
    if [[ $kind == dev ]]; then # the osmosis client keeps older versions of what we use: an environment of its own
        [[ -x .venv/osmosis/bin/python ]] || uv venv --quiet --clear --python .venv/bin/python .venv/osmosis
        uv pip sync --python .venv/osmosis --quiet --require-hashes --compile-bytecode "$client"
    fi
    printf '%s' "$want" > .venv/.stamp

# re-resolve both locks, keeping the pins there are (just lock --upgrade | --upgrade-package NAME moves them)
[group('set up')]
lock *ARGS:
    #!/usr/bin/env bash
    set -euo pipefail
    own=(); for n in $(sed -n 's/^name = "\(.*\)"$/\1/p' libs/*/pyproject.toml services/*/pyproject.toml); do own+=(--no-emit-package "$n"); done
    common=(--quiet --universal --python-version "$(cat .python-version)" --generate-hashes --no-header --no-annotate "${own[@]}")
    uv pip compile "${common[@]}" {{ ARGS }} --group dev libs/*/pyproject.toml services/*/pyproject.toml --output-file requirements.lock
    uv pip compile "${common[@]}" --constraint requirements.lock libs/*/pyproject.toml services/*/pyproject.toml --output-file requirements.run.lock
    client=tests/conformance/osmosis/requirements
    uv pip compile "${common[@]}" {{ ARGS }} "$client.in" --output-file "$client.lock"
    ! grep --line-number '://' requirements.lock requirements.run.lock "$client.lock"

# start a platform, run three agents on the bundled benchmark and show the leaderboard (proctor demo --help)
[group('run')]
[no-exit-message]
[positional-arguments]
demo *ARGS: setup
    @exec proctor demo "$@"

# keep the platform running in the foreground until Ctrl-C (proctor up --help)
[group('run')]
[no-exit-message]
[positional-arguments]
up *ARGS: setup
    @exec proctor up "$@"

# put one more runner to work for a platform: just runner --nats nats://HOST:PORT (proctor runner --help)
[group('run')]
[no-exit-message]
[positional-arguments]
runner *ARGS: setup
    @exec proctor runner "$@"

# every test but the slow ones; brings a Docker engine and the base image where it may
[group('check')]
[positional-arguments]
test *ARGS: (setup 'dev') test-host
    @pytest -q -m "not slow" "$@"

# the slow tests: crashes, simulations, large inputs
[group('check')]
[positional-arguments]
test-slow *ARGS: (setup 'dev') test-host
    @pytest -q -m slow --timeout 400 "$@"

# formatting, lints, types and layers
[group('check')]
lint: (setup 'dev')
    ruff format --check --quiet .
    ruff check --quiet .
    basedpyright --level error
    lint-imports --no-cache | tail -n 3

# mend what can be mended by itself
[group('check')]
fix: (setup 'dev')
    ruff check --quiet --fix .
    ruff format --quiet .

# measure; results as JSON in tests/bench/results (just bench --only append)
[group('check')]
[positional-arguments]
bench *ARGS: (setup 'dev') test-host
    @python tests/bench/run.py "$@"

# the Docker engine and base image of the tests
[group('set up')]
test-host:
    @deploy/test-host.sh

# the services' images, by Compose
[group('set up')]
images:
    deploy/images.sh
